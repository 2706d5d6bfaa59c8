package scan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentlab/lab/scan"
	"agentlab/lab/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is a server in memory: what a call does is said by a function, which is
// told how many calls came before it in its session.
type backend struct {
	tools  []tool.Definition
	do     func(s *session, name string, arguments json.RawMessage) tool.Result
	blind  bool
	down   *tool.Unavailable
	open   error
	opened []*session
	calls  []string
}

func (b *backend) Name() string                   { return "server" }
func (b *backend) Definitions() []tool.Definition { return b.tools }
func (b *backend) Down() *tool.Unavailable        { return b.down }
func (b *backend) Blind() bool                    { return b.blind }

func (b *backend) Open(ctx context.Context) (tool.Session, error) {
	if b.open != nil || ctx.Err() != nil {
		return nil, errors.Join(b.open, ctx.Err())
	}
	s := &session{backend: b}
	b.opened = append(b.opened, s)
	return s, nil
}

type session struct {
	backend  *backend
	calls    int
	changed  []tool.Effect // since the last look
	atEnd    []tool.Effect
	lost     error
	closed   bool
	blocking bool // the next answer never comes
}

func (s *session) Call(ctx context.Context, call tool.Call) tool.Result {
	s.backend.calls = append(s.backend.calls, call.Proposal.Name+" "+string(call.Proposal.Arguments))
	r := s.backend.do(s, call.Proposal.Name, call.Proposal.Arguments)
	s.calls++
	if s.blocking {
		<-ctx.Done()
	}
	return r
}
func (s *session) Effects() int { return 0 }
func (s *session) Close() error { s.closed = true; return nil }
func (s *session) Lost() error  { return s.lost }
func (s *session) Observe(context.Context) ([]tool.Effect, error) {
	defer func() { s.changed = nil }()
	return s.changed, nil
}
func (s *session) Settle(context.Context) ([]tool.Effect, error) { return s.atEnd, nil }
func (s *session) change(what string) {
	s.changed = append(s.changed, tool.Effect{Resource: what, Change: tool.Changed})
}

// define is a tool with one required text, that says that it only reads.
func define(name, rest string) tool.Definition {
	d := tool.Definition{Name: name}
	text := `{"name":"` + name + `","inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`
	if err := errors.Join(json.Unmarshal([]byte(text), &d), json.Unmarshal([]byte(rest), &d)); err != nil {
		panic(err)
	}
	return d
}

func says(text string) tool.Result {
	return tool.Result{Output: json.RawMessage(`{"content":[]}`), Reply: &tool.Reply{Texts: []string{text}, Bytes: len(text)}}
}

func object(text string) tool.Result {
	return tool.Result{Output: json.RawMessage(text), Reply: &tool.Reply{Texts: []string{text}, Bytes: len(text)}}
}

func fails(text string) tool.Result {
	return tool.Result{Error: tool.Refusal(tool.ToolFailed, nil, "%s", text), Reply: &tool.Reply{IsError: true, Texts: []string{text}}}
}

// strict refuses what the tool's schema forbids, and answers what is valid.
func strict(answer func(s *session) tool.Result) func(*session, string, json.RawMessage) tool.Result {
	return func(s *session, _ string, arguments json.RawMessage) tool.Result {
		var a map[string]any
		if json.Unmarshal(arguments, &a) != nil || len(a) != 1 {
			return fails("q is required, and nothing else")
		}
		if _, text := a["q"].(string); !text {
			return fails("q has to be a text")
		}
		return answer(s)
	}
}

var settings = scan.Settings{PerTool: 1000, MaxOutput: 1000, CallTime: time.Minute, Time: time.Minute}

// found are the findings of a scan, in short.
func found(t *testing.T, b *backend, s scan.Settings) (*scan.Report, []string) {
	t.Helper()
	r, err := scan.Run(t.Context(), b, s)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range b.opened {
		if !s.closed {
			t.Errorf("session %d is still open", i)
		}
	}
	short := []string{}
	for _, f := range r.Findings {
		line := fmt.Sprintf("%s %s", f.Tool, f.Code)
		if f.Of > 0 {
			line += fmt.Sprintf(" %d/%d", f.Calls, f.Of)
		}
		short = append(short, line+" "+string(f.Arguments))
	}
	return r, short
}

