package schedule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/tool"
)

// Invariant is what must hold, whatever the order.
type Invariant struct{ Name, Holds string }

const (
	oneEffect  = "one-effect"
	approvedBy = "approved"
	toldTruly  = "told-truly"
	kept       = "receipt-kept"
	ownReceipt = "own-receipt"
	ends       = "ends"
	behind     = "effect-behind-success"
)

var invariants = []Invariant{
	{oneEffect, "a key has at most one effect as long as its receipt lasts"},
	{approvedBy, "no effect is without a valid approval, and no grant has two"},
	{toldTruly, "an effect is never told as not applied"},
	{kept, "the repeat of a call that was answered gets the same answer"},
	{ownReceipt, "no caller learns of another's receipt"},
	{ends, "every call ends"},
	{behind, "an effect stands behind every success that is told"},
}

// Invariants returns what must hold, in the order of reports.
func Invariants() []Invariant { return append([]Invariant(nil), invariants...) }

// breach is an invariant that did not hold, and how.
type breach struct{ invariant, says string }

// effect is one change of the backend, and the call that made it.
type effect struct {
	arguments string
	lasts     time.Time // how long its receipt does; zero: for ever
}

// action is what a receipt is of.
type action struct {
	key       receipt.Key
	arguments string
}

// judge holds what is seen of a schedule against the invariants.
type judge struct {
	of          *contract.Contract
	instant     func() time.Time
	effectsSeen int
	effects     map[receipt.Key][]effect
	used        map[string]int             // effects, by the grant
	answered    map[action]json.RawMessage // what a success was told with
	expired     int                        // effects that the end of a receipt let through
	stuck       bool
	breaches    []breach
}

func newJudge(of *contract.Contract, clock func() time.Time) judge {
	return judge{of: of, instant: clock, effects: make(map[receipt.Key][]effect), used: make(map[string]int), answered: make(map[action]json.RawMessage)}
}

func (j *judge) breach(invariant, format string, args ...any) {
	j.breaches = append(j.breaches, breach{invariant, fmt.Sprintf(format, args...)})
}

// look counts what changed while a call ran.
func (j *judge) look(a *actor, effects int) {
	for ; j.effectsSeen < effects; j.effectsSeen++ {
		j.changed(a)
	}
	j.effectsSeen = effects
}

func (j *judge) changed(a *actor) {
	a.effects++
	if earlier := j.lasting(a.key, j.time(a)); len(earlier) > 0 {
		j.breach(oneEffect, "call %d has another effect for key %q of %s", a.number, a.key.Value, a.key.Caller)
	} else if len(j.effects[a.key]) > 0 {
		j.expired++
	}
	e := effect{arguments: a.arguments}
	if j.of.ReceiptTTL > 0 {
		e.lasts = a.started.Add(j.of.ReceiptTTL)
	}
	j.effects[a.key] = append(j.effects[a.key], e)
	switch j.of.Approval {
	case contract.ApprovalRequired:
		if !a.call.Approved {
			j.breach(approvedBy, "call %d has an effect, and was not approved", a.number)
		}
	case contract.ApprovalBound:
		j.granted(a)
	}
}

// granted holds an effect against the grant of its call.
func (j *judge) granted(a *actor) {
	if len(a.call.Grants) == 0 {
		j.breach(approvedBy, "call %d has an effect, and was not granted", a.number)
		return
	}
	g := a.call.Grants[0]
	j.used[g.ID]++
	switch {
	case g.Digest != contract.CallDigest(j.of.Name, j.of.Version, []byte(a.arguments)):
		j.breach(approvedBy, "call %d has an effect, and its grant is of another call", a.number)
	case a.started.Before(g.IssuedAt) || !a.started.Before(g.ExpiresAt):
		j.breach(approvedBy, "call %d has an effect, and its grant did not hold when it started", a.number)
	case j.used[g.ID] > 1:
		j.breach(approvedBy, "call %d has effect number %d of %s", a.number, j.used[g.ID], g.ID)
	}
}

