package schedule_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"agentlab/lab/schedule"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var followup = []schedule.Action{{
	Proposal: tool.Proposal{Name: "record_ticket_followup",
		Arguments: json.RawMessage(`{"ticket_id":"T-102","note":"Customer asked for a callback.","action_id":"action-1"}`)},
	Caller:   tool.Caller{ID: "agent", Permissions: []string{"ticket:read", "ticket:write"}},
	Approver: tool.Caller{ID: "lead", Permissions: []string{"ticket:approve"}},
}}

func onFile(t *testing.T) *ticket.Production {
	t.Helper()
	p, err := ticket.OnSQLite(t.Context(), filepath.Join(t.TempDir(), "tickets.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// The shipped surfaces hold in every order of two calls.
func TestShipped(t *testing.T) {
	for _, test := range []struct {
		name    string
		subject schedule.Subject
		o       schedule.Options
	}{
		{"typed-registry-v2", ticket.Typed{}, schedule.Options{Schedules: 50}},
		{"typed-registry-v3", new(ticket.Production), schedule.Options{Schedules: 50, Workers: 2}},
		{"typed-registry-v3, three calls and five", new(ticket.Production), schedule.Options{Calls: []int{3, 5}, Schedules: 8, Seed: 5}},
		{"typed-registry-v3 on a file", onFile(t), schedule.Options{Durable: true, Schedules: 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, err := schedule.Run(t.Context(), test.subject, followup, test.o)
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Variations) < 40 || len(report.LeftOut) > 0 {
				t.Errorf("%d variations, and left out %v", len(report.Variations), report.LeftOut)
			}
			for _, v := range report.Variations {
				if v.Hazard == "clock-receipt" && v.Expired == 0 {
					t.Errorf("%s: no receipt expires", v.Pattern)
				}
				for _, broken := range v.Violations {
					t.Errorf("%s (%d schedules): %s\n%s\n%s", broken.Invariant, broken.Schedules, broken.Says, broken.Schedule, broken.Case)
				}
			}
		})
	}
}
