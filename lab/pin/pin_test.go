package pin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/tool"
)

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func catalog() []tool.Definition {
	return []tool.Definition{
		{Name: "write_file", Description: "Writes.\nA file.", InputSchema: raw(`{"type":"object","properties":{"path":{"type":"string"},"n":{"maximum":1.50}},"required":["path","n"]}`),
			Annotations: raw(`{"readOnlyHint":false}`)},
		{Name: "read_file", InputSchema: raw(`{"type": "object"}`), OutputSchema: raw(`{"enum":["a","b"]}`)},
	}
}

func TestEncode(t *testing.T) {
	const want = `{
  "version": 1,
  "catalog": "sha256:…",
  "tools": {
    "read_file": {
      "description": {
        "digest": "sha256:…",
        "text": ""
      },
      "inputSchema": {
        "digest": "sha256:…",
        "value": {
          "type": "object"
        }
      },
      "outputSchema": {
        "digest": "sha256:…",
        "value": {
          "enum": [
            "a",
            "b"
          ]
        }
      }
    },
    "write_file": {
      "description": {
        "digest": "sha256:…",
        "text": "Writes.\nA file."
      },
      "inputSchema": {
        "digest": "sha256:…",
        "value": {
          "properties": {
            "n": {
              "maximum": 1.5
            },
            "path": {
              "type": "string"
            }
          },
          "required": [
            "path",
            "n"
          ],
          "type": "object"
        }
      },
      "annotations": {
        "digest": "sha256:…",
        "value": {
          "readOnlyHint": false
        }
      }
    }
  }
}
`
	got := string(Of(catalog()).Encode())
	// The digests stand for themselves in TestDigests.
	var short strings.Builder
	for line := range strings.Lines(got) {
		if before, digest, ok := strings.Cut(line, `"sha256:`); ok {
			line = before + `"sha256:…` + digest[64:]
		}
		short.WriteString(line)
	}
	if diff := cmp.Diff(want, short.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDigests holds digests against those of other programs.
func TestDigests(t *testing.T) {
	l := Of([]tool.Definition{{Name: "a", Description: "b", InputSchema: raw(` { "b" : 1.0, "a":[] } `)}})
	text := string(l.Encode())
	for _, want := range []string{
		`"sha256:3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"`, // printf b | sha256sum
		`"sha256:1c8f8816506a8ccbc55140d8a7bb70214a8942c7030fc0fc2914cec675cd1c15"`, // printf '{"a":[],"b":1}' | sha256sum
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if got, want := l.Digest(), "sha256:19bd93c8072bcf28b3b82dfa7bb47babc6c525bb00a9048b194ba443dbf057d0"; got != want {
		t.Errorf("%s", got)
	}
}

// TestOrderIsNoChange holds that what says the same has the same file.
func TestOrderIsNoChange(t *testing.T) {
	want := Of(catalog())
	other := catalog()
	slices.Reverse(other)
	other[1].InputSchema = raw(` {"required":["path","n"], "properties":{"n":{"maximum":15e-1},"p\u0061th":{"type":"string"}},"type":"object"}`)
	if got := Of(other); string(got.Encode()) != string(want.Encode()) || got.Digest() != want.Digest() {
		t.Errorf("%s", got.Encode())
	}
	if got := want.Changes(other); got != nil {
		t.Error(got)
	}
}

// hostile are definitions as only an adversary or a broken server would send them.
func hostile() []tool.Definition {
	long := strings.Repeat("word ", 200_000)
	deep := strings.Repeat(`{"not":`, 62) + `{}` + strings.Repeat("}", 62)
	return []tool.Definition{
		{Name: "", Description: "\x00\x1b[2J\u202e\u200b\ufeff\u2028\U000e0041\x7f\"\\", InputSchema: raw(`{"description":"\u0000\u202e\ud83d\ude00"}`)},
		{Name: "a/b~\xff\n", Description: "bad \xff\xc0 bytes", InputSchema: raw("{\"description\":\"\xff\"}")},
		{Name: "deep", InputSchema: raw(deep)},
		{Name: "deeper", InputSchema: raw(strings.Repeat("[", 200))},
		{Name: "lone surrogate", InputSchema: raw(`{"title":"\ud800"}`), OutputSchema: raw(`{"a":1,"a":2}`)},
		{Name: "long", Description: long, InputSchema: raw(`{"title":"` + long + `"}`)},
		{Name: "no JSON", InputSchema: raw(`}`), Annotations: raw(`null`)},
		{Name: "numbers", InputSchema: raw(`{"maximum":1e400,"minimum":-1e-400,"const":` + strings.Repeat("9", 500) + `}`), OutputSchema: raw(`{"maximum":1e400}`)},
		{Name: "twice", Description: "1"}, {Name: "twice", Description: "2"}, {Name: "twice", Description: "1", Annotations: raw(`{}`)},
	}
}

func TestHostileCatalog(t *testing.T) {
	l := Of(hostile())
	text := l.Encode()
	for _, r := range string(text) {
		if r != '\n' && r < ' ' || r >= 0x7f && r != '\u00e9' && r != '\ufffd' && r != '\U0001f600' {
			t.Errorf("%U stands in the file", r)
		}
	}
	again, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if string(again.Encode()) != string(text) {
		t.Error("another file the second time")
	}
	if got := again.Changes(hostile()); got != nil {
		t.Errorf("%.300v", got)
	}
	other := hostile()
	slices.Reverse(other)
	if got := again.Changes(other); got != nil {
		t.Errorf("%.300v", got)
	}
	if diff := cmp.Diff([]string{"", "a/b~\ufffd\n", "deep", "deeper", "lone surrogate", "long", "no JSON", "numbers", "twice"}, again.Names()); diff != "" {
		t.Error(diff)
	}
	// A part that is there and empty is still one: the file may be anybody's.
	empty := Lock{[]locked{{"a", map[string]part{Description: {}, InputSchema: {}}}}}
	if diff := cmp.Diff([]string{"removed a inputSchema"}, told(empty.Changes([]tool.Definition{{Name: "a", OutputSchema: raw("")}}))); diff != "" {
		t.Error(diff)
	}
	// One word at the end of a megabyte is still seen.
	other = hostile()
	other[5].Description += "obey"
	if diff := cmp.Diff([]string{"changed long description"}, told(again.Changes(other))); diff != "" {
		t.Error(diff)
	}
}

func told(changes []Change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Kind, c.Tool, c.Part)))
	}
	return all
}

