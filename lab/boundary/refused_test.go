package boundary_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/boundary"
)

// TestRefusedValues: the wrong values, each by its fault.
func TestRefusedValues(t *testing.T) {
	type calls = map[string]string
	tests := []struct {
		name, schema string
		want         calls // of those faults; "" for none
	}{
		{"whole bounds", with(`{"type":"integer","minimum":2,"maximum":9}`), calls{"minimum a": `{"a":1}`, "maximum a": `{"a":10}`, "whole a": `{"a":2.5}`, "type a": `{"a":"not of this type"}`}},
		{"open bounds", with(`{"type":"number","exclusiveMinimum":2,"exclusiveMaximum":9}`), calls{"exclusiveMinimum a": `{"a":2}`, "exclusiveMaximum a": `{"a":9}`, "whole a": ``}},
		{"open bounds of draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#",` + with(`{"type":"integer","minimum":2,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":true}`)[1:],
			calls{"exclusiveMinimum a": `{"a":2}`, "exclusiveMaximum a": `{"a":9}`}},
		{"bounds with a fraction", with(`{"type":"integer","minimum":2.5,"maximum":3.5}`), calls{"minimum a": `{"a":2}`, "maximum a": `{"a":4}`}},
		{"bounds in steps", with(`{"type":"integer","minimum":10,"maximum":20,"multipleOf":5}`), calls{"minimum a": `{"a":5}`, "maximum a": `{"a":25}`, "multipleOf a": `{"a":11}`}},
		{"steps of a number", with(`{"type":"number","multipleOf":0.5}`), calls{"multipleOf a": `{"a":1.25}`}},
		{"steps that all whole numbers have", with(`{"type":"integer","multipleOf":1}`), calls{"multipleOf a": ``}},
		{"a bound that cannot be compared", `{"$schema":"http://json-schema.org/draft-07/schema#","required":["a"],"properties":{"a":{"type":"integer","minimum":-9007199254740992,"maximum":5},"b":{"enum":["x"]}}}`,
			calls{"minimum a": ``, "maximum a": `{"a":6}`}},
		{"lengths", with(`{"type":"string","minLength":3,"maxLength":8}`), calls{"minLength a": `{"a":"ex"}`, "maxLength a": `{"a":"examplexx"}`}},
		{"lengths of a path", `{"required":["path"],"properties":{"path":{"type":"string","minLength":3,"maxLength":30}}}`,
			calls{"minLength path": `{"path":""}`, "maxLength path": `{"path":"${SANDBOX}/example.txtxxxxxxxxx"}`}},
		{"pattern", with(`{"type":"string","pattern":"^[a-z]+$"}`), calls{"pattern a": `{"a":"not valid!"}`}},
		{"pattern and length", with(`{"type":"string","pattern":"^[a-z]+$","maxLength":3,"minLength":3}`), calls{"pattern a": `{"a":"!!!"}`}},
		{"pattern that all match", with(`{"type":"string","pattern":""}`), calls{"pattern a": ``}},
		{"pattern of a path", `{"required":["path"],"properties":{"path":{"type":"string","pattern":"^[a-z/.]+$"}}}`, calls{"pattern path": `{"path":"${SANDBOX}/not valid!"}`}},
		{"format", with(`{"type":"string","format":"date"}`), calls{"format a": `{"a":"2024-13-45"}`}},
		{"enum", with(`{"enum":["b","c"]}`), calls{"enum a": `{"a":"not-listed"}`, "type a": ``, "null a": `{"a":null}`}},
		{"enum of numbers", with(`{"type":"integer","enum":[3,-4]}`), calls{"enum a": `{"a":8}`}},
		{"const", with(`{"const":"b"}`), calls{"const a": `{"a":"not-listed"}`}},
		{"null is allowed", with(`{"type":["string","null"]}`), calls{"null a": ``, "type a": `{"a":12345}`}},
		{"null by another branch", with(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), calls{"null a": ``, "type a": `{"a":12345}`}},
		{"any type", with(`{}`), calls{"null a": ``, "type a": ``, "missing a": `{}`}},
		{"all types", with(`{"type":["string","null","integer","number","boolean","array","object"]}`), calls{"null a": ``, "type a": ``}},
		{"items", with(`{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3,"uniqueItems":true}`),
			calls{"minItems a": `{"a":[1]}`, "maxItems a": `{"a":[1,2,1,2]}`, "uniqueItems a": `{"a":[1,2,1]}`}},
		{"closed", `{"properties":{"unexpected_property":{}},"additionalProperties":false}`, calls{"unknown an unexpected property": `{"an unexpected property":"example"}`}},
		{"open", `{"properties":{"userId":{"type":"integer"}}}`, calls{"unknown unexpected_property": ``, "misspelt userId": ``, "type userId": `{"userId":"not of this type"}`}},
		{"typed rest", `{"additionalProperties":{"type":"integer"}}`, calls{"unknown unexpected_property": `{"unexpected_property":"example"}`}},
		{"camel", `{"properties":{"userId":{"type":"integer"}},"additionalProperties":false}`, calls{"misspelt userId": `{"user_id":1}`}},
		{"snake", `{"properties":{"user_id":{"type":"integer"}},"additionalProperties":false}`, calls{"misspelt user_id": `{"userId":1}`}},
		{"both spellings", `{"properties":{"user_id":{"type":"integer"},"userId":{"type":"integer"}},"additionalProperties":false}`, calls{"misspelt user_id": `{"User_id":1}`}},
		{"one word", `{"properties":{"id":{"type":"integer"}},"additionalProperties":false}`, calls{"misspelt id": `{"Id":1}`}},
		{"of two names one", `{"additionalProperties":false,"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"oneOf":[{"required":["b"]},{"required":["a"]}]}`,
			calls{"missing b": `{}`, "type b": `{"b":"not of this type"}`, "type a": ``}},
		{"said once", with(`{"type":"string","minLength":1,"pattern":"."}`), calls{"minLength a": `{"a":""}`, "pattern a": ``}},
		{"no more than a hundred", `{"properties":{` + repeated(60, func(i int) string { return fmt.Sprintf(`"p%02d":{"type":"integer"}`, i) }) + `}}`,
			calls{"type p00": `{"p00":"not of this type"}`, "type p59": ``}},
		{"no more than some bytes", `{"required":["a"],"properties":{"a":{"default":"` + strings.Repeat("x", 900_000) + `"},` +
			repeated(9, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"integer"}`, i) }) + `}}`, calls{"missing a": `{}`, "type p9": ``}},
		{"dependent", `{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"dependencies":{"a":["b"]}}`, calls{"type b": `{"b":"not of this type"}`, "type a": ``}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := define("t", tt.schema)
			holds(t, d)
			list, err := boundary.Refused(d)
			if err != nil {
				t.Fatal(err)
			}
			got := make(calls)
			for fault := range tt.want {
				got[fault] = ""
				for _, call := range list {
					if call.Fault+" "+call.Property == fault {
						got[fault] = string(call.Arguments)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
