package mutation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/registry"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// twoCases are of the old surface: one is refused by the permission, one succeeds.
func twoCases(t testing.TB, more ...string) []*dataset.Case {
	lines := []string{
		`{"case_id":"denied","intent":"Read without permission.","actor_permissions":[],"approved":false,"baseline_calls":[{"name":"x","arguments":{}}],"candidate_calls":[{"name":"get_ticket","arguments":{"ticket_id":"T-102"}}],"expected":{"ok":false,"side_effect_count":0,"error_code":"permission_denied"}}`,
		`{"case_id":"read","intent":"Read a ticket.","actor_permissions":["ticket:read"],"approved":false,"baseline_calls":[{"name":"x","arguments":{}}],"candidate_calls":[{"name":"get_ticket","arguments":{"ticket_id":"T-102"}}],"expected":{"ok":true,"side_effect_count":0,"output_keys":["ticket"]}}`,
	}
	return decodeCases(t, []byte(strings.Join(append(lines, more...), "\n")+"\n"))
}

func only(t *testing.T, m *Matrix, id string) Outcome {
	t.Helper()
	for _, o := range m.Outcomes {
		if o.ID == id {
			return o
		}
	}
	t.Fatalf("there is no outcome of %s", id)
	return Outcome{}
}

func TestStatuses(t *testing.T) {
	const wrong = `{"case_id":"wrong","intent":"Expect what is not so.","actor_permissions":[],"approved":false,"baseline_calls":[{"name":"x","arguments":{}}],"candidate_calls":[{"name":"get_ticket","arguments":{"ticket_id":"T-102"}}],"expected":{"ok":true,"side_effect_count":0}}`
	const todo = `{"case_id":"later","intent":"Not ready.","todo":"say what must come of it","proposals":[{"name":"get_ticket","arguments":{"ticket_id":"T-102"}}],"expected":{"ok":true,"side_effect_count":0}}`
	m, err := Run(t.Context(), Plan{
		Subject: ticket.Typed{}, Cases: twoCases(t, wrong, todo), Full: true,
		Waivers: []Waiver{
			{Mutant: "removed/permission", Reason: "r", Line: 3},
			{Mutant: "removed/input", Reason: "excused", Line: 4},
			{Mutant: "removed/nothing", Reason: "r", Line: 5},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"denied", "read"}, {"wrong", "later"}}, [][]string{m.Cases, m.LeftOut}); diff != "" {
		t.Errorf("cases and those left out (-want +got):\n%s", diff)
	}
	for id, want := range map[string]struct {
		status  Status
		reached int
		kills   []Kill
	}{
		"removed/permission":          {Killed, 2, []Kill{{"denied", []string{"ok", "error_code"}}}},
		"removed/lookup":              {Killed, 2, []Kill{{"denied", []string{"error_code"}}, {"read", []string{"ok", "output_keys"}}}},
		"removed/input":               {Equivalent, 2, []Kill{}},
		"removed/output":              {Survived, 1, []Kill{}},
		"removed/approval":            {NoCoverage, 0, []Kill{}}, // it skips whatever only reads
		"any-permission/list_tickets": {NoCoverage, 0, []Kill{}},
		"required-dropped/get_ticket/required/ticket_id":             {Survived, 2, []Kill{}},
		"required-dropped/record_ticket_followup/required/action_id": {Refused, 0, []Kill{}},
	} {
		o := only(t, m, id)
		if diff := cmp.Diff(want.kills, o.Kills); o.Status != want.status || o.Reached != want.reached || diff != "" {
			t.Errorf("%s %s, reached by %d, want %s by %d; kills (-want +got):\n%s", id, o.Status, o.Reached, want.status, want.reached, diff)
		}
	}
	if o := only(t, m, "removed/input"); o.Reason != "excused" {
		t.Errorf("the reason is %q", o.Reason)
	}
	stale := []Waiver{
		{Mutant: "removed/permission", Reason: "r", Line: 3, Why: "the mutant is noticed"},
		{Mutant: "removed/nothing", Reason: "r", Line: 5, Why: "there is no such mutant"},
	}
	if diff := cmp.Diff(stale, m.Stale); diff != "" {
		t.Errorf("stale (-want +got):\n%s", diff)
	}
	var sum Score
	for _, s := range m.Controls {
		sum.Mutants += s.Mutants
		sum.Noticed += s.Noticed
		sum.Survived += s.Survived
		sum.NoCoverage += s.NoCoverage
		sum.Equivalent += s.Equivalent
	}
	if diff := cmp.Diff(m.Total, sum); diff != "" || sum.Mutants != len(m.Outcomes) || sum.Noticed+sum.Survived+sum.NoCoverage+sum.Equivalent != sum.Mutants {
		t.Errorf("the scores of the controls are not those of all:\n%s", diff)
	}
}

// A case is idle where every mutant that it kills is killed by another one.
func TestIdle(t *testing.T) {
	const again = `{"case_id":"again","intent":"Read a ticket.","actor_permissions":["ticket:read"],"approved":false,"baseline_calls":[{"name":"x","arguments":{}}],"candidate_calls":[{"name":"get_ticket","arguments":{"ticket_id":"T-103"}}],"expected":{"ok":true,"side_effect_count":0}}`
	for _, full := range []bool{true, false} {
		m, err := Run(t.Context(), Plan{Subject: ticket.Typed{}, Cases: twoCases(t, again), Full: full, Select: []string{"removed/*"}})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"read", "again"}
		if !full {
			want = nil // nobody knows
		}
		if diff := cmp.Diff(want, m.Idle); diff != "" {
			t.Errorf("full %t: idle (-want +got):\n%s", full, diff)
		}
	}
}

