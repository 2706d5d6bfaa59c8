package suite

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The help topic shows files that are right, and names every key.
func TestTopic(t *testing.T) {
	topic, err := os.ReadFile("../../cmd/lab/topics/suite.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "fixtures/files"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "cases"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cases.jsonl", "cases/a.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) (string, bool) { return "x", name == "API_TOKEN" || name == "KEY" || name == "TOKEN" }

	blocks := regexp.MustCompile("(?s)```(yaml|json)\n(.*?)```").FindAllStringSubmatch(string(topic), -1)
	if len(blocks) != 4 {
		t.Errorf("the topic has %d examples", len(blocks))
	}
	for _, block := range blocks {
		r := newReader("lab.yaml", dir, env)
		switch text := block[2]; {
		case block[1] == "json":
			r.Foreign = true
			r.clientConfig([]byte(text), "files")
			r.clientConfig([]byte(text), "remote")
		case strings.HasPrefix(text, "effects:"):
			r.suite([]byte("version: 1\nsurfaces: {s: {mcp: {command: [s]}}}\ncases: [cases.jsonl]\n" + text))
		default:
			r.suite([]byte(text))
		}
		if err := r.Invalid(); err != nil {
			t.Errorf("%s\n%v", block[2], err)
		}
	}
	for _, names := range [][]string{suiteFields.Names(), surfaceFields.Names(), serverFields.Names(), sandboxFields.Names(),
		effectFields.Names(), directoryFields.Names(), callFields.Names(), httpFields.Names()} {
		for _, name := range names {
			if !regexp.MustCompile("[`{ ]" + name + "[`:]").Match(topic) {
				t.Errorf("the topic does not name %s", name)
			}
		}
	}
	for _, transport := range []string{"stdio", "http", "streamable-http", "sse"} {
		if !strings.Contains(string(topic), "`"+transport+"`") {
			t.Errorf("the topic does not name %s", transport)
		}
	}
}
