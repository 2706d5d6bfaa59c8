package ticket

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/tool"
)

// onBothStores runs a test on a fresh session of each store.
func onBothStores(t *testing.T, test func(t *testing.T, s tool.Staged)) {
	t.Run("memory", func(t *testing.T) { test(t, open(t, new(Production)).(tool.Staged)) })
	t.Run("sqlite", func(t *testing.T) {
		surface, err := OnSQLite(t.Context(), filepath.Join(t.TempDir(), "tickets.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := surface.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, open(t, surface).(tool.Staged))
	})
}

var agent = tool.Caller{ID: "agent", Permissions: []string{"ticket:read", "ticket:write"}}

func recordCall(action, note string) tool.Call {
	arguments := encode(struct {
		TicketID string `json:"ticket_id"`
		Note     string `json:"note"`
		ActionID string `json:"action_id"`
	}{"T-102", note, action})
	return tool.Call{Proposal: tool.Proposal{Name: "record_ticket_followup", Arguments: arguments}, Caller: agent}
}

// granted adds a grant by somebody who has been shown the call now.
func granted(t *testing.T, s tool.Staged, c tool.Call) tool.Call {
	t.Helper()
	pending, refusal := s.Pending(t.Context(), c)
	if refusal != nil {
		t.Fatal(refusal)
	}
	c.Grants = append(c.Grants, tool.Grant{
		ID: "grant of " + pending.Digest, Digest: pending.Digest, ResourceVersion: pending.ResourceVersion,
		Approver: tool.Caller{ID: "lead", Permissions: []string{"ticket:approve"}},
		IssuedAt: s.Now(), ExpiresAt: s.Now().Add(time.Hour),
	})
	return c
}

func TestProductionHasTheSameFiveTools(t *testing.T) {
	var names []string
	for _, d := range new(Production).Definitions() {
		names = append(names, d.Name)
	}
	want := strings.Fields("get_ticket list_tickets preview_ticket_followup record_ticket_followup slow_ticket_lookup")
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestProductionRecordsOnce(t *testing.T) {
	onBothStores(t, func(t *testing.T, s tool.Staged) {
		c := granted(t, s, recordCall("action-1", "A note."))
		for i := range 3 {
			result := s.Call(t.Context(), c)
			if !result.OK() || string(result.Output) != `{"receipt_id":"R-1","status":"recorded","ticket_id":"T-102"}` && string(result.Output) != `{"receipt_id":"R-1","ticket_id":"T-102","status":"recorded"}` || result.Replayed != (i > 0) {
				t.Fatalf("call %d: %s, %v, replayed %t", i, result.Output, result.Error, result.Replayed)
			}
		}
		if got := string(s.State()); got != `{"followups":{"T-102":["A note."]},"effects":1}` || s.Effects() != 1 {
			t.Errorf("state = %s with %d effects", got, s.Effects())
		}
		var receipts []struct {
			Tool, Caller, Key, State string
		}
		if err := json.Unmarshal(s.Receipts(), &receipts); err != nil || len(receipts) != 1 || receipts[0].Key != "action-1" || receipts[0].State != "applied" {
			t.Errorf("receipts = %s, %v", s.Receipts(), err)
		}
	})
}

func TestProductionFaultsOfAWrite(t *testing.T) {
	for name, test := range map[string]struct {
		fault   tool.Fault
		code    tool.Code
		effects int  // of the first call
		replay  bool // what the repeat is
	}{
		"response lost": {tool.Fault{LostResponse: true}, tool.OutcomeUnknown, 1, true},
		"crash":         {tool.Fault{Crash: true}, tool.OutcomeUnknown, 0, false},
		"panic":         {tool.Fault{Panic: true}, tool.HandlerFailed, 0, false},
		"known error":   {tool.Fault{Error: "unavailable"}, tool.ToolTimeout, 0, false},
		"new error":     {tool.Fault{Error: "something new"}, tool.HandlerFailed, 0, false},
		"too slow":      {tool.Fault{Latency: 501 * time.Millisecond}, tool.OutcomeUnknown, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			onBothStores(t, func(t *testing.T, s tool.Staged) {
				c := granted(t, s, recordCall("action-1", "A note."))
				first := s.CallWith(t.Context(), c, test.fault)
				if first.OK() || first.Error.Code != test.code || s.Effects() != test.effects {
					t.Fatalf("the first call: %s, %v, %d effects", first.Output, first.Error, s.Effects())
				}
				s.SetTime(time.Second) // what was too slow has ended
				again := s.Call(t.Context(), c)
				if !again.OK() || again.Replayed != test.replay || s.Effects() != 1 {
					t.Errorf("the repeat: %s, %v, replayed %t, %d effects", again.Output, again.Error, again.Replayed, s.Effects())
				}
			})
		})
	}
}

func TestProductionChecksTheVersionWithTheWrite(t *testing.T) {
	onBothStores(t, func(t *testing.T, s tool.Staged) {
		first, second := granted(t, s, recordCall("action-1", "One.")), granted(t, s, recordCall("action-2", "Two."))
		if r := s.Call(t.Context(), first); !r.OK() {
			t.Fatal(r.Error)
		}
		if r := s.Call(t.Context(), second); r.OK() || r.Error.Code != tool.ApprovalStale {
			t.Errorf("got %s, %v; want approval_stale", r.Output, r.Error)
		}
		if r := s.Call(t.Context(), granted(t, s, recordCall("action-2", "Two."))); !r.OK() {
			t.Errorf("confirmed again: %v", r.Error)
		}
	})
	// The check before the handler cannot see what changes after it.
	if _, err := NewStore().record(followup{Ticket: "T-102", Note: "n"}, "v1"); err != ErrChanged {
		t.Errorf("a write to another version: %v", err)
	}
}

func TestProductionTellsNoSecret(t *testing.T) {
	onBothStores(t, func(t *testing.T, s tool.Staged) {
		for _, fault := range []tool.Fault{{}, {Panic: true}, {Error: "no such ticket"}, {Error: "new"}, {BadOutput: true}, {Output: `{"phone":"555-0100"}`}, {LostResponse: true}} {
			result := s.CallWith(t.Context(), tool.Call{
				Proposal: tool.Proposal{Name: "get_ticket", Arguments: json.RawMessage(`{"ticket_id":"T-102"}`)},
				Caller:   agent,
			}, fault)
			told, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(told), PlantedSecret) || strings.Contains(string(told), "555-0100") {
				t.Errorf("%+v: %s", fault, told)
			}
			s.SetTime(time.Hour * time.Duration(1+s.Now().Unix())) // out of the rate's way
		}
	})
}

func TestSessionsOfOneFileTakeTurns(t *testing.T) {
	surface, err := OnSQLite(t.Context(), filepath.Join(t.TempDir(), "tickets.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer surface.Close()
	first, err := surface.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := surface.Open(ctx); err == nil {
		t.Fatal("a second session was opened beside the first")
	}
	if r := first.Call(t.Context(), granted(t, first.(tool.Staged), recordCall("action-1", "A note."))); !r.OK() {
		t.Fatal(r.Error)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := surface.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.Effects() != 0 {
		t.Errorf("the second session starts with %d effects", second.Effects())
	}
}

// A hidden ticket reads like one that is not there, and is in no list.
func TestHiddenTickets(t *testing.T) {
	onBothStores(t, func(t *testing.T, s tool.Staged) {
		read := func(id string) *tool.Error {
			result := s.Call(t.Context(), tool.Call{Proposal: tool.Proposal{Name: "get_ticket", Arguments: encode(ticketInput{id})}, Caller: agent})
			if result.OK() {
				t.Fatalf("%s was read: %s", id, result.Output)
			}
			return result.Error
		}
		hidden, missing := read("T-125"), read("T-999")
		hidden.Details, missing.Details = nil, nil // which name the id
		if diff := cmp.Diff(missing, hidden); diff != "" {
			t.Errorf("a hidden ticket is told apart (-missing +hidden):\n%s", diff)
		}
		list := s.Call(t.Context(), tool.Call{Proposal: tool.Proposal{Name: "list_tickets", Arguments: json.RawMessage(`{"limit":4,"cursor":"20"}`)}, Caller: agent})
		if !strings.Contains(string(list.Output), "T-123") || strings.Contains(string(list.Output), "T-124") || !strings.Contains(string(list.Output), `"next_cursor":null`) {
			t.Errorf("the list is %s, %v", list.Output, list.Error)
		}
	})
}

// What the backend shows of an action counts for its own words and time only.
func TestRecordedIsThatVeryWrite(t *testing.T) {
	surface, err := OnSQLite(t.Context(), filepath.Join(t.TempDir(), "tickets.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer surface.Close()
	written := followup{"T-102", "A note.", Action{"agent", "action-1"}, start.Add(time.Hour)}
	for name, store := range map[string]tickets{"memory": inMemory{NewStore()}, "sqlite": durable{surface.db}} {
		if effect, err := store.Record(t.Context(), written, ""); err != nil || effect != 1 {
			t.Fatalf("%s: Record = %d, %v", name, effect, err)
		}
		for change, test := range map[string]struct {
			change func(*followup)
			want   int
		}{
			"nothing":        {func(*followup) {}, 1},
			"since before":   {func(f *followup) { f.At = f.At.Add(-time.Second) }, 1},
			"since after":    {func(f *followup) { f.At = f.At.Add(1) }, 0},
			"another ticket": {func(f *followup) { f.Ticket = "T-103" }, 0},
			"another note":   {func(f *followup) { f.Note = "Another." }, 0},
			"another action": {func(f *followup) { f.Action.ID = "action-2" }, 0},
			"another caller": {func(f *followup) { f.Action.Caller = "other" }, 0},
		} {
			wanted := written
			test.change(&wanted)
			if got, err := store.Recorded(t.Context(), wanted); err != nil || got != test.want {
				t.Errorf("%s, %s: Recorded = %d, %v; want %d", name, change, got, err, test.want)
			}
		}
	}
}
