package schedule

// Step is a control, or a part of one, on the way of a call.
type Step struct {
	Control string // of [registry.Controls]
	// Stops are the names under which schedules have it; none where the call goes
	// through it without a stop.
	Stops []string
	Why   string // it is stopped at, or is not
}

// Steps says of every control whether a call is stopped at it. Two steps that
// touch nothing in common come to the same in either order, so that one of the
// two orders is enough.
func Steps() []Step { return append([]Step(nil), steps...) }

const (
	stopStart    = "start"
	stopApproval = "approval"
	stopClaim    = "claim"
	stopResolve  = "resolve"
	stopHandler  = "handler"
	stopAnswer   = "answer"
	stopFailed   = "failed"
	stopKeep     = "keep"
	stopFree     = "free"
	stopTold     = "told"
)

var steps = []Step{
	{"budget", []string{stopStart}, "the time of a call is read when it starts, which matters where the clock jumps; the session has no budget"},
	{"lookup", nil, "it reads the contracts, which do not change"},
	{"input", nil, "it reads the arguments of its own call and a schema"},
	{"permission", nil, "it reads the caller of its own call and who may do what, which does not change"},
	{"approval", []string{stopApproval}, "it takes a grant, and looks at what the call works on"},
	{"rate", nil, "it counts calls, whose number is the same in every order"},
	{"deadline", nil, "on a simulated clock it waits for nobody"},
	{"idempotency", []string{stopClaim, stopResolve}, "it claims the action, and writes down what was found out of one of unknown outcome"},
	{"handler", []string{stopHandler, stopAnswer, stopFailed}, "it changes the backend: a stop before the work, and one after it has succeeded or failed"},
	{"output", []string{stopKeep, stopFree, stopTold}, "it reads the output of its own call; what follows ends the claim, with a receipt or without, and then the caller is told"},
}
