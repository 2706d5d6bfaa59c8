package governed_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/governed"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

func TestTheKeyIsTheModelsAlone(t *testing.T) {
	b := open(t, nil)
	first := ok(t, b.put("k1", "x"))
	again := ok(t, b.put("k1", "x"))
	if !again.Replayed || string(again.Output) != string(first.Output) {
		t.Errorf("replayed %t with %s, want %s", again.Replayed, again.Output, first.Output)
	}
	refused(t, b.put("k1", "y"), tool.IdempotencyConflict, tool.NotApplied)
	refused(t, b.call("put", `{"name":"n","text":"x"}`), tool.InvalidArguments, tool.NotApplied)
	ok(t, b.get("n"))
	if diff := cmp.Diff([]string{`put {"name":"n","text":"x"}`, `get {"name":"n"}`}, b.made()); diff != "" {
		t.Errorf("the server got (-want +got):\n%s", diff)
	}
	if c := b.calls[0]; c.Caller.ID != "a" || !c.Approved || b.calls[1].Approved {
		t.Errorf("the server was told of %q, approved %t and %t", c.Caller.ID, c.Approved, b.calls[1].Approved)
	}
}

func TestOnlyWhatIsNamedIsThere(t *testing.T) {
	b := open(t, func(s *server, _, _ *overlay.Tool) {
		s.tools["drop"] = func(context.Context, *server, map[string]any) tool.Result { return said("dropped") }
	})
	e := refused(t, b.call("drop", `{}`), tool.ToolNotFound, tool.NotApplied)
	if string(e.Details) != `{"available_tools":["get","put"]}` || len(b.made()) != 0 {
		t.Errorf("details %s, and the server got %q", e.Details, b.made())
	}
	if got := b.surface.Definitions(); len(got) != 2 || got[1].Name != "put" || !strings.Contains(string(got[1].InputSchema), "action_id") {
		t.Errorf("the model sees %v", got)
	}
	if b.surface.Name() != "notes" {
		t.Errorf("the surface is called %s", b.surface.Name())
	}
}

func TestTheAnswerIsMadeAnew(t *testing.T) {
	schemas := func(s *server, get, _ *overlay.Tool) {
		get.Contract.OutputSchema = json.RawMessage(`{"type":"object","required":["note"]}`)
		s.tools["get"] = func(_ context.Context, _ *server, a map[string]any) tool.Result {
			if a["name"] == "bad" {
				return answered(`{}`)
			}
			return answered(`{"note":"<x>"}`)
		}
	}
	yes := true
	b := open(t, schemas)
	want := &tool.Reply{Texts: []string{`{"note":"<x>"}`}, Bytes: 14, SchemaValid: &yes}
	if diff := cmp.Diff(want, ok(t, b.get("n")).Reply); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	bad := b.get("bad")
	refused(t, bad, tool.InvalidToolOutput, tool.NotApplied)
	var told tool.Error
	if r := bad.Reply; !r.IsError || len(r.Texts) != 1 || r.Bytes != len(r.Texts[0]) || r.SchemaValid != nil ||
		json.Unmarshal([]byte(r.Texts[0]), &told) != nil || told.Code != tool.InvalidToolOutput {
		t.Errorf("the reply to a failure is %+v", r)
	}

	b = open(t, nil)
	ok(t, b.put("k", "a\nb"))
	got := ok(t, b.get("n"))
	want = &tool.Reply{Texts: []string{"a\nb"}, Bytes: len(got.Output)}
	if diff := cmp.Diff(want, got.Reply); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	if e := b.call("nothing", `{}`); !e.Reply.IsError || !strings.Contains(e.Reply.Texts[0], `"code":"tool_not_found"`) {
		t.Errorf("the reply to a refusal is %+v", e.Reply)
	}
}

func TestTheSizeOfWhatIsTooLarge(t *testing.T) {
	b := open(t, func(s *server, get, _ *overlay.Tool) {
		get.Contract.Output = &contract.Output{MaxBytes: 1000, NarrowBy: []string{"head"}}
		s.notes["big"] = strings.Repeat("x", 5<<20)
	})
	result := b.get("big")
	e := refused(t, result, tool.OutputTooLarge, tool.NotApplied)
	if want := `{"bytes":5242919,"max_bytes":1000,"narrow_by":["head"]}`; string(e.Details) != want {
		t.Errorf("details %s, want %s", e.Details, want)
	}
	if result.Reply.Bytes > 1000 {
		t.Errorf("the refusal has %d bytes", result.Reply.Bytes)
	}
}