func invalidOutput(violations ...tool.Violation) tool.Result {
	return tool.Result{
		Error: tool.Refusal(tool.InvalidToolOutput, map[string]any{"violations": violations}, "The structured content breaks the server's own outputSchema."),
		Reply: &tool.Reply{Bytes: 3, Texts: []string{"an answer"}},
	}
}

func TestFindings(t *testing.T) {
	const plain = `{"q":""}` // the smallest call that is valid
	tests := []struct {
		name   string
		answer func(s *session) tool.Result
		want   []string
	}{
		{"nothing", func(*session) tool.Result { return says("fine") }, []string{}},
		{"a change", func(s *session) tool.Result { s.change("file"); return says("fine") }, []string{"t read_only_changed_state " + plain}},
		{"a change of a call that fails", func(s *session) tool.Result { s.change("file"); return fails("the name is taken") }, []string{"t read_only_changed_state " + plain}},
		{"a change at the end", func(s *session) tool.Result {
			s.atEnd = []tool.Effect{{Resource: "file", Change: tool.Added}}
			return says("fine")
		}, []string{"t read_only_changed_state "}},
		{"the end of the server", func(s *session) tool.Result {
			s.lost = &tool.Unavailable{Surface: "server", Reason: "the server ended in the middle of a call (exit status 7)"}
			return tool.Result{Error: tool.Refusal(tool.ToolFailed, nil, "The server could not be used.")}
		}, []string{"t connection_lost " + plain}},
		{"a timeout of the session", func(*session) tool.Result {
			return tool.Result{Error: tool.Refusal(tool.ToolTimeout, nil, "The server did not answer in time.")}
		}, []string{`t no_answer {"q":"example"}`}},
		{"an answer that is none", func(*session) tool.Result {
			return tool.Result{Error: tool.Refusal(tool.ProtocolError, nil, "The answer is not the result of a tool: it has no content.")}
		}, []string{"t answer_unreadable " + plain}},
		{"an error of JSON-RPC that says why", func(*session) tool.Result {
			return tool.Result{Error: tool.Refusal(tool.ProtocolError, map[string]int{"code": -32602}, "q is unknown")}
		}, []string{}},
		{"an error of JSON-RPC that says nothing", func(*session) tool.Result {
			return tool.Result{Error: tool.Refusal(tool.ProtocolError, map[string]int{"code": -32603}, "Internal error")}
		}, []string{"t error_not_actionable " + plain}},
		{"a broken output", func(*session) tool.Result {
			return invalidOutput(tool.Violation{Pointer: "/sum", Keyword: "type", Message: "must be an integer"})
		}, []string{"t output_breaks_schema " + plain}},
		{"a missing output", func(*session) tool.Result {
			return invalidOutput(tool.Violation{Keyword: "structuredContent", Message: "is missing, though the tool has an outputSchema"})
		}, []string{"t output_missing " + plain}},
		{"a large output", func(*session) tool.Result { return says(strings.Repeat("x", 1001)) }, []string{"t output_too_large " + plain}},
		{"an output at the limit", func(*session) tool.Result { return says(strings.Repeat("x", 1000)) }, []string{}},
		{"a failure as an object", func(*session) tool.Result { return object(`{"status":"error","message":"no such row"}`) }, []string{"t error_without_is_error " + plain}},
		{"a failure as a text", func(*session) tool.Result { return says("Error: no such row") }, []string{"t success_reads_like_error " + plain}},
		{"an error that is empty", func(*session) tool.Result { return fails(" ") }, []string{"t error_not_actionable " + plain}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &backend{tools: []tool.Definition{define("t", `{}`)}, do: strict(tt.answer)}
			r, got := found(t, b, settings)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, f := range r.Findings {
				if f.Says == "" || strings.Contains(f.Says, "%!") {
					t.Errorf("it says %q", f.Says)
				}
			}
			if len(b.calls) < 5 && r.Tools[0].Unlooked == nil {
				t.Errorf("only %v", b.calls)
			}
		})
	}
}

