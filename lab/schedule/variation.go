package schedule

import (
	"time"

	"agentlab/lab/contract"
)

// Pattern says who calls with what. All calls name one key.
type Pattern struct {
	Name, Does string
	// bound patterns differ from another only where grants are asked for.
	bound bool
	// arguments, caller and grant are the number of those that a call has, the calls
	// being counted from 0. A grant of -1 is none.
	part func(call, of int) (arguments, caller, grant int)
}

var patterns = []Pattern{
	{"same", "the same call, again and again, with one grant", false, func(int, int) (int, int, int) { return 0, 0, 0 }},
	{"two-grants", "the same call, each with a grant of its own", true, func(i, _ int) (int, int, int) { return 0, 0, i }},
	{"other-arguments", "the last call has other arguments", false, func(i, n int) (int, int, int) {
		if i == n-1 {
			return 1, 0, 1
		}
		return 0, 0, 0
	}},
	{"other-caller", "the last call is another caller's", false, func(i, n int) (int, int, int) {
		if i == n-1 {
			return 0, 1, 1
		}
		return 0, 0, 0
	}},
	{"one-grant", "two callers, and one grant between them", true, func(i, n int) (int, int, int) {
		if i == n-1 {
			return 0, 1, 0
		}
		return 0, 0, 0
	}},
	{"unapproved", "the last call was not approved", false, func(i, n int) (int, int, int) {
		if i == n-1 {
			return 0, 0, -1
		}
		return 0, 0, 0
	}},
}

// Patterns returns what calls are made together, in the order of reports.
func Patterns() []Pattern { return append([]Pattern(nil), patterns...) }

// Hazard is what goes wrong: in the handler of the first call, or once, between
// any two steps.
type Hazard struct {
	Name, Does string

	fault string // in the handler
	event event
	// jump is how far the clock is moved, and grants how long grants hold; ok is
	// false where the contract has nothing of the kind.
	jump func(*contract.Contract) (by time.Duration, ok bool)
}

type event int

const (
	noEvent event = iota
	crashes
	givesUp
	jumps
)

const (
	faultLost       = "lost"
	faultError      = "error"
	faultErrorAfter = "error-after"
	faultBad        = "bad-output"
	faultPanic      = "panic"
	faultPanicAfter = "panic-after"
	faultSlow       = "slow"
)

const (
	grantLife = 10 * time.Minute
	backwards = -time.Minute
)

var hazards = []Hazard{
	{"none", "nothing goes wrong", "", noEvent, nil},
	{"answer-lost", "the work is done, and its answer never comes", faultLost, noEvent, nil},
	{"error", "the handler fails before the work", faultError, noEvent, nil},
	{"error-after", "the handler fails after the work", faultErrorAfter, noEvent, nil},
	{"bad-output", "the output breaks the contract", faultBad, noEvent, nil},
	{"panic", "the handler panics before the work", faultPanic, noEvent, nil},
	{"panic-after", "the handler panics after the work", faultPanicAfter, noEvent, nil},
	{"slow", "the handler takes a millisecond longer than it may", faultSlow, noEvent, nil},
	{"crash", "the process dies, and another goes on with what is on the disk", "", crashes, nil},
	{"gives-up", "the first caller gives up, and makes the call again", "", givesUp, nil},
	{"clock-timeout", "the clock jumps over the timeout", "", jumps, func(c *contract.Contract) (time.Duration, bool) {
		return c.Timeout + time.Millisecond, true
	}},
	{"clock-grant", "the clock jumps over the end of the grants", "", jumps, func(c *contract.Contract) (time.Duration, bool) {
		return grantLife, c.Approval == contract.ApprovalBound
	}},
	{"clock-receipt", "the clock jumps over the end of the receipts", "", jumps, func(c *contract.Contract) (time.Duration, bool) {
		return c.ReceiptTTL, c.ReceiptTTL > 0
	}},
	{"clock-back", "the clock jumps backwards", "", jumps, func(*contract.Contract) (time.Duration, bool) { return backwards, true }},
}

// Hazards returns what can go wrong, in the order of reports.
func Hazards() []Hazard { return append([]Hazard(nil), hazards...) }

// life is how long grants hold.
func (h *Hazard) life(c *contract.Contract) time.Duration {
	if h.Name == "clock-receipt" {
		// A receipt that has expired is not to be mistaken for a grant that has.
		return 4*c.ReceiptTTL + grantLife
	}
	return grantLife
}

// applies reports whether the two can be tried on a contract. A crash says nothing
// of what is kept in memory, which dies with the process, tickets and receipts alike.
func applies(p *Pattern, h *Hazard, c *contract.Contract, durable bool) bool {
	if p.bound && c.Approval != contract.ApprovalBound || p.Name == "unapproved" && c.Approval == contract.ApprovalNever {
		return false
	}
	if h.event == crashes && !durable {
		return false
	}
	if h.jump != nil {
		_, ok := h.jump(c)
		return ok
	}
	return true
}
