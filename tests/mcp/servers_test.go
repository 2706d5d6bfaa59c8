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

// servers are the folders with a suite, and how many cases of each pass today.
// It stands here too so that expected.txt cannot be emptied unnoticed.
var servers = []struct {
	folder string
	passed int
	cases  int
}{
	{"everything", 11, 15},
	{"filesystem", 10, 18},
	{"memory", 7, 16},
	{"sqlite", 8, 19},
	{"taskmanager", 6, 16},
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestExpectations needs no server: every case has its line, in order.
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
			cases = append(cases, c.ID)
		}
		passed := 0
		for _, line := range lines(t, filepath.Join(server.folder, "expected.txt")) {
			id, verdict, _ := strings.Cut(line, ": ")
			expected = append(expected, id)
			if verdict == "pass" {
				passed++
			} else if graders, failed := strings.CutPrefix(verdict, "FAIL "); !failed || graders == "" {
				t.Errorf("%s: %s", server.folder, line)
			}
		}
		if diff := cmp.Diff(cases, expected); diff != "" {
			t.Errorf("%s: (-cases +expected)\n%s", server.folder, diff)
		}
		if len(cases) != server.cases || passed != server.passed {
			t.Errorf("%s: %d of %d pass", server.folder, passed, len(cases))
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
			// 1: some cases fail on every one of these servers.
			if err := run.Run(); run.ProcessState == nil || run.ProcessState.ExitCode() != 1 {
				t.Fatalf("%v\n%s", err, &stderr)
			}
			t.Logf("%s", &stderr)
			want := lines(t, filepath.Join(server.folder, "expected.txt"))
			for surface, got := range verdicts(t, filepath.Join(reports, "tool-runs.jsonl")) {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-expected.txt +today)\n%s", surface, diff)
				}
			}
		})
	}
}

// verdicts reads the lines of expected.txt out of a report, by surface.
func verdicts(t *testing.T, file string) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	for _, line := range lines(t, file) {
		var run struct {
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
		found[run.Strategy] = append(found[run.Strategy], run.CaseID+": "+verdict)
	}
	if len(found) == 0 {
		t.Fatal("the report has no run")
	}
	return found
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
			if row := fmt.Sprintf("| %s %s | %d | %d |", name, version, server.cases, server.passed); !strings.Contains(string(text), row) {
				t.Errorf("the README has no row %s", row)
			}
		}
	}
	if rows != len(servers) {
		t.Errorf("%d of %d servers were found", rows, len(servers))
	}
}
