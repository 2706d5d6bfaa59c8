//go:build linux

package process

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the children: "act ROLE TOKEN". The token is how a
// test finds what is left of them, without what the package itself looks at.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "act" {
		roles[os.Args[2]]()
		return
	}
	goleak.VerifyTestMain(m)
}

var roles map[string]func()

func init() {
	roles = map[string]func(){
		"echo":     func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
		"exit":     func() { fmt.Fprintln(os.Stderr, "cannot go on"); os.Exit(3) },
		"deaf":     func() { say(); forever() },
		"stubborn": func() { signal.Ignore(syscall.SIGTERM, syscall.SIGHUP); say(); forever() },
		"polite": func() { // ends when asked, not when its input ends
			asked := make(chan os.Signal, 1)
			signal.Notify(asked, syscall.SIGTERM)
			say()
			<-asked
			os.Exit(7)
		},
		"flood": func() {
			line := bytes.Repeat([]byte("x"), 999)
			line = append(line, '\n')
			for range 100_000 {
				_, _ = os.Stderr.Write(line)
			}
			fmt.Fprintln(os.Stderr, "the last word")
			say()
			_, _ = io.Copy(io.Discard, os.Stdin)
		},
		"no line": func() { fmt.Fprint(os.Stderr, strings.Repeat("é", 1000)) },
		"environment": func() {
			for _, v := range os.Environ() {
				fmt.Println(v)
			}
		},
		"where": func() {
			dir, _ := os.Getwd()
			fmt.Println(dir)
		},
		"parent in the group": func() { spawn("stubborn", nil, nil); say(); _, _ = io.Copy(io.Discard, os.Stdin) },
		"parent of a session": func() { spawn("stubborn", newSession, nil); say(); _, _ = io.Copy(io.Discard, os.Stdin) },
		"stubborn parent of sessions": func() {
			signal.Ignore(syscall.SIGTERM)
			spawn("stubborn", newSession, nil)
			spawn("stubborn parent without a name", newSession, nil)
			say()
			forever()
		},
		// Its child has no mark and a session of its own, and is found by its parent.
		"stubborn parent without a name": func() {
			signal.Ignore(syscall.SIGTERM)
			spawn("stubborn", newSession, []string{"NOTHING=1"})
			say()
			forever()
		},
		// It dies when asked to, and leaves a child that nothing leads to any more.
		"mortal parent without a name": func() {
			spawn("stubborn", newSession, []string{"NOTHING=1"})
			say()
			forever()
		},
		// The one between ends at once, so that init gets the child.
		"parent of an orphan": func() {
			between := spawn("wrapper in a session", newSession, nil)
			_ = between.Wait()
			say()
			_, _ = io.Copy(io.Discard, os.Stdin)
		},
		"wrapper in a session": func() { spawn("stubborn", newSession, nil) },
		"wrapper": func() {
			spawn("stubborn", nil, nil)
			spawn("stubborn", newSession, nil)
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(4)
		},
		// Forks for as long as it lives.
		"breeder": func() {
			say()
			for range 500 {
				spawn("sleeper", newSession, []string{"NOTHING=1"})
			}
		},
		"sleeper": func() { time.Sleep(time.Minute) },
		"lab": func() {
			p, err := Start(act("stubborn", os.Args[3]))
			if err != nil {
				panic(err)
			}
			line, _ := bufio.NewReader(p.Stdout()).ReadString('\n')
			fmt.Print(line)
			say()
			forever()
		},
	}
}

// quick lets a child with the race detector end without its last second.
var quick = map[string]string{"GORACE": "atexit_sleep_ms=0"}

var newSession = &syscall.SysProcAttr{Setsid: true}

// forever waits; without a timer the runtime would call it a deadlock.
func forever() { time.Sleep(time.Hour) }

func say() { fmt.Println(os.Args[2]) }

func spawn(role string, how *syscall.SysProcAttr, environment []string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", "act", role, os.Args[3])
	cmd.SysProcAttr = how
	cmd.Env = environment
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		os.Exit(9)
	}
	return cmd
}

func act(role, token string) Command {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Command{Args: []string{self, "act", role, token}, Env: Environment("/", quick)}
}

func token(t *testing.T) string {
	return fmt.Sprintf("token-%d-%d-%s", os.Getpid(), time.Now().UnixNano(), strings.ReplaceAll(t.Name(), "/", "-"))
}

// alive counts the processes that have a token and are no zombies.
func alive(t *testing.T, token string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && bytes.Contains(line, []byte(token)) {
			n++
		}
	}
	return n
}

func wantNobody(t *testing.T, token string) {
	t.Helper()
	if n := alive(t, token); n > 0 {
		t.Errorf("%d processes are left", n)
	}
}

// readLines reads what so many processes say when they are there.
func readLines(t *testing.T, p *Process, n int) *bufio.Reader {
	t.Helper()
	reader := bufio.NewReader(p.Stdout())
	for i := range n {
		if _, err := reader.ReadString('\n'); err != nil {
			t.Fatalf("line %d of %d: %v, %v", i+1, n, err, p.LastWords())
		}
	}
	return reader
}

func begin(t *testing.T, command Command) *Process {
	t.Helper()
	p, err := Start(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End(0) })
	return p
}

func waitFor(t *testing.T, done <-chan struct{}) {
	t.Helper()
	if !within(done, 20*time.Second, nil) {
		t.Fatal("it does not end")
	}
}
