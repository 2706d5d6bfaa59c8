//go:build unix

package main

import (
	"bytes"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/tests/casegen"
)

// labProcess is a lab that was started in a folder of its own.
type labProcess struct {
	*exec.Cmd
	stderr bytes.Buffer
}

// start starts lab in dir and sees to it that it ends with the test. TMPDIR is
// the folder tmp beside dir.
func start(t *testing.T, dir string, stdin io.Reader, stdout *os.File, args ...string) *labProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &labProcess{Cmd: exec.Command(self, args...)}
	p.Args[0] = "lab"
	p.Dir = dir
	p.Stdin, p.Stderr = stdin, &p.stderr
	if stdout != nil {
		p.Stdout = stdout
	}
	p.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "..", "tmp"), "GORACE="+atOnce)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.Process.Kill()
			p.Cmd.Wait()
		}
	})
	return p
}

// end waits for the process and returns its exit code, or -1 where a signal
// ended it.
func (p *labProcess) end(t *testing.T) int {
	t.Helper()
	late := time.AfterFunc(20*time.Second, func() { p.Process.Kill() })
	p.Cmd.Wait()
	if !late.Stop() {
		t.Fatal("lab did not end")
	}
	return p.ProcessState.ExitCode()
}

// folders returns a folder to run lab in, with an empty folder tmp beside it.
func folders(t *testing.T) (dir, tmp string) {
	t.Helper()
	top := t.TempDir()
	dir, tmp = filepath.Join(top, "work"), filepath.Join(top, "tmp")
	for _, d := range []string{dir, tmp} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir, tmp
}

// contents returns the files of a directory by name; none if there is none.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(text)
	}
	return files
}

// some is how many cases come out of a pipe that then falls silent.
const some = 100

// pipe returns the reading end of a pipe into which cases are written: without
// end where flowing is set, else some. It stays open, so that no run over it
// comes to its end before the test does.
func pipe(t *testing.T, flowing bool) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		n := some
		if flowing {
			n = math.MaxInt
		}
		casegen.Write(w, n)
	}()
	t.Cleanup(func() {
		r.Close()
		w.Close()
		<-written
	})
	return r
}

// underway waits until a run has written the lines of so many cases to dir,
// which may be a pattern.
func underway(t *testing.T, p *labProcess, dir string, cases int) {
	t.Helper()
	lines := 0
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		found, _ := filepath.Glob(filepath.Join(dir, "tool-runs.jsonl.partial"))
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if lines = bytes.Count(text, []byte("\n")); lines >= 2*cases {
				return
			}
		}
	}
	t.Fatalf("the run got no further than %d lines; stderr: %s", lines, &p.stderr)
}

var reportFiles = []string{"tool-comparison.json", "tool-comparison.md", "tool-failures.md", "tool-runs.jsonl"}

func names(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }

func TestInterrupt(t *testing.T) {
	const interrupted = "lab: interrupted; nothing was written\n"
	tests := []struct {
		name    string
		signal  syscall.Signal
		flowing bool // else the run waits for input that does not come
		code    int  // -1 where the signal itself ended it
		stderr  string
	}{
		{"SIGINT while running", syscall.SIGINT, true, 130, interrupted},
		{"SIGINT while waiting", syscall.SIGINT, false, 130, interrupted},
		{"SIGTERM while running", syscall.SIGTERM, true, 130, interrupted},
		{"SIGTERM while waiting", syscall.SIGTERM, false, 130, interrupted},
		{"SIGKILL while running", syscall.SIGKILL, true, -1, ""},
		{"SIGKILL while waiting", syscall.SIGKILL, false, -1, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, _ := folders(t)
			out := filepath.Join(dir, "reports", "local")
			if code := start(t, dir, nil, nil, "tool-eval", "-q").end(t); code != 0 {
				t.Fatalf("the first run ended with %d", code)
			}
			before := contents(t, out)
			if diff := cmp.Diff(reportFiles, names(before)); diff != "" {
				t.Fatalf("reports of the first run (-want +got):\n%s", diff)
			}

			p := start(t, dir, pipe(t, test.flowing), nil, "tool-eval", "--cases", "/dev/stdin")
			underway(t, p, out, some)
			if err := p.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			if code := p.end(t); code != test.code {
				t.Errorf("exit code is %d, want %d", code, test.code)
			}
			if diff := cmp.Diff(test.stderr, p.stderr.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			after := contents(t, out)
			if test.signal == syscall.SIGKILL {
				// Nothing can tidy up after that, but the next run.
				if len(after) == len(before) {
					t.Error("the killed run left no partial files; was it under way?")
				}
				maps.DeleteFunc(after, func(name, _ string) bool { return strings.HasSuffix(name, ".partial") })
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the earlier reports did not stay (-before +after):\n%s", diff)
			}

			if code := start(t, dir, nil, nil, "tool-eval", "-q", "--case", "read-ticket").end(t); code != 0 {
				t.Errorf("the next run ended with %d", code)
			}
			next := contents(t, out)
			if diff := cmp.Diff(reportFiles, names(next)); diff != "" {
				t.Errorf("reports of the next run (-want +got):\n%s", diff)
			}
			for name, text := range next {
				if name != "tool-failures.md" && text == before[name] {
					t.Errorf("the next run left %s as it was", name)
				}
			}
		})
	}
}

