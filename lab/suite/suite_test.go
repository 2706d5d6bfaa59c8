package suite_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/suite"
	"agentlab/lab/yamlfile"
)

// variables is an environment.
type variables map[string]string

func (v variables) lookup(name string) (string, bool) {
	value, set := v[name]
	return value, set
}

var someVariables = variables{
	"TOKEN": "s3cr3t", "EMPTY": "", "SEED": "files", "NESTED": "${TOKEN}", "BOX": "${SANDBOX}", "HALF": "${SAND",
	"LATIN": "\xe9", "ZERO": "a\x00b", "LINES": "a\nb", "SANDBOX": "/not/this", "SPACED": "two words",
}

// folder returns a folder with the files that the tests name, and the text as
// its suite file.
func folder(t *testing.T, text string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"cases/b.jsonl", "cases/a.jsonl", "cases/c.txt", "cases/old.jsonl/x", "files/note.txt", "odd[1].jsonl"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file = filepath.Join(dir, suite.DefaultFile)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

// read reads a text as a suite file. Its folder is called DIR, and left out of
// faults and cases.
func read(t *testing.T, text string) (*suite.Suite, string) {
	t.Helper()
	dir, file := folder(t, text)
	s, err := suite.Read(file, someVariables.lookup)
	if err != nil {
		if s != nil {
			t.Errorf("a suite beside the error %v", err)
		}
		return nil, strings.ReplaceAll(err.Error(), dir+"/", "")
	}
	raw, err := json.Marshal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Cases {
		s.Cases[i] = strings.TrimPrefix(s.Cases[i], dir+"/")
	}
	for i := range s.Surfaces {
		surface := &s.Surfaces[i]
		surface.Contract = strings.Replace(surface.Contract, dir, "DIR", 1)
		surface.Sandbox.Seed = strings.Replace(surface.Sandbox.Seed, dir, "DIR", 1)
		for k, effect := range surface.Effects {
			switch e := effect.(type) {
			case suite.Directory:
				e.Path = strings.Replace(e.Path, dir, "DIR", 1)
				surface.Effects[k] = e
			case suite.SQLite:
				e.Path = strings.Replace(e.Path, dir, "DIR", 1)
				surface.Effects[k] = e
			case suite.Call:
				if strings.Contains(string(e.Arguments), string(raw)) {
					t.Errorf("the arguments %s were taken for a path", e.Arguments)
				}
			}
		}
	}
	return s, ""
}

const example = `version: 1
surfaces:
  before:
    mcp: {command: [npx, -y, "@modelcontextprotocol/server-filesystem", "${SANDBOX}"]}
  after:
    mcp: {url: "http://127.0.0.1:8931/mcp", headers: {Authorization: "Bearer ${TOKEN}"}}
baseline: before
candidate: after
cases: [cases/*.jsonl]
sandbox: {seed: files}               # copied to a fresh ${SANDBOX} for every case
effects: {directory: "${SANDBOX}"}   # how side effects are counted
isolation: case                      # a fresh server a case
timeout: 10s
`

func TestRead(t *testing.T) {
	files := suite.Sandbox{Seed: "DIR/files"}
	directory := []suite.Effect{suite.Directory{Path: "${SANDBOX}"}}
	tests := []struct {
		name, text string
		want       suite.Suite
	}{
		{"example", example, suite.Suite{
			Surfaces: []suite.Surface{
				{Name: "after", Server: suite.Server{URL: "http://127.0.0.1:8931/mcp", Headers: map[string]string{"Authorization": "Bearer s3cr3t"}}, Sandbox: files, Effects: directory},
				{Name: "before", Server: suite.Server{Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "${SANDBOX}"}}, Sandbox: files, Effects: directory},
			},
			Baseline: "before", Candidate: "after",
			Cases:     []string{"cases/a.jsonl", "cases/b.jsonl"},
			Isolation: suite.PerCase, Timeout: 10 * time.Second,
		}},
		{"defaults", "\ufeffversion: 1\r\nsurfaces: {one: {mcp: {command: [./server]}}}\r\ncases: [cases/a.jsonl]\r\neffects: []\r\n", suite.Suite{
			Surfaces:  []suite.Surface{{Name: "one", Server: suite.Server{Command: []string{"./server"}}}},
			Candidate: "one",
			Cases:     []string{"cases/a.jsonl"},
			Isolation: suite.PerCase, Timeout: 10 * time.Second,
		}},
		{"everything", `
version: 1
candidate: a.1
baseline: B_-2
isolation: ${MISSING:-suite}
timeout: 1m30s
cases: [cases/b.jsonl, "cases/?.jsonl", "odd[1].jsonl"]
sandbox: {seed: "${SEED}"}
effects:
- directory: {path: state, ignore: ["*.log", "${MISSING:-cache}"]}
  sqlite: ${SANDBOX}/db.sqlite
- sqlite: data/../db.sqlite
- call:
    tool: read_graph
    arguments:
      z: 9007199254740993
      a: [1.50, -0, 1e3, true, False, ~, "12", yes, 2024-01-01, "<&>", "${SANDBOX}/x", "${NESTED}", "\0\"", {}, []]
    server: {command: ["${EMPTY:-cat}", "", "${SPACED}", $HOME, "$${TOKEN}", "a$$b"], env: {A: "${TOKEN}", B: "${EMPTY}", C: "${SANDBOX}/c"}}
- call: {tool: list}
- http: http://127.0.0.1:1/state?x=1
- http: {url: "${MISSING:-https://example.com}", headers: {X-Key: "${TOKEN}"}}
- command: [cat, "${SANDBOX}/state.json"]
surfaces:
  B_-2: {mcp: {command: [b]}, sandbox: {}, effects: []}
  a.1:
    mcp: {url: "HTTPS://[::1]:8/mcp"}
    effects: {http: "http://localhost"}
`, suite.Suite{
			Surfaces: []suite.Surface{
				{Name: "B_-2", Server: suite.Server{Command: []string{"b"}}},
				{Name: "a.1", Server: suite.Server{URL: "HTTPS://[::1]:8/mcp"}, Sandbox: files, Effects: []suite.Effect{suite.HTTP{URL: "http://localhost"}}},
			},
			Baseline: "B_-2", Candidate: "a.1",
			Cases:     []string{"cases/b.jsonl", "cases/a.jsonl", "odd[1].jsonl"},
			Isolation: suite.PerSuite, Timeout: 90 * time.Second,
		}},
		{"contracts", `
version: 1
baseline: raw
candidate: strict
cases: [cases/a.jsonl]
effects: []
surfaces:
  strict: {surface: raw, contract: "${SEED}/note.txt", sandbox: {}}
  plain: {mcp: {url: "http://a"}, contract: 'odd[1].jsonl'}
  raw: {mcp: {command: [b]}, sandbox: {seed: files}, effects: {sqlite: "${SANDBOX}/db"}}
  loose: {surface: raw, contract: files/../files/note.txt}
  free: {surface: raw, contract: cases/a.jsonl, effects: []}
  other: {mcp: {command: [c]}}
  behind: {surface: other, contract: cases/a.jsonl}
`, suite.Suite{
			Surfaces: []suite.Surface{
				{Name: "behind", Server: suite.Server{Command: []string{"c"}}, Contract: "DIR/cases/a.jsonl"},
				{Name: "free", Server: suite.Server{Command: []string{"b"}}, Contract: "DIR/cases/a.jsonl", Sandbox: files},
				{Name: "loose", Server: suite.Server{Command: []string{"b"}}, Contract: "DIR/files/note.txt", Sandbox: files, Effects: []suite.Effect{suite.SQLite{Path: "${SANDBOX}/db"}}},
				{Name: "other", Server: suite.Server{Command: []string{"c"}}},
				{Name: "plain", Server: suite.Server{URL: "http://a"}, Contract: "DIR/odd[1].jsonl"},
				{Name: "raw", Server: suite.Server{Command: []string{"b"}}, Sandbox: files, Effects: []suite.Effect{suite.SQLite{Path: "${SANDBOX}/db"}}},
				{Name: "strict", Server: suite.Server{Command: []string{"b"}}, Contract: "DIR/files/note.txt", Effects: []suite.Effect{suite.SQLite{Path: "${SANDBOX}/db"}}},
			},
			Baseline: "raw", Candidate: "strict",
			Cases:     []string{"cases/a.jsonl"},
			Isolation: suite.PerCase, Timeout: 10 * time.Second,
		}},
		{"effects of the suite", `{"version": 1, "cases": ["cases/a.jsonl"], "surfaces": {"s": {"mcp": {"command": ["s"]}}},
			"effects": [
				{"directory": {"path": "state", "ignore": ["*.log", "${MISSING:-cache}"]}, "sqlite": "${SANDBOX}/db.sqlite"},
				{"sqlite": "data/../db.sqlite"},
				{"call": {"tool": "read_graph", "arguments": {
					"z": 9007199254740993,
					"a": [1.50, -0, 1e3, true, False, ~, "12", yes, 2024-01-01, "<&>", "${SANDBOX}/x", "${NESTED}", "\0\"", {}, []],
					"${TOKEN}": 1E400},
					"server": {"command": ["${EMPTY:-cat}", "", "${SPACED}", "$HOME", "$${TOKEN}", "a$$b"], "env": {"A": "${TOKEN}", "B": "${EMPTY}", "C": "${SANDBOX}/c"}}}},
				{"call": {"tool": "list"}},
				{"http": "http://127.0.0.1:1/state?x=1"},
				{"http": {"url": "${MISSING:-https://example.com}", "headers": {"X-Key": "${TOKEN}"}}},
				{"command": ["cat", "${SANDBOX}/state.json"]}]}`, suite.Suite{
			Surfaces: []suite.Surface{{Name: "s", Server: suite.Server{Command: []string{"s"}}, Effects: []suite.Effect{
				suite.Directory{"DIR/state", []string{"*.log", "cache"}},
				suite.SQLite{"${SANDBOX}/db.sqlite"},
				suite.SQLite{"DIR/db.sqlite"},
				suite.Call{"read_graph",
					json.RawMessage(`{"z":9007199254740993,"a":[1.50,-0,1e3,true,false,null,"12","yes","2024-01-01","<&>","${SANDBOX}/x","${TOKEN}","\u0000\"",{},[]],"${TOKEN}":1E400}`),
					&suite.Server{
						Command: []string{"cat", "", "two words", "$HOME", "${TOKEN}", "a$$b"},
						Env:     map[string]string{"A": "s3cr3t", "B": "", "C": "${SANDBOX}/c"},
					}},
				suite.Call{Tool: "list", Arguments: json.RawMessage(`{}`)},
				suite.HTTP{URL: "http://127.0.0.1:1/state?x=1"},
				suite.HTTP{"https://example.com", map[string]string{"X-Key": "s3cr3t"}},
				suite.Command{[]string{"cat", "${SANDBOX}/state.json"}},
			}}},
			Candidate: "s",
			Cases:     []string{"cases/a.jsonl"},
			Isolation: suite.PerCase, Timeout: 10 * time.Second,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, faults := read(t, tt.text)
			if faults != "" {
				t.Fatal(faults)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSurface(t *testing.T) {
	s, _ := read(t, example)
	if got, ok := s.Surface("after"); !ok || got.Name != "after" {
		t.Errorf("Surface(after) = %v, %v", got, ok)
	}
	if got, ok := s.Surface("later"); ok {
		t.Errorf("Surface(later) = %v", got)
	}
}

func TestReadWithoutAFile(t *testing.T) {
	_, err := suite.Read(filepath.Join(t.TempDir(), "lab.yaml"), someVariables.lookup)
	var invalid *yamlfile.Invalid
	if !errors.Is(err, fs.ErrNotExist) || errors.As(err, &invalid) {
		t.Errorf("the error is %v", err)
	}
}

// What a suite file names is looked for beside it, wherever that is.
func TestReadFromElsewhere(t *testing.T) {
	dir, _ := folder(t, "")
	odd := filepath.Join(dir, "a[b]*c")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "version: 1\nsurfaces: {s: {mcp: {command: [s]}}}\ncases: [../cases/*.jsonl, '*.yaml', '" + dir + "/cases/*.txt']\nsandbox: {seed: ../files}\neffects: {directory: " + dir + "/x/}\n"
	if err := os.WriteFile(filepath.Join(odd, "lab.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(odd)
	got, err := suite.Read("lab.yaml", someVariables.lookup)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"../cases/a.jsonl", "../cases/b.jsonl", "lab.yaml", dir + "/cases/c.txt"}, got.Cases); diff != "" {
		t.Error(diff)
	}
	t.Chdir(dir)
	got, err = suite.Read("a[b]*c/lab.yaml", someVariables.lookup)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cases/a.jsonl", "cases/b.jsonl", "a[b]*c/lab.yaml", dir + "/cases/c.txt"}, got.Cases); diff != "" {
		t.Error(diff)
	}
	want := suite.Surface{Name: "s", Server: suite.Server{Command: []string{"s"}}, Sandbox: suite.Sandbox{Seed: "files"}, Effects: []suite.Effect{suite.Directory{Path: dir + "/x"}}}
	if diff := cmp.Diff(want, got.Surfaces[0]); diff != "" {
		t.Error(diff)
	}
}
