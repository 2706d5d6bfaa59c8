package schedule

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

var recording = Action{
	Proposal: tool.Proposal{Name: "record_ticket_followup", Arguments: []byte(`{"ticket_id":"T-102","note":"Call back.","action_id":"action-1"}`)},
	Caller:   tool.Caller{ID: "agent", Permissions: []string{"ticket:read", "ticket:write"}},
	Approver: tool.Caller{ID: "lead", Permissions: []string{"ticket:approve"}},
}

// What the orders that are left out come to is what others come to: every end that
// all orders have is also that of one which is tried.
func TestReductionLosesNothing(t *testing.T) {
	subject := new(ticket.Production)
	all, _, err := plan(t.Context(), subject, []Action{recording}, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	const most = 150 // a variation with more orders takes too long to try them all
	ends := func(v *prepared, independent func(a, b choice) bool) (seen map[string]bool, played int) {
		s, err := newStage(subject, v.contract)
		if err != nil {
			t.Fatal(err)
		}
		seen = make(map[string]bool)
		w := &walk{independent: independent}
		for more := true; more && played < most; more = w.next() {
			p, err := playOne(t.Context(), s, &v.variation, w.choose)
			if errors.Is(err, errAsleep) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			played++
			seen[end(p)] = true
		}
		return seen, played
	}
	less := 0 // variations of which orders are left out
	for i := range all {
		v := &all[i]
		whole, played := ends(v, func(choice, choice) bool { return false })
		if played == most {
			continue
		}
		tried, fewer := ends(v, v.independent)
		if diff := cmp.Diff(whole, tried); diff != "" {
			t.Errorf("%s: the ends of all %d orders, and of the %d that are tried (-all +tried):\n%s", v.name(), played, fewer, diff)
		}
		if fewer < played {
			less++
		}
	}
	if less < 20 {
		t.Errorf("only in %d variations an order is left out", less)
	}
}

// end is what a schedule came to, as its callers and the backend have it.
func end(p *play) string {
	text := fmt.Sprintf("%d effects, %d after expiry, %v", p.session.Effects(), p.expired, p.breaches)
	for _, a := range p.actors {
		r := &a.result
		text += fmt.Sprintf("; %d: %s replayed=%t dead=%t", a.number, r.Output, r.Replayed, a.dead)
		if r.Error != nil {
			text += fmt.Sprintf(" %s %s", r.Error.Code, r.Error.Outcome)
		}
	}
	return text
}

func TestOthers(t *testing.T) {
	c := &contract.Contract{IdempotencyKey: "k", Resources: []contract.Resource{{Argument: "r"}}}
	var got []string
	for _, a := range others(c, []byte(`{"r":"x","k":"y","n":1,"b":"z","a":"w"}`)) {
		got = append(got, string(a))
	}
	want := []string{`{"a":"w (other)","b":"z","k":"y","n":1,"r":"x"}`, `{"a":"w","b":"z (other)","k":"y","n":1,"r":"x"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
