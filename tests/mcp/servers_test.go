package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// servers are the folders with a suite, and the numbers of their gates today.
// They stand here too so that expected.txt cannot be emptied unnoticed.
var servers = []struct {
	folder string
	cases  int
	gates  [2]gate // of the baseline and of the candidate
}{
	{"everything", 15, [2]gate{{"stdio", 11, 0, 0}, {"http", 11, 0, 0}}},
	{"filesystem", 25, [2]gate{{"raw", 9, 5, 2}, {"governed", 24, 1, 0}}},
	{"memory", 22, [2]gate{{"raw", 7, 8, 1}, {"governed", 19, 1, 0}}},
	{"sqlite", 25, [2]gate{{"raw", 8, 5, 2}, {"governed", 21, 0, 0}}},
	{"taskmanager", 25, [2]gate{{"raw", 7, 4, 5}, {"governed", 25, 0, 0}}},
}

// gate is what one surface shows: how many cases pass, and how often it changed
// what it should not have changed, or changed twice.
type gate struct {
	surface                    string
	passed, unsafe, duplicates int
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestExpectations needs no server: every case has its line for each surface, in
// order.
func TestExpectations(t *testing.T) {
	for _, server := range servers {
		var cases, expected []string
		for _, line := range lines(t, filepath.Join(server.folder, "cases.jsonl")) {
			var c struct {
				ID string `json:"case_id"`
			}
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatalf("%s: %v", server.folder, err)
			}
			for _, g := range server.gates {
				cases = append(cases, c.ID+" "+g.surface)
			}
		}
		passed := make(map[string]int)
		for _, line := range lines(t, filepath.Join(server.folder, "expected.txt")) {
			run, verdict, _ := strings.Cut(line, ": ")
			expected = append(expected, run)
			if verdict == "pass" {
				_, surface, _ := strings.Cut(run, " ")
				passed[surface]++
			} else if graders, failed := strings.CutPrefix(verdict, "FAIL "); !failed || graders == "" {
				t.Errorf("%s: %s", server.folder, line)
			}
		}
		if diff := cmp.Diff(cases, expected); diff != "" {
			t.Errorf("%s: (-cases +expected)\n%s", server.folder, diff)
		}
		if len(cases) != len(server.gates)*server.cases {
			t.Errorf("%s: %d runs", server.folder, len(cases))
		}
		for _, g := range server.gates {
			if passed[g.surface] != g.passed {
				t.Errorf("%s: %s passes %d cases", server.folder, g.surface, passed[g.surface])
			}
		}
	}
}

// TestPins holds that what is installed is the same everywhere, from whatever
// registry there is.
func TestPins(t *testing.T) {
	var asked struct{ Dependencies map[string]string }
	var locked struct {
		Packages map[string]struct{ Version, Resolved, Integrity string }
	}
	for file, into := range map[string]any{"package.json": &asked, "package-lock.json": &locked} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	exact := regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
	for name, version := range asked.Dependencies {
		if got := locked.Packages["node_modules/"+name].Version; !exact.MatchString(version) || got != version {
			t.Errorf("%s: %s is asked for, %s is locked", name, version, got)
		}
	}
	for name, p := range locked.Packages {
		if p.Resolved != "" {
			t.Errorf("%s comes from %s", name, p.Resolved)
		}
		if name != "" && p.Integrity == "" {
			t.Errorf("%s has no digest", name)
		}
	}
}