func TestResourcesAreHeldWithin(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", root+"/etc"); err != nil {
		t.Fatal(err)
	}
	expand := func(session tool.Session, text string) string {
		if session == nil {
			t.Error("expanded for no session")
		}
		return strings.ReplaceAll(text, "${SANDBOX}", root)
	}
	s := newServer()
	get, _ := contracts()
	get.Contract.InputSchema = json.RawMessage(`{"type":"object","properties":{"name":{"type":"array","items":{"type":"string"}}},"required":["name"]}`)
	get.Contract.Resources = []contract.Resource{{Argument: "name"}}
	get.Within = map[string]string{"name": "${SANDBOX}/"}
	s.tools["get"] = func(context.Context, *server, map[string]any) tool.Result { return said("x") }
	surface, err := governed.Over(s, []overlay.Tool{get}, governed.Settings{Expand: expand})
	if err != nil {
		t.Fatal(err)
	}
	session, err := surface.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for names, want := range map[string]string{
		`["${SANDBOX}/a"]`:                    "",
		`["${SANDBOX}/a","` + root + `/b/c"]`: "",
		`["${SANDBOX}"]`:                      "",
		`["${SANDBOX}/a","${SANDBOX}/../b"]`:  `{"name":"${SANDBOX}/../b"}`,
		`["${SANDBOX}/etc/passwd"]`:           `{"name":"${SANDBOX}/etc/passwd"}`,
		`["a"]`:                               `{"name":"a"}`,
		`[""]`:                                `{"name":""}`,
		`["~/x"]`:                             `{"name":"~/x"}`,
		`["${SANDBOX}/a\u0000b"]`:             `{"name":"${SANDBOX}/a\u0000b"}`,
		`["${SANDBOX}x"]`:                     `{"name":"${SANDBOX}x"}`,
		`[]`:                                  `{"argument":"name"}`,
		`["${SANDBOX}/a","${SANDBOX}/b","/","c"]`: `{"name":"/"}`,
	} {
		result := session.Call(t.Context(), tool.Call{
			Proposal: tool.Proposal{Name: "get", Arguments: json.RawMessage(`{"name":` + names + `}`)},
			Caller:   tool.Caller{Permissions: []string{"read"}},
		})
		if want == "" {
			ok(t, result)
		} else if e := refused(t, result, tool.ResourceForbidden, tool.NotApplied); string(e.Details) != want {
			t.Errorf("%s: details %s, want %s", names, e.Details, want)
		}
	}
	if len(s.made()) != 3 {
		t.Errorf("the server got %q", s.made())
	}
}

func TestSupervised(t *testing.T) {
	b := open(t, func(_ *server, _, put *overlay.Tool) {
		put.Contract.Output = &contract.Output{Secret: []string{"text"}}
	})
	b.session.Arrange(tool.Budget{Proposals: 3})
	call := tool.Call{
		Proposal: tool.Proposal{Name: "put", Arguments: json.RawMessage(`{"name":"n","text":"planted","action_id":"k"}`)},
		Caller:   tool.Caller{ID: "a", Permissions: []string{"write"}},
	}
	pending, e := b.session.Pending(t.Context(), call)
	if e != nil || pending.Preview != `put {"action_id":"k","name":"n","text":"[redacted]"}` || pending.Digest == "" {
		t.Errorf("pending: %+v, %v", pending, e)
	}
	if _, over := b.session.Unread(t.Context(), call.Caller); over {
		t.Error("the budget was used up at once")
	}
	result := b.session.Call(t.Context(), call)
	refused(t, result, tool.ApprovalRequired, tool.NotApplied)
	if next := b.session.Next(call, result, 1); next.Action != tool.AskApproval {
		t.Errorf("next: %+v", next)
	}
	ok(t, b.put("k", "x"))
	refused(t, b.put("k2", "x"), tool.BudgetExhausted, tool.NotApplied)
	unread, over := b.session.Unread(t.Context(), call.Caller)
	if !over || unread.Error.Code != tool.BudgetExhausted || !unread.Reply.IsError {
		t.Errorf("unread: %+v, %t", unread, over)
	}
	if since := time.Since(b.session.Now()); since < 0 || since > time.Minute {
		t.Errorf("it is %v ago", since)
	}
}

