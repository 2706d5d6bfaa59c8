//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A mutant of a server is interrupted like the server itself: nothing of it is left,
// and the reports that were there stay.
func TestInterruptOfMutantsLeavesNothing(t *testing.T) {
	servers(t)
	dir, tmp := folders(t)
	file := filepath.Join(dir, "pids")
	for name, text := range map[string]string{
		"lab.yaml": `version: 1
surfaces:
  s:
    mcp: {command: [faultserver, -pids, "` + file + `", -fault, ignore-eof, -fault, ignore-sigterm, "${SANDBOX}"]}
    contract: contract.yaml
candidate: s
cases: [cases.jsonl]
effects: {directory: "${SANDBOX}"}
timeout: 60s
`,
		"contract.yaml": "version: 1\ndefault: deny\ntools:\n  slow: {permission: p, effect: read, timeout: 60s}\n",
		"cases.jsonl":   `{"case_id":"slow","intent":"Wait.","caller":{"id":"agent","permissions":["p"]},"proposals":[{"name":"slow","arguments":{"ms":60000}}],"expected":{"ok":true,"side_effect_count":0}}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(dir, "out", "mutation.json")
	if err := os.WriteFile(before, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, nil, nil, "mutate", "--out", "out", "--write-cases", "killers.jsonl")
	// The first start lists the tools; the second is of the case.
	for deadline := time.Now().Add(20 * time.Second); len(pids(t, file)) < 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("only %v are there; stderr: %s", pids(t, file), &p.stderr)
		}
	}
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.end(t); code != 130 {
		t.Errorf("exit code is %d, want 130; stderr: %s", code, &p.stderr)
	}
	gone(t, pids(t, file))
	if left := contents(t, tmp); len(left) > 0 {
		t.Errorf("left behind: %q", names(left))
	}
	if out := contents(t, filepath.Join(dir, "out")); len(out) != 1 || out["mutation.json"] != "{}\n" {
		t.Errorf("the folder of the reports holds %q", out)
	}
	if _, err := os.Lstat(filepath.Join(dir, "killers.jsonl")); err == nil {
		t.Error("cases were written")
	}
}
