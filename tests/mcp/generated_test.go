package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// generated are the folders with cases that follow from the input schemas of the
// server's bare catalog, and how many of them the server fails today. Each failure
// stands in generated.txt, with what the server did: somebody has looked. The other
// servers refuse all such calls.
var generated = []struct {
	folder        string
	cases, failed int
}{
	{"filesystem", 40, 3},
	{"memory", 40, 4},
	{"sqlite", 38, 11},
}

// failures reads generated.txt, without what the server did.
func failures(t *testing.T, folder string) (verdicts []string) {
	t.Helper()
	for _, line := range lines(t, filepath.Join(folder, "generated.txt")) {
		if line == "" {
			continue
		}
		verdict, did, told := strings.Cut(line, "  # ")
		if !told || did == "" {
			t.Errorf("%s: nobody says what the server did: %s", folder, line)
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}

// TestGeneratedExpectations needs no server.
func TestGeneratedExpectations(t *testing.T) {
	for _, g := range generated {
		ids := make(map[string]bool)
		for _, line := range lines(t, filepath.Join(g.folder, "generated.jsonl")) {
			var c struct {
				ID     string `json:"case_id"`
				Clause string
			}
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatal(err)
			}
			if c.Clause == "" {
				t.Errorf("%s: %s names no clause", g.folder, c.ID)
			}
			ids[c.ID] = true
		}
		expected := failures(t, g.folder)
		for _, verdict := range expected {
			if id, _, _ := strings.Cut(verdict, " "); !ids[id] {
				t.Errorf("%s: there is no case %s", g.folder, id)
			}
		}
		if len(ids) != g.cases || len(expected) != g.failed {
			t.Errorf("%s: %d cases, of which %d fail", g.folder, len(ids), len(expected))
		}
	}
}

// TestGenerated generates the cases anew and replays them: the server fails those
// that it failed, and behind its contract none.
func TestGenerated(t *testing.T) {
	if os.Getenv("MCP_NODE_MODULES") == "" {
		t.Skip("the servers are not installed; make test-mcp does that")
	}
	lab := filepath.Join(t.TempDir(), "lab")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", lab, "agentlab/cmd/lab").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, g := range generated {
		t.Run(g.folder, func(t *testing.T) {
			suite, cases := filepath.Join(g.folder, "lab.yaml"), filepath.Join(g.folder, "generated.jsonl")
			fresh, err := exec.CommandContext(t.Context(), lab, "generate", "-q", "-f", suite, "--surface", "raw", "--only", "schema", "--max", "40").Output()
			if err != nil {
				t.Fatal(err)
			}
			committed, err := os.ReadFile(cases)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(committed), string(fresh)); diff != "" {
				t.Fatalf("%s is not what is generated today (-committed +today)\n%s", cases, diff)
			}
			reports := t.TempDir()
			run := exec.CommandContext(t.Context(), lab, "tool-eval", "-q", "-f", suite, "--baseline", "governed", "--candidate", "raw", "--cases", cases, "--out", reports)
			var stderr bytes.Buffer
			run.Stderr = &stderr
			_ = run.Run() // the gate is red where a case fails
			if code := run.ProcessState.ExitCode(); code != 0 && code != 1 {
				t.Fatalf("exit code %d\n%s", code, &stderr)
			}
			failed := slices.DeleteFunc(verdicts(t, filepath.Join(reports, "tool-runs.jsonl")), func(verdict string) bool {
				return strings.HasSuffix(verdict, ": pass")
			})
			if diff := cmp.Diff(failures(t, g.folder), failed); diff != "" {
				t.Errorf("(-generated.txt +today)\n%s", diff)
			}
		})
	}
}