// TestInvalidCalls: what was carried out is counted, the smallest is shown, and an
// error that the plain call got too tells nothing.
func TestInvalidCalls(t *testing.T) {
	all := func(*session, string, json.RawMessage) tool.Result { return says("fine") }
	b := &backend{tools: []tool.Definition{define("t", `{}`)}, do: all}
	r, got := found(t, b, settings)
	if len(got) != 1 || !strings.HasPrefix(got[0], "t invalid_call_accepted ") || !strings.HasSuffix(got[0], " {}") || r.Tools[0].Accepted != r.Tools[0].Invalid || r.Tools[0].Invalid < 4 {
		t.Errorf("%v, %+v", got, r.Tools[0])
	}
	if want := "It carried out a call without the required property q."; r.Findings[0].Says != want {
		t.Errorf("%q, want %q", r.Findings[0].Says, want)
	}
	b.do = func(*session, string, json.RawMessage) tool.Result { return fails("not for you") }
	r, got = found(t, b, settings)
	if len(got) != 0 || r.Tools[0].Invalid != 0 || r.Tools[0].Plain != scan.Failed || !slices.ContainsFunc(r.Tools[0].Unlooked, func(s string) bool { return strings.Contains(s, "the error of a valid one") }) {
		t.Errorf("%v, %+v", got, r.Tools[0])
	}
	// An output that breaks its schema came of a call that was carried out.
	b.do = func(*session, string, json.RawMessage) tool.Result { return invalidOutput() }
	if _, got = found(t, b, settings); len(got) != 2 || !strings.Contains(got[0], "invalid_call_accepted") {
		t.Errorf("%v", got)
	}
	b.tools[0] = define("t", `{"inputSchema":{"type":"object","properties":{"q":{"type":"string","format":"email"}}}}`)
	b.do = func(_ *session, _ string, arguments json.RawMessage) tool.Result {
		if strings.Contains(string(arguments), `"q":"`) || string(arguments) == "{}" {
			return says("fine")
		}
		return fails("q has to be a text")
	}
	if r, got = found(t, b, settings); len(got) != 1 || !strings.HasPrefix(got[0], "t format_not_checked ") || r.Worst() != scan.Warning {
		t.Errorf("%v", got)
	}
}

// TestUnclear: an error that a valid call gets too, at once or later, says nothing of
// what is wrong with another.
func TestUnclear(t *testing.T) {
	b := &backend{tools: []tool.Definition{define("t", `{}`)}, do: func(s *session, _ string, arguments json.RawMessage) tool.Result {
		switch {
		case s.calls == 0:
			return says("taken away")
		case strings.HasPrefix(string(arguments), `{"q":"`):
			return fails("there is nothing left to be taken away")
		case string(arguments) == "{}":
			return fails("q is required")
		}
		return fails("there is nothing left to be taken away")
	}}
	r, got := found(t, b, settings)
	if len(got) != 0 || r.Tools[0].Plain != scan.Succeeded || r.Tools[0].Invalid != 1 || len(r.Tools[0].Unlooked) != 1 {
		t.Errorf("%v, %+v", got, r.Tools[0])
	}
}

// TestUnclearRepeat: so does the error of a repeat.
func TestUnclearRepeat(t *testing.T) {
	b := &backend{tools: []tool.Definition{define("t", `{"inputSchema":{"type":"object","properties":{"q":{"const":"x"}},"required":["q"],"additionalProperties":false},"annotations":{}}`)}, do: func(s *session, _ string, arguments json.RawMessage) tool.Result {
		switch {
		case s.calls == 0:
			s.change("file")
			return says("taken away")
		case s.calls == 1 || string(arguments) == "{}":
			return fails("there is nothing left")
		}
		return fails("q has to be x")
	}}
	s := settings
	s.Writes = true
	if r, got := found(t, b, s); len(got) != 0 || len(r.Tools[0].Unlooked) != 1 || !strings.Contains(r.Tools[0].Unlooked[0], "refuses 1 of") {
		t.Errorf("%v, %+v", got, r.Tools[0])
	}
}

// TestEcho: who sends much gets much back, and that is no finding.
func TestEcho(t *testing.T) {
	b := &backend{tools: []tool.Definition{define("t", `{}`)}, do: func(_ *session, _ string, arguments json.RawMessage) tool.Result {
		return says(strings.Repeat(string(arguments), 2))
	}}
	if _, got := found(t, b, settings); len(got) != 1 || strings.Contains(got[0], "too_large") {
		t.Errorf("%v", got)
	}
}