// time is when a call finds a receipt expired. A call that started before may find
// that one which started after has found it so, and has done away with it.
func (j *judge) time(a *actor) time.Time {
	if now := j.instant(); now.After(a.started) {
		return now
	}
	return a.started
}

// lasting are the effects of a key whose receipts have not expired.
func (j *judge) lasting(key receipt.Key, now time.Time) (all []effect) {
	for _, e := range j.effects[key] {
		if e.lasts.IsZero() || now.Before(e.lasts) {
			all = append(all, e)
		}
	}
	return all
}

// told judges what the caller of a call was told.
func (j *judge) told(a *actor, all []*actor) {
	r := &a.result
	switch {
	case a.broken != "":
		j.breach(ends, "call %d panicked: %s", a.number, a.broken)
		return
	case r.OK() == (r.Output == nil):
		j.breach(ends, "call %d ends with neither an output nor an error", a.number)
		return
	}
	j.others(a, all)
	this := action{a.key, a.arguments}
	if r.OK() {
		switch before, known := j.answered[this]; {
		case len(j.effects[a.key]) == 0:
			j.breach(behind, "call %d is told a success, and there is no effect of its key", a.number)
		case a.effects == 0 && !r.Replayed:
			j.breach(behind, "call %d is told a success of its own, and had no effect", a.number)
		case known && r.Replayed && !bytes.Equal(before, r.Output):
			j.breach(kept, "call %d is answered otherwise than the one that it repeats", a.number)
		}
		j.answered[this] = bytes.Clone(r.Output)
		return
	}
	switch r.Error.Outcome {
	case tool.Applied:
		if len(j.effects[a.key]) == 0 {
			j.breach(behind, "call %d is told that it was applied, and there is no effect of its key", a.number)
		}
	case tool.NotApplied:
		switch {
		case a.effects > 0:
			j.breach(toldTruly, "call %d has an effect, and is told %s, not applied", a.number, r.Error.Code)
		case asked(r, "idempotency") && j.did(this, j.time(a)):
			j.breach(toldTruly, "the action of call %d has an effect, and the call is told %s, not applied", a.number, r.Error.Code)
		}
	}
}

// did reports whether this very action has an effect whose receipt has not expired.
func (j *judge) did(this action, now time.Time) bool {
	for _, e := range j.lasting(this.key, now) {
		if e.arguments == this.arguments {
			return true
		}
	}
	return false
}

func asked(r *tool.Result, control string) bool {
	for _, d := range r.Trace.Decisions {
		if d.Control == control {
			return true
		}
	}
	return false
}

// others judges whether a call was told of what only another caller did.
func (j *judge) others(a *actor, all []*actor) {
	var code tool.Code
	if a.result.Error != nil {
		code = a.result.Error.Code
	}
	if !a.result.Replayed && code != tool.IdempotencyConflict && code != tool.ActionInProgress {
		return
	}
	for _, other := range all {
		if other != a && other.key == a.key {
			return // it may have been that one
		}
	}
	told := "the answer of an earlier call"
	if code != "" {
		told = string(code)
	}
	j.breach(ownReceipt, "call %d is told %s, and %s made no other call with its key", a.number, told, a.key.Caller)
}

// expected reports whether a repeat must be answered as the call was that it
// repeats.
func (j *judge) expected(again *actor, now time.Time) bool {
	this := action{again.key, again.arguments}
	_, known := j.answered[this]
	confirmed := j.of.Approval == contract.ApprovalNever || again.call.Approved || len(again.call.Grants) > 0
	return known && confirmed && j.did(this, now)
}

// kept judges such a repeat.
func (j *judge) kept(again *actor) {
	switch r := &again.result; {
	case !r.OK():
		j.breach(kept, "the repeat of call %d, which was answered, is refused: %s", again.number, r.Error.Code)
	case !r.Replayed:
		j.breach(kept, "the repeat of call %d, which was answered, is done again", again.number)
	}
}
