//go:build linux

package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestEndLeavesNothing(t *testing.T) {
	tests := []struct {
		role   string
		lines  int // how many processes say that they are there
		grace  time.Duration
		status string
	}{
		{"echo", 0, 10 * time.Second, "exit status 0"},
		{"deaf", 1, 20 * time.Millisecond, "signal: terminated"},
		{"polite", 1, 5 * time.Millisecond, ""},
		{"stubborn", 1, 20 * time.Millisecond, "signal: killed"},
		{"parent in the group", 2, 20 * time.Millisecond, ""},
		{"parent of a session", 2, 20 * time.Millisecond, ""},
		{"stubborn parent of sessions", 4, 20 * time.Millisecond, "signal: killed"},
		{"mortal parent without a name", 2, 20 * time.Millisecond, "signal: terminated"},
		{"parent of an orphan", 2, 20 * time.Millisecond, ""},
		{"breeder", 1, 0, ""},
		{"lab", 2, 20 * time.Millisecond, "signal: terminated"},
	}
	for _, tt := range tests {
		t.Run(tt.role, func(t *testing.T) {
			t.Parallel()
			token := token(t)
			p := begin(t, act(tt.role, token))
			readLines(t, p, tt.lines)
			if n := alive(t, token); n < tt.lines {
				t.Fatalf("%d processes, want %d", n, tt.lines)
			}
			if p.Status() != "" {
				t.Errorf("it runs with the status %q", p.Status())
			}
			p.End(tt.grace)
			wantNobody(t, token)
			waitFor(t, p.Exited())
			if tt.status != "" && p.Status() != tt.status {
				t.Errorf("status %q, want %q", p.Status(), tt.status)
			}
			if n, err := p.Stdout().Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("its output gives %d, %v after the end", n, err)
			}
			if _, err := p.Stdin().Write([]byte("x")); err == nil {
				t.Error("it takes input after the end")
			}
			p.End(time.Hour)
		})
	}
}

func TestAskedToEndItIsGivenTime(t *testing.T) {
	token := token(t)
	p := begin(t, act("polite", token))
	readLines(t, p, 1)
	// The grace after SIGTERM is not used up.
	p.End(500 * time.Millisecond)
	if p.Status() != "exit status 7" {
		t.Errorf("status %q", p.Status())
	}
}

func TestAShorterGraceCounts(t *testing.T) {
	p := begin(t, act("stubborn", token(t)))
	readLines(t, p, 1)
	ended := make(chan struct{})
	go func() {
		p.End(time.Minute)
		close(ended)
	}()
	p.End(0)
	waitFor(t, ended)
}

func TestEndFromManySides(t *testing.T) {
	token := token(t)
	p := begin(t, act("stubborn parent of sessions", token))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { p.End(10 * time.Millisecond) })
		all.Go(func() { p.LastWords(); p.Status() })
	}
	all.Wait()
	wantNobody(t, token)
}

