//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// stubborn starts lab over servers with children that end only when they are
// killed, and waits until they are there.
func stubborn(t *testing.T, stdout *os.File, cases string, args ...string) (p *labProcess, file, tmp string) {
	t.Helper()
	dir, tmp := folders(t)
	file = filepath.Join(dir, "pids")
	suite := `version: 1
surfaces:
  s:
    mcp: {command: [faultserver, -pids, "` + file + `", -fault, ignore-eof, -fault, ignore-sigterm, -fault, daemon, "${SANDBOX}"]}
cases: [cases.jsonl]
effects: {directory: "${SANDBOX}"}
isolation: suite
timeout: 60s
`
	for name, text := range map[string]string{"lab.yaml": suite, "cases.jsonl": cases} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p = start(t, dir, nil, stdout, append([]string{"tool-eval", "--workers", "1"}, args...)...)
	for deadline := time.Now().Add(20 * time.Second); len(pids(t, file)) < 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("only %v are there; stderr: %s", pids(t, file), &p.stderr)
		}
	}
	return p, file, tmp
}

// Who interrupts twice does not want to wait, but nothing is left all the same.
func TestSecondInterruptLeavesNothing(t *testing.T) {
	servers(t)
	p, file, tmp := stubborn(t, nil, lastingCase)
	time.Sleep(150 * time.Millisecond)
	interrupted := time.Now()
	for range 2 {
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if code := p.end(t); code != 130 {
		t.Errorf("exit code is %d, want 130; stderr: %s", code, &p.stderr)
	}
	// The first interrupt alone would give the server two seconds.
	if took := time.Since(interrupted); took > 1500*time.Millisecond {
		t.Errorf("it took %s to end", took)
	}
	gone(t, pids(t, file))
	if left := contents(t, tmp); len(left) > 0 {
		t.Errorf("left behind: %q", names(left))
	}
}

// Where nobody reads what lab says, it ends as programs do then, but not before
// it has ended its servers.
func TestBrokenPipeLeavesNothingOfServers(t *testing.T) {
	const cases = `{"case_id":"add","intent":"Add.","proposals":[{"name":"add","arguments":{"a":1,"b":2}}],"expected":{"ok":true,"side_effect_count":0}}` + "\n"
	servers(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	p, file, tmp := stubborn(t, w, cases)
	w.Close()
	p.end(t)
	if state, ok := p.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() || state.Signal() != syscall.SIGPIPE {
		t.Errorf("lab ended with %s, want by SIGPIPE; stderr: %s", p.ProcessState, &p.stderr)
	}
	gone(t, pids(t, file))
	if left := contents(t, tmp); len(left) > 0 {
		t.Errorf("left behind: %q", names(left))
	}
}
