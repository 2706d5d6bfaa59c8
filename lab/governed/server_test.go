package governed_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentlab/lab/contract"
	"agentlab/lab/governed"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a surface that nobody governs: notes by name, and tools that a test
// may make do anything.
type server struct {
	mu     sync.Mutex
	notes  map[string]string
	calls  []tool.Call
	seen   map[string]string // by the last look
	blind  bool
	down   *tool.Unavailable
	unseen error  // of a look
	fails  int    // so many looks fail
	during func() // what happens during a look
	lost   error
	closed int
	looks  int
	starts int
	expand func(session tool.Session, text string) string
	start  func(ctx context.Context) error // what a start does, nil: nothing
	own    bool                            // its sessions count their effects, and nobody looks
	tools  map[string]func(ctx context.Context, s *server, arguments map[string]any) tool.Result
	count  int // of effects, by the ledger of the server's own
}

func newServer() *server {
	return &server{
		notes: map[string]string{}, seen: map[string]string{},
		tools: map[string]func(context.Context, *server, map[string]any) tool.Result{
			"get": func(_ context.Context, s *server, a map[string]any) tool.Result {
				note, there := s.notes[a["name"].(string)]
				if !there {
					return failed("ENOENT: no such note")
				}
				return said(note)
			},
			"put": func(_ context.Context, s *server, a map[string]any) tool.Result {
				s.put(a["name"].(string), a["text"].(string))
				return said("ok")
			},
		},
	}
}

// put changes a note; the server is locked.
func (s *server) put(name, text string) {
	s.notes[name] = text
	s.count++
}

// change is a change by somebody else.
func (s *server) change(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(name, text)
}

// said is an answer with one text, as lab/mcp reads it.
func said(text string) tool.Result {
	return tool.Result{
		Output: json.RawMessage(`{"content":[{"type":"text","text":` + quote(text) + `}]}`),
		Reply:  &tool.Reply{Texts: []string{text}, Bytes: len(text)},
	}
}

// answered is an answer with structured content.
func answered(output string) tool.Result {
	return tool.Result{Output: json.RawMessage(output), Reply: &tool.Reply{Texts: []string{output}}}
}

// failed is an answer with isError and texts, as lab/mcp reads it.
func failed(texts ...string) tool.Result {
	all := ""
	for i, text := range texts {
		if i > 0 {
			all += "\n"
		}
		all += text
	}
	if len(all) > 1000 {
		all = all[:1000] + "…"
	}
	e := tool.Refusal(tool.ToolFailed, nil, "%s", all)
	e.Outcome = tool.Unknown
	return tool.Result{Error: e, Reply: &tool.Reply{IsError: true, Texts: texts}}
}

// coded is an answer with isError and an error of the server's own.
func coded(e tool.Error) tool.Result {
	return tool.Result{Error: &e, Reply: &tool.Reply{IsError: true, Texts: []string{"coded"}}}
}

// unanswered is what lab/mcp makes of a call without an answer.
func unanswered(code tool.Code) tool.Result {
	e := tool.Refusal(code, nil, "nothing came")
	e.Outcome = tool.Unknown
	return tool.Result{Error: e}
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

func (s *server) Name() string                   { return "notes" }
func (s *server) Definitions() []tool.Definition { return nil }
func (s *server) Down() *tool.Unavailable        { return s.down }
func (s *server) Blind() bool                    { return s.blind }

func (s *server) Open(ctx context.Context) (tool.Session, error) {
	if s.down != nil {
		return nil, s.down
	}
	s.mu.Lock()
	s.starts++
	s.mu.Unlock()
	if s.start != nil {
		if err := s.start(ctx); err != nil {
			return nil, err
		}
	}
	if s.own {
		return counted{s}, nil
	}
	return looked{counted{s}}, nil
}

// counted is a session that counts its own effects.
type counted struct{ *server }

func (c counted) Call(ctx context.Context, call tool.Call) tool.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	work := c.tools[call.Proposal.Name]
	if work == nil {
		return failed("no such tool")
	}
	var arguments map[string]any
	if err := json.Unmarshal(call.Proposal.Arguments, &arguments); err != nil {
		return failed(err.Error())
	}
	return work(ctx, c.server, arguments)
}

func (c counted) Effects() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

func (c counted) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	return nil
}

// looked is a session whose backend is looked at.
type looked struct{ counted }