func TestInterruptOfACheckLeavesNothing(t *testing.T) {
	for _, flowing := range []bool{true, false} {
		dir, tmp := folders(t)
		p := start(t, dir, pipe(t, flowing), nil, "tool-eval", "--cases", "/dev/stdin", "--check", ".")
		underway(t, p, filepath.Join(tmp, "*"), some)
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := p.end(t); code != 130 {
			t.Errorf("exit code is %d, want 130", code)
		}
		for _, d := range []string{dir, tmp} {
			if left := contents(t, d); len(left) > 0 {
				t.Errorf("left behind: %q", names(left))
			}
		}
	}
}

// A reader of stdout that goes away ends lab by SIGPIPE, but not before it has
// tidied up.
func TestBrokenPipeOfACheckLeavesNothing(t *testing.T) {
	dir, tmp := folders(t)
	if code := start(t, dir, nil, nil, "tool-eval", "--out", "stored").end(t); code != 0 {
		t.Fatalf("exit code is %d", code)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	p := start(t, dir, nil, w, "tool-eval", "--check", "stored")
	w.Close()
	if code := p.end(t); code == 0 {
		t.Error("exit code is 0 though stdout could not be written")
	}
	if left := contents(t, tmp); len(left) > 0 {
		t.Errorf("left behind: %q", names(left))
	}
}

// While one run is under way, a second one into the same directory is told so.
func TestSecondRunIsTurnedAway(t *testing.T) {
	dir, _ := folders(t)
	out := filepath.Join(dir, "out")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	first := start(t, dir, r, nil, "tool-eval", "-q", "--cases", "/dev/stdin", "--out", "out")
	if err := casegen.Write(w, some); err != nil {
		t.Fatal(err)
	}
	underway(t, first, out, some)

	second := start(t, dir, nil, nil, "tool-eval", "--out", "out")
	if code := second.end(t); code != 3 {
		t.Errorf("exit code of the second run is %d, want 3", code)
	}
	if diff := cmp.Diff("lab: write reports: out: another run is writing here\n", second.stderr.String()); diff != "" {
		t.Errorf("stderr of the second run (-want +got):\n%s", diff)
	}

	w.Close()
	if code := first.end(t); code != 0 {
		t.Errorf("exit code of the first run is %d, want 0; stderr: %s", code, &first.stderr)
	}
	found := contents(t, out)
	if diff := cmp.Diff(reportFiles, names(found)); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	if lines := strings.Count(found["tool-runs.jsonl"], "\n"); lines != 2*some+2 {
		t.Errorf("tool-runs.jsonl has %d lines, want %d", lines, 2*some+2)
	}
}

// Of runs that start at the same time at least one succeeds, and the set is
// that of one of them.
func TestRunsAtTheSameTimeNeverMix(t *testing.T) {
	dir, _ := folders(t)
	selections := []string{"*", "read-ticket", "i*"}
	sets := make([]map[string]string, len(selections))
	for i, selection := range selections {
		apart := "apart-" + string(rune('a'+i))
		if code := start(t, dir, nil, nil, "tool-eval", "-q", "--case", selection, "--out", apart).end(t); code != 0 {
			t.Fatalf("exit code is %d", code)
		}
		sets[i] = contents(t, filepath.Join(dir, apart))
	}
	for range 5 {
		var runs []*labProcess
		for _, selection := range selections {
			runs = append(runs, start(t, dir, nil, nil, "tool-eval", "-q", "--case", selection, "--out", "together"))
		}
		succeeded := 0
		for _, p := range runs {
			switch code := p.end(t); {
			case code == 0:
				succeeded++
			case code != 3 || !strings.HasSuffix(p.stderr.String(), ": another run is writing here\n"):
				t.Errorf("exit code is %d; stderr: %s", code, &p.stderr)
			}
		}
		if succeeded == 0 {
			t.Error("no run succeeded")
		}
		together := contents(t, filepath.Join(dir, "together"))
		if !slices.ContainsFunc(sets, func(set map[string]string) bool { return maps.Equal(set, together) }) {
			t.Errorf("the set in the directory is of no single run: %q", names(together))
		}
	}
}
