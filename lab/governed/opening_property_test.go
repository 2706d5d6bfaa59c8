package governed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"agentlab/lab/contract"
	"agentlab/lab/governed"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// Whatever calls, looks and ends come while a server is being opened: nobody hangs,
// one session is begun at the most and closed where there was one, the clock does not
// go back, what is refused by a server that does not start is not applied, and every
// call is answered once.
func TestOpeningWhateverComes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ms := func(label string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(r, label)) * time.Millisecond
		}
		type act struct {
			at, patience time.Duration
			what, key    string
			permitted    bool
		}
		takes := ms("start", 50)
		ends := rapid.SampledFrom([]string{"", "", "error", "panic", "deaf"}).Draw(r, "how it ends")
		bound := rapid.Bool().Draw(r, "bound")
		precondition := rapid.Bool().Draw(r, "precondition")
		folder := rapid.Bool().Draw(r, "folder")
		concurrency := rapid.IntRange(0, 2).Draw(r, "concurrency")
		work := ms("work", 30)
		budget := tool.Budget{Concurrent: rapid.IntRange(0, 3).Draw(r, "concurrent"), Proposals: rapid.IntRange(0, 8).Draw(r, "proposals")}
		var acts []act
		for range rapid.IntRange(1, 12).Draw(r, "acts") {
			acts = append(acts, act{
				at: ms("at", 60), patience: ms("patience", 120),
				what:      rapid.SampledFrom([]string{"put", "put", "get", "none", "pending", "observe", "now"}).Draw(r, "what"),
				key:       rapid.SampledFrom([]string{"k1", "k2"}).Draw(r, "key"),
				permitted: rapid.IntRange(0, 3).Draw(r, "permitted") > 0,
			})
		}
		end := rapid.SampledFrom([]string{"close", "settle", "settle soon"}).Draw(r, "end")
		endAt := ms("end at", 150)
		synctest.Test(t, func(t *testing.T) {
			s, opened := newServer(), 0
			get, put := contracts()
			s.start = func(ctx context.Context) error {
				if ends == "deaf" {
					time.Sleep(takes)
				} else {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(takes):
					}
				}
				switch ends {
				case "error":
					return errors.New("no")
				case "panic":
					panic("no")
				}
				opened++
				return nil
			}
			s.notes["n"], s.seen["n"] = "x: 1", "x: 1"
			s.tools["get"] = slowly(work, said("x: 1"))
			s.tools["put"] = slowly(work, said("ok"))
			put.Contract.Concurrency, get.Contract.Concurrency = concurrency, concurrency
			if bound {
				put.Contract.Approval = contract.ApprovalBound
			}
			if precondition {
				put.Contract.Precondition = true
				put.Precondition = &overlay.Precondition{Tool: "get", Arguments: []overlay.Argument{{Name: "name", From: "name"}}, Fields: []string{"x"}}
			}
			name := "n"
			if folder {
				name = t.TempDir() + "/n"
				put.Contract.Resources = []contract.Resource{{Argument: "name"}}
				put.Within = map[string]string{"name": "${SANDBOX}"}
			}
			surface, err := governed.Over(s, []overlay.Tool{get, put}, governed.Settings{Expand: func(tool.Session, string) string { return "/" }})
			if err != nil {
				t.Fatal(err)
			}
			raw, err := surface.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			session := raw.(tool.Supervised)
			observed := raw.(tool.Observed)
			session.Arrange(budget)
			start := session.Now()
			var group sync.WaitGroup
			for _, a := range acts {
				group.Go(func() {
					time.Sleep(a.at)
					ctx, cancel := context.WithTimeout(t.Context(), a.patience)
					defer cancel()
					call := tool.Call{Proposal: tool.Proposal{Name: a.what}, Caller: tool.Caller{ID: "a"}, Approved: true}
					if a.permitted {
						call.Caller.Permissions = []string{"read", "write"}
					}
					call.Proposal.Arguments = json.RawMessage(`{"name":` + quote(name) + `}`)
					if a.what == "put" || a.what == "pending" {
						call.Proposal = tool.Proposal{Name: "put", Arguments: json.RawMessage(fmt.Sprintf(`{"name":%s,"text":"x","action_id":%q}`, quote(name), a.key))}
					}
					before := session.Now()
					switch a.what {
					case "observe":
						_, _ = observed.Observe(ctx)
					case "pending":
						_, _ = session.Pending(ctx, call)
					case "now":
					default:
						if bound && a.what == "put" {
							shown, _ := session.Pending(ctx, call)
							call.Grants = []tool.Grant{{ID: "g" + a.key, Digest: shown.Digest, ResourceVersion: shown.ResourceVersion, IssuedAt: before, ExpiresAt: before.Add(time.Second)}}
						}
						result := session.Call(ctx, call)
						if result.Reply == nil || result.OK() == (result.Error != nil) {
							t.Errorf("result %+v", result)
						}
						if observed.Lost() != nil && (result.OK() || result.Trace.HandlerRan) {
							t.Errorf("a server that is not there answered: %+v", result)
						}
						if !a.permitted && (result.OK() || result.Trace.HandlerRan) {
							t.Errorf("not permitted: %+v", result)
						}
					}
					if after := session.Now(); after.Before(before) || before.Before(start) || time.Until(after) > 0 {
						t.Errorf("the clock went from %v over %v to %v", start, before, after)
					}
				})
			}
			time.Sleep(endAt)
			switch end {
			case "settle":
				_, _ = observed.Settle(t.Context())
			case "settle soon":
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				_, _ = observed.Settle(ctx)
				cancel()
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			if s.closed != opened || s.starts > 1 {
				t.Errorf("%d starts, %d opened, %d closed", s.starts, opened, s.closed)
			}
			group.Wait()
			if s.closed != opened || s.starts > 1 {
				t.Errorf("at the end %d starts, %d opened, %d closed", s.starts, opened, s.closed)
			}
		})
		if t.Failed() {
			r.Fatalf("see above")
		}
	})
}
