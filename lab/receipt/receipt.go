// Package receipt remembers that a keyed action happened, so that its repeat
// is answered and not done again.
//
// Start with [Store]: its Claim grants an action to exactly one caller at a
// time, or returns what that action came to. [Memory] keeps receipts as long
// as the process lives; [SQLite] keeps them in a file, together with the data
// of a backend that writes through [RecordsFrom] or [SQLite.Update].
//
// One invariant: between a granted claim and its Keep or Free, nobody else is
// granted the same key.
//
// The package decides nothing: whether a receipt answers a call is the
// registry's to say.
package receipt

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"agentlab/lab/tool"
)

// Key names an action. The same word used by another caller, or for another
// tool, is another action.
type Key struct {
	Tool   string `json:"tool"`
	Caller string `json:"caller"`
	Value  string `json:"key"`
}

// State is what is known of an action. A failure that applied nothing leaves no
// receipt: its key is free again.
type State string

const (
	InProgress State = "in_progress" // a claim is open
	Applied    State = "applied"
	Unknown    State = "unknown" // applied or not; nobody knows
)

// Receipt is what is known of an action: the fingerprint of the arguments it
// was asked with, and the answer that its repeat is given. Error is set where
// the action was, or may have been, applied and its answer was a failure.
type Receipt struct {
	State       State           `json:"state"`
	Fingerprint string          `json:"fingerprint"`
	Output      json.RawMessage `json:"output,omitempty"`
	Error       *tool.Error     `json:"error,omitempty"`
	SettledAt   time.Time       `json:"settled_at"`
	ExpiresAt   time.Time       `json:"expires_at"` // zero: never
}

// expired reports whether the receipt no longer counts. What nobody knows the
// outcome of is never forgotten: it may be applied.
func (r *Receipt) expired(now time.Time) bool {
	return r.State != Unknown && !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}

// Entry is a receipt and the action that it is of.
type Entry struct {
	Key
	Receipt
}

// compare orders keys as [Store.List] does.
func (k Key) compare(other Key) int {
	return cmp.Or(
		cmp.Compare(k.Tool, other.Tool),
		cmp.Compare(k.Caller, other.Caller),
		cmp.Compare(k.Value, other.Value))
}

// Store keeps receipts. It is safe for concurrent use.
type Store interface {
	// Claim grants the action, or returns its receipt: exactly one of the two
	// is set where the error is nil. While another claim on the key is open it
	// waits, until ctx ends; the error is then that of ctx. A store may have it
	// wait for claims on other keys too. The claim itself outlives ctx. A
	// receipt that has expired by now is as good as none.
	Claim(ctx context.Context, key Key, now time.Time) (Claim, *Receipt, error)
	// Peek returns the receipt of an action without claiming it, or nil.
	Peek(ctx context.Context, key Key, now time.Time) (*Receipt, error)
	// Resolve replaces a receipt of unknown outcome, as it was seen, by what was
	// found out; nil frees the key. A receipt that is another by then stays as
	// it is: somebody else has found out, or acted, in the meantime.
	Resolve(ctx context.Context, key Key, seen Receipt, found *Receipt) error
	// List returns every receipt, in the order of their keys.
	List(ctx context.Context) ([]Entry, error)
}

// Claim is the right to perform one action. It is ended once, by Keep or by
// Free.
type Claim interface {
	// Context is what the action is performed with: where the store and the
	// backend are one database, what is written with it and the receipt land
	// together or not at all.
	Context(ctx context.Context) context.Context
	// RollsBack reports whether Free, and a Keep that fails, undo what was
	// written with Context.
	RollsBack() bool
	// Keep ends the claim with a receipt: the action was applied, or may have
	// been. After an error nothing is kept, and where store and backend are one
	// nothing was applied.
	Keep(receipt Receipt) error
	// Free ends the claim without one: nothing was applied, and the key may be
	// used again.
	Free() error
}
