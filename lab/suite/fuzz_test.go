package suite

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/yamlfile"
)

// Whatever a file holds, it is a suite or has faults that stand within it, and
// neither tells what a variable holds that should not.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "version: 1\nsurfaces: {a: {mcp: {command: [b, '${SANDBOX}']}}}\ncases: [fuzz_test.go]\neffects: []\n",
		"version: 1\nsurfaces: {a: {mcp: {url: 'http://a', headers: {k: '${SECRET}'}}}, b: {mcp: {command: [a], env: {A: '${SECRET}'}}}}\n" +
			"baseline: a\ncandidate: b\ncases: ['*_test.go']\nsandbox: {seed: .}\ntimeout: 1m\nisolation: suite\n" +
			"effects:\n- directory: {path: '${SANDBOX}', ignore: ['*.log']}\n- sqlite: a\n- call: {tool: a, arguments: {a: [1, 2.50, null, x, {}]}, server: {command: [c]}}\n" +
			"- http: {url: 'http://a'}\n- command: [cat]\n",
		"version: 1\nsurfaces: {a: {mcp: {command: [b]}, effects: []}, b: {surface: a, contract: fuzz_test.go}, c: {surface: b, contract: gone}}\nbaseline: a\ncandidate: b\ncases: [fuzz_test.go]\n",
		"a: &a [*a]", "<<: 1", "? [a]\n: 1", "a: !!binary x", "--- 1\n--- 2", "%YAML 1.1\n---\n1", "a: \"\\ud83d", `{"mcpServers": {"a": {"command": "x", "args": ["\ud83d\ude00\/"], "type": "sse"}}}`,
		"mcpServers:\n  a: {command: x, args: [1], env: {A: '${SECRET}${GONE:-x}'}}\n", "\ufeffa: b", "a: |\n  x\n b", "a:\tb", "'", "{a: [}", "version: ${SECRET}\nisolation: ${SECRET}\ntimeout: ${SECRET}",
		"surfaces: {a: {mcp: {url: '${SECRET}'}}}\ncases: ['${SECRET}', '[${SECRET}']\nsandbox: {seed: '${SECRET}'}\neffects: {directory: '${SECRET}/${SANDBOX}'}\nbaseline: ${SECRET}",
	} {
		f.Add([]byte(seed))
	}
	const secret = "s3cr3t"
	env := func(name string) (string, bool) { return secret, name != "GONE" }
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), secret) {
			return
		}
		r := newReader("lab.yaml", ".", env)
		s := r.suite(text)
		err := r.Invalid()
		checkPlaces(t, text, err)
		if err == nil {
			checkSuite(t, s)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("a secret is told: %v", err)
		}

		r = newClientReader("mcp.json", env)
		server := r.clientConfig(text, "a")
		err = r.Invalid()
		checkPlaces(t, text, err)
		if err == nil {
			checkServer(t, server)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("a secret is told: %v", err)
		}
	})
}

// lineEnd ends a line of YAML.
var lineEnd = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")

func checkPlaces(t *testing.T, text []byte, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var invalid *yamlfile.Invalid
	if !errors.As(err, &invalid) || len(invalid.Faults) == 0 || invalid.Total < len(invalid.Faults) {
		t.Fatalf("the error is %#v", err)
	}
	lines := len(lineEnd.FindAll(text, -1)) + 2 // null stands behind the last
	for i, fault := range invalid.Faults {
		if fault.Line < 1 || fault.Line > lines || fault.Column < 1 || fault.Column > len(text)+1 || fault.Reason == "" {
			t.Errorf("%v in %d lines", fault, lines)
		}
		if i > 0 && fault.Line < invalid.Faults[i-1].Line {
			t.Errorf("%v after %v", fault, invalid.Faults[i-1])
		}
	}
}

func checkSuite(t *testing.T, s *Suite) {
	t.Helper()
	if len(s.Surfaces) == 0 || len(s.Cases) == 0 || s.Timeout < MinTimeout || s.Timeout > MaxTimeout || s.Isolation != PerCase && s.Isolation != PerSuite {
		t.Errorf("%+v", s)
	}
	if _, ok := s.Surface(s.Candidate); !ok {
		t.Errorf("no candidate %q", s.Candidate)
	}
	if _, ok := s.Surface(s.Baseline); ok != (len(s.Surfaces) > 1) || s.Baseline == s.Candidate {
		t.Errorf("baseline %q, candidate %q", s.Baseline, s.Candidate)
	}
	for i, surface := range s.Surfaces {
		if !surfaceName().MatchString(surface.Name) || i > 0 && surface.Name <= s.Surfaces[i-1].Name {
			t.Errorf("surface %q", surface.Name)
		}
		checkServer(t, surface.Server)
		placed := surface.In("/a/b")
		checkServer(t, placed.Server)
		if diff := cmp.Diff(placed, placed.In("/c")); diff != "" {
			t.Errorf("the sandbox was not replaced everywhere:\n%s", diff)
		}
		for _, effect := range placed.Effects {
			call, ok := effect.(Call)
			if !ok {
				continue
			}
			arguments, err := jsonvalue.Decode(call.Arguments)
			if _, object := arguments.(map[string]any); err != nil || !object || call.Tool == "" {
				t.Errorf("%s of %q: %v", call.Arguments, call.Tool, err)
			}
			if call.Server != nil {
				checkServer(t, *call.Server)
			}
		}
	}
}

func checkServer(t *testing.T, s Server) {
	t.Helper()
	if (len(s.Command) == 0) == (s.URL == "") || len(s.Command) > 0 && s.Command[0] == "" || s.URL == "" && s.Headers != nil || s.URL != "" && s.Env != nil {
		t.Errorf("%+v", s)
	}
	for _, text := range s.Command {
		if strings.Contains(text, "\x00") {
			t.Errorf("%q", s.Command)
		}
	}
}