// TestChoice: no tool is called without somebody's word for it.
func TestChoice(t *testing.T) {
	tools := []tool.Definition{
		define("reads", `{}`),
		define("silent", `{"annotations":null}`),
		define("says-writes", `{"annotations":{"readOnlyHint":false}}`),
		define("destroys", `{"annotations":{"destructiveHint":true}}`),
		define("mails", `{"annotations":{"openWorldHint":true}}`),
		define("searches-the-web", `{"annotations":{"openWorldHint":true,"readOnlyHint":true}}`),
		define("contract-reads", `{"annotations":{"readOnlyHint":false}}`),
		define("contract-writes", `{}`),
	}
	reads := map[string]bool{"contract-reads": true, "contract-writes": false}
	tests := []struct {
		name string
		set  func(*scan.Settings)
		want []string
	}{
		{"by default", func(*scan.Settings) {}, []string{"contract-writes", "reads", "searches-the-web"}},
		{"with a contract", func(s *scan.Settings) { s.Reads = reads }, []string{"contract-reads", "reads", "searches-the-web"}},
		{"with names", func(s *scan.Settings) { s.Reads, s.Named = reads, []string{"mails", "contract-writes"} }, []string{"contract-reads", "contract-writes", "mails", "reads", "searches-the-web"}},
		{"with writes", func(s *scan.Settings) { s.Reads, s.Writes = reads, true }, []string{"contract-reads", "contract-writes", "destroys", "reads", "says-writes", "searches-the-web", "silent"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &backend{tools: tools, do: strict(func(*session) tool.Result { return says("fine") })}
			s := settings
			tt.set(&s)
			r, _ := found(t, b, s)
			var called []string
			for _, call := range b.calls {
				name, _, _ := strings.Cut(call, " ")
				called = append(called, name)
			}
			slices.Sort(called)
			if diff := cmp.Diff(tt.want, slices.Compact(called)); diff != "" {
				t.Errorf("called (-want +got):\n%s", diff)
			}
			for _, one := range r.Tools {
				if one.Why == "" || one.Called != slices.Contains(tt.want, one.Name) {
					t.Errorf("%+v", one)
				}
			}
		})
	}
	_, err := scan.Run(t.Context(), &backend{tools: tools}, scan.Settings{Named: []string{"nope"}, Time: time.Minute})
	var none *scan.NoTool
	if !errors.As(err, &none) || none.Name != "nope" || len(none.Names()) != len(tools) {
		t.Errorf("%v", err)
	}
}

// notes is a tool that adds a line; with a key it does so once.
func notes(honours, changes bool) func(*session, string, json.RawMessage) tool.Result {
	used := make(map[string]bool)
	return func(s *session, _ string, arguments json.RawMessage) tool.Result {
		var a struct {
			Text, Key *string
		}
		if json.Unmarshal(arguments, &a) != nil || a.Text == nil {
			return fails("text is required")
		}
		if honours && a.Key != nil {
			if used[*a.Key] {
				return says("added before")
			}
			used[*a.Key] = true
		}
		if changes {
			s.change("notes.txt")
		}
		return says("added")
	}
}

