package boundary

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// TestLaterDrafts: what is built for the keywords of 2019-09 and 2020-12, before
// anything checks it, and that the check agrees wherever it knows them.
func TestLaterDrafts(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"definitions by their later name", `{"properties":{"a":{"$ref":"#/$defs/b"}},"required":["a"],"$defs":{"b":{"type":"integer"}}}`, `{"a":1}`},
		{"beside a reference", `{"properties":{"a":{"$ref":"#/$defs/b","minimum":4}},"required":["a"],"$defs":{"b":{"type":"integer"}}}`, `{"a":4}`},
		{"an anchor", `{"properties":{"a":{"$ref":"#b"}},"required":["a"],"$defs":{"x":{"$anchor":"b","type":"integer"}}}`, `{"a":1}`},
		{"an identity", `{"$id":"https://example.test/a","properties":{"a":{"$ref":"https://example.test/a#/$defs/b"}},"required":["a"],"$defs":{"b":{"type":"integer"}}}`, `{"a":1}`},
		{"prefixItems", `{"properties":{"a":{"prefixItems":[{"type":"integer"},{"type":"null"}],"items":{"type":"boolean"},"minItems":3}},"required":["a"]}`, `{"a":[1,null,false]}`},
		{"minContains", `{"properties":{"a":{"type":"array","contains":{"type":"integer"},"minContains":2}},"required":["a"]}`, `{"a":[1,1]}`},
		{"no contains", `{"properties":{"a":{"type":"array","items":{"type":"boolean"},"contains":{"type":"integer"},"minContains":0}},"required":["a"]}`, `{"a":[false]}`},
		{"dependentRequired", `{"required":["a"],"dependentRequired":{"a":["b"],"b":["c"],"x":["y"]}}`, `{"a":"example","b":"example","c":"example"}`},
		{"dependentSchemas", `{"required":["a"],"dependentSchemas":{"a":{"required":["b"],"properties":{"b":{"type":"integer"}}}}}`, `{"a":"example","b":1}`},
		{"formats of later drafts", `{"required":["a"],"properties":{"a":{"type":"string","format":"duration"}}}`, `{"a":"PT1H"}`},
		{"unknown format", `{"required":["a"],"properties":{"a":{"type":"string","format":"int32"}}}`, `{"a":"example"}`},
		{"format of a path", `{"required":["a"],"properties":{"a":{"type":"string","format":"file-path"}}}`, `{"a":"${SANDBOX}/example.txt"}`},
		{"unknown keyword", `{"required":["a"],"x-order":["a"],"properties":{"a":{"type":"string","x-hint":{"type":"integer"}}}}`, `{"a":"example"}`},
		{"as pydantic writes it", `{"$defs":{"Level":{"enum":["low","high"],"title":"Level","type":"string"}},"properties":{
			"level":{"$ref":"#/$defs/Level"},"note":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Note"}},"required":["level","note"],"title":"argsArguments","type":"object"}`,
			`{"level":"low","note":"example"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, err := jsonvalue.Decode([]byte(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			unchecked := &check{func(any) []tool.Violation { return nil }, newDocument(root), maxMeetings}
			p, err := unchecked.plain()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, canonical(p.arguments)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			d := tool.Definition{Name: "t", InputSchema: json.RawMessage(tt.schema)}
			if _, err := compile(d.InputSchema, true); err != nil {
				return
			}
			got, err := Plain(d)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
				t.Errorf("checked: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestFormats: the samples are what they say, wherever the check knows the
// format.
func TestFormats(t *testing.T) {
	known := 0
	for name, samples := range formats {
		text, _ := json.Marshal(map[string]string{"format": name})
		validate, err := compile(text, true)
		if err != nil {
			continue
		}
		known++
		if len(samples.good) == 0 || len(samples.bad) == 0 {
			t.Errorf("%s has no samples", name)
		}
		for _, sample := range samples.good {
			if found := validate(sample); found != nil {
				t.Errorf("%s: %q: %v", name, sample, found)
			}
		}
		refused := false
		for _, sample := range samples.bad {
			refused = refused || validate(sample) != nil
		}
		for _, sample := range samples.bad {
			// A door that takes a format it does not know checks none of its texts.
			if refused && validate(sample) == nil {
				t.Errorf("%s: %q has the format", name, sample)
			}
		}
	}
	if known < 12 {
		t.Errorf("only %d formats are known to lab/schema", known)
	}
}
