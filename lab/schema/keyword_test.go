package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/tool"
)

// entry is one row of the table of accepted and refused values.
type entry struct {
	Keyword  string            `json:"keyword"`
	Drafts   []string          `json:"drafts"`
	Schema   json.RawMessage   `json:"schema"`
	Accepted []json.RawMessage `json:"accepted"`
	Refused  []struct {
		Value      json.RawMessage  `json:"value"`
		Violations []tool.Violation `json:"violations"`
		Engine     string           `json:"engine"` // "first" for what the second does without rounding
	} `json:"refused"`
}

var draftNames = map[string]Dialect{
	"04": Draft04, "06": Draft06, "07": Draft07, "2019-09": Draft201909, "2020-12": Draft202012,
}

// in returns the schema of the row as one of a draft.
func (e entry) in(draft string) string {
	uri := "http://json-schema.org/draft-" + draft + "/schema#"
	if draftNames[draft]&modern != 0 {
		uri = "https://json-schema.org/draft/" + draft + "/schema"
	}
	return `{"$schema":"` + uri + `",` + string(e.Schema[1:])
}

func table(tb testing.TB) []entry {
	tb.Helper()
	text, err := os.ReadFile("../../tests/schema/keywords.json")
	if err != nil {
		tb.Fatal(err)
	}
	var entries []entry
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&entries); err != nil {
		tb.Fatal(err)
	}
	return entries
}

// compileSecond compiles for the second engine, whatever the dialect.
func compileSecond(tb testing.TB, document string) *Schema {
	tb.Helper()
	value, err := read([]byte(document))
	if err != nil {
		tb.Fatal(err)
	}
	s, err := (&checker{draft: Draft07, second: true}).compile(value)
	if err != nil {
		tb.Fatalf("%s: %v", document, err)
	}
	return s
}

// TestKeywords holds that the table's values are taken and refused by every
// engine that takes the dialect, in the same words.
func TestKeywords(t *testing.T) {
	type key struct {
		name  string
		draft Dialect
	}
	accepted, refused := map[key]bool{}, map[key]bool{}
	for _, e := range table(t) {
		for _, draft := range e.Drafts {
			t.Run(e.Keyword+" "+draft, func(t *testing.T) {
				at := key{e.Keyword, draftNames[draft]}
				for _, s := range []*Schema{compile(t, e.in(draft)), compileSecond(t, e.in(draft))} {
					for _, value := range e.Accepted {
						accepted[at] = true
						if got := s.Validate(decode(t, string(value))); got != nil {
							t.Errorf("%s refuses %s: %v", e.Schema, value, got)
						}
					}
					for _, r := range e.Refused {
						refused[at] = true
						if s.second != nil && r.Engine == "first" {
							continue
						}
						got := s.Validate(decode(t, string(r.Value)))
						if diff := cmp.Diff(r.Violations, got); diff != "" {
							t.Errorf("second engine %v: %s on %s (-want +got):\n%s", s.second != nil, e.Schema, r.Value, diff)
						}
					}
				}
			})
		}
	}
	for _, k := range keywords {
		for _, draft := range draftNames {
			at := key{k.name, draft}
			if k.dialects&draft == 0 {
				continue
			}
			if !accepted[at] {
				t.Errorf("no accepted value of %s in %s", k.name, draft)
			}
			if refused[at] == k.annotation {
				t.Errorf("%s in %s: annotation %v, refused values %v", k.name, draft, k.annotation, refused[at])
			}
		}
	}
}
