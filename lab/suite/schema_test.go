package suite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
)

// The JSON Schema and the tables name the same keys, and require the same.
func TestSchemaNamesTheKeys(t *testing.T) {
	type object struct {
		AdditionalProperties json.RawMessage
		Properties           map[string]struct{ Description string }
		Required             []string
	}
	var document struct {
		object
		Definitions map[string]object
	}
	if err := json.Unmarshal(Schema, &document); err != nil {
		t.Fatal(err)
	}
	tables := map[string]map[string]bool{
		"":          suiteFields.Required(),
		"surface":   surfaceFields.Required(),
		"server":    serverFields.Required(),
		"sandbox":   sandboxFields.Required(),
		"effect":    effectFields.Required(),
		"directory": directoryFields.Required(),
		"call":      callFields.Required(),
		"http":      httpFields.Required(),
	}
	found := 0
	for name, o := range document.Definitions {
		if o.Properties != nil && tables[name] == nil {
			t.Errorf("the definition %s has no table", name)
		}
	}
	document.Definitions[""] = document.object
	for name, table := range tables {
		o := document.Definitions[name]
		if string(o.AdditionalProperties) != "false" {
			t.Errorf("%q may have unknown keys", name)
		}
		named := make(map[string]bool)
		for key, property := range o.Properties {
			named[key] = slices.Contains(o.Required, key)
			if property.Description == "" && name != "effect" {
				t.Errorf("%s of %q has no description", key, name)
			}
			found++
		}
		if diff := cmp.Diff(table, named); diff != "" {
			t.Errorf("%q: which keys are required (-table +schema):\n%s", name, diff)
		}
	}
	if found < 25 {
		t.Errorf("only %d keys were compared", found)
	}
}