func TestSelection(t *testing.T) {
	for _, test := range []struct {
		patterns []string
		want     string
	}{
		{[]string{"removed/lookup"}, "removed/lookup"},
		{[]string{"*/lookup/*", "removed/o*t"}, "swapped/lookup/input only-logged/lookup/tool_not_found code-lost/lookup/tool_not_found retryable-flipped/lookup/tool_not_found details-dropped/lookup/tool_not_found removed/output"},
		{[]string{"bound-loosened/list_tickets*maximum"}, "bound-loosened/list_tickets/properties/limit/maximum"},
	} {
		m, err := Run(t.Context(), Plan{
			Subject: ticket.Typed{}, Cases: twoCases(t), Select: test.patterns,
			Waivers: []Waiver{{Mutant: "removed/handler", Reason: "of one that is not looked at"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range m.Outcomes {
			got = append(got, o.ID)
		}
		if strings.Join(got, " ") != test.want || len(m.Stale) > 0 {
			t.Errorf("%v: %v, stale %v", test.patterns, got, m.Stale)
		}
	}
	_, err := Run(t.Context(), Plan{Subject: ticket.Typed{}, Cases: twoCases(t), Select: []string{"removed/*", "remved/*"}})
	if !errors.Is(err, ErrNoMutant) || !strings.Contains(err.Error(), "remved/*") {
		t.Errorf("a pattern of nothing: %v", err)
	}
	if _, err := Run(t.Context(), Plan{Subject: ticket.Typed{}}); !errors.Is(err, ErrNoCase) {
		t.Errorf("without cases: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Plan{Subject: ticket.Typed{}, Cases: twoCases(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// troubled is a surface whose variants do something else from the second on, which
// is the first mutant.
type troubled struct {
	ticket.Typed
	call func(ctx context.Context) tool.Result
	open error
	mu   sync.Mutex
	made int
}

func (s *troubled) Vary(v registry.Variant) (tool.Surface, error) {
	surface, err := s.Typed.Vary(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made++; s.made == 1 || err != nil {
		return surface, err
	}
	return &inTrouble{surface, s}, nil
}

type inTrouble struct {
	tool.Surface
	of *troubled
}

func (s *inTrouble) Open(context.Context) (tool.Session, error) { return s, s.of.open }
func (s *inTrouble) Call(ctx context.Context, _ tool.Call) tool.Result {
	return s.of.call(ctx)
}
func (s *inTrouble) Effects() int { return 0 }
func (s *inTrouble) Close() error { return nil }

func TestTrouble(t *testing.T) {
	release := make(chan struct{})
	for name, test := range map[string]struct {
		subject *troubled
		status  Status
		grader  string
		err     string
	}{
		"a panic":             {&troubled{call: func(context.Context) tool.Result { panic("so") }}, Killed, graderPanic, ""},
		"no end":              {&troubled{call: func(context.Context) tool.Result { <-release; return tool.Result{} }}, TimedOut, graderTimeout, ""},
		"an end that is late": {&troubled{call: func(ctx context.Context) tool.Result { <-ctx.Done(); return tool.Result{} }}, TimedOut, graderTimeout, ""},
		"unavailable":         {&troubled{open: fmt.Errorf("x: %w", &tool.Unavailable{Surface: "s", Reason: "down"})}, Killed, graderUnavailable, ""},
		"an error":            {&troubled{open: errors.New("the disk is full")}, "", "", "mutant removed/lookup: case denied: typed-registry-v2: the disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Run(t.Context(), Plan{Subject: test.subject, Cases: twoCases(t), Select: []string{"removed/lookup"}, Timeout: 50 * time.Millisecond, Full: true})
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("the error is %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			o := m.Outcomes[0]
			if o.Status != test.status || len(o.Kills) == 0 || o.Kills[0].Graders[0] != test.grader {
				t.Errorf("%s by %v, want %s by %s", o.Status, o.Kills, test.status, test.grader)
			}
			if test.status == TimedOut && len(o.Kills) != 1 {
				t.Errorf("more was tried after a case that did not end: %v", o.Kills)
			}
		})
	}
	close(release)
}

func TestSeek(t *testing.T) {
	subject := ticket.Typed{}
	wanted := func(names ...string) (some []Mutant) {
		for _, m := range allMutants(t, subject) {
			for _, name := range names {
				if m.ID == name {
					some = append(some, m)
				}
			}
		}
		return some
	}
	const wrong = `{"case_id":"wrong","intent":"Expect what is not so.","actor_permissions":[],"approved":false,"baseline_calls":[{"name":"x","arguments":{}}],"candidate_calls":[{"name":"get_ticket","arguments":{"ticket_id":"T-102"}}],"expected":{"ok":true,"side_effect_count":0}}`
	cases := append(decodeCases(t, []byte(wrong+"\n")), twoCases(t)...)
	found, err := Seek(t.Context(), subject, wanted("removed/permission", "removed/output", "removed/handler"), cases)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"removed/permission": 1, "removed/handler": 2}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Seek(t.Context(), subject, []Mutant{{ID: "removed/nothing"}}, cases); err == nil {
		t.Error("a mutant that there is not is sought")
	}
}
