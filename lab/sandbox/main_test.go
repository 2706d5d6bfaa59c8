//go:build unix

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentlab/lab/suite"
	"agentlab/lab/tool"
	"agentlab/tests/faultserver"
)

// The test binary is also the servers: "faultserver ARGUMENTS"; and a process that
// may write little: "outgrow SEED".
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "faultserver" {
		syscall.Exit(faultserver.Run(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 2 && os.Args[1] == "outgrow" {
		outgrow(os.Args[2])
		return
	}
	if answersPause <= time.Second {
		panic("a clock that tells seconds is not found for certain")
	}
	filesPause, answersPause = 60*time.Millisecond, 60*time.Millisecond
	goleak.VerifyTestMain(m)
}

// bed is where a test has its surfaces: a TMPDIR of its own, in which nothing may
// be left, and the ids of all processes, of which none may be left.
type bed struct {
	t       *testing.T
	tmp     string
	pids    string
	mu      sync.Mutex
	notices []string
}

func newBed(t *testing.T) *bed { return newBedIn(t, filepath.Join(t.TempDir(), "tmp")) }

func newBedIn(t *testing.T, tmp string) *bed {
	t.Helper()
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, tmp: tmp, pids: filepath.Join(t.TempDir(), "pids")}
	t.Setenv("TMPDIR", tmp)
	t.Cleanup(b.wantNothingLeft)
	return b
}

func (b *bed) wantNothingLeft() {
	b.t.Helper()
	entries, err := os.ReadDir(b.tmp)
	if err != nil {
		b.t.Error(err)
	}
	for _, entry := range entries {
		b.t.Errorf("left behind: %s", entry.Name())
	}
	for _, pid := range b.started() {
		if syscall.Kill(pid, 0) == nil && !zombie(pid) {
			b.t.Errorf("process %d is still there", pid)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// zombie reports whether a process has ended, and only nobody has waited for it.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " Z")
}

// started are the ids of the servers and of their children.
func (b *bed) started() (pids []int) {
	text, _ := os.ReadFile(b.pids)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && strings.HasSuffix(line, "\n") {
			pid, err := strconv.Atoi(fields[1])
			if err != nil {
				b.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// server is a command that starts a faultserver.
func (b *bed) server(args ...string) suite.Server {
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	return suite.Server{
		Command: append([]string{self, "faultserver", "-pids", b.pids}, args...),
		Env:     map[string]string{"GORACE": "atexit_sleep_ms=0"},
	}
}

// inFolder are the arguments of a server whose notes are in the sandbox.
const inFolder = suite.SandboxVariable

var wholeFolder = []suite.Effect{suite.Directory{Path: suite.SandboxVariable}}

func (b *bed) spec(effects []suite.Effect, args ...string) suite.Surface {
	return suite.Surface{Name: "notes", Server: b.server(args...), Effects: effects}
}

func (b *bed) settings(isolation suite.Isolation) Settings {
	return Settings{Version: "test", Dir: ".", Isolation: isolation, Timeout: 10 * time.Second, Notice: func(text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.notices = append(b.notices, text)
	}}
}

func (b *bed) told() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	// What is said of schemas is not the subject here.
	return slices.DeleteFunc(slices.Clone(b.notices), func(text string) bool { return strings.Contains(text, "outputSchema") })
}

// open opens a surface, which ends with the test.
func (b *bed) open(spec suite.Surface, settings Settings) *Surface {
	b.t.Helper()
	s, err := Open(b.t.Context(), spec, settings)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.t.Errorf("close: %v", err)
		}
	})
	return s
}

func proposal(name, arguments string) tool.Call {
	return tool.Call{Proposal: tool.Proposal{Name: name, Arguments: json.RawMessage(arguments)}}
}

func write(key, text string) tool.Call {
	arguments, _ := json.Marshal(map[string]string{"key": key, "text": text})
	return proposal("write_note", string(arguments))
}

func openSession(t *testing.T, s *Surface) *session {
	t.Helper()
	opened, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return opened.(*session)
}

func closeSession(t *testing.T, s *session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func observe(t *testing.T, s *session) (lines []string) {
	t.Helper()
	effects, err := s.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return told(effects)
}

func told(effects []tool.Effect) (lines []string) {
	for _, e := range effects {
		lines = append(lines, fmt.Sprintf("%s %s %d %d", e.Change, e.Resource, e.Before, e.After))
	}
	return lines
}

// replay is one case: its calls, and what each changed.
func replay(t *testing.T, s *Surface, calls ...tool.Call) (results []tool.Result, effects [][]string) {
	t.Helper()
	opened := openSession(t, s)
	defer closeSession(t, opened)
	for _, call := range calls {
		results = append(results, opened.Call(t.Context(), call))
		if err := opened.Lost(); err != nil {
			t.Fatal(err)
		}
		effects = append(effects, observe(t, opened))
	}
	return results, effects
}

// unavailable fails unless the error is one of a backend that could not be used,
// for this reason.
func unavailable(t *testing.T, err error, reason string) *tool.Unavailable {
	t.Helper()
	u := asUnavailable(err)
	if u == nil || u.Reason != reason {
		t.Fatalf("%v; want %q", err, reason)
	}
	return u
}

// promptly fails where something takes long.
func promptly(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s takes long", what)
	}
}

// counted is a context that ends when it has been asked so often.
type counted struct {
	context.Context
	left *int
}

func endsAfter(ctx context.Context, asked int) counted { return counted{ctx, &asked} }

func (c counted) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

func asUnavailable(err error) *tool.Unavailable {
	var u *tool.Unavailable
	if !errors.As(err, &u) {
		return nil
	}
	return u
}