func TestRepeat(t *testing.T) {
	const (
		bare  = `{"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{}}`
		keyed = `{"inputSchema":{"type":"object","properties":{"text":{"type":"string"},"key":{"type":"string","description":"Idempotency key."}},"required":["text"]},"annotations":{}}`
		same  = `{"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"idempotentHint":true}}`
		id    = `{"inputSchema":{"type":"object","properties":{"text":{"type":"string"},"request_id":{"type":"string"}},"required":["text"]},"annotations":{}}`
	)
	tests := []struct {
		name, definition string
		honours, changes bool
		want             []string
	}{
		{"no key", bare, false, true, []string{`t repeat_applied {"text":"example"}`}},
		{"no change", bare, false, false, []string{}},
		{"a key that is honoured", keyed, true, true, []string{}},
		{"a key that is not", keyed, false, true, []string{`t repeat_despite_key {"key":"lab-scan-1","text":"example"}`}},
		{"idempotent, as it says", same, false, true, []string{`t repeat_despite_hint {"text":"example"}`}},
		{"an id that is no key", id, false, true, []string{`t repeat_applied {"text":"example"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &backend{tools: []tool.Definition{define("t", tt.definition)}, do: notes(tt.honours, tt.changes)}
			s := settings
			s.Writes, s.PerTool = true, 2
			if _, got := found(t, b, s); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
			// Nobody who did not allow writes has one repeated.
			b = &backend{tools: b.tools, do: b.do}
			s.Writes, s.Named, s.PerTool = false, []string{"t"}, 1000
			found(t, b, s)
			slices.Sort(b.calls)
			if once := slices.Compact(slices.Clone(b.calls)); len(once) != len(b.calls) {
				t.Errorf("%d calls, of which %d differ", len(b.calls), len(once))
			}
		})
	}
}

// lister pages over letters, in ways that a test says.
type lister struct {
	items   []string
	next    func(from int) int // where the page after starts
	checks  bool               // cursors
	endless bool
	ignores bool // the limit
	grows   bool
	whole   int // items of a call without a limit; 0 for all
}

func (l *lister) do(_ *session, _ string, arguments json.RawMessage) tool.Result {
	var a struct {
		Cursor *string
		Limit  *int
	}
	if json.Unmarshal(arguments, &a) != nil || a.Limit != nil && *a.Limit < 1 {
		return fails("limit is a whole number from 1")
	}
	if l.grows {
		l.items = append(l.items, "n"+strconv.Itoa(len(l.items)))
	}
	from, limit := 0, len(l.items)
	if l.whole > 0 {
		limit = l.whole
	}
	if a.Cursor != nil {
		n, err := strconv.Atoi(*a.Cursor)
		if err != nil && l.checks {
			return fails("the cursor is not one of this list")
		}
		from = min(max(n, 0), len(l.items))
	}
	if a.Limit != nil && !l.ignores {
		limit = *a.Limit
	}
	end := min(from+limit, len(l.items))
	page := map[string]any{"items": l.items[from:end]}
	if end < len(l.items) {
		next := end
		if l.next != nil {
			next = l.next(end)
		}
		page["next_cursor"] = strconv.Itoa(next)
	} else if l.endless {
		page["next_cursor"] = strconv.Itoa(len(l.items) - 1)
	}
	text, _ := json.Marshal(page)
	return object(string(text))
}

const pagedSchema = `{"inputSchema":{"type":"object","properties":{"cursor":{"type":"string"},"limit":{"type":"integer","minimum":1}}}}`

// TestForbiddenCursor: where the schema itself refuses a made-up cursor, or there is
// no cursor, no pages are walked.
func TestForbiddenCursor(t *testing.T) {
	for _, definition := range []string{
		`{"inputSchema":{"type":"object","properties":{"cursor":{"type":"string","enum":["a","b"]}}}}`,
		`{"inputSchema":{"type":"object","properties":{"cursor":{"type":"integer"}}}}`,
		`{"inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}`,
	} {
		l := &lister{items: []string{"a"}}
		b := &backend{do: l.do, tools: []tool.Definition{define("t", definition)}}
		if r, _ := found(t, b, settings); strings.Contains(strings.Join(b.calls, "\n"), "lab-scan") || strings.Contains(strings.Join(r.Tools[0].Unlooked, ""), "pages") {
			t.Errorf("%s: %v, %v", definition, b.calls, r.Tools[0].Unlooked)
		}
	}
}

// TestKnown: a call that is known to succeed stands in place of the plain one, if the
// schema takes it.
func TestKnown(t *testing.T) {
	for arguments, taken := range map[string]bool{`{"q":"known"}`: true, `{"q":7}`: false, `{"r":"x","q":"known"}`: false, `[`: false, `[]`: false} {
		b := &backend{tools: []tool.Definition{define("t", `{}`)}, do: strict(func(*session) tool.Result { return says("fine") })}
		s := settings
		s.Known = map[string]scan.Known{"t": {Case: "c", Arguments: json.RawMessage(arguments)}, "other": {}}
		r, _ := found(t, b, s)
		if got := b.calls[0] == "t "+arguments; got != taken || (r.Tools[0].Case == "c") != taken {
			t.Errorf("%s: called %v, %+v", arguments, b.calls, r.Tools[0])
		}
		// Other calls are it, changed in one place; those that are forbidden come first.
		changed := slices.ContainsFunc(b.calls[1:], func(call string) bool { return strings.Contains(call, `"known"`) })
		if changed != taken || slices.Index(b.calls, "t {}") > slices.Index(b.calls, `t {"q":""}`) {
			t.Errorf("%s: called %.2000v", arguments, b.calls)
		}
	}
}

func TestPages(t *testing.T) {
	letters := strings.Split("abcdefghij", "")
	tests := []struct {
		name     string
		lister   *lister
		want     []string
		unlooked string
	}{
		{"as it should be", &lister{items: letters, checks: true}, []string{}, ""},
		{"an item twice", &lister{items: letters, checks: true, next: func(end int) int { return end - 1 }}, []string{`t page_repeats {"limit":2}`}, ""},
		{"an item missed", &lister{items: letters, checks: true, next: func(end int) int { return end + 1 }}, []string{`t page_misses {"limit":2}`}, ""},
		{"no end", &lister{items: letters, checks: true, endless: true}, []string{`t pages_without_end {"cursor":"9","limit":2}`}, "no single call"},
		{"the same page for ever", &lister{items: letters, checks: true, next: func(int) int { return 0 }}, []string{`t pages_without_end {"cursor":"0","limit":2}`}, ""},
		{"a limit that is ignored", &lister{items: letters, checks: true, ignores: true}, []string{`t limit_ignored {"limit":2}`}, "too few items"},
		{"any cursor", &lister{items: letters}, []string{`t garbage_cursor_accepted {"cursor":"lab-scan-no-such-cursor"}`}, ""},
		{"items that are there twice", &lister{items: []string{"a", "a", "b", "b", "a"}, checks: true}, []string{}, ""},
		{"too few", &lister{items: []string{"a"}, checks: true}, []string{}, "too few items"},
		{"none", &lister{items: []string{}, checks: true}, []string{}, "too few items"},
		{"a list that changes", &lister{items: letters, checks: true, grows: true}, []string{}, "by itself"},
		{"many pages", &lister{items: strings.Split(strings.Repeat("x", 100), ""), checks: true, whole: 1, ignores: true}, []string{}, "after the first 12"},
		{"no single call lists all", &lister{items: letters, checks: true, whole: 4, next: func(end int) int { return end }}, []string{}, "no single call lists all"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &backend{do: tt.lister.do, tools: []tool.Definition{define("t", pagedSchema)}}
			r, got := found(t, b, settings)
			got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "invalid_call_accepted") })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			said := strings.Join(r.Tools[0].Unlooked, "\n")
			if tt.unlooked == "" && strings.Contains(said, "pages") || !strings.Contains(said, tt.unlooked) {
				t.Errorf("not looked at: %s; want %q", said, tt.unlooked)
			}
		})
	}
}