// A wrapper dies, and the server that it started holds its pipes.
func TestWhatOutlivesTheChild(t *testing.T) {
	token := token(t)
	p := begin(t, act("wrapper", token))
	reader := readLines(t, p, 2)
	if err := p.Stdin().Close(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(reader); len(rest) > 0 || err != nil { // it ends, although nobody calls End
		t.Errorf("%q, %v", rest, err)
	}
	waitFor(t, p.Exited())
	waitFor(t, p.gone)
	wantNobody(t, token)
	if p.Status() != "exit status 4" {
		t.Errorf("status %q", p.Status())
	}
}

func TestOutputIsReadAfterTheChildHasEnded(t *testing.T) {
	p := begin(t, act("echo", token(t)))
	if _, err := io.WriteString(p.Stdin(), "line\n"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Stdin().Close(), p.Stdin().Close()); err != nil {
		t.Error(err)
	}
	waitFor(t, p.gone)
	if text, err := io.ReadAll(p.Stdout()); string(text) != "line\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// Somebody who is not of the family may hold the pipes.
func TestPipesThatStayOpen(t *testing.T) {
	p := begin(t, act("deaf", token(t)))
	readLines(t, p, 1)
	for _, name := range []string{"1", "2"} {
		w, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%s", p.family.pid, name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, err := w.WriteString("by another"); err != nil {
			t.Fatal(err)
		}
	}
	p.family.kill()
	if rest, err := io.ReadAll(p.Stdout()); string(rest) != "by another" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	if diff := cmp.Diff([]string{"by another"}, p.LastWords()); diff != "" {
		t.Error(diff)
	}
}

func TestAPipeThatStaysOpen(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	if _, err := w.WriteString("left"); err != nil {
		t.Fatal(err)
	}
	o := &output{r}
	got := make([]byte, 3)
	if n, err := o.Read(got); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	time.AfterFunc(10*time.Millisecond, o.finish)
	rest, err := io.ReadAll(o)
	if string(rest) != "t" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestLastWords(t *testing.T) {
	p := begin(t, act("exit", token(t)))
	waitFor(t, p.Exited())
	if diff := cmp.Diff([]string{"cannot go on"}, p.LastWords()); diff != "" || p.Status() != "exit status 3" {
		t.Error(p.Status(), diff)
	}

	p = begin(t, act("no line", token(t)))
	waitFor(t, p.Exited())
	if words := p.LastWords(); len(words) != 1 || len(words[0]) != 500 || !utf8.ValidString(words[0]) {
		t.Errorf("%q", words)
	}
}

// 100 MB on standard error hold up nobody, and are not kept.
func TestFlood(t *testing.T) {
	p := begin(t, act("flood", token(t)))
	readLines(t, p, 1)
	p.End(10 * time.Second)
	words := p.LastWords()
	if len(words) != maxLines || words[9] != "the last word" || len(words[0]) != 500 {
		t.Errorf("%d lines, %q", len(words), words[len(words)-1])
	}
}

func TestWords(t *testing.T) {
	tests := []struct {
		name  string
		write []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"lines", []string{"a\nb\r\n\n  \nc"}, []string{"a", "b", "c"}},
		{"in pieces", []string{"a", "b", "\nc", "\n"}, []string{"ab", "c"}},
		{"the last ten", []string{strings.Repeat("x\n", 5), "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"},
			[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
		{"long", []string{strings.Repeat("x", 499), "yz", "\nshort"}, []string{strings.Repeat("x", 499) + "y", "short"}},
		{"no rune is cut", []string{strings.Repeat("x", 498) + "€"}, []string{strings.Repeat("x", 498)}},
		{"not UTF-8", []string{strings.Repeat("\xbf", 600)}, []string{strings.Repeat("\xbf", 496)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w words
			for _, text := range tt.write {
				if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatal(n, err)
				}
			}
			if diff := cmp.Diff(tt.want, w.last()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFiftyAtOnce(t *testing.T) {
	token := token(t)
	roles := []string{"echo", "wrapper", "parent of a session", "exit", "stubborn"}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			p, err := Start(act(roles[i%len(roles)], token))
			if err != nil {
				t.Error(err)
				return
			}
			p.End(10 * time.Millisecond)
		})
	}
	all.Wait()
	wantNobody(t, token)
}

// A killed lab takes its children along.
func TestTheParentIsKilled(t *testing.T) {
	token := token(t)
	cmd := exec.Command("/proc/self/exe", "act", "lab", token)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("stubborn\nlab\n"))); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for end := time.Now().Add(10 * time.Second); alive(t, token) > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	wantNobody(t, token)
}

// Who got the id of somebody else does not get the signal.
func TestAnIDThatIsUsedAgain(t *testing.T) {
	p := begin(t, act("deaf", token(t)))
	readLines(t, p, 1)
	m, ok := look(p.family.pid)
	if !ok || m.group != m.pid || m.parent != os.Getpid() || m.start == 0 || m.dead {
		t.Fatalf("%+v, %t", m, ok)
	}
	other := m
	other.start--
	other.signal(syscall.SIGKILL)
	m.signal(syscall.SIGTERM)
	waitFor(t, p.Exited())
	if p.Status() != "signal: terminated" {
		t.Errorf("status %q", p.Status())
	}
}

func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("plain", "text", 0o644)
	write("odd", "text", 0o755)
	write("lost", "#!/nowhere/interpreter\n", 0o755)
	tests := []struct {
		name    string
		command Command
		want    string
	}{
		{"nothing", Command{}, "start a process: no program is named"},
		{"no name", Command{Args: []string{""}}, "start a process: no program is named"},
		{"not in PATH", Command{Args: []string{"no-such-program-here"}}, "start no-such-program-here: no such program in PATH"},
		{"no file", Command{Args: []string{"./none"}, Dir: dir}, "start ./none: no such file"},
		{"a folder", Command{Args: []string{dir}}, "start " + dir + ": it is a folder"},
		{"not executable", Command{Args: []string{"./plain"}, Dir: dir}, "start ./plain: it is not executable"},
		{"no program", Command{Args: []string{"./odd"}, Dir: dir},
			"start ./odd: it is neither a program of this machine nor a script whose first line names an interpreter"},
		{"no interpreter", Command{Args: []string{"./lost"}, Dir: dir},
			"start ./lost: the interpreter that its first line names does not exist"},
		{"no folder", Command{Args: []string{"cat"}, Dir: dir + "/none"}, "start cat: the folder to run it in does not exist"},
		{"in a file", Command{Args: []string{"cat"}, Dir: dir + "/plain"}, "start cat: what it should run in is not a folder"},
		{"a zero byte", Command{Args: []string{"cat", "\x00"}}, "start cat: invalid argument"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Start(tt.command)
			var start *StartError
			if p != nil || !errors.As(err, &start) || err.Error() != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// A program with a slash is the one below the folder in which it runs.
func TestARelativeProgramIsRelativeToItsFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "bin", "server")); err != nil {
		t.Fatal(err)
	}
	p := begin(t, Command{Args: []string{"bin/server", "act", "where", token(t)}, Dir: dir, Env: Environment("/", quick)})
	text, err := io.ReadAll(p.Stdout())
	if want, _ := filepath.EvalSymlinks(dir); strings.TrimSpace(string(text)) != want || err != nil {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PATH", "/bin")
	t.Setenv("SECRET", "of the lab")
	t.Setenv(markPrefix+"OUTER", "1")
	tests := []struct {
		extra map[string]string
		want  []string
	}{
		{nil, []string{"HOME=/home", "PATH=/bin"}},
		{map[string]string{"Z": "", "A": "1=2", "PATH": "/other"}, []string{"A=1=2", "HOME=/home", "PATH=/other", "Z="}},
	}
	for _, tt := range tests {
		got := Environment("/home", tt.extra)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(diff)
		}
		command := act("environment", token(t))
		command.Env = got
		p := begin(t, command)
		text, err := io.ReadAll(p.Stdout())
		if err != nil {
			t.Fatal(err)
		}
		if all := string(Unmark(text)); !strings.Contains(all, markPrefix+"=1\n") || strings.Count(all, "\n") != strings.Count(string(text), "\n") {
			t.Errorf("without its mark: %q", all)
		}
		if other := string(Unmark([]byte(markPrefix + "OUTER=1"))); other != markPrefix+"OUTER=1" {
			t.Errorf("what is no mark: %q", other)
		}
		var plain []string
		marks := 0
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, markPrefix) {
				marks++
			} else {
				plain = append(plain, strings.TrimSpace(line))
			}
		}
		if diff := cmp.Diff(tt.want, plain); diff != "" || marks != 2 {
			t.Error(marks, diff)
		}
	}
}

// A command in one word is a mistake that many make.
func TestStartOfACommandInOneWord(t *testing.T) {
	for args, want := range map[string]string{
		"no-such-program with arguments": `start no-such-program with arguments: no such program in PATH; its name has blanks: is it a program and its arguments in one word?`,
		"./no-such program":              `start ./no-such program: no such file; its name has blanks: is it a program and its arguments in one word?`,
	} {
		if _, err := Start(Command{Args: []string{args}}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}
