//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// servers makes "faultserver" a program of PATH for this test.
func servers(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "faultserver")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// pids reads what servers have written of themselves and of their children.
func pids(t *testing.T, file string) (all []int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.HasSuffix(line, "\n") {
			continue // it is being written
		}
		pid, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// gone fails where a process is still there. One that has ended but that nobody
// has waited for is not.
func gone(t *testing.T, all []int) {
	t.Helper()
	for _, pid := range all {
		if syscall.Kill(pid, 0) == nil && !ended(pid) {
			t.Errorf("process %d is still there", pid)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return os.IsNotExist(err)
	}
	after := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return strings.HasPrefix(after, " Z") || strings.HasPrefix(after, " X")
}

// lastingCase is a case that takes as long as its server lets it.
const lastingCase = `{"case_id":"slow","intent":"Wait.","proposals":[{"name":"slow","arguments":{"ms":60000}}],"expected":{"ok":true,"side_effect_count":0}}` + "\n"

// Whenever lab is interrupted, nothing of a server and no folder is left.
func TestInterruptEndsServers(t *testing.T) {
	servers(t)
	tests := []struct {
		name   string
		faults []string
		args   []string
		pids   int // that are there before the signal
	}{
		{"at the start", []string{"never-initialize"}, nil, 1},
		{"in a call", nil, nil, 1},
		{"in a call of a server with children", []string{"child", "daemon"}, nil, 3},
		{"of a server that ignores the end of its input", []string{"ignore-eof", "ignore-sigterm", "child:pipes"}, nil, 2},
		{"in a probe", nil, []string{"--effects", "command:sleep 60"}, 1},
		{"while tools are listed", []string{"list-hang"}, nil, 1},
	}
	for _, test := range tests {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(fmt.Sprintf("%s/%s", test.name, signal), func(t *testing.T) {
				t.Parallel()
				dir, tmp := folders(t)
				file := filepath.Join(dir, "pids")
				command := "faultserver -pids " + file
				for _, fault := range test.faults {
					command += " -fault " + fault
				}
				if err := os.WriteFile(filepath.Join(dir, "cases.jsonl"), []byte(lastingCase), 0o644); err != nil {
					t.Fatal(err)
				}
				args := append([]string{"tool-eval", "--timeout", "60s", "--cases", "cases.jsonl", "--candidate-mcp", command + " '${SANDBOX}'"}, test.args...)
				p := start(t, dir, nil, nil, args...)
				for deadline := time.Now().Add(20 * time.Second); len(pids(t, file)) < test.pids; time.Sleep(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("only %v are there; stderr: %s", pids(t, file), &p.stderr)
					}
				}
				// A moment more, so that the server is where the test wants it.
				time.Sleep(150 * time.Millisecond)
				if err := p.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				interrupted := time.Now()
				if code := p.end(t); code != 130 {
					t.Errorf("exit code is %d, want 130; stderr: %s", code, &p.stderr)
				}
				if took := time.Since(interrupted); took > 10*time.Second {
					t.Errorf("it took %s to end", took)
				}
				if text := p.stderr.String(); !strings.HasSuffix(text, "lab: interrupted; nothing was written\n") {
					t.Errorf("stderr: %s", text)
				}
				gone(t, pids(t, file))
				if left := contents(t, tmp); len(left) > 0 {
					t.Errorf("left behind: %q", names(left))
				}
			})
		}
	}
}

// An interrupted init leaves no file, no folder and no server.
func TestInterruptOfInitLeavesNothing(t *testing.T) {
	servers(t)
	for _, fault := range []string{"never-initialize", "list-hang", "slow-start:60000"} {
		for _, dir := range []string{".", "new/folder"} {
			t.Run(fault+" in "+dir, func(t *testing.T) {
				t.Parallel()
				work, tmp := folders(t)
				file := filepath.Join(work, "..", "pids")
				p := start(t, work, nil, nil, "init", "--dir", dir, "--", "faultserver", "-pids", file, "-fault", fault, "-fault", "child", "-fault", "daemon", "${SANDBOX}")
				for deadline := time.Now().Add(20 * time.Second); len(pids(t, file)) < 3; time.Sleep(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("only %v are there; stderr: %s", pids(t, file), &p.stderr)
					}
				}
				time.Sleep(50 * time.Millisecond)
				if err := p.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				if code := p.end(t); code != 130 || p.stderr.String() != "lab: interrupted; nothing was written\n" {
					t.Errorf("exit code is %d; stderr: %s", code, &p.stderr)
				}
				gone(t, pids(t, file))
				for _, d := range []string{work, tmp} {
					if left := contents(t, d); len(left) > 0 {
						t.Errorf("left behind: %q", names(left))
					}
				}
			})
		}
	}
}

// After every end that is not an interrupt, nothing is left either.
func TestNothingIsLeftOfServers(t *testing.T) {
	servers(t)
	const quickCase = `{"case_id":"add","intent":"Add.","proposals":[{"name":"add","arguments":{"a":1,"b":2}}],"expected":{"ok":true,"side_effect_count":0}}` + "\n"
	tests := []struct {
		name   string
		faults []string
		code   int
	}{
		{"passed", []string{"child", "daemon"}, 0},
		{"failed", []string{"child", "daemon", "break-output-schema"}, 1},
		{"died", []string{"child", "daemon", "exit-at-call"}, 3},
		{"died at its start", []string{"child", "daemon", "exit-at-initialize"}, 3},
		{"hung", []string{"child", "daemon", "hang"}, 1},
		{"closed its output", []string{"child", "daemon", "close-stdout"}, 3},
		{"closed its output, which children hold", []string{"child:pipes", "daemon:pipes", "close-stdout"}, 1},
		{"deaf", []string{"child", "daemon", "ignore-eof", "ignore-sigterm"}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, tmp := folders(t)
			file := filepath.Join(dir, "pids")
			command := "faultserver -pids " + file
			for _, fault := range test.faults {
				command += " -fault " + fault
			}
			if err := os.WriteFile(filepath.Join(dir, "cases.jsonl"), []byte(quickCase), 0o644); err != nil {
				t.Fatal(err)
			}
			p := start(t, dir, nil, nil, "tool-eval", "--timeout", "1s", "--cases", "cases.jsonl", "--candidate-mcp", command)
			if code := p.end(t); code != test.code {
				t.Errorf("exit code is %d, want %d; stderr: %s", code, test.code, &p.stderr)
			}
			all := pids(t, file)
			if len(all) < 3 {
				t.Errorf("only %v were started", all)
			}
			gone(t, all)
			if left := contents(t, tmp); len(left) > 0 {
				t.Errorf("left behind: %q", names(left))
			}
		})
	}
}