// TestPatience: what the server breaks is left alone, and time has an end.
func TestPatience(t *testing.T) {
	t.Run("it always ends", func(t *testing.T) {
		b := &backend{tools: []tool.Definition{define("t", `{}`)}, do: func(s *session, _ string, _ json.RawMessage) tool.Result {
			s.lost = &tool.Unavailable{Surface: "server", Reason: "the server ended"}
			return fails("")
		}}
		r, got := found(t, b, settings)
		if len(b.calls) != 3 || len(b.opened) != 3 || len(got) != 1 || r.Findings[0].Calls != 3 || len(r.Tools[0].Unlooked) != 1 {
			t.Errorf("%d calls, %d sessions, %v, %v", len(b.calls), len(b.opened), got, r.Tools[0].Unlooked)
		}
	})
	t.Run("it never answers", func(t *testing.T) {
		b := &backend{tools: []tool.Definition{define("t", `{}`)}, do: func(s *session, _ string, _ json.RawMessage) tool.Result {
			s.blocking = true
			s.change("file")
			return fails("")
		}}
		s := settings
		s.CallTime = 5 * time.Millisecond
		r, got := found(t, b, s)
		if len(b.calls) != 2 || len(b.opened) != 2 || len(got) != 2 || !strings.Contains(got[0], "read_only") || !strings.Contains(got[1], "no_answer") || r.Tools[0].Plain != scan.Lost {
			t.Errorf("%d calls, %v, %s", len(b.calls), got, r.Tools[0].Plain)
		}
	})
	t.Run("the time is up", func(t *testing.T) {
		b := &backend{tools: []tool.Definition{define("a", `{}`), define("b", `{}`)}, do: func(s *session, _ string, _ json.RawMessage) tool.Result {
			s.blocking = true
			return fails("")
		}}
		s := settings
		s.Time = 5 * time.Millisecond
		r, got := found(t, b, s)
		if len(got) != 0 || len(r.Tools) != 2 || r.Tools[1].Called || !strings.Contains(r.Tools[1].Unlooked[0], "the time was up") {
			t.Errorf("%v, %+v", got, r.Tools)
		}
	})
	t.Run("it is interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := &backend{tools: []tool.Definition{define("a", `{}`)}, do: func(s *session, _ string, _ json.RawMessage) tool.Result {
			cancel()
			return fails("")
		}}
		if _, err := scan.Run(ctx, b, settings); !errors.Is(err, context.Canceled) || !b.opened[0].closed {
			t.Errorf("%v", err)
		}
	})
	t.Run("it takes no session", func(t *testing.T) {
		gone := &tool.Unavailable{Surface: "server", Reason: "the server ended at its start"}
		if _, err := scan.Run(t.Context(), &backend{tools: []tool.Definition{define("a", `{}`)}, open: gone}, settings); !errors.Is(err, gone) {
			t.Errorf("%v", err)
		}
		if _, err := scan.Run(t.Context(), &backend{down: gone}, settings); !errors.Is(err, gone) {
			t.Errorf("%v", err)
		}
	})
	t.Run("few calls", func(t *testing.T) {
		b := &backend{tools: []tool.Definition{define("t", `{}`)}, do: strict(func(*session) tool.Result { return says("fine") })}
		s := settings
		s.PerTool = 3
		if r, _ := found(t, b, s); len(b.calls) != 3 || !strings.Contains(strings.Join(r.Tools[0].Unlooked, ""), "--per-tool 3") {
			t.Errorf("%v, %v", b.calls, r.Tools[0].Unlooked)
		}
		// Walking pages takes no more either.
		l := &lister{items: strings.Split("abcdefghij", "")}
		paged := &backend{do: l.do, tools: []tool.Definition{define("t", pagedSchema)}}
		s.PerTool = 5
		if r, _ := found(t, paged, s); len(paged.calls) != 5 || !strings.Contains(strings.Join(r.Tools[0].Unlooked, ""), "--per-tool 5") {
			t.Errorf("%v, %v", paged.calls, r.Tools[0].Unlooked)
		}
	})
}