// The JSON Schema and the decoder judge alike. What only the decoder can know
// (the environment, the files, which surfaces there are) is in a row of its own.
func TestSchemaAgrees(t *testing.T) {
	compiled, err := schema.Compile(Schema)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	type row struct {
		text             string
		bySchema, byRead bool
	}
	const base = "version: 1\nsurfaces:\n  s: {mcp: {command: [b]}}\ncases: [a.jsonl]\neffects: []\n"
	var rows []row
	change := func(old, new string, bySchema, byRead bool) {
		if !strings.Contains(base, old) {
			t.Fatalf("the file has no %q", old)
		}
		rows = append(rows, row{strings.Replace(base, old, new, 1), bySchema, byRead})
	}
	both := func(old string, good bool, news ...string) {
		for _, new := range news {
			change(old, new, good, good)
		}
	}
	rows = append(rows, row{base, true, true}, row{"[]", false, false}, row{"x", false, false})
	both("version: 1\n", true, "version: 1.0\n")
	both("version: 1\n", false, "", "version: 2\n", "version: '1'\n", "version:\n", "version: true\n", "version: 1\nvresion: 1\n")
	both("surfaces:\n  s: {mcp: {command: [b]}}\n", false, "", "surfaces:\n", "surfaces: {}\n", "surfaces: []\n")
	both("{mcp: {command: [b]}}", true, "{mcp: {command: [b]}, sandbox: {}, effects: {http: 'http://a'}}")
	both("{mcp: {command: [b]}}", false, "{}", "", "b", "{mcp: {command: [b]}, timeout: 1s}", "{mcp: }", "{mcp: [b]}")
	both("{mcp: {command: [b]}}", true, "{mcp: {command: [b]}, contract: a.jsonl}", "{mcp: {command: [b]}}\n  t: {surface: s, contract: a.jsonl}\ncandidate: t\nbaseline: s")
	both("{mcp: {command: [b]}}", false, "{contract: a.jsonl}", "{mcp: {command: [b]}, contract: }", "{mcp: {command: [b]}, contract: ''}", "{mcp: {command: [b]}, contract: [a.jsonl]}",
		"{mcp: {command: [b]}}\n  t: {surface: s}\ncandidate: t\nbaseline: s", "{mcp: {command: [b]}}\n  t: {surface: s, contract: a.jsonl, mcp: {command: [b]}}\ncandidate: t\nbaseline: s",
		"{mcp: {command: [b]}}\n  t: {surface: '', contract: a.jsonl}\ncandidate: t\nbaseline: s", "{mcp: {command: [b]}}\n  t: {surface: , contract: a.jsonl}\ncandidate: t\nbaseline: s")
	change("{mcp: {command: [b]}}", "{mcp: {command: [b]}, contract: gone}", true, false)
	change("{mcp: {command: [b]}}", "{surface: s, contract: a.jsonl}", true, false)
	both("  s:", true, "  a.B_-9:", "  '1':")
	both("  s:", false, "  a b:", "  é:", "  '':", "  "+strings.Repeat("x", 65)+":")
	both("[b]", true, "[b, '', 'a b', '1']", "['${HOME_}x', '${SANDBOX}']", "[b], env: {}", "[b], env: {A: '', b-c: d}")
	both("[b]", false, "[]", "b", "", "['']", "[1]", "[b, 1]", "[b, true]", "[b, ~]", "[[b]]", `["b\0"]`, `[b, "\0"]`, "{b: c}", "[b], args: []",
		"[b], url: 'http://a'", "[b], headers: {}", "[b], env: [A]", "[b], env: {A: 1}", "[b], env: {A: }", "[b], env: {'': b}", "[b], env: {A=B: b}", `[b], env: {A: "\0"}`, "[b], env: ")
	both("command: [b]", true, "url: 'http://a'", "url: 'https://a.example:8/b?c=d#e'", "url: HTTP://a", "url: 'http://[::1]'", "url: 'http://a', headers: {A: b, \"X-#\": ''}")
	both("command: [b]", false, "", "url: ", "url: ''", "url: a", "url: 'ftp://a'", "url: 'http://'", "url: 'http:///a'", "url: 1", "url: [a]", "url: 'http://a', env: {}",
		"url: 'http://a', headers: {'a b': c}", "url: 'http://a', headers: {'': c}", `url: 'http://a', headers: {a: "b\n"}`, `url: 'http://a', headers: {a: "b\0"}`,
		`url: 'http://a', headers: {a: "\x7f"}`, "url: 'http://a', headers: {a: 1}", "url: 'http://a', headers: []")
	change("command: [b]", "url: 'http://a:b@c'", true, false)
	change("command: [b]", "url: 'http://a b'", true, false)
	change("command: [b]", "url: '${URL}'", true, true)
	change("command: [b]", "url: '${GONE}'", true, false)
	change("command: [b]", "url: 'http://a', headers: {A: b, a: b}", true, false)
	both("cases: [a.jsonl]\n", true, "cases: ['*.jsonl', './a.jsonl']\n", "cases: ['${GONE:-a}.jsonl']\n", "candidate: s\ncases: [a.jsonl]\n")
	both("cases: [a.jsonl]\n", false, "", "cases:\n", "cases: []\n", "cases: a.jsonl\n", "cases: ['']\n", "cases: [1]\n",
		"candidate: ''\ncases: [a.jsonl]\n", "candidate: [s]\ncases: [a.jsonl]\n", "baseline: 1\ncases: [a.jsonl]\n", "baseline:\ncases: [a.jsonl]\n")
	change("cases: [a.jsonl]", "cases: [b.jsonl]", true, false)
	change("cases: [a.jsonl]", "cases: ['${SANDBOX}/a']", true, false)
	change("cases: [a.jsonl]", "candidate: t\ncases: [a.jsonl]", true, false)
	change("cases: [a.jsonl]", "baseline: s\ncases: [a.jsonl]", true, false)
	change("effects: []\n", "", true, false) // as each surface may have its own
	both("effects: []\n", true, "effects: [{sqlite: a}, {sqlite: b}]\n", "effects: {directory: a}\n", "effects: {directory: {path: a}}\n", "effects: {directory: {path: a, ignore: []}, sqlite: b}\n",
		"effects: {call: {tool: a}}\n", "effects: {call: {tool: a, arguments: {b: [1, ~, {}]}, server: {url: 'http://a'}}}\n", "effects: {http: {url: 'http://a', headers: {}}}\n", "effects: {command: [a, '']}\n",
		"effects: []\nsandbox: {}\n", "effects: []\nsandbox: {seed: .}\n", "effects: []\nisolation: case\n", "effects: []\nisolation: suite\n", "effects: []\nisolation: '${GONE:-suite}'\n",
		"effects: []\ntimeout: 1m30s\n", "effects: []\ntimeout: 1.5s\n", "effects: []\ntimeout: .5s\n", "effects: []\ntimeout: 1000µs\n", "effects: []\ntimeout: +1.s\n", "effects: []\ntimeout: '${GONE:-1s}'\n")
	both("effects: []\n", false, "effects:\n", "effects: {}\n", "effects: [{}]\n", "effects: dir\n", "effects: [dir]\n", "effects: {files: a}\n", "effects: {directory: }\n", "effects: {directory: ''}\n",
		"effects: {directory: {}}\n", "effects: {directory: [a]}\n", "effects: {directory: {path: a, ignore: a}}\n", "effects: {directory: {path: a, ignore: ['']}}\n", "effects: {directory: {path: a, only: []}}\n",
		"effects: {sqlite: {path: a}}\n", "effects: {sqlite: 1}\n", "effects: {call: a}\n", "effects: {call: {}}\n", "effects: {call: {tool: ''}}\n", "effects: {call: {tool: a, arguments: []}}\n",
		"effects: {call: {tool: a, server: {}}}\n", "effects: {call: {tool: a, server: b}}\n", "effects: {http: a}\n", "effects: {http: {headers: {}}}\n", "effects: {command: a}\n", "effects: {command: []}\n",
		"effects: []\nsandbox:\n", "effects: []\nsandbox: .\n", "effects: []\nsandbox: {seed: ''}\n", "effects: []\nsandbox: {seed: }\n", "effects: []\nsandbox: {sed: a}\n",
		"effects: []\nisolation: none\n", "effects: []\nisolation:\n", "effects: []\nisolation: true\n", "effects: []\ntimeout: 10\n", "effects: []\ntimeout: '10'\n", "effects: []\ntimeout: '0'\n",
		"effects: []\ntimeout: -1s\n", "effects: []\ntimeout: 1 s\n", "effects: []\ntimeout: 1S\n", "effects: []\ntimeout: .s\n", "effects: []\ntimeout:\n", "effects: []\ntimeout: [1s]\n")
	change("effects: []", "effects: []\nsandbox: {seed: nowhere}", true, false)
	change("effects: []", "effects: []\ntimeout: 11m", true, false)
	change("effects: []", "effects: {sqlite: 'a/${SANDBOX}'}", true, false)
	change("effects: []", "effects: {directory: {path: a, ignore: ['[']}}", true, false)

	env := func(name string) (string, bool) {
		value, set := map[string]string{"URL": "http://a", "HOME_": "/home"}[name]
		return value, set
	}
	for _, row := range rows {
		r := newReader("lab.yaml", dir, env)
		r.suite([]byte(row.text))
		faults := r.Invalid()
		var tree any
		if err := yaml.Unmarshal([]byte(row.text), &tree); err != nil {
			t.Fatalf("%s\n%v", row.text, err)
		}
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatalf("%s\n%v", row.text, err)
		}
		value, err := jsonvalue.Decode(text)
		if err != nil {
			t.Fatalf("%s\n%v", row.text, err)
		}
		violations := compiled.Validate(value)
		if (len(violations) == 0) != row.bySchema || (faults == nil) != row.byRead {
			t.Errorf("%s\nthe schema should take it: %v, Read: %v\n%v\n%v", row.text, row.bySchema, row.byRead, violations, faults)
		}
	}
}
