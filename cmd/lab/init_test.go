package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"agentlab/lab/boundary"
	"agentlab/lab/dataset"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// texts are words of a command line in which something has a meaning somewhere.
func texts() *rapid.Generator[string] {
	odd := rapid.SampledFrom([]string{
		"a\"b", `\`, `\n`, "'", "\n", "\r\n", "\t", "\x01", "\x7f", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", "\u202e", "𝄞", "日本",
		"$", "$$", "$HOME", "#", " #", ": ", "- ", "&a", "*a", "!t", "{", "}", "[", "]", ",", "|", ">", "%", "@", "`", "true", "null", "1", "~", "", " ",
	})
	// Two of them could come to a variable.
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(odd, rapid.String()), 0, 4), func(parts []string) string {
		text := strings.ReplaceAll(strings.Join(parts, ""), "\x00", "")
		for strings.Contains(text, "${") {
			text = strings.ReplaceAll(text, "${", "")
		}
		return strings.ToValidUTF8(text, "")
	})
}

// What init writes is read as what it was given, and keeps to the schema.
func TestFirstSuiteIsReadAsItWasMeant(t *testing.T) {
	t.Setenv("LAB_TEST", "value")
	compiled, err := schema.Compile(suite.Schema)
	if err != nil {
		t.Fatal(err)
	}
	name := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9._-]{1,64}`), rapid.SampledFrom([]string{"true", "No", "null", "-", "1e3", "0x1", ".5", "_", "1_000", "0o7", "2020-01-01", "y"}))
	variable := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,10}`)
	rapid.Check(t, func(t *rapid.T) {
		o := initCommand{name: name.Draw(t, "name")}
		var command []string
		want := suite.Server{}
		if rapid.Bool().Draw(t, "url") {
			o.url = "http://127.0.0.1:1/mcp?a=b#c"
			want.URL = o.url
			for _, header := range rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z0-9!#$%&'*+.^_|~-]{1,9}`), 0, 3, strings.ToLower).Draw(t, "headers") {
				if want.Headers == nil {
					want.Headers = make(map[string]string)
				}
				o.headers = append(o.headers, header+":  "+`Bearer "${LAB_TEST}" ü`)
				want.Headers[header] = `Bearer "value" ü`
			}
		} else {
			command = append([]string{"program"}, rapid.SliceOfN(texts(), 0, 5).Draw(t, "command")...)
			want.Command = slices.Clone(command)
			command = append(command, "${SANDBOX}/a", "${LAB_TEST}", "$${LAB_TEST}", "${NONE_OF_LAB:-d}")
			want.Command = append(want.Command, "${SANDBOX}/a", "value", "${LAB_TEST}", "d")
			want.Env = map[string]string{"LAB_TEST": "value"}
			o.env = []string{"LAB_TEST"}
			for _, name := range rapid.SliceOfNDistinct(variable, 0, 3, rapid.ID).Draw(t, "env") {
				if name == "LAB_TEST" {
					continue
				}
				value := texts().Draw(t, "value")
				o.env = append(o.env, name+"="+value)
				want.Env[name] = value
			}
		}
		text, err := o.suiteFile(command)
		if err != nil {
			t.Fatal(err)
		}
		read, err := o.read(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		surface := read.Surfaces[0]
		if diff := cmp.Diff(want, surface.Server); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
		if surface.Name != o.name || read.Candidate != o.name || read.Baseline != "" || (len(surface.Effects) > 0) != (o.url == "") {
			t.Fatalf("%+v\n%s", read, text)
		}
		var document any
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonvalue.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if violations := compiled.Validate(value); len(violations) > 0 {
			t.Fatalf("%v\n%s", violations, text)
		}
	})
}

