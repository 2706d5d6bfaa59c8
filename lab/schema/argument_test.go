package schema_test

import (
	"encoding/json"
	"testing"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
)

// What is said to be always there is so in everything that the schema takes.
func TestArgumentOfIsCareful(t *testing.T) {
	of := func(property string) string {
		return `{"type":"object","required":["a"],"properties":{"a":` + property + `},"$defs":{"s":{"type":"string"},"l":{"type":"array","items":{"$ref":"#/$defs/s"}}}}`
	}
	instances := []string{`{}`, `{"a":null}`, `{"a":1}`, `{"a":"x"}`, `{"a":[]}`, `{"a":["x"]}`, `{"a":["x",1]}`, `{"a":[1,"x"]}`, `{"a":{}}`, `{"b":"x"}`, `"a"`, `[]`}
	for document, want := range map[string]schema.Argument{
		of(`{"type":"string"}`):                                               schema.Text,
		of(`{"type":["string"]}`):                                             schema.Text,
		of(`{"$ref":"#/$defs/s"}`):                                            schema.Text,
		of(`{"allOf":[{},{"$ref":"#/$defs/s"}]}`):                             schema.Text,
		of(`{"$ref":"#/$defs/l"}`):                                            schema.Texts,
		of(`{"type":"array","items":{"type":"string"}}`):                      schema.Texts,
		of(`{"type":"array","prefixItems":[true],"items":{"type":"string"}}`): schema.Unsure,
		of(`{"type":["string","null"]}`):                                      schema.Unsure,
		of(`{"anyOf":[{"type":"string"},true]}`):                              schema.Unsure,
		of(`{"not":{"type":"string"}}`):                                       schema.Unsure,
		`{"type":"object","properties":{"a":{"type":"string"}}}`:              schema.Unsure,
		`{"required":["a"],"properties":{"a":{"type":"string"}}}`:             schema.Unsure,
		`{"$ref":"#"}`: schema.Unsure,
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`:      schema.Unsure,
		`{"type":"object","required":["b"],"properties":{"a":{"type":"string"}}}`: schema.Unsure,
		`{"type":"object","required":["a"],"properties":{"a":{"items":{}}}}`:      schema.Unsure,
		`true`: schema.Unsure,
	} {
		if got := schema.ArgumentOf([]byte(document), true, "a"); got != want {
			t.Errorf("%s: %d, want %d", document, got, want)
		}
		compiled, err := schema.CompileForeign([]byte(document), schema.Draft202012)
		if err != nil {
			continue // a reference that leads back to itself
		}
		for _, instance := range instances {
			value, err := jsonvalue.Decode([]byte(instance))
			if err != nil {
				t.Fatal(err)
			}
			if want == schema.Unsure || len(compiled.Validate(value)) > 0 {
				continue
			}
			var held struct{ A any }
			_ = json.Unmarshal([]byte(instance), &held)
			_, text := held.A.(string)
			list, texts := held.A.([]any)
			for _, item := range list {
				if _, is := item.(string); !is {
					texts = false
				}
			}
			if want == schema.Text && !text || want == schema.Texts && !texts {
				t.Errorf("%s takes %s", document, instance)
			}
		}
	}
}
