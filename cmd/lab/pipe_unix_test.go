//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A named pipe that nobody writes to is not even opened; an interrupt ends the
// wait for it like any other.
func TestInterruptWhileAPipeIsOpened(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		dir, _ := folders(t)
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, dir, nil, nil, "tool-eval", "--cases", "pipe", "--out", "out")
		partial := filepath.Join(dir, "out", "tool-failures.md.partial")
		for range 400 {
			if found, _ := filepath.Glob(partial); found != nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := p.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := p.end(t); code != 130 {
			t.Errorf("%v: exit code is %d, want 130; stderr: %s", signal, code, &p.stderr)
		}
		if found, _ := filepath.Glob(filepath.Join(dir, "out", "*")); found != nil {
			t.Errorf("%v: left behind: %q", signal, found)
		}
	}
}

// And in place of a contract.
func TestInterruptWhileAContractIsRead(t *testing.T) {
	for _, args := range [][]string{{"tool-eval"}, {"pin"}, {"pin", "--check"}} {
		dir, _ := folders(t)
		const suite = "version: 1\nsurfaces: {a: {mcp: {command: [none]}, contract: pipe}}\ncases: [c.jsonl]\neffects: []\n"
		if err := os.WriteFile(filepath.Join(dir, "lab.yaml"), []byte(suite), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "c.jsonl"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		pipe := filepath.Join(dir, "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, dir, nil, nil, args...)
		w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		for range 2000 { // until somebody reads it
			if err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
			w, err = os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if code := p.end(t); code != 130 {
			t.Errorf("%v: exit code is %d, want 130; stderr: %s", args, code, &p.stderr)
		}
	}
}

// The same of a pipe in place of a file that says which servers there are.
func TestInterruptWhileASuiteIsRead(t *testing.T) {
	for _, args := range [][]string{{"-f", "pipe"}, {"--mcp-config", "pipe", "--server", "s", "--cases", "pipe"}} {
		dir, _ := folders(t)
		pipe := filepath.Join(dir, "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, dir, nil, nil, append([]string{"tool-eval"}, args...)...)
		// Opening it for writing waits until somebody reads it.
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if code := p.end(t); code != 130 {
			t.Errorf("%v: exit code is %d, want 130; stderr: %s", args, code, &p.stderr)
		}
	}
}
