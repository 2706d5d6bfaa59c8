package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/mcp"
	"agentlab/lab/tool"
)

// together makes calls at the same time, and returns what came of each.
func together(t *testing.T, c *mcp.Client, calls ...tool.Proposal) []string {
	t.Helper()
	outcomes := make([]string, len(calls))
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			result := c.Call(t.Context(), calls[i])
			outcomes[i] = outcome(c, result)
		})
	}
	all.Wait()
	return outcomes
}

func numbered(count int) (calls []tool.Proposal, answers []string) {
	for i := range count {
		arguments := fmt.Sprintf(`{"n":%d}`, i)
		calls, answers = append(calls, call("add", arguments)), append(answers, arguments)
	}
	return calls, answers
}

// A server that answers no call before it has several gets them, and each call gets
// its own answer.
func TestCallsAtTheSameTime(t *testing.T) {
	t.Parallel()
	calls, answers := numbered(3)
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		c := connect(t, bare("before", "odd", "three at once"))
		for range 3 {
			got := together(t, c, calls[1], calls[2], calls[0])
			if diff := cmp.Diff([]string{answers[1], answers[2], answers[0]}, got); diff != "" {
				t.Error(diff)
			}
		}
	})
	for _, body := range []string{"json", "events"} {
		t.Run("http "+body, func(t *testing.T) {
			t.Parallel()
			const count = 20 // more than there are connections that are kept
			var barrier sync.WaitGroup
			barrier.Add(count)
			c := connect(t, proxy(t, func(w http.ResponseWriter, r *http.Request, sent string) bool {
				if !strings.Contains(sent, `"tools/call"`) {
					return false
				}
				barrier.Done()
				barrier.Wait()
				_, after, _ := strings.Cut(sent, `"id":`)
				id, _, _ := strings.Cut(after, ",")
				_, after, _ = strings.Cut(sent, `"arguments":`)
				arguments, _, _ := strings.Cut(after, "}")
				answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}}`, id, arguments)
				if body == "json" {
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, answer)
				} else {
					w.Header().Set("Content-Type", "text/event-stream")
					io.WriteString(w, "data: "+answer+"\n\n")
				}
				return true
			}))
			calls, answers := numbered(count)
			if diff := cmp.Diff(answers, together(t, c, calls...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// That the tools are others now belongs to the calls that were not answered by
// then, and to none that comes later.
func TestListChangesBelongToTheCallsUnderWay(t *testing.T) {
	t.Parallel()
	c := connect(t, bare("before", "odd", "three at once", "changes"))
	calls, answers := numbered(3)
	want := []string{answers[0], answers[1] + " (list changed)", answers[2] + " (list changed)"}
	for range 3 {
		if diff := cmp.Diff(want, together(t, c, calls...)); diff != "" {
			t.Error(diff)
		}
	}
}

// One call that the server hangs in, or that nobody waits for, holds up no other.
func TestHungCallHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for carrier, start := range map[string]func(testing.TB, ...string) *mcp.Server{"stdio": stdioServer, "http": httpServer} {
		t.Run(carrier, func(t *testing.T) {
			t.Parallel()
			c := connect(t, start(t, "hang@1", "hang@2"))
			ctx, cancel := context.WithCancel(t.Context())
			var hung sync.WaitGroup
			hung.Go(func() {
				if r := c.Call(ctx, addition); r.Error == nil {
					t.Error(string(r.Output))
				}
			})
			short, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer stop()
			took(t, soon, "the end of its own context", func() {
				if r := c.Call(short, addition); r.Error == nil {
					t.Error(string(r.Output))
				}
			})
			took(t, soon, "calls meanwhile", func() {
				calls := []tool.Proposal{addition, addition, addition, addition}
				want := []string{`{"sum":3}`, `{"sum":3}`, `{"sum":3}`, `{"sum":3}`}
				if diff := cmp.Diff(want, together(t, c, calls...)); diff != "" {
					t.Error(diff)
				}
			})
			cancel()
			hung.Wait()
			if got := outcome(c, c.Call(t.Context(), addition)); got != `{"sum":3}` {
				t.Error(got)
			}
		})
	}
}

// Where one call loses the connection all others end, for the same reason.
func TestAllCallsEndWithTheConnection(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		start  func(testing.TB, ...string) *mcp.Server
		faults string
		reason string
	}{
		{stdioServer, "exit-at-call@4", "the server ended in the middle of a call (exit status 7)"},
		{stdioServer, "close-stdout@4", "the server closed its standard output in the middle of a call"},
		{stdioServer, "garble@4", "the server answered with invalid JSON"},
		{stdioServer, "endless@4", "the server floods: a message of more than 1 MiB"},
		{stdioServer, "wrong-id@4", "the server answered with the wrong id"},
		{httpServer, "status:500@4", "the server answered with HTTP status 500"},
		{httpServer, "exit-at-call@4", "the server closed the connection without an answer"},
		{httpServer, "drop-session@4", "the server closed the session (HTTP status 404)"},
		{httpServer, "wrong-id@4", "the server answered with the wrong id"},
	} {
		t.Run(tt.faults, func(t *testing.T) {
			t.Parallel()
			c := connect(t, tt.start(t, "hang@1", "hang@2", "hang@3", tt.faults))
			took(t, 2*soon, "the end of all", func() {
				for i, got := range together(t, c, addition, addition, addition, addition) {
					if got != "lost: "+tt.reason {
						t.Errorf("call %d: %s", i+1, got)
					}
				}
			})
			if got := outcome(c, c.Call(t.Context(), addition)); got != "lost: "+tt.reason {
				t.Error("afterwards:", got)
			}
		})
	}
}

// Who waits to write behind a call that the server is slow to read gives up in his
// own time, which loses nothing.
func TestWaitingToWrite(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "flag")
	c := connect(t, bare("before", "odd", "deaf for a while", flag))
	var big sync.WaitGroup
	big.Go(func() {
		got := outcome(c, c.Call(t.Context(), call("add", `{"text":"`+strings.Repeat("x", 300<<10)+`"}`)))
		if got != `{"content":[]}` {
			t.Error(got)
		}
	})
	time.Sleep(100 * time.Millisecond) // so that it stands in the way
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r := c.Call(ctx, addition); r.Error == nil {
		t.Error(string(r.Output))
	}
	if c.Lost() != nil {
		t.Error(c.Lost())
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	big.Wait()
	if got := outcome(c, c.Call(t.Context(), addition)); got != `{"content":[]}` {
		t.Error(got)
	}
}
