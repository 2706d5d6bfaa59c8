package eval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agentlab/lab/tool"
)

// server is a surface over a backend outside, which does as a case's id and the
// words of its calls say. It can be lost in the middle of a call, refuse to be
// looked at, and not be there at all.
type server struct {
	name  string
	down  *tool.Unavailable
	blind bool
	// before, where set, is called before each phase of a session: open, call,
	// lost, observe.
	before func(phase string)
	fail   map[string]error // by phase

	opened, closed, called, observed atomic.Int64
	apart                            atomic.Bool // calls that wait for each other were not made together
}

func (s *server) Name() string            { return s.name }
func (s *server) Down() *tool.Unavailable { return s.down }
func (s *server) Blind() bool             { return s.blind }

func (s *server) Definitions() []tool.Definition {
	if s.down != nil {
		return nil
	}
	return []tool.Definition{{Name: "do", InputSchema: json.RawMessage(`{}`)}}
}

func (s *server) phase(name string) error {
	if s.before != nil {
		s.before(name)
	}
	return s.fail[name]
}

func (s *server) gone(reason string) error {
	return fmt.Errorf("while it was asked: %w", &tool.Unavailable{Surface: s.name, Reason: reason, Detail: "exit status 7"})
}

func (s *server) Open(context.Context) (tool.Session, error) {
	if s.down != nil {
		return nil, s.down
	}
	if err := s.phase("open"); err != nil {
		return nil, err
	}
	s.opened.Add(1)
	return &connection{server: s, all: make(chan struct{})}, nil
}

type connection struct {
	server  *server
	all     chan struct{} // closed when as many calls are under way as one waits for
	mu      sync.Mutex
	waiting int
	lost    error
	blind   bool
	changed []tool.Effect
	late    []tool.Effect // that nobody sees before it is settled
}

// order is what a call asks of the server.
type order struct {
	Write int  // so many entries
	Die   bool // in the middle of the call
	Blind bool // so that nobody can look at it any more
	Fail  bool
	Late  int // so many entries, after the answer
	// Together waits until so many calls that do are under way.
	Together int
	Answer   string
	Panic    bool
}

func (c *connection) Call(_ context.Context, call tool.Call) tool.Result {
	c.server.called.Add(1)
	c.server.phase("call")
	var o order
	if err := json.Unmarshal(call.Proposal.Arguments, &o); err != nil {
		panic(err)
	}
	if o.Panic {
		panic("a bug")
	}
	if o.Together > 0 {
		c.meet(o.Together)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range o.Write {
		c.changed = append(c.changed, tool.Effect{Resource: fmt.Sprintf("file-%d", i), Change: tool.Added, After: int64(i)})
	}
	for i := range o.Late {
		c.late = append(c.late, tool.Effect{Resource: fmt.Sprintf("late-%d", i), Change: tool.Added})
	}
	c.blind = c.blind || o.Blind
	switch {
	case o.Die:
		c.lost = c.server.gone("the server ended in the middle of a call")
		return tool.Result{Error: &tool.Error{Code: "lost"}}
	case o.Fail:
		return tool.Result{Error: &tool.Error{Code: tool.ToolFailed, Category: tool.Uncategorised},
			Reply: &tool.Reply{IsError: true, Texts: []string{"no"}, Bytes: 2}}
	}
	if o.Answer != "" {
		return tool.Result{Output: json.RawMessage(`{"answer":"` + o.Answer + `"}`), Reply: &tool.Reply{Bytes: 15}}
	}
	return tool.Result{Output: json.RawMessage(`{"content": []}`), Reply: &tool.Reply{Bytes: 15}}
}

func (c *connection) meet(count int) {
	c.mu.Lock()
	if c.waiting++; c.waiting == count {
		close(c.all)
	}
	c.mu.Unlock()
	select {
	case <-c.all:
	case <-time.After(10 * time.Second): // they are not made at the same time
		c.server.apart.Store(true)
	}
}

// Effects is what nobody asks: the changes are found by looking.
func (c *connection) Effects() int { panic("Effects of an observed session") }

func (c *connection) Observe(context.Context) ([]tool.Effect, error) {
	c.server.observed.Add(1)
	if err := c.server.phase("observe"); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blind {
		return nil, c.server.gone("the probe could not read the folder")
	}
	changed := c.changed
	c.changed = nil
	return changed, nil
}

func (c *connection) Settle(context.Context) ([]tool.Effect, error) {
	if err := c.server.phase("settle"); err != nil {
		return nil, err
	}
	return c.late, nil
}

func (c *connection) Lost() error {
	if err := c.server.phase("lost"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

func (c *connection) Close() error {
	c.server.closed.Add(1)
	return nil
}

// foreignLine is a case with these orders for each surface, of which the last
// must succeed and all must change nothing.
func foreignLine(id, todo string, lists map[string]string) string {
	var calls []string
	for _, name := range []string{"after", "before"} {
		if orders, ok := lists[name]; ok {
			var list []string
			for o := range strings.SplitSeq(orders, " ") {
				list = append(list, `{"name":"do","arguments":`+o+`}`)
			}
			calls = append(calls, `"`+name+`":[`+strings.Join(list, ",")+`]`)
		}
	}
	if todo != "" {
		todo = `"todo":"` + todo + `",`
	}
	return `{"case_id":"` + id + `","intent":"Do.",` + todo + `"calls":{` + strings.Join(calls, ",") +
		`},"expected":{"ok":true,"side_effect_count":0}}` + "\n"
}
