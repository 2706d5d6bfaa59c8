package schedule_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/schedule"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// subject is what schedules are tried on.
type subject = schedule.Subject

// broken is a surface with a fault of which schedules are to show what comes.
type broken struct {
	subject
	contracts func(*contract.Contract)
	backend   func(*registry.Backend)
}

func (b broken) Contracts() []contract.Contract {
	all := b.subject.Contracts()
	for i := range all {
		if b.contracts != nil && all[i].Name == "record_ticket_followup" {
			b.contracts(&all[i])
		}
	}
	return all
}

func (b broken) Vary(v registry.Variant) (tool.Surface, error) {
	stops := v.Backend
	v.Contracts = func([]contract.Contract) []contract.Contract { return b.Contracts() }
	v.Backend = func(backend *registry.Backend) {
		if b.backend != nil {
			b.backend(backend)
		}
		stops(backend)
	}
	return b.subject.Vary(v)
}

type decide = func(context.Context, *registry.Crossing) (tool.Verdict, *tool.Error)

// control exchanges what one control decides.
func control(name string, with func(own decide) decide) func(*registry.Backend) {
	return func(b *registry.Backend) {
		b.Controls = slices.Clone(b.Controls)
		i := slices.IndexFunc(b.Controls, func(c registry.Control) bool { return c.Name == name })
		b.Controls[i].Decide = with(b.Controls[i].Decide)
	}
}

// handler exchanges the work of the tool.
func handler(with func(own registry.Handler) registry.Handler) func(*registry.Backend) {
	return func(b *registry.Backend) {
		b.Handlers = maps.Clone(b.Handlers)
		b.Handlers["record_ticket_followup"] = with(b.Handlers["record_ticket_followup"])
	}
}

// stored exchanges the store of receipts.
func stored(with func(own receipt.Store) receipt.Store) func(*registry.Backend) {
	return func(b *registry.Backend) { b.Receipts = with(b.Receipts) }
}

// generous grants an action twice: it looks for a receipt, and for no claim.
type generous struct{ receipt.Store }

type free struct{ receipt.Claim }

func (free) Keep(receipt.Receipt) error { return nil }
func (free) Free() error                { return nil }

func (g generous) Claim(ctx context.Context, key receipt.Key, now time.Time) (receipt.Claim, *receipt.Receipt, error) {
	known, err := g.Peek(ctx, key, now)
	if err == nil && known != nil && known.State == receipt.InProgress {
		return free{}, nil, nil
	}
	return g.Store.Claim(ctx, key, now)
}

func (free) Context(ctx context.Context) context.Context { return ctx }
func (free) RollsBack() bool                             { return false }

// claims wraps each claim of a store.
type claims struct {
	receipt.Store
	wrap func(receipt.Claim) receipt.Claim
	key  func(receipt.Key) receipt.Key
}

func (s claims) Claim(ctx context.Context, key receipt.Key, now time.Time) (receipt.Claim, *receipt.Receipt, error) {
	if s.key != nil {
		key = s.key(key)
	}
	claim, known, err := s.Store.Claim(ctx, key, now)
	if claim != nil && s.wrap != nil {
		claim = s.wrap(claim)
	}
	return claim, known, err
}

func (s claims) Peek(ctx context.Context, key receipt.Key, now time.Time) (*receipt.Receipt, error) {
	if s.key != nil {
		key = s.key(key)
	}
	return s.Store.Peek(ctx, key, now)
}

// failing keeps nothing but the first receipt, and says so.
type failing struct {
	receipt.Claim
	kept *int
}

func (f failing) Keep(r receipt.Receipt) error {
	if *f.kept++; *f.kept == 1 {
		return f.Claim.Keep(r)
	}
	_ = f.Free()
	return errors.New("the disk is full")
}

// forgetful keeps nothing, and does not say so.
type forgetful struct{ receipt.Claim }

func (f forgetful) Keep(receipt.Receipt) error { return f.Free() }

// early does not end its claim.
type early struct{ receipt.Claim }

func (early) Keep(receipt.Receipt) error { return nil }
func (early) Free() error                { return nil }

// apart keeps its receipts by itself: they outlive the process, as what the backend
// holds does, and the two are not written together.
func apart(b *registry.Backend) { b.Receipts = new(receipt.Memory) }

