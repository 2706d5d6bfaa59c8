package governed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/contract"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// A server that takes an hour to start is answered for as one that takes no time,
// whatever came before it was needed.
func TestAStartChangesNoAnswer(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		type act struct {
			wait, lasts         time.Duration
			what, key           string
			may, granted, other bool
		}
		ms := func(label string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(r, label)) * time.Millisecond
		}
		bound, precondition := rapid.Bool().Draw(r, "bound"), rapid.Bool().Draw(r, "precondition")
		folder, expires := rapid.Bool().Draw(r, "folder"), ms("expires", 200)
		rate := rapid.IntRange(0, 2).Draw(r, "rate")
		budget := tool.Budget{Elapsed: ms("elapsed", 300), Cost: rapid.IntRange(0, 5).Draw(r, "cost")}
		var acts []act
		for range rapid.IntRange(1, 8).Draw(r, "acts") {
			acts = append(acts, act{
				wait: ms("wait", 100), lasts: ms("lasts", 200),
				what:    rapid.SampledFrom([]string{"put", "put", "get"}).Draw(r, "what"),
				key:     rapid.SampledFrom([]string{"k1", "k2"}).Draw(r, "key"),
				may:     rapid.IntRange(0, 3).Draw(r, "may") > 0,
				granted: rapid.IntRange(0, 3).Draw(r, "granted") > 0,
				other:   rapid.IntRange(0, 3).Draw(r, "other") == 0,
			})
		}
		play := func(takes time.Duration) (all []string) {
			synctest.Test(t, func(t *testing.T) {
				b := open(t, func(s *server, get, put *overlay.Tool) {
					starting(takes, nil, nil)(s, get, put)
					s.expand = func(tool.Session, string) string { return "/" }
					put.Contract.ReceiptTTL = expires
					put.Contract.Cost, get.Contract.Cost = 1, 1
					if rate > 0 {
						put.Contract.Rate = &contract.Rate{Burst: rate, Every: 70 * time.Millisecond}
					}
					if bound {
						put.Contract.Approval = contract.ApprovalBound
					}
					if precondition {
						put.Contract.Precondition = true
						put.Precondition = &overlay.Precondition{Tool: "get", Arguments: []overlay.Argument{{Name: "name", From: "name"}}, Fields: []string{"x"}}
					}
					if folder {
						put.Contract.Resources = []contract.Resource{{Argument: "name"}}
						put.Within = map[string]string{"name": "${SANDBOX}"}
					}
				})
				b.notes["/n"], b.seen["/n"] = "x: 1", "x: 1"
				b.session.Arrange(budget)
				start := b.session.Now()
				var grants []tool.Grant
				for i, a := range acts {
					time.Sleep(a.wait)
					call := tool.Call{Caller: tool.Caller{ID: "a"}, Approved: a.granted}
					if a.may {
						call.Caller.Permissions = []string{"read", "write"}
					}
					text := "x: 1"
					if a.other {
						text = "x: 2"
					}
					call.Proposal = tool.Proposal{Name: "get", Arguments: json.RawMessage(`{"name":"/n"}`)}
					if a.what == "put" {
						call.Proposal = tool.Proposal{Name: "put", Arguments: json.RawMessage(fmt.Sprintf(`{"name":"/n","text":%q,"action_id":%q}`, text, a.key))}
						if bound && a.granted {
							shown, _ := b.session.Pending(t.Context(), call)
							now := b.session.Now()
							grants = append(grants, tool.Grant{ID: fmt.Sprint(i), Digest: shown.Digest, ResourceVersion: shown.ResourceVersion, IssuedAt: now, ExpiresAt: now.Add(a.lasts)})
						}
						call.Grants = grants
					}
					result := b.session.Call(context.Background(), call)
					effects, err := b.observed().Observe(t.Context())
					next := b.session.Next(call, result, 1)
					told, _ := json.Marshal([]any{result, effects, err, next, b.session.Now().Sub(start)})
					all = append(all, string(told))
				}
			})
			return all
		}
		if diff := cmp.Diff(play(0), play(time.Hour)); diff != "" {
			r.Fatalf("without a start, and with one (-,+):\n%s", diff)
		}
	})
}

// Calls that are made at once, and look at something before they come to their tool,
// meet each other as they would where the server had been there.
func TestLooksMeetAsTheyWould(t *testing.T) {
	for name, test := range map[string]struct {
		shown, is string // version
		budget    tool.Budget
		want      map[tool.Code]int
	}{
		"of one grant": {shown: "1", is: "1", want: map[tool.Code]int{"": 1, tool.ApprovalUsed: 2}},
		"of a budget": {shown: "1", is: "2", budget: tool.Budget{Concurrent: 1},
			want: map[tool.Code]int{tool.ApprovalStale: 1, tool.BudgetExhausted: 2}},
	} {
		for _, early := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, there before %v", name, early), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					version := test.shown
					b := open(t, func(s *server, _, put *overlay.Tool) {
						starting(time.Second, nil, nil)(s, nil, nil)
						s.own = early
						put.Contract.Approval, put.Contract.Precondition = contract.ApprovalBound, true
						put.Precondition = &overlay.Precondition{Tool: "get", Fields: []string{"x"}}
						s.tools["get"] = func(_ context.Context, s *server, _ map[string]any) tool.Result {
							said := said("x: " + version)
							s.mu.Unlock()
							defer s.mu.Lock()
							time.Sleep(20 * time.Millisecond)
							return said
						}
					})
					call := tool.Call{
						Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(`{"name":"n","text":"x","action_id":"k"}`)},
						Caller:   tool.Caller{ID: "a", Permissions: []string{"write"}},
					}
					pending, _ := b.session.Pending(t.Context(), call)
					now := b.session.Now()
					call.Grants = []tool.Grant{{ID: "g", Digest: pending.Digest, ResourceVersion: pending.ResourceVersion, IssuedAt: now, ExpiresAt: now.Add(time.Second)}}
					version = test.is
					b.session.Arrange(test.budget)
					got := atOnce(3, func(int) tool.Result { return b.session.Call(t.Context(), call) })
					if diff := cmp.Diff(test.want, got); diff != "" {
						t.Errorf("results (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}
