package mcp_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentlab/lab/mcp"
	"agentlab/lab/tool"
	"agentlab/tests/faultserver"
)

// The test binary is also the servers: "faultserver FLAGS…", and those of
// oddServers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "faultserver" {
		os.Args = os.Args[1:]
		faultserver.Main()
	}
	if len(os.Args) > 2 && os.Args[1] == "odd" {
		time.AfterFunc(faultserver.Lifetime, func() { os.Exit(4) })
		oddServers[os.Args[2]]()
		os.Exit(0)
	}
	// Most tests wait for servers, and not for a processor.
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = flag.Set("test.parallel", "8") // it is a number
	}
	goleak.VerifyTestMain(m)
}

// A server that fails is waited for so long, and one that works so long at most.
const (
	brief   = time.Second
	ample   = 20 * time.Second
	message = 1 << 20 // bytes of one
)

func bare(name string, command ...string) *mcp.Server {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &mcp.Server{
		Name:    name,
		Command: append([]string{self}, command...),
		// Else a server with the race detector sleeps for a second at its end.
		Env:        map[string]string{"GORACE": "atexit_sleep_ms=0"},
		Timeout:    ample,
		MaxMessage: message,
	}
}

// stdioServer is a faultserver that is started, and that must have ended with
// its children when the test has.
func stdioServer(t testing.TB, faults ...string) *mcp.Server {
	t.Helper()
	pids := filepath.Join(t.TempDir(), "pids")
	arguments := []string{"faultserver", "-pids", pids}
	for _, fault := range faults {
		arguments = append(arguments, "-fault", fault)
	}
	t.Cleanup(func() {
		text, _ := os.ReadFile(pids) // it may not have come so far
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			what, number, _ := strings.Cut(line, " ")
			if pid, err := strconv.Atoi(number); err == nil && lives(pid) {
				t.Errorf("the %s %d is left", what, pid)
			}
		}
	})
	return bare("before", arguments...)
}

func lives(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

// httpServer is a faultserver within this process.
func httpServer(t testing.TB, faults ...string) *mcp.Server {
	t.Helper()
	web := httptest.NewServer(faultserver.New(faultserver.Options{Faults: faultserver.Faults(faults...)}))
	t.Cleanup(web.Close)
	return &mcp.Server{Name: "before", URL: web.URL + "/mcp", Timeout: ample, MaxMessage: message}
}

// notices collects what is told.
type notices struct {
	mu    sync.Mutex
	texts []string
}

func listen(s *mcp.Server) *notices {
	n := new(notices)
	s.Notice = func(text string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.texts = append(n.texts, text)
	}
	*s = s.Learning()
	return n
}

func (n *notices) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	texts := slices.Clone(n.texts)
	slices.Sort(texts)
	return texts
}

// connect connects, and fails the test where that fails.
func connect(t testing.TB, s *mcp.Server) *mcp.Client {
	t.Helper()
	c, err := mcp.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func call(name, arguments string) tool.Proposal {
	return tool.Proposal{Name: name, Arguments: []byte(arguments)}
}

var addition = call("add", `{"a":1,"b":2}`)

// told is an error in one line of the kind, and what goes with it.
func told(err error) (reason, detail string) {
	var u *tool.Unavailable
	switch {
	case err == nil:
		return "", ""
	case errors.As(err, &u):
		return u.Reason, u.Detail
	}
	return fmt.Sprintf("not tool.Unavailable: %v", err), ""
}

// outcome is what came of a call, in a line; c may be nil.
func outcome(c *mcp.Client, r tool.Result) string {
	if c != nil {
		if reason, _ := told(c.Lost()); reason != "" {
			return "lost: " + reason
		}
	}
	text := string(r.Output)
	if e := r.Error; e != nil {
		text = fmt.Sprintf("%s/%s/%s: %s", e.Code, e.Category, e.Outcome, e.Message)
	}
	if r.Trace.ListChanged {
		text += " (list changed)"
	}
	return text
}

// seen is what a server looks like from here.
type seen struct {
	Connect, List string // reasons
	Tools         int
	First, Second string // of the same call
	Detail        string // the first one
	Notices       []string
}

// look connects, lists and calls twice, with so much time for each call.
func look(t *testing.T, s *mcp.Server, calls time.Duration, proposal tool.Proposal) (saw seen) {
	t.Helper()
	n := listen(s)
	c, err := mcp.Connect(t.Context(), s)
	if err != nil {
		saw.Connect, saw.Detail = told(err)
		saw.Notices = n.all()
		return saw
	}
	defer c.Close()
	s.Timeout = calls
	definitions, err := c.Tools(t.Context())
	saw.Tools = len(definitions)
	saw.List, saw.Detail = told(err)
	saw.First = outcome(c, c.Call(t.Context(), proposal))
	_, detail := told(c.Lost())
	saw.Detail = cmp.Or(saw.Detail, detail)
	saw.Second = outcome(c, c.Call(t.Context(), proposal))
	_, detail = told(c.Lost())
	saw.Detail = cmp.Or(saw.Detail, detail)
	c.Close()
	saw.Notices = n.all()
	return saw
}

func canceled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

var discard = log.New(io.Discard, "", 0)
