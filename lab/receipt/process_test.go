package receipt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// children are the programs that this test binary is when a test starts it
// again, by the name in the environment.
var children = map[string]func(path string) error{
	"act":         act,
	"actOnTheirs": actOnTheirs,
}

const (
	childName    = "RECEIPT_TEST_CHILD"
	childFile    = "RECEIPT_TEST_FILE"
	childActions = "RECEIPT_TEST_ACTIONS"
	childSeed    = "RECEIPT_TEST_SEED"
)

func TestMain(m *testing.M) {
	name := os.Getenv(childName)
	if name == "" {
		goleak.VerifyTestMain(m)
	}
	if err := children[name](os.Getenv(childFile)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// child starts this binary as one of the children. It is killed, at the
// latest, with the test.
func child(t *testing.T, name, path string, more ...string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable)
	cmd.Env = append(os.Environ(), childName+"="+name, childFile+"="+path)
	cmd.Env = append(cmd.Env, more...)
	return cmd
}

// act does the actions 0 to n-1 in an order of its own, and says so of each one
// that has a receipt.
func act(path string) error {
	n, _ := strconv.Atoi(os.Getenv(childActions))
	seed, _ := strconv.ParseUint(os.Getenv(childSeed), 10, 64)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := OpenSQLite(ctx, path)
	if err != nil {
		return err
	}
	fmt.Println("open")
	random := rand.New(rand.NewPCG(seed, 0))
	for _, i := range random.Perm(n) {
		action := fmt.Sprint(i)
		c, known, err := s.Claim(ctx, Key{"record", "a", action}, noon)
		if err != nil {
			return err
		}
		if known == nil {
			fmt.Println("claimed")
			if err := s.Update(c.Context(ctx), appendTo("effects", action)); err != nil {
				return err
			}
			time.Sleep(time.Duration(random.IntN(300)) * time.Microsecond)
			if err := c.Keep(Receipt{State: Applied, Fingerprint: action, SettledAt: noon}); err != nil {
				return err
			}
		} else if known.Fingerprint != action {
			return fmt.Errorf("action %s has the receipt %v", action, known)
		}
		fmt.Println(action)
	}
	return s.Close()
}

// TestKill kills a process at random moments, and repeats what it was doing.
func TestKill(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 20
	}
	actions := 10 * kills // a few are done between two kills
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv(childSeed); given != "" {
		seed, _ = strconv.ParseUint(given, 10, 64)
	}
	t.Logf("%s=%d", childSeed, seed)
	random := rand.New(rand.NewPCG(seed, 1))
	path := filepath.Join(t.TempDir(), "r.db")
	told := map[string]bool{}     // what a process said that it had done
	var opened, alive, within int // of the processes that were killed
	for range kills {
		cmd := child(t, "act", path,
			childActions+"="+fmt.Sprint(actions), childSeed+"="+fmt.Sprint(random.Uint64()))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		// Most are killed at work, some as they open the file.
		if random.IntN(5) > 0 {
			if line, err := lines.ReadString('\n'); line != "open\n" {
				t.Errorf("a process said %q, %v", line, err)
			}
			opened++
		}
		time.Sleep(time.Duration(random.IntN(20_000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		rest, _ := io.ReadAll(lines)
		if cmd.Wait() != nil {
			alive++
		}
		claimed := false
		for line := range strings.Lines(string(rest)) {
			line, whole := strings.CutSuffix(line, "\n")
			_, err := strconv.Atoi(line)
			switch {
			case !whole || line == "open":
			case line == "claimed":
				claimed = true
			case err == nil:
				claimed = false
				told[line] = true
			default:
				t.Fatalf("a process failed: %s", line)
			}
		}
		if claimed {
			within++
		}
	}
	s := openAt(t, path)
	wantIntact(t, s)
	for action := range told {
		wantPeek(t, s, Key{"record", "a", action}, &Receipt{State: Applied, Fingerprint: action, SettledAt: noon})
	}
	before, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantOnceEach(t, s, before)
	t.Logf("%d kills, %d of a process that had opened the file, %d before it ended, %d within a claim; "+
		"%d actions done, %d told of", kills, opened, alive, within, len(before), len(told))

	cmd := child(t, "act", path, childActions+"="+fmt.Sprint(actions))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the last process: %v\n%s", err, out)
	}
	after, err := s.List(t.Context())
	if err != nil || len(after) != actions {
		t.Errorf("%d receipts, %v; want %d", len(after), err, actions)
	}
	wantOnce(t, s, actions)
	wantIntact(t, s)
}

// wantOnceEach holds the effects against the receipts.
func wantOnceEach(t *testing.T, s *SQLite, entries []Entry) {
	t.Helper()
	receipts := map[string]bool{}
	for _, entry := range entries {
		receipts[entry.Value] = true
	}
	effects := all(t, s, "effects")
	for _, effect := range effects {
		if !receipts[effect] {
			t.Errorf("the effect of action %s has no receipt, or there are two", effect)
		}
		delete(receipts, effect)
	}
	for action := range receipts {
		t.Errorf("the receipt of action %s has no effect", action)
	}
}

func TestTwoProcesses(t *testing.T) {
	const actions = 150
	path := filepath.Join(t.TempDir(), "r.db")
	ended := make(chan error)
	for seed := range 2 {
		cmd := child(t, "act", path,
			childActions+"="+fmt.Sprint(actions), childSeed+"="+fmt.Sprint(seed))
		go func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = errors.Join(err, errors.New(string(out)))
			}
			ended <- err
		}()
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	s := openAt(t, path)
	wantOnce(t, s, actions)
	wantIntact(t, s)
}
