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
	} `json:"refused"`
}

var draftNames = map[string]drafts{"04": draft04, "06": draft06, "07": draft07}

// in returns the schema of the row as one of a draft.
func (e entry) in(draft string) string {
	return `{"$schema":"http://json-schema.org/draft-` + draft + `/schema#",` + string(e.Schema[1:])
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

func TestKeywords(t *testing.T) {
	type key struct {
		name  string
		draft drafts
	}
	accepted, refused := map[key]bool{}, map[key]bool{}
	for _, e := range table(t) {
		for _, draft := range e.Drafts {
			t.Run(e.Keyword+" "+draft, func(t *testing.T) {
				at := key{e.Keyword, draftNames[draft]}
				s := compile(t, e.in(draft))
				for _, value := range e.Accepted {
					accepted[at] = true
					if got := s.Validate(decode(t, string(value))); got != nil {
						t.Errorf("%s refuses %s: %v", e.Schema, value, got)
					}
				}
				for _, r := range e.Refused {
					refused[at] = true
					got := s.Validate(decode(t, string(r.Value)))
					if diff := cmp.Diff(r.Violations, got); diff != "" {
						t.Errorf("%s on %s (-want +got):\n%s", e.Schema, r.Value, diff)
					}
				}
			})
		}
	}
	for _, k := range keywords {
		for _, draft := range draftNames {
			at := key{k.name, draft}
			if k.drafts&draft == 0 {
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
