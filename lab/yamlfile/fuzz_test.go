package yamlfile

import (
	"errors"
	"strings"
	"testing"

	"agentlab/lab/jsonvalue"
)

// Whatever a file holds, it is one value or has faults that stand within it.
// What is read as JSON is JSON, and every place of it can be found again.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "a: &a [*a]", "<<: 1", "? [a]\n: 1", "a: !!binary x", "--- 1\n--- 2", "%YAML 1.1\n---\n1", "a: \"\\ud83d",
		`{"a": {"args": ["\ud83d\ude00\/", 1.50, 1e400, -0], "type": null}}`, "\ufeffa: b", "a: |\n  x\n b", "a:\tb", "'", "{a: [}",
		"a: ${SECRET}\nb: ['${GONE}', '${SANDBOX}', $${]", "a/b: {~: 1, '~0': [x, y: 2024-01-01]}", "a: [0x10, .inf, 1_000, True, ~]",
	} {
		f.Add([]byte(seed))
	}
	const secret = "s3cr3t"
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), secret) {
			return
		}
		r := &Reader{File: "a.yaml", Env: func(name string) (string, bool) { return secret, name != "GONE" }}
		p, ok := r.Document(text)
		if ok == r.Faulty() {
			t.Fatalf("a value: %v, and the faults %v", ok, r.Invalid())
		}
		if ok {
			read, ok := r.JSON(p, WithSandbox)
			if ok == r.Faulty() {
				t.Fatalf("JSON: %v, and the faults %v", ok, r.Invalid())
			}
			if ok {
				value, err := jsonvalue.Decode(read)
				if err != nil {
					t.Fatalf("%s: %v", read, err)
				}
				findAgain(t, p, value, "", "")
			}
		}
		err := r.Invalid()
		if err == nil {
			return
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("a secret is told: %v", err)
		}
		var invalid *Invalid
		if !errors.As(err, &invalid) || len(invalid.Faults) == 0 || invalid.Total < len(invalid.Faults) {
			t.Fatalf("the error is %#v", err)
		}
		lines := len(lineEnd().FindAll(text, -1)) + 2 // null stands behind the last
		for i, fault := range invalid.Faults {
			if fault.Line < 1 || fault.Line > lines || fault.Column < 1 || fault.Column > len(text)+1 || fault.Reason == "" {
				t.Errorf("%v in %d lines", fault, lines)
			}
			if i > 0 && fault.Line < invalid.Faults[i-1].Line {
				t.Errorf("%v after %v", fault, invalid.Faults[i-1])
			}
		}
	})
}

// findAgain locates everything that is in a value.
func findAgain(t *testing.T, root Place, value any, pointer, path string) {
	t.Helper()
	if got := Locate(root, pointer); got.path != path {
		t.Errorf("%q is at %q, not %q", pointer, got.path, path)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			token := strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
			findAgain(t, root, member, pointer+"/"+token, Place{path: path}.Member(Name(name)).path)
		}
	case []any:
		for i, item := range v {
			at := Place{path: path}.item(i, nil)
			findAgain(t, root, item, pointer+"/"+strings.Trim(strings.TrimPrefix(at.path, path), "[]"), at.path)
		}
	}
}