// Each fault is found, by the invariant that it breaks, and what is printed of it
// breaks that invariant again.
func TestBroken(t *testing.T) {
	plain := func(c *contract.Contract) { c.Precondition = false }
	for _, test := range []struct {
		name      string
		broken    broken
		durable   bool
		invariant string
		hazard    string // in which it is found; empty: wherever
	}{
		{"a store grants an action twice", broken{ticket.Typed{}, nil, stored(func(own receipt.Store) receipt.Store { return generous{own} })}, false, "one-effect", "none"},
		{"no grant is taken", broken{new(ticket.Production), plain, control("approval", func(own decide) decide {
			return func(ctx context.Context, c *registry.Crossing) (tool.Verdict, *tool.Error) {
				if len(c.Call().Grants) == 0 {
					return own(ctx, c)
				}
				return tool.Pass, nil
			}
		})}, false, "approved", "none"},
		{"nobody is asked for an approval", broken{ticket.Typed{}, nil, control("approval", func(own decide) decide {
			return func(context.Context, *registry.Crossing) (tool.Verdict, *tool.Error) { return tool.Pass, nil }
		})}, false, "approved", "none"},
		{"the receipt is kept before the write", broken{ticket.Typed{}, nil, func(b *registry.Backend) {
			own := b.Receipts
			b.Receipts = claims{Store: own, wrap: func(c receipt.Claim) receipt.Claim {
				_ = c.Keep(receipt.Receipt{State: receipt.Applied, Fingerprint: contract.Fingerprint([]byte(
					`{"action_id":"action-1","note":"Customer asked for a callback.","ticket_id":"T-102"}`)), Output: json.RawMessage(`{"receipt_id":"R-1","ticket_id":"T-102","status":"recorded"}`)})
				return early{c}
			}}
		}}, false, "effect-behind-success", ""},
		{"no receipt is kept, and the disk is blamed", broken{ticket.Typed{}, nil, stored(func(own receipt.Store) receipt.Store {
			kept := new(int)
			return claims{Store: own, wrap: func(c receipt.Claim) receipt.Claim { return failing{c, kept} }}
		})}, false, "one-effect", "none"},
		{"no receipt is kept, and nobody is told", broken{ticket.Typed{}, nil, stored(func(own receipt.Store) receipt.Store {
			return claims{Store: own, wrap: func(c receipt.Claim) receipt.Claim { return forgetful{c} }}
		})}, false, "receipt-kept", "none"},
		{"what is applied is told as not applied", broken{ticket.Typed{}, nil, control("output", func(own decide) decide {
			return func(ctx context.Context, c *registry.Crossing) (tool.Verdict, *tool.Error) {
				verdict, refusal := own(ctx, c)
				if verdict == tool.Refuse {
					c.SetOutcome(tool.NotApplied)
				}
				return verdict, refusal
			}
		})}, false, "told-truly", "bad-output"},
		{"receipts are everybody's", broken{ticket.Typed{}, nil, stored(func(own receipt.Store) receipt.Store {
			return claims{Store: own, key: func(k receipt.Key) receipt.Key { k.Caller = ""; return k }}
		})}, false, "own-receipt", "none"},
		{"receipts are kept apart from the backend", broken{ticket.Typed{}, nil, apart}, true, "one-effect", "crash"},
		{"a success is told of nothing", broken{ticket.Typed{}, nil, handler(func(registry.Handler) registry.Handler {
			return func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"receipt_id":"R-1","ticket_id":"T-102","status":"recorded"}`), nil
			}
		})}, false, "effect-behind-success", "none"},
		{"a claim is never ended", broken{ticket.Typed{}, nil, stored(func(own receipt.Store) receipt.Store {
			return claims{Store: own, wrap: func(c receipt.Claim) receipt.Claim { return early{c} }}
		})}, false, "ends", "none"},
		{"what is used up is known in memory only", broken{onFile(t), plain, nil}, true, "approved", "crash"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := schedule.Options{Durable: test.durable, Schedules: 60, Only: func(pattern, hazard string) bool {
				return (test.hazard == "" || hazard == test.hazard) && (test.invariant != "ends" || pattern == "same")
			}}
			report, err := schedule.Run(t.Context(), test.broken, followup, o)
			if err != nil {
				t.Fatal(err)
			}
			var found []schedule.Violation
			for _, v := range report.Variations {
				for _, violation := range v.Violations {
					if violation.Invariant == test.invariant {
						found = append(found, violation)
					} else {
						t.Logf("also %s: %s", violation.Invariant, violation.Schedule)
					}
				}
			}
			if len(found) == 0 {
				t.Fatalf("%s is not found to be broken in %d schedules", test.invariant, report.Schedules())
			}
			again, err := schedule.Replay(t.Context(), test.broken, followup, o, found[0].Schedule)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(again.Variations[0].Violations, func(v schedule.Violation) bool {
				return v.Invariant == test.invariant && v.Says == found[0].Says && v.Schedule == found[0].Schedule
			}) {
				t.Errorf("%s replays as %+v", found[0].Schedule, again.Variations[0].Violations)
			}
			if !json.Valid(found[0].Case) || !strings.HasPrefix(found[0].Schedule, "record_ticket_followup ") {
				t.Errorf("%s\n%s", found[0].Schedule, found[0].Case)
			}
			t.Logf("%s\n%s", found[0].Says, found[0].Schedule)
		})
	}
}