func (l looked) Observe(context.Context) ([]tool.Effect, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks++
	if l.fails > 0 {
		l.fails--
		return nil, errors.New("nobody can look just now")
	}
	if l.unseen != nil {
		return nil, l.unseen
	}
	if during := l.during; during != nil {
		defer func() { l.mu.Unlock(); during(); l.mu.Lock() }()
	}
	if l.blind {
		return nil, nil
	}
	effects := []tool.Effect{}
	for name, text := range l.notes {
		if before, was := l.seen[name]; !was {
			effects = append(effects, tool.Effect{Resource: name, Change: tool.Added, After: int64(len(text))})
		} else if before != text {
			effects = append(effects, tool.Effect{Resource: name, Change: tool.Changed, Before: int64(len(before)), After: int64(len(text))})
		}
	}
	for name, text := range l.seen {
		if _, still := l.notes[name]; !still {
			effects = append(effects, tool.Effect{Resource: name, Change: tool.Removed, Before: int64(len(text))})
		}
	}
	slices.SortFunc(effects, func(a, b tool.Effect) int {
		if a.Resource < b.Resource {
			return -1
		}
		return 1
	})
	l.server.seen = maps.Clone(l.notes)
	return effects, nil
}

func (l looked) Settle(ctx context.Context) ([]tool.Effect, error) { return l.Observe(ctx) }

func (l looked) Lost() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (s *server) made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, c := range s.calls {
		all = append(all, c.Proposal.Name+" "+string(c.Proposal.Arguments))
	}
	return all
}

// contracts are of a read and a keyed write whose key the server does not know.
func contracts() (get, put overlay.Tool) {
	get = overlay.Tool{Contract: contract.Contract{
		Definition: tool.Definition{
			Name:        "get",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		},
		Permission: "read", Effect: contract.Read, Approval: contract.ApprovalNever, Retry: contract.RetryNever,
		Timeout: time.Second, Foreign: true,
	}}
	put = overlay.Tool{
		AddedKey: "action_id",
		Contract: contract.Contract{
			Definition: tool.Definition{
				Name:        "put",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"text":{"type":"string"},"action_id":{"type":"string","minLength":1}},"required":["name","text","action_id"],"additionalProperties":false}`),
			},
			Permission: "write", Effect: contract.Write, Approval: contract.ApprovalRequired, Retry: contract.RetryNever,
			Timeout: time.Second, Foreign: true, IdempotencyKey: "action_id",
		},
		Rules: []overlay.ErrorRule{{Match: "ENOENT", Code: "note_not_found", Category: tool.NotFound}},
	}
	return get, put
}

type bench struct {
	t *testing.T
	*server
	surface *governed.Surface
	session tool.Supervised
	telling sync.Mutex // the server has a lock of its own
	faults  []string
}

// open opens a session; change may change the server and the contracts.
func open(t *testing.T, change func(s *server, get, put *overlay.Tool)) *bench {
	t.Helper()
	b := &bench{t: t, server: newServer()}
	get, put := contracts()
	if change != nil {
		change(b.server, &get, &put)
	}
	var upstream tool.Surface = b.server
	if b.server.own {
		upstream = struct{ tool.Surface }{b.server} // no tool.Foreign
	}
	var err error
	b.surface, err = governed.Over(upstream, []overlay.Tool{get, put}, governed.Settings{
		Expand: b.expand,
		OnFault: func(name string, cause error) {
			b.telling.Lock()
			defer b.telling.Unlock()
			b.faults = append(b.faults, name+": "+cause.Error())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	session, err := b.surface.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	b.session = session.(tool.Supervised)
	return b
}

func (b *bench) call(name, arguments string) tool.Result {
	return b.session.Call(b.t.Context(), tool.Call{
		Proposal: tool.Proposal{Name: name, Arguments: json.RawMessage(arguments)},
		Caller:   tool.Caller{ID: "a", Permissions: []string{"read", "write"}},
		Approved: true,
	})
}

func (b *bench) put(key, text string) tool.Result {
	return b.call("put", `{"name":"n","text":`+quote(text)+`,"action_id":`+quote(key)+`}`)
}

func (b *bench) get(name string) tool.Result { return b.call("get", `{"name":`+quote(name)+`}`) }

func (b *bench) told() []string {
	b.telling.Lock()
	defer b.telling.Unlock()
	return slices.Clone(b.faults)
}

func (b *bench) observe() []tool.Effect {
	b.t.Helper()
	effects, err := b.session.(tool.Observed).Observe(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return effects
}

func ok(t *testing.T, result tool.Result) tool.Result {
	t.Helper()
	if !result.OK() {
		t.Fatalf("the call failed: %v %s", result.Error, result.Error.Details)
	}
	return result
}

// refused fails the test unless the call failed with this code, and this is known
// of the backend.
func refused(t *testing.T, result tool.Result, code tool.Code, outcome tool.Outcome) *tool.Error {
	t.Helper()
	if result.OK() {
		t.Fatalf("the call succeeded with %s; want %s", result.Output, code)
	}
	if result.Error.Code != code || result.Error.Outcome != outcome {
		t.Errorf("got %v (%s), want %s (%s)", result.Error, result.Error.Outcome, code, outcome)
	}
	return result.Error
}
