package tool

import "context"

// Effect is one observed change of a backend. It tells where and how much,
// never what stands there.
type Effect struct {
	Resource string `json:"resource"` // what changed, such as a ticket id or a path
	Change   string `json:"change"`   // how it changed, in one word
	// Before and After are the sizes of what changed, in bytes; 0 where it was
	// not there, or where nobody measured.
	Before int64 `json:"before_bytes,omitempty"`
	After  int64 `json:"after_bytes,omitempty"`
}

// The ways in which a probe sees something change.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Foreign is a surface over a server that is not the lab's own, which need not
// be there to be asked. Its sessions are [Observed].
type Foreign interface {
	Surface
	// Down returns why the surface has no definitions and opens no session, or
	// nil where it has them. It is known before the surface is handed on, and
	// does not change.
	Down() *Unavailable
	// Blind reports whether nobody looks at what the server changes: then no
	// count of effects says anything. It does not change either.
	Blind() bool
}

// Observed is a session over a backend that is not the lab's own. Its changes
// are found by looking, and it can be lost at any time.
type Observed interface {
	Session
	// Observe lists what changed since the last time, or since the session was
	// opened, in a fixed order. An error means that the backend could not be
	// looked at: the case could not run.
	Observe(ctx context.Context) ([]Effect, error)
	// Settle takes no more calls, waits until what they started is over where that
	// can be known, and lists what changed since the last time: a server may write
	// when it has answered, or when it ends. It returns nothing where it cannot know.
	Settle(ctx context.Context) ([]Effect, error)
	// Lost returns why the session takes no more calls, or nil. The result of the
	// call in which it was lost is no result.
	Lost() error
}

// Unavailable is the error of a backend that could not be used: what it was to
// be used for could not run, and is neither a pass nor a failure.
type Unavailable struct {
	Surface string
	// Reason says what happened, in the same words whenever the same happens: it
	// is what a report may show.
	Reason string
	// Detail is what else is known, for a person: addresses, codes, the last
	// lines that a server wrote to its standard error. It differs from run to run.
	Detail string
}

func (e *Unavailable) Error() string {
	text := e.Surface + ": " + e.Reason
	if e.Detail != "" {
		text += "\n" + e.Detail
	}
	return text
}
