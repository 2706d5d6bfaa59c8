package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentlab/lab/mcp"
	"agentlab/lab/tool"
)

// The end of a context ends whatever is under way, with the error of that
// context, and leaves nothing.
func TestEndOfContext(t *testing.T) {
	t.Parallel()
	type moment struct {
		name    string
		faults  []string
		connect bool // it ends while connecting
		list    bool
	}
	for _, m := range []moment{
		{"at the start", []string{"slow-start:60000"}, true, false},
		{"at discover", []string{"ignore-discover"}, true, false},
		{"at initialize", []string{"never-initialize"}, true, false},
		{"at the list", []string{"list-hang"}, false, true},
		{"in a call", []string{"hang"}, false, false},
		{"in a call with a child", []string{"hang", "child:pipes", "daemon:pipes", "ignore-sigterm", "ignore-eof"}, false, false},
	} {
		for carrier, start := range map[string]func(testing.TB, ...string) *mcp.Server{"stdio": stdioServer, "http": httpServer} {
			if carrier == "http" && (m.name == "at the start" || m.name == "in a call with a child") {
				continue
			}
			t.Run(carrier+" "+m.name, func(t *testing.T) {
				t.Parallel()
				s := start(t, m.faults...)
				*s = s.Learning()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if m.connect {
					time.AfterFunc(300*time.Millisecond, cancel)
				}
				var c *mcp.Client
				var err error
				took(t, soon, "to connect", func() { c, err = mcp.Connect(ctx, s) })
				if m.connect {
					if err != context.Canceled {
						t.Errorf("to connect: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(100*time.Millisecond, cancel)
				took(t, soon, "it", func() {
					if m.list {
						if _, err := c.Tools(ctx); err != context.Canceled {
							t.Errorf("the list: %v", err)
						}
					} else if r := c.Call(ctx, addition); r.Error == nil || r.Error.Code != tool.ToolFailed || r.Error.Outcome != tool.Unknown || c.Lost() != nil {
						t.Errorf("the call: %v, %v", r.Error, c.Lost())
					}
				})
				if _, err := c.Tools(ctx); err != context.Canceled {
					t.Errorf("after that: %v", err)
				}
				took(t, soon, "to close", func() { c.Close() })
			})
		}
	}
	t.Run("before the start", func(t *testing.T) {
		t.Parallel()
		if _, err := mcp.Connect(canceled(t), stdioServer(t)); err != context.Canceled {
			t.Error(err)
		}
	})
	t.Run("a deadline", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := mcp.Connect(ctx, stdioServer(t, "never-initialize")); err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	for carrier, start := range map[string]func(testing.TB, ...string) *mcp.Server{"stdio": stdioServer, "http": httpServer} {
		for _, faults := range [][]string{{"hang"}, {"hang", "modern", "list-changed"}} {
			t.Run(carrier+" "+strings.Join(faults, " "), func(t *testing.T) {
				t.Parallel()
				c := connect(t, start(t, faults...))
				var all sync.WaitGroup
				all.Go(func() {
					c.Call(t.Context(), addition)
					if reason, _ := told(c.Lost()); reason != "the connection was closed" {
						t.Errorf("the call under way: %v", c.Lost())
					}
				})
				time.Sleep(100 * time.Millisecond)
				took(t, soon, "to close", func() {
					for range 4 {
						all.Go(func() { c.Close() })
					}
					c.Close()
					all.Wait()
				})
				took(t, soon, "a call on what is closed", func() {
					c.Call(t.Context(), addition)
					_, err := c.Tools(t.Context())
					if reason, _ := told(err); reason != "the connection was closed" {
						t.Error(err)
					}
				})
			})
		}
	}
}

// A server that ends with its input ends in peace; one that did not is not
// waited for again.
func TestGrace(t *testing.T) {
	t.Parallel()
	t.Run("in peace", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "end")
		c := connect(t, bare("before", "odd", "writes at its end", file))
		c.Call(t.Context(), addition)
		c.Close()
		if text, err := os.ReadFile(file); string(text) != "ended" {
			t.Error(err)
		}
	})
	t.Run("stubborn", func(t *testing.T) {
		t.Parallel()
		s := stdioServer(t, "ignore-eof")
		*s = s.Learning()
		connect(t, s).Close()
		c := connect(t, s)
		took(t, 1500*time.Millisecond, "the second end", func() { c.Close() })
	})
}
