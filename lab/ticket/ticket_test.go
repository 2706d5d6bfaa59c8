package ticket

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// The two sizes are a published result of the experiment.
func TestCatalogBytes(t *testing.T) {
	for _, test := range []struct {
		surface tool.Surface
		want    int
	}{{Wide{}, 247}, {Typed{}, 2505}} {
		catalog, err := tool.Catalog(test.surface.Definitions())
		if err != nil {
			t.Fatal(err)
		}
		if len(catalog) != test.want {
			t.Errorf("the catalog of %s has %d bytes, want %d:\n%s", test.surface.Name(), len(catalog), test.want, catalog)
		}
	}
}

func TestContracts(t *testing.T) {
	type runtime struct {
		Permission string
		Effect     contract.Effect
		Approval   contract.Approval
		Key        string
		Retry      contract.Retry
		TimeoutMS  int64
	}
	read := runtime{"ticket:read", contract.Read, contract.ApprovalNever, "", contract.RetryNever, 500}
	slow := read
	slow.Retry = contract.RetryTransient
	want := map[string]runtime{
		"get_ticket":              read,
		"list_tickets":            read,
		"preview_ticket_followup": read,
		"record_ticket_followup":  {"ticket:write", contract.Write, contract.ApprovalRequired, "action_id", contract.RetryNever, 500},
		"slow_ticket_lookup":      slow,
	}
	got := make(map[string]runtime)
	for _, c := range Contracts() {
		c, err := c.Complete()
		if err != nil {
			t.Fatal(err)
		}
		got[c.Name] = runtime{c.Permission, c.Effect, c.Approval, c.IdempotencyKey, c.Retry, c.Timeout.Milliseconds()}
		if c.Name == "record_ticket_followup" {
			const want = "Append one approved follow-up to a support ticket. This tool writes data, requires ticket:write, and deduplicates repeated calls by action_id. Do not use it for previews."
			if c.Description != want {
				t.Errorf("description = %q", c.Description)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contracts (-want +got):\n%s", diff)
	}
}

func TestSeed(t *testing.T) {
	tickets := NewStore().List()
	if len(tickets) != 25 {
		t.Fatalf("%d tickets", len(tickets))
	}
	waiting := map[string]bool{"T-103": true, "T-106": true, "T-109": true, "T-112": true, "T-115": true, "T-118": true, "T-121": true, "T-124": true}
	for i, got := range tickets {
		want := Ticket{ID: fmt.Sprintf("T-%d", 101+i), Status: "open", Subject: fmt.Sprintf("Support request %d", i+1), Followups: []string{}}
		if waiting[want.ID] {
			want.Status = "waiting"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ticket %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestTheStoreHandsOutNothingOfItsOwn(t *testing.T) {
	s := NewStore()
	if n := s.Append("T-102", "first"); n != 1 {
		t.Fatalf("Append = %d", n)
	}
	got, _ := s.Get("T-102")
	list, effects := s.List(), s.Effects()
	got.Followups[0], list[1].Followups[0], effects[0].Resource = "changed", "changed", "changed"
	got.Followups = append(got.Followups, "more")
	s.Append("T-102", "second")
	again, _ := s.Get("T-102")
	if diff := cmp.Diff([]string{"first", "second"}, again.Followups); diff != "" {
		t.Errorf("follow-ups (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"changed", "more"}, got.Followups); diff != "" {
		t.Errorf("what was handed out (-want +got):\n%s", diff)
	}
	if want := (tool.Effect{Resource: "T-102", Change: "followup_appended"}); s.Effects()[0] != want {
		t.Errorf("the ledger holds %v", s.Effects())
	}
	if fresh, _ := NewStore().Get("T-102"); len(fresh.Followups) != 0 {
		t.Errorf("a fresh store has the follow-ups %v", fresh.Followups)
	}
	if s.Append("T-999", "x") != 0 || s.EffectCount() != 2 {
		t.Errorf("a ticket that does not exist was written to: %v", s.Effects())
	}
}

func TestStoresDoNotShare(t *testing.T) {
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			s := NewStore()
			for range 100 {
				s.Append("T-101", "x")
				s.List()
			}
			if got, _ := s.Get("T-101"); len(got.Followups) != 100 || s.EffectCount() != 100 {
				t.Errorf("%d follow-ups, %d effects; want 100", len(got.Followups), s.EffectCount())
			}
		})
	}
	group.Wait()
}

func open(t *testing.T, s tool.Surface) tool.Session {
	t.Helper()
	session, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

func call(s tool.Session, name, arguments string) tool.Result {
	return s.Call(context.Background(), tool.Call{
		Proposal: tool.Proposal{Name: name, Arguments: json.RawMessage(arguments)},
		Caller:   tool.Caller{ID: "a", Permissions: []string{"ticket:read", "ticket:write"}},
		Approved: true,
	})
}

// The faults of the wide tool are the experiment: this pins them.
func TestWide(t *testing.T) {
	const t102 = `{"id":"T-102","status":"open","subject":"Support request 2","followups":[]}`
	for _, test := range []struct {
		name, arguments string
		want            string // the output, or the message of the failure
		effects         int
	}{
		{"ticket_operation", `{"operation":"get","payload":{"ticket_id":"T-102"}}`, `{"ticket":` + t102 + `}`, 0},
		{"ticket_operation", `{"operation":"get","payload":{"ticket_id":"T-999"}}`, `{"ticket":null}`, 0},
		{"ticket_operation", `{"operation":"get"}`, `{"ticket":null}`, 0},
		{"ticket_operation", `{"operation":"get","payload":{"ticket_id":102}}`, `{"ticket":null}`, 0},
		{"ticket_operation", `{"operation":"record","payload":{"ticket_id":"T-102","note":"n"}}`, `{"status":"done","ticket_id":"T-102"}`, 1},
		{"ticket_operation", `{"operation":"record","payload":{"ticket_id":"T-102"}}`, `{"status":"done","ticket_id":"T-102"}`, 1},
		{"ticket_operation", `{"operation":"record","payload":{"ticket_id":"T-999"}}`, `{"status":"done","ticket_id":"T-999"}`, 1},
		{"ticket_operation", `{"operation":"record"}`, `{"status":"done","ticket_id":""}`, 1},
		{"ticket_operation", `{"operation":"slow","payload":{"ticket_id":"T-102"}}`, "request failed", 0},
		{"ticket_operation", `{"operation":"delete"}`, "tool failed", 0},
		{"ticket_operation", `{"operation":1}`, "tool failed", 0},
		{"ticket_operation", `{}`, "tool failed", 0},
		{"ticket_operation", `nonsense`, "tool failed", 0},
		{"ticket_operations", `{"operation":"get"}`, "tool failed", 0},
	} {
		t.Run(test.name+test.arguments, func(t *testing.T) {
			s := open(t, Wide{})
			result := call(s, test.name, test.arguments)
			if s.Effects() != test.effects {
				t.Errorf("%d effects, want %d", s.Effects(), test.effects)
			}
			if result.OK() {
				if string(result.Output) != test.want {
					t.Errorf("output %s, want %s", result.Output, test.want)
				}
				return
			}
			want := &tool.Error{Code: "tool_failed", Category: "unknown", Message: test.want, Details: json.RawMessage("{}")}
			if diff := cmp.Diff(want, result.Error); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWideListsEverything(t *testing.T) {
	s := open(t, Wide{})
	call(s, "ticket_operation", `{"operation":"record","payload":{"ticket_id":"T-102"}}`)
	var page struct{ Items []Ticket }
	result := call(s, "ticket_operation", `{"operation":"list","payload":{"limit":3,"cursor":"not-a-cursor"}}`)
	if err := json.Unmarshal(result.Output, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Items) != 25 || !reflect.DeepEqual(page.Items[1].Followups, []string{""}) {
		t.Errorf("%d items, T-102 has %q", len(page.Items), page.Items[1].Followups)
	}
}

func TestWideForgetsWhatItDid(t *testing.T) {
	s := open(t, Wide{})
	for range 2 {
		call(s, "ticket_operation", `{"operation":"record","payload":{"ticket_id":"T-102","note":"n","action_id":"same-action"}}`)
	}
	if s.Effects() != 2 {
		t.Errorf("%d effects, want 2", s.Effects())
	}
}

func TestTyped(t *testing.T) {
	const t102 = `{"id":"T-102","status":"open","subject":"Support request 2","followups":[]}`
	for _, test := range []struct {
		name, arguments string
		want            string // the output, or the code of the refusal
		effects         int
	}{
		{"get_ticket", `{"ticket_id":"T-102"}`, `{"ticket":` + t102 + `}`, 0},
		{"get_ticket", `{"ticket_id":"T-999"}`, "ticket_not_found", 0},
		{"get_ticket", `{"ticket_id":"t-102"}`, "ticket_not_found", 0},
		{"get_ticket", `{"ticket_id":"T-10"}`, "invalid_arguments", 0},
		{"preview_ticket_followup", `{"ticket_id":"T-102","note":"n"}`, `{"ticket_id":"T-102","would_append":"n","side_effects":0}`, 0},
		{"preview_ticket_followup", `{"ticket_id":"T-999","note":"n"}`, "ticket_not_found", 0},
		{"preview_ticket_followup", `{"ticket_id":"T-102","note":""}`, "invalid_arguments", 0},
		{"record_ticket_followup", `{"ticket_id":"T-102","note":"n","action_id":"act-01"}`, `{"receipt_id":"R-1","ticket_id":"T-102","status":"recorded"}`, 1},
		{"record_ticket_followup", `{"ticket_id":"T-999","note":"n","action_id":"act-01"}`, "ticket_not_found", 0},
		{"record_ticket_followup", `{"ticket_id":"T-102","note":"n","action_id":"act-1"}`, "invalid_arguments", 0},
		{"record_ticket_followup", `{"ticket_id":"T-102","note":"n","action_id":"act-01","dry_run":true}`, "invalid_arguments", 0},
		{"slow_ticket_lookup", `{"ticket_id":"T-102","simulated_latency_ms":500}`, `{"ticket":` + t102 + `}`, 0},
		{"slow_ticket_lookup", `{"ticket_id":"T-102","simulated_latency_ms":501}`, "tool_timeout", 0},
		{"slow_ticket_lookup", `{"ticket_id":"T-102","simulated_latency_ms":1e300}`, "tool_timeout", 0},
		{"slow_ticket_lookup", `{"ticket_id":"T-102","simulated_latency_ms":-1}`, "invalid_arguments", 0},
		{"slow_ticket_lookup", `{"ticket_id":"T-102","simulated_latency_ms":0.5}`, "invalid_arguments", 0},
		{"list_tickets", `{"limit":0}`, "invalid_arguments", 0},
		{"list_tickets", `{"limit":6}`, "invalid_arguments", 0},
		{"list_tickets", `{"limit":"3"}`, "invalid_arguments", 0},
		{"list_tickets", `{"limit":3,"cursor":null}`, "invalid_arguments", 0},
		{"list_tickets", `{"limit":1.0}`, `{"items":[{"id":"T-101","status":"open","subject":"Support request 1"}],"next_cursor":"1"}`, 0},
		{"ticket_operation", `{}`, "tool_not_found", 0},
	} {
		t.Run(test.name+test.arguments, func(t *testing.T) {
			s := open(t, Typed{})
			result := call(s, test.name, test.arguments)
			got := string(result.Output)
			if !result.OK() {
				got = string(result.Error.Code)
			}
			if got != test.want || s.Effects() != test.effects {
				t.Errorf("got %s with %d effects, want %s with %d", got, s.Effects(), test.want, test.effects)
			}
		})
	}
}

func TestTimeoutDetails(t *testing.T) {
	result := call(open(t, Typed{}), "slow_ticket_lookup", `{"ticket_id":"T-102","simulated_latency_ms":900}`)
	if result.OK() || string(result.Error.Details) != `{"timeout_ms":500,"observed_ms":900}` || !result.Error.Retryable {
		t.Errorf("got %+v", result.Error)
	}
}

func TestCursorsAreThoseThatWereIssued(t *testing.T) {
	s := open(t, Typed{})
	for _, cursor := range []string{"-1", " 3", "3 ", "３", "03", "+3", "3.0", "0x3", "1e1", "0", "-0", "25", "26", "999", "99999999999999999999", "not-a-cursor", "", "3\x00"} {
		quoted, err := json.Marshal(cursor)
		if err != nil {
			t.Fatal(err)
		}
		result := call(s, "list_tickets", `{"limit":3,"cursor":`+string(quoted)+`}`)
		if result.OK() || result.Error.Code != tool.InvalidCursor || result.Error.Retryable {
			t.Errorf("cursor %q: got %s, %v", cursor, result.Output, result.Error)
		}
	}
}

// Walking the pages shows every ticket once, whatever the limit, and ends.
func TestPages(t *testing.T) {
	s := open(t, Typed{})
	for limit := 1; limit <= 5; limit++ {
		var seen []string
		cursor := ""
		for pages := 0; ; pages++ {
			if pages > 25 {
				t.Fatalf("limit %d: the pages do not end", limit)
			}
			var page struct {
				Items []struct {
					ID        string
					Followups *[]string
				}
				NextCursor *string `json:"next_cursor"`
			}
			result := call(s, "list_tickets", `{"limit":`+strconv.Itoa(limit)+cursor+`}`)
			if err := json.Unmarshal(result.Output, &page); err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				seen = append(seen, item.ID)
				if item.Followups != nil {
					t.Errorf("%s is no summary", item.ID)
				}
			}
			if page.NextCursor == nil {
				break
			}
			if pages == 0 && *page.NextCursor != strconv.Itoa(limit) {
				t.Errorf("limit %d: the first cursor is %q", limit, *page.NextCursor)
			}
			cursor = `,"cursor":"` + *page.NextCursor + `"`
		}
		if len(seen) != 25 || seen[0] != "T-101" || seen[24] != "T-125" || hasRepeat(seen) {
			t.Errorf("limit %d: saw %v", limit, seen)
		}
	}
}

func hasRepeat(ids []string) bool {
	seen := make(map[string]bool)
	for _, id := range ids {
		if seen[id] {
			return true
		}
		seen[id] = true
	}
	return false
}

// A result that was recorded does not change when the store does.
func TestResultsAreTheirOwn(t *testing.T) {
	for _, test := range []struct {
		surface      tool.Surface
		read, change [2]string
	}{
		{Wide{}, [2]string{"ticket_operation", `{"operation":"list"}`}, [2]string{"ticket_operation", `{"operation":"record","payload":{"ticket_id":"T-102","note":"n"}}`}},
		{Typed{}, [2]string{"get_ticket", `{"ticket_id":"T-102"}`}, [2]string{"record_ticket_followup", `{"ticket_id":"T-102","note":"n","action_id":"act-01"}`}},
	} {
		s := open(t, test.surface)
		before := call(s, test.read[0], test.read[1])
		recorded := string(before.Output)
		call(s, test.change[0], test.change[1])
		if string(before.Output) != recorded {
			t.Errorf("%s: the recorded result changed", test.surface.Name())
		}
		if after := call(s, test.read[0], test.read[1]); string(after.Output) == recorded {
			t.Errorf("%s: the change does not show", test.surface.Name())
		}
	}
}

// A session that is closed twice is not given out twice.
func TestClosingTwice(t *testing.T) {
	for _, surface := range Surfaces() {
		s, err := surface.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		first, second := open(t, surface), open(t, surface)
		call(first, "record_ticket_followup", `{"ticket_id":"T-102","note":"n","action_id":"act-01"}`)
		call(first, "ticket_operation", `{"operation":"record"}`)
		if second.Effects() != 0 {
			t.Errorf("%s: two sessions share a backend", surface.Name())
		}
	}
}

// What the tools answer is all that their output schemas let through.
func TestOutputSchemas(t *testing.T) {
	const whole = `{"id":"T-102","status":"open","subject":"s","followups":[]}`
	const short = `{"id":"T-102","status":"open","subject":"s"}`
	refused := map[string][]string{
		"get_ticket": {`{}`, `{"ticket":null}`, `{"ticket":` + short + `}`, `{"ticket":` + whole + `,"more":1}`,
			`{"ticket":{"id":"T-102","status":"closed","subject":"s","followups":[]}}`},
		"list_tickets": {`{"items":[]}`, `{"items":[` + whole + `],"next_cursor":null}`, `{"items":[],"next_cursor":3}`,
			`{"items":[` + strings.Repeat(short+",", 5) + short + `],"next_cursor":null}`},
		"preview_ticket_followup": {`{"ticket_id":"T-102","would_append":"n","side_effects":1}`, `{"ticket_id":"T-102","would_append":"n"}`},
		"record_ticket_followup":  {`{"receipt_id":"R-1","ticket_id":"T-102","status":"done"}`, `{"receipt_id":1,"ticket_id":"T-102","status":"recorded"}`},
		"slow_ticket_lookup":      {`{"ticket":null}`},
	}
	for _, c := range Contracts() {
		compiled, err := schema.Compile(c.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		if len(refused[c.Name]) == 0 {
			t.Errorf("%s: no output is refused", c.Name)
		}
		for _, output := range refused[c.Name] {
			value, err := jsonvalue.Decode([]byte(output))
			if err != nil {
				t.Fatal(err)
			}
			if compiled.Validate(value) == nil {
				t.Errorf("%s may answer %s", c.Name, output)
			}
		}
	}
}
