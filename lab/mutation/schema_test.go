package mutation

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
)

// places are those of every edit of one kind, with what the schema is then.
func places(document string, some edits) (all []string) {
	for _, p := range parts(decoded(json.RawMessage(document)), "") {
		for _, e := range some(p) {
			all = append(all, e.place+" "+string(e.inSchema(json.RawMessage(document))))
		}
	}
	return all
}

func TestEdits(t *testing.T) {
	for _, test := range []struct {
		name, document string
		some           edits
		want           []string
	}{
		{"required", `{"required":["b","a/c"]}`, requiredDropped, []string{`/required/b {"required":["a/c"]}`, `/required/a~1c {"required":["b"]}`}},
		{"the last required", `{"required":["a"],"type":"object"}`, requiredDropped, []string{`/required/a {"type":"object"}`}},
		{"unknown properties", `{"properties":{"a":{"additionalProperties":false}},"additionalProperties":{}}`, unknownAllowed,
			[]string{`/properties/a/additionalProperties {"additionalProperties":{},"properties":{"a":{}}}`}},
		{"what is unknown has a schema", `{"additionalProperties":{"type":"string"}}`, keywordDropped,
			[]string{`/additionalProperties {}`, `/additionalProperties/type {"additionalProperties":{}}`}},
		{"keywords at all depths", `{"items":{"anyOf":[{"minLength":1},true]},"title":"x"}`, keywordDropped,
			[]string{`/items/anyOf {"items":{},"title":"x"}`, `/items/anyOf/0/minLength {"items":{"anyOf":[{},true]},"title":"x"}`}},
		{"a property by the name of a keyword", `{"properties":{"type":{"const":1},"enum":true}}`, keywordDropped,
			[]string{`/properties/type/const {"properties":{"enum":true,"type":{}}}`}},
		{"draft-04", `{"minimum":1,"exclusiveMinimum":true}`, keywordDropped, []string{`/exclusiveMinimum {"minimum":1}`, `/minimum {}`}},
		{"a list without items", `{"items":false}`, keywordDropped, []string{`/items {}`}},
		{"members", `{"enum":["a","b"],"not":{"enum":[1]}}`, memberDropped, []string{`/enum/0 {"enum":["b"],"not":{"enum":[1]}}`, `/enum/1 {"enum":["a"],"not":{"enum":[1]}}`}},
		{"looser", `{"minimum":0,"maximum":5,"minLength":0,"maxLength":0}`, boundMoved(false),
			[]string{`/minimum {"maxLength":0,"maximum":5,"minLength":0,"minimum":-1}`, `/maximum {"maxLength":0,"maximum":6,"minLength":0,"minimum":0}`, `/maxLength {"maxLength":1,"maximum":5,"minLength":0,"minimum":0}`}},
		{"tighter", `{"minimum":-1.5,"exclusiveMaximum":1,"minItems":0,"maxItems":0}`, boundMoved(true),
			[]string{`/minimum {"exclusiveMaximum":1,"maxItems":0,"minItems":0,"minimum":-0.5}`, `/exclusiveMaximum {"exclusiveMaximum":0,"maxItems":0,"minItems":0,"minimum":-1.5}`, `/minItems {"exclusiveMaximum":1,"maxItems":0,"minItems":1,"minimum":-1.5}`}},
		{"no schema", `true`, keywordDropped, nil},
	} {
		if diff := cmp.Diff(test.want, places(test.document, test.some)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A looser schema takes all that the schema takes, and a tighter one nothing that it
// does not; each differs where it says so.
func TestEditsLoosenAndTighten(t *testing.T) {
	const document = `{"type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{"type":"integer","minimum":1,"maximum":3},"b":{"enum":["x","y"]}}}`
	values := []string{`{}`, `5`, `{"a":0}`, `{"a":1}`, `{"a":2}`, `{"a":3}`, `{"a":4}`, `{"a":9}`, `{"a":-5}`, `{"a":"1"}`, `{"a":1,"b":"x"}`, `{"a":1,"b":"y"}`, `{"a":1,"b":"z"}`, `{"a":1,"c":1}`}
	takes := func(document json.RawMessage) (all []string) {
		compiled, err := schema.Compile(document)
		if err != nil {
			t.Fatalf("%s: %v", document, err)
		}
		for _, v := range values {
			decoded, err := jsonvalue.Decode([]byte(v))
			if err != nil {
				t.Fatal(err)
			}
			if len(compiled.Validate(decoded)) == 0 {
				all = append(all, v)
			}
		}
		return all
	}
	own := takes(json.RawMessage(document))
	for _, test := range []struct {
		some   edits
		looser bool
	}{{unknownAllowed, true}, {requiredDropped, true}, {keywordDropped, true}, {boundMoved(false), true}, {boundMoved(true), false}, {memberDropped, false}} {
		for _, p := range parts(decoded(json.RawMessage(document)), "") {
			for _, e := range test.some(p) {
				more, less := takes(e.inSchema(json.RawMessage(document))), own
				if !test.looser {
					more, less = less, more
				}
				if len(more) <= len(less) || slices.ContainsFunc(less, func(v string) bool { return !slices.Contains(more, v) }) {
					t.Errorf("%s: %v where it was %v", e.place, takes(e.inSchema(json.RawMessage(document))), own)
				}
			}
		}
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		output string
		most   int
		want   string
	}{
		{`{"items":[1,2,3]}`, 17, `{"items":[1,2,3]}`},
		{`{"items":[1,2,3],"n":"x"}`, 22, `{"items":[1],"n":"x"}`},
		{`{"a":{"text":"öööö"},"b":1}`, 28, `{"a":{"text":"öö"},"b":1}`},
		{`{"a":1}`, 3, `{"a":1}`},
		{`no JSON`, 3, `no JSON`},
		{``, 0, ``},
	} {
		if got := string(cut(json.RawMessage(test.output), test.most)); got != test.want {
			t.Errorf("%s in %d bytes is %s, want %s", test.output, test.most, got, test.want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, id string
		want        bool
	}{
		{"a/b", "a/b", true}, {"a/b", "a/bc", false}, {"a*", "a/b/c", true}, {"*", "", true}, {"*c", "a/b/c", true},
		{"a*b*c", "a-c-b-c", true}, {"a*b*c", "a-c", false}, {"ab*bc", "abc", false}, {"", "a", false}, {"a", "", false},
	} {
		if got := matches(test.pattern, test.id); got != test.want {
			t.Errorf("%q of %q: %t", test.pattern, test.id, got)
		}
	}
}