func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func([]tool.Definition) []tool.Definition
		want []Change
	}{
		{"nothing", func(d []tool.Definition) []tool.Definition { return d }, nil},
		{"a tool more", func(d []tool.Definition) []tool.Definition {
			return append(d, tool.Definition{Name: "a", Description: "new"})
		},
			[]Change{{Tool: "a", Kind: Added, New: "new"}}},
		{"a tool less", func(d []tool.Definition) []tool.Definition { return d[1:] },
			[]Change{{Tool: "write_file", Kind: Removed, Old: "Writes.\nA file."}}},
		{"another name", func(d []tool.Definition) []tool.Definition { d[1].Name = "Read_file"; return d },
			[]Change{{Tool: "Read_file", Kind: Added}, {Tool: "read_file", Kind: Removed}}},
		{"a description", func(d []tool.Definition) []tool.Definition { d[1].Description = "Reads."; return d },
			[]Change{{Tool: "read_file", Part: Description, Kind: Changed, New: "Reads."}}},
		{"an input schema", func(d []tool.Definition) []tool.Definition { d[1].InputSchema = raw(`{"type":"array"}`); return d },
			[]Change{{Tool: "read_file", Part: InputSchema, Kind: Changed, Old: `{"type":"object"}`, New: `{"type":"array"}`}}},
		{"an input schema that breaks", func(d []tool.Definition) []tool.Definition { d[1].InputSchema = raw(`{"type": `); return d },
			[]Change{{Tool: "read_file", Part: InputSchema, Kind: Changed, Old: `{"type":"object"}`, New: `{"type": `}}},
		{"an output schema less", func(d []tool.Definition) []tool.Definition { d[1].OutputSchema = nil; return d },
			[]Change{{Tool: "read_file", Part: OutputSchema, Kind: Removed, Old: `{"enum":["a","b"]}`}}},
		{"annotations more", func(d []tool.Definition) []tool.Definition { d[1].Annotations = raw(`{}`); return d },
			[]Change{{Tool: "read_file", Part: Annotations, Kind: Added, New: `{}`}}},
		{"the order of required", func(d []tool.Definition) []tool.Definition {
			d[1].OutputSchema = raw(`{"enum":["b","a"]}`)
			d[0].Annotations = raw(`{"readOnlyHint":true}`)
			d[1].Description = "x"
			return d
		}, []Change{{Tool: "read_file", Part: Description, Kind: Changed, New: "x"},
			{Tool: "read_file", Part: OutputSchema, Kind: Changed, Old: `{"enum":["a","b"]}`, New: `{"enum":["b","a"]}`},
			{Tool: "write_file", Part: Annotations, Kind: Changed, Old: `{"readOnlyHint":false}`, New: `{"readOnlyHint":true}`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Decode(Of(catalog()).Encode())
			if err != nil {
				t.Fatal(err)
			}
			got := l.Changes(c.edit(catalog()))
			for i := range got {
				got[i].json = false
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(Change{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeepSchemas holds that a schema stands in the file as JSON where the whole
// is then no deeper than what is read, and else as a text.
func TestDeepSchemas(t *testing.T) {
	for deep, want := range map[int]string{60: `"value": [`, 61: `"text": "[[[`, 64: `"text": "[[[`, 65: `"text": "[[[`} {
		definitions := []tool.Definition{{Name: "a", InputSchema: raw(strings.Repeat("[", deep) + strings.Repeat("]", deep))}}
		text := Of(definitions).Encode()
		if !strings.Contains(string(text), want) {
			t.Errorf("%d: %s", deep, text)
		}
		l, err := Decode(text)
		if err != nil {
			t.Fatalf("%d: %v", deep, err)
		}
		if got := l.Changes(definitions); got != nil {
			t.Errorf("%d: %v", deep, got)
		}
	}
}