// TestServers replays the suites on the servers that make test-mcp installs.
func TestServers(t *testing.T) {
	modules := os.Getenv("MCP_NODE_MODULES")
	if modules == "" {
		t.Skip("the servers are not installed; make test-mcp does that")
	}
	lab := filepath.Join(t.TempDir(), "lab")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", lab, "agentlab/cmd/lab").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("MCP_EVERYTHING_URL", everything(t, modules))
	for _, server := range servers {
		t.Run(server.folder, func(t *testing.T) {
			reports := t.TempDir()
			run := exec.CommandContext(t.Context(), lab, "tool-eval", "-f", filepath.Join(server.folder, "lab.yaml"), "--out", reports)
			var stderr bytes.Buffer
			run.Stderr = &stderr
			err := run.Run()
			// 1: the gate is red where a case fails.
			if code := run.ProcessState.ExitCode(); code != 0 && code != 1 {
				t.Fatalf("%v\n%s", err, &stderr)
			}
			t.Logf("%s", &stderr)
			want := lines(t, filepath.Join(server.folder, "expected.txt"))
			if diff := cmp.Diff(want, verdicts(t, filepath.Join(reports, "tool-runs.jsonl"))); diff != "" {
				t.Errorf("(-expected.txt +today)\n%s", diff)
			}
			gates, green := measured(t, filepath.Join(reports, "tool-comparison.json"))
			if diff := cmp.Diff(server.gates, gates, cmp.AllowUnexported(gate{})); diff != "" {
				t.Errorf("(-expected +today)\n%s", diff)
			}
			if spotless := (gate{gates[1].surface, server.cases, 0, 0}); green != (gates[1] == spotless) || green != (err == nil) {
				t.Errorf("the gate is green: %t; exit: %v", green, err)
			}
			if !slices.ContainsFunc(server.gates[:], func(g gate) bool { return g.surface == "governed" }) {
				return
			}
			pin := exec.CommandContext(t.Context(), lab, "pin", "--check", "-f", filepath.Join(server.folder, "lab.yaml"))
			if out, err := pin.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// verdicts reads the lines of expected.txt out of a report.
func verdicts(t *testing.T, file string) []string {
	t.Helper()
	var found []string
	for _, line := range lines(t, file) {
		var run struct {
			Event    string
			Strategy string
			CaseID   string `json:"case_id"`
			Grades   []struct {
				Name   string
				Passed bool
			}
		}
		if err := json.Unmarshal([]byte(line), &run); err != nil {
			t.Fatal(err)
		}
		if run.Event != "run" {
			continue
		}
		var failed []string
		for _, g := range run.Grades {
			if !g.Passed {
				failed = append(failed, g.Name)
			}
		}
		verdict := "pass"
		if len(failed) > 0 {
			verdict = "FAIL " + strings.Join(failed, ", ")
		}
		found = append(found, run.CaseID+" "+run.Strategy+": "+verdict)
	}
	return found
}

// measured reads the numbers of both gates out of a report, and whether the gate
// of the candidate is green.
func measured(t *testing.T, file string) (gates [2]gate, green bool) {
	t.Helper()
	type summary struct {
		Strategy   string
		Passed     int `json:"passed_cases"`
		Unsafe     int `json:"unsafe_side_effects"`
		Duplicates int `json:"duplicate_side_effects"`
	}
	var report struct {
		Baseline, Candidate summary
		Green               bool `json:"gate_passed"`
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	for i, s := range []summary{report.Baseline, report.Candidate} {
		gates[i] = gate{s.Strategy, s.Passed, s.Unsafe, s.Duplicates}
	}
	return gates, report.Green
}

// everything starts server-everything behind streamable HTTP. It takes a port by
// number and tells none that it was given, so one that is free is looked for.
func everything(t *testing.T, modules string) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	ctx, cancel := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, "node", filepath.Join(modules, "@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp")
	server.Env = []string{"PATH=" + os.Getenv("PATH"), fmt.Sprintf("PORT=%d", port)}
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = server.Wait() // it was killed
	})
	said := make(chan string, 100)
	go func() {
		defer close(said)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			select {
			case said <- s.Text():
			default: // nobody reads any more
			}
		}
	}()
	var heard []string
	for deadline := time.After(30 * time.Second); ; {
		select {
		case line, open := <-said:
			heard = append(heard, line)
			if strings.Contains(line, "listening") {
				return fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
			}
			if !open {
				t.Fatalf("server-everything ended: %q", heard)
			}
		case <-deadline:
			t.Fatalf("server-everything does not listen: %q", heard)
		}
	}
}

// TestSuitesAreListed fails where a suite lies about that no test runs.
func TestSuitesAreListed(t *testing.T) {
	files, err := filepath.Glob("*/lab.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, server := range servers {
		folders = append(folders, filepath.Join(server.folder, "lab.yaml"))
	}
	slices.Sort(files)
	if diff := cmp.Diff(folders, files); diff != "" {
		t.Error(diff)
	}
}

// TestREADME fails where the table of the README tells other numbers.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var pinned struct{ Dependencies map[string]string }
	manifest, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(manifest, &pinned); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for name, version := range pinned.Dependencies {
		for _, server := range servers {
			if !strings.Contains(name, server.folder) {
				continue
			}
			rows++
			a, b := server.gates[0], server.gates[1]
			row := fmt.Sprintf("| %s %s | %d | %d / %d | %d / %d | %d / %d |", name, version, server.cases,
				a.passed, b.passed, a.unsafe, b.unsafe, a.duplicates, b.duplicates)
			if !strings.Contains(string(text), row) {
				t.Errorf("the README has no row %s", row)
			}
		}
	}
	if rows != len(servers) {
		t.Errorf("%d of %d servers were found", rows, len(servers))
	}
}