func TestSchemas(t *testing.T) {
	b := &backend{blind: true, do: strict(func(*session) tool.Result { return says("fine") }), tools: []tool.Definition{
		define("input", `{"inputSchema":{"type":"text"}}`),
		define("output", `{"outputSchema":{"type":"text"}}`),
		define("far", `{"inputSchema":{"$ref":"http://127.0.0.1:1/"}}`),
		define("impossible", `{"inputSchema":{"type":"object","not":{}}}`),
	}}
	r, got := found(t, b, settings)
	if diff := cmp.Diff([]string{"input schema_unusable ", "output schema_unusable "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, one := range r.Tools {
		if told := len(one.Unlooked) > 0; told != (one.Name == "far" || one.Name == "impossible") {
			t.Errorf("%s: not looked at: %v", one.Name, one.Unlooked)
		}
		// That a tool only reads is no reason to leave it out.
		if called := one.Name == "output"; one.Called != called || (one.Why == scan.NoCall) == called {
			t.Errorf("%s: called %t: %s", one.Name, one.Called, one.Why)
		}
	}
	if len(r.Unlooked) != 1 {
		t.Errorf("nobody looks at changes, and it says %v", r.Unlooked)
	}
	r.Breaks([]string{"It lists two tools of one name."})
	if f := r.Findings[0]; f.Code != scan.ProtocolBroken || f.Tool != "" || r.Worst() != scan.Error {
		t.Errorf("%+v", f)
	}
}

// TestKinds: every kind has a row of its own, with a sentence.
func TestKinds(t *testing.T) {
	seen := make(map[scan.Code]bool)
	for _, k := range scan.Kinds() {
		if seen[k.Code] || !tool.Code(k.Code).Plain() || !strings.HasSuffix(k.Means, ".") || k.Severity != scan.Error && k.Severity != scan.Warning {
			t.Errorf("%+v", k)
		}
		seen[k.Code] = true
	}
}
