package mcp_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/mcp"
	"agentlab/lab/tool"
)

// soon is how long something may take that must not be waited for. The machine
// may be busy.
const soon = 5 * time.Second

func took(t *testing.T, limit time.Duration, what string, do func()) {
	t.Helper()
	started := time.Now()
	do()
	if d := time.Since(started); d > limit {
		t.Errorf("%s took %s", what, d)
	}
}

func TestWhatCannotBeStartedOrReached(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte("hello"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, reason, detail string
		server               mcp.Server
	}{
		{"no such program", "the server could not be started", "start no-such-program-here: no such program in PATH", mcp.Server{Command: []string{"no-such-program-here"}}},
		{"no program", "the server could not be started", "start " + text + ": it is neither a program of this machine nor a script whose first line names an interpreter", mcp.Server{Command: []string{text}}},
		{"no folder", "the server could not be started", "start " + text + ": the folder to run it in does not exist", mcp.Server{Command: []string{text}, Dir: filepath.Join(folder, "none")}},
		{"nothing at all", "the server could not be started", "start a process: no program is named", mcp.Server{}},
		{"nobody listens", "the server could not be reached", "dial tcp 127.0.0.1:1: connect: connection refused\nat http://127.0.0.1:1/mcp", mcp.Server{URL: "http://127.0.0.1:1/mcp"}},
		{"no URL", "the URL is none", "", mcp.Server{URL: "http://%zz/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.server // which did not learn: Connect does with that
			s.Name = "before"
			_, err := mcp.Connect(t.Context(), &s)
			want := &tool.Unavailable{Surface: "before", Reason: tt.reason, Detail: tt.detail}
			if diff := cmp.Diff(error(want), err); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server mcp.Server
		want   string
	}{
		{mcp.Server{Command: []string{"a"}}, ""},
		{mcp.Server{URL: "https://a/b"}, ""},
		{mcp.Server{}, "s: neither a command nor a URL"},
		{mcp.Server{Command: []string{"a"}, URL: "http://a"}, "s: both a command and a URL"},
		{mcp.Server{URL: "ftp://a"}, "s: the URL is not one of http or https"},
		{mcp.Server{URL: "http://"}, "s: the URL is not one of http or https"},
		{mcp.Server{URL: "http://%zz"}, "s: the URL is not one of http or https"},
		{mcp.Server{Command: []string{""}}, "s: the command is empty"},
	} {
		tt.server.Name = "s"
		got := ""
		if err := tt.server.Check(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: %q, not %q", tt.server, got, tt.want)
		}
	}
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ faults, protocol string }{
		{"modern", "2026-07-28"},
		{"modern:only", "2026-07-28"},
		{"crlf", "2025-11-25"},
		{"protocol-version:2025-06-18", "2025-06-18"},
		{"protocol-version:2025-03-26", "2025-03-26"},
		{"protocol-version:2024-11-05", "2024-11-05"},
	} {
		for carrier, start := range map[string]func(testing.TB, ...string) *mcp.Server{"stdio": stdioServer, "http": httpServer} {
			t.Run(carrier+" "+tt.faults, func(t *testing.T) {
				t.Parallel()
				s := start(t, tt.faults)
				*s = s.Learning()
				for range 2 { // the second time it is known
					c := connect(t, s)
					if c.Protocol() != tt.protocol {
						t.Errorf("%s was agreed on, not %s", c.Protocol(), tt.protocol)
					}
					if c.StartTook() <= 0 {
						t.Error("it took no time")
					}
					if r := c.Call(t.Context(), addition); string(r.Output) != `{"sum":3}` {
						t.Errorf("%s, %v", r.Output, r.Error)
					}
					c.Close()
				}
			})
		}
	}
}

// A server of the newest revision that is slow to start is not taken for an
// older one.
func TestSlowAndNew(t *testing.T) {
	t.Parallel()
	s := stdioServer(t, "modern:only", "slow-start:1500")
	s.Timeout = 3 * time.Second
	*s = s.Learning()
	for range 2 {
		c := connect(t, s)
		if c.Protocol() != "2026-07-28" {
			t.Errorf("%s was agreed on", c.Protocol())
		}
		c.Close()
	}
}

// A list whose pages come slowly ends too.
func TestSlowPages(t *testing.T) {
	t.Parallel()
	page := 0
	s := proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, `"tools/list"`) {
			return false
		}
		page++
		time.Sleep(100 * time.Millisecond)
		_, after, _ := strings.Cut(body, `"id":`)
		id, _, _ := strings.Cut(after, ",")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"%d","inputSchema":{}}],"nextCursor":"%d"}}`, id, page, page)
		return true
	})
	*s = s.Learning()
	c := connect(t, s)
	s.Timeout = 200 * time.Millisecond
	took(t, soon, "the list", func() {
		_, err := c.Tools(t.Context())
		if reason, _ := told(err); !strings.HasPrefix(reason, "the server pages for ever") && !strings.HasPrefix(reason, "the server did not answer") {
			t.Error(err)
		}
	})
}

// A server that ends at a question that it does not know is started again.
func TestStartedAgain(t *testing.T) {
	t.Parallel()
	s := bare("before", "odd", "dies at discover")
	*s = s.Learning()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 2 {
				c, err := mcp.Connect(t.Context(), s)
				if err != nil {
					t.Error(err)
					return
				}
				if c.Protocol() != "2025-06-18" {
					t.Errorf("%s was agreed on", c.Protocol())
				}
				c.Close()
			}
		})
	}
	all.Wait()
}

func TestOddServers(t *testing.T) {
	t.Parallel()
	big := call("add", `{"text":"`+strings.Repeat("x", 3<<20)+`"}`)
	const (
		empty  = `{"content":[]}`
		either = "it depends on what is written first"
	)
	for _, tt := range []struct {
		name          string
		proposal      tool.Proposal
		timeout       time.Duration
		first, second string
	}{
		{"deaf", big, brief, "lost: the server does not read its standard input", gone},
		{"deaf", addition, brief, "tool_timeout/dependency/unknown: The server did not answer in time.", gone},
		{"asks and is deaf", addition, brief, either, "lost: the server does not read its standard input"},
		{"pings", addition, ample, "lost: the server floods: more than 1000 requests of its own without an answer", gone},
		{"chatter", addition, ample, "lost: the server floods: more than 1 MiB of text on its standard output without an answer", gone},
		{"big batch", addition, ample, "lost: the server floods: a batch of too many messages", gone},
		{"two in a line", addition, ample, "lost: the server answered with invalid JSON", gone},
		{"nameless error", addition, ample, "protocol_error/protocol/unknown: cannot read that", empty},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := bare("before", "odd", tt.name)
			*s = s.Learning()
			c := connect(t, s)
			s.Timeout = tt.timeout
			second := tt.second
			if second == gone {
				second = tt.first
			}
			took(t, s.Timeout+6*soon, "two calls", func() {
				first := outcome(c, c.Call(t.Context(), tt.proposal))
				got := [2]string{first, outcome(c, c.Call(t.Context(), tt.proposal))}
				if tt.first == either {
					got[0] = either
				}
				if diff := cmp.Diff([2]string{tt.first, second}, got); diff != "" {
					t.Error(diff)
				}
			})
			took(t, soon, "the end", func() { c.Close() })
		})
	}
	t.Run("deaf at once", func(t *testing.T) {
		t.Parallel()
		s := bare("before", "odd", "deaf at once")
		s.Timeout = brief
		_, err := mcp.Connect(t.Context(), s)
		if reason, _ := told(err); reason != "the server did not answer initialize within 1s" {
			t.Error(err)
		}
	})
}

func TestStrictStdio(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"greet:Hello there", "text-at-call:Hello there"} {
		s := stdioServer(t, fault)
		s.StrictStdio = true
		saw := look(t, s, ample, addition)
		reason, detail, _ := strings.Cut(saw.Connect+saw.First, ": ")
		if reason == "lost" {
			reason = detail
		}
		if reason != "the server wrote text to its standard output" || saw.Detail != "Hello there" {
			t.Errorf("%s: %+v", fault, saw)
		}
	}
}

func TestRequestsOfTheServer(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		"ping":                   `{}`,
		"roots/list":             `{"roots":[]}`,
		"sampling/createMessage": `"code":`,
		"elicitation/create":     `"code":`,
		"no/such/thing":          `"code":-32601`,
	} {
		for carrier, start := range map[string]func(testing.TB, ...string) *mcp.Server{"stdio": stdioServer, "http": httpServer} {
			c := connect(t, start(t, "ask:"+method))
			r := c.Call(t.Context(), call("echo", `{}`))
			if r.Reply == nil || len(r.Reply.Texts) != 1 || !strings.Contains(r.Reply.Texts[0], "the client answered "+method+" with ") || !strings.Contains(r.Reply.Texts[0], want) {
				t.Errorf("%s %s: %+v %v", carrier, method, r.Reply, r.Error)
			}
			c.Close()
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("MCP_TEST_SECRET", "swordfish")
	home := t.TempDir()
	s := bare("before", "odd", "environment")
	s.Home, s.Dir = home, home
	s.Env["GIVEN"] = "yes"
	c := connect(t, s)
	r := c.Call(t.Context(), call("add", `{}`))
	if r.Reply == nil || len(r.Reply.Texts) != 2 {
		t.Fatal(r.Error)
	}
	var got []string
	for _, line := range strings.Split(r.Reply.Texts[0], "\n") {
		if strings.HasPrefix(line, "LAB_PROCESS_") {
			line = "LAB_PROCESS_"
		}
		got = append(got, line)
	}
	slices.Sort(got)
	want := []string{"GIVEN=yes", "GORACE=atexit_sleep_ms=0", "HOME=" + home, "LAB_PROCESS_", "PATH=" + os.Getenv("PATH")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if place, err := filepath.EvalSymlinks(home); r.Reply.Texts[1] != place {
		t.Errorf("it runs in %s, not %s (%v)", r.Reply.Texts[1], place, err)
	}
}

func TestErrorsAreUnavailable(t *testing.T) {
	t.Parallel()
	_, err := mcp.Connect(t.Context(), stdioServer(t, "exit-at-start:line one"))
	var u *tool.Unavailable
	if !errors.As(err, &u) || u.Surface != "before" {
		t.Error(err)
	}
}