func TestAnotherListOfToolsIsTold(t *testing.T) {
	b := open(t, func(s *server, _, _ *overlay.Tool) {
		s.tools["get"] = func(_ context.Context, s *server, a map[string]any) tool.Result {
			result := said("x")
			result.Trace.ListChanged = a["name"] == "changes"
			return result
		}
	})
	for _, name := range []string{"n", "changes", "n", "changes"} {
		if got := ok(t, b.get(name)); got.Trace.ListChanged != (name == "changes") {
			t.Errorf("%s: told %t", name, got.Trace.ListChanged)
		}
	}
}

func TestASurfaceThatIsDown(t *testing.T) {
	s := newServer()
	s.down = &tool.Unavailable{Surface: "notes", Reason: "it is down"}
	surface, err := governed.Over(s, nil, governed.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if surface.Down() != s.down || len(surface.Definitions()) != 0 {
		t.Errorf("down: %v", surface.Down())
	}
	if _, err := surface.Open(t.Context()); err != s.down {
		t.Errorf("Open = %v", err)
	}
}

func TestContractsThatDoNotHoldTogether(t *testing.T) {
	for want, change := range map[string]func(t *overlay.Tool){
		`"x" is added, and is not the idempotency key`: func(t *overlay.Tool) { t.AddedKey = "x" },
		`"name" is to be within "here", which is not an absolute path`: func(t *overlay.Tool) {
			t.Contract.Resources = []contract.Resource{{Argument: "name"}}
			t.Within = map[string]string{"name": "here"}
		},
		`"name" is to be within "", which is not`: func(t *overlay.Tool) { t.Contract.Resources = []contract.Resource{{Argument: "name"}} },
		`a precondition is asked for`:             func(t *overlay.Tool) { t.Contract.Precondition = true },
		`or the other way round`:                  func(t *overlay.Tool) { t.Precondition = &overlay.Precondition{Tool: "get"} },
		`rests on "a.token", which is redacted`: func(t *overlay.Tool) {
			t.Contract.Precondition, t.Precondition = true, &overlay.Precondition{Tool: "get", Fields: []string{"a.token"}}
			t.Contract.Output = &contract.Output{Credentials: true}
		},
		`rests on the argument "n", which is redacted`: func(t *overlay.Tool) {
			t.Contract.Precondition = true
			t.Precondition = &overlay.Precondition{Tool: "get", Fields: []string{"f"}, Arguments: []overlay.Argument{{Name: "n", From: "text"}}}
			t.Contract.Output = &contract.Output{Secret: []string{"text"}}
		},
		`rule for x matches everything`: func(t *overlay.Tool) { t.Rules = []overlay.ErrorRule{{Code: "x", Category: tool.Internal}} },
		`the result of the rule for x`:  func(t *overlay.Tool) { t.Rules = []overlay.ErrorRule{{Code: "x", Part: json.RawMessage(`{`)}} },
		`permission is empty`:           func(t *overlay.Tool) { t.Contract.Permission = "" },
	} {
		_, put := contracts()
		change(&put)
		if _, err := governed.Over(newServer(), []overlay.Tool{put}, governed.Settings{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// A server that reads, waits and writes loses all but one of the writes that come
// together; a contract can have them one after the other.
func TestOneAtATime(t *testing.T) {
	for _, test := range []struct{ concurrency, want int }{{0, 1}, {1, 10}} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, func(s *server, _, put *overlay.Tool) {
				put.Contract.Concurrency = test.concurrency
				s.tools["put"] = func(_ context.Context, s *server, a map[string]any) tool.Result {
					all := s.notes["all"]
					s.mu.Unlock()
					time.Sleep(10 * time.Millisecond)
					s.mu.Lock()
					s.put("all", all+a["text"].(string))
					return said("ok")
				}
			})
			var group sync.WaitGroup
			for i := range 10 {
				group.Go(func() { ok(t, b.put("k"+string(rune('0'+i)), "x")) })
			}
			group.Wait()
			if got := len(b.notes["all"]); got != test.want {
				t.Errorf("with a concurrency of %d, %d of 10 writes are there, want %d", test.concurrency, got, test.want)
			}
			b.observe()
		})
	}
}