// The cases of whatever a server lists are cases that can be read.
func TestFirstCasesOfHostileCatalogs(t *testing.T) {
	names := rapid.OneOf(rapid.StringN(1, 30, -1), rapid.SampledFrom([]string{
		"todo", `","todo":"x`, "a\nb", "\x1b[31m", "\u2028", "\u202e", strings.Repeat("n", 5000), "A", "a", " ", ".", "../..", "\xff\xfe", "case_id", "𝄞"}))
	schemas := rapid.SampledFrom([]string{
		`{}`, `true`, `false`, `null`, `[]`, `{"type":"objekt"}`, `{"type":"object","properties":{"todo":{"type":"string","const":"\"todo\":"}},"required":["todo"]}`,
		`{"type":"object","required":["\u0000","\u001b","` + strings.Repeat("k", 3000) + `"]}`, `{"$ref":"#"}`, `{"$ref":"http://127.0.0.1:1/"}`,
		`{"type":"object","properties":{"a":{"pattern":"("}},"required":["a"]}`, `{"type":"object","properties":{"n":{"type":"integer","minimum":9007199254740993}},"required":["n"]}`,
		`{"allOf":[{"$ref":"#/allOf/0"}]}`, `{"type":"object","properties":{"s":{"type":"string","minLength":100000}},"required":["s"]}`, `{"not":{}}`, `{"enum":[]}`, `{"type":"array"}`,
		`{"type":"object","properties":{"path":{"examples":["/etc/passwd"]},"x":{"default":"${HOME}"}},"required":["path","x"]}`,
	})
	rapid.Check(t, func(t *rapid.T) {
		var definitions []tool.Definition
		for _, name := range rapid.SliceOfNDistinct(names, 1, 6, rapid.ID).Draw(t, "names") {
			definitions = append(definitions, tool.Definition{
				Name: name, Description: rapid.String().Draw(t, "description"), InputSchema: json.RawMessage(schemas.Draw(t, "schema")),
			})
		}
		cases, err := boundary.Cases(definitions, nil)
		if err != nil {
			t.Fatal(err)
		}
		reader := dataset.Settings{Surfaces: []string{"server"}, Candidate: "server"}.Open(dataset.Source{
			Name: "first.jsonl", Path: "first.jsonl",
			Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(cases))), nil },
		})
		checked, err := reader.Check(context.Background(), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, cases)
		}
		if all, todo := count(cases); all != checked.Cases+checked.Todo || todo != checked.Todo || todo < len(definitions) {
			t.Fatalf("%d cases, %d a todo; there are %+v", all, todo, checked)
		}
	})
}

func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := writeFiles([]string{a, b}, []byte("1"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "1", "b": "2"}
	read := func() map[string]string {
		found := make(map[string]string)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			text, _ := os.ReadFile(filepath.Join(dir, entry.Name()))
			found[entry.Name()] = string(text)
		}
		return found
	}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(a); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// The last of three cannot be written: a folder has its name, or its folder is
	// not there. Then the new one is not there either.
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	want["folder"] = ""
	for _, last := range []string{filepath.Join(dir, "folder"), filepath.Join(dir, "none", "c")} {
		if err := writeFiles([]string{filepath.Join(dir, "new"), last}, []byte("3"), []byte("4")); err == nil {
			t.Error("it can be written")
		}
		if diff := cmp.Diff(want, read()); diff != "" {
			t.Errorf("%s: %s", last, diff)
		}
	}
}

func TestMakeFolderIsUndone(t *testing.T) {
	top := t.TempDir()
	undo, err := makeFolder(filepath.Join(top, "a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(top, "a", "b", "c")); err != nil {
		t.Fatal(err)
	}
	undo()
	if entries, _ := os.ReadDir(top); len(entries) != 0 {
		t.Error(entries)
	}
	// What was there stays, and what is not empty.
	if err := os.Mkdir(filepath.Join(top, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	undo, _ = makeFolder(filepath.Join(top, "a"))
	undo()
	if _, err := os.Stat(filepath.Join(top, "a")); err != nil {
		t.Error(err)
	}
}

func TestShellWords(t *testing.T) {
	for text, want := range map[string]string{
		"lab.yaml": "lab.yaml", "a b": "'a b'", "a'b": `'a'\''b'`, "$x": "'$x'", "-f": "'-f'", "": "''", "~/x": "'~/x'",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
