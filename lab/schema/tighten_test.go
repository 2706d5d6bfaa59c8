package schema

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	stated07 = `"$schema":"http://json-schema.org/draft-07/schema#"`
)

func TestTighten(t *testing.T) {
	for _, c := range []struct{ name, upstream, with, want string }{
		{"nothing", `{"type": "object"}`, `{}`, `{"type":"object"}`},
		{"true", `true`, `{"type":"object"}`, `{"type":"object"}`},
		{"true over something", `{"type":"object"}`, `true`, `{"type":"object"}`},
		{"anything", `{}`, `{"minimum":1.50}`, `{"minimum":1.50}`},
		{"nothing is allowed", `{"properties":{"b":{"type":"string"},"a":{}}}`, `{"properties":{"b":false}}`, `{"properties":{"b":false,"a":{}}}`},
		{"false over false", `false`, `false`, `false`},
		{"the order of keys and the spelling of numbers", `{"type":"object","properties":{"z":{"maximum":1E2,"minimum":-0.0},"a":{"const":1.0}},"title":"é\/"}`,
			`{"title":"x","minProperties":1,"properties":{"a":{"description":"d"},"z":{"maximum":50.0}}}`,
			`{"type":"object","properties":{"z":{"maximum":50.0,"minimum":-0.0},"a":{"const":1.0,"description":"d"}},"title":"x","minProperties":1}`},

		{"closed", `{"properties":{"a":{}}}`, `{"additionalProperties":false}`, `{"properties":{"a":{}},"additionalProperties":false}`},
		{"closed over true", `{"additionalProperties":true}`, `{"additionalProperties":false}`, `{"additionalProperties":false}`},
		{"closed over a schema", `{"additionalProperties":{"type":"string"}}`, `{"additionalProperties":false}`, `{"additionalProperties":false}`},
		{"closed over {}", `{"additionalProperties":{},"type":"object"}`, `{"additionalProperties":false}`, `{"additionalProperties":false,"type":"object"}`},
		{"a schema for others", `{"type":"object"}`, `{"additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string"}}`},
		{"the same schema for others", `{"additionalProperties":{"type":"string","maxLength":2}}`, `{"additionalProperties":{"maxLength":2.0,"type":"string"}}`, `{"additionalProperties":{"type":"string","maxLength":2}}`},
		{"true over true", `{"additionalProperties":true}`, `{"additionalProperties":true}`, `{"additionalProperties":true}`},
		{"true over nothing", `{"type":"object"}`, `{"additionalProperties":true}`, `{"type":"object","additionalProperties":true}`},
		{"false over false for others", `{"additionalProperties":false}`, `{"additionalProperties":false}`, `{"additionalProperties":false}`},

		{"required", `{"properties":{"a":{},"b":{}},"required":["b"]}`, `{"required":["a","b"]}`, `{"properties":{"a":{},"b":{}},"required":["b","a"]}`},
		{"required anew", `{"properties":{"a":{}}}`, `{"required":["a"]}`, `{"properties":{"a":{}},"required":["a"]}`},
		{"a property where none is named", `{"type":"object"}`, `{"properties":{"a":{"type":"string"}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},

		{"bounds", `{"properties":{"n":{"minimum":0,"exclusiveMaximum":10},"s":{"minLength":1,"maxLength":10},"l":{"minItems":1,"maxItems":5}},"maxProperties":9,"minProperties":1}`,
			`{"properties":{"n":{"minimum":0.0,"maximum":9.99999999999999999999999999999},"s":{"minLength":2,"maxLength":10},"l":{"minItems":1,"maxItems":4}},"maxProperties":8,"minProperties":2}`,
			`{"properties":{"n":{"minimum":0.0,"exclusiveMaximum":10,"maximum":9.99999999999999999999999999999},"s":{"minLength":2,"maxLength":10},"l":{"minItems":1,"maxItems":4}},"maxProperties":8,"minProperties":2}`},
		{"exclusive at the same number", `{"minimum":5}`, `{"exclusiveMinimum":5}`, `{"minimum":5,"exclusiveMinimum":5}`},
		{"exclusive over exclusive", `{"exclusiveMinimum":5}`, `{"exclusiveMinimum":5.0}`, `{"exclusiveMinimum":5.0}`},
		{"inclusive above exclusive", `{"exclusiveMinimum":5}`, `{"minimum":6}`, `{"exclusiveMinimum":5,"minimum":6}`},
		{"bounds of draft-04", `{` + in04 + `,"minimum":5,"exclusiveMinimum":true,"maximum":9}`, `{"minimum":6,"maximum":9,"exclusiveMaximum":true}`,
			`{` + in04 + `,"minimum":6,"exclusiveMinimum":false,"maximum":9,"exclusiveMaximum":true}`},

		{"enum", `{"enum":["a","b",1.0]}`, `{"enum":[1,"a"]}`, `{"enum":[1,"a"]}`},
		{"enum of a type", `{"type":["integer","null"]}`, `{"enum":[1.0,null]}`, `{"type":["integer","null"],"enum":[1.0,null]}`},
		{"const of an enum", `{"type":"string","enum":["a","b"]}`, `{"const":"b"}`, `{"type":"string","enum":["a","b"],"const":"b"}`},
		{"enum of a const", `{"const":1}`, `{"enum":[1.0]}`, `{"const":1,"enum":[1.0]}`},
		{"type", `{"type":["number","string"]}`, `{"type":"integer"}`, `{"type":"integer"}`},
		{"types", `{"type":["number","string","null"]}`, `{"type":["string","integer"]}`, `{"type":["string","integer"]}`},
		{"uniqueItems", `{"uniqueItems":false}`, `{"uniqueItems":true}`, `{"uniqueItems":true}`},

		{"beside", `{"pattern":"a","format":"date","multipleOf":2,"not":{"const":"x"},"anyOf":[true],"allOf":[{"minLength":1}]}`,
			`{"pattern":"b","format":"date","multipleOf":3,"not":{"const":"y"},"anyOf":[{"type":"string"}],"allOf":[{"maxLength":2}],"oneOf":[true],"propertyNames":{"maxLength":1}}`,
			`{"pattern":"a","format":"date","multipleOf":2,"not":{"const":"x"},"anyOf":[true],"allOf":[{"minLength":1},{"pattern":"b"},{"multipleOf":3},{"not":{"const":"y"}},{"anyOf":[{"type":"string"}]},{"maxLength":2}],"oneOf":[true],"propertyNames":{"maxLength":1}}`},
		{"if goes with then", `{"if":{"const":1}}`, `{"then":false,"if":true,"else":{"type":"null"}}`, `{"if":{"const":1},"allOf":[{"then":false,"if":true,"else":{"type":"null"}}]}`},
		{"if where there is none", `{"type":"object"}`, `{"if":true,"then":{"maxProperties":1}}`, `{"type":"object","if":true,"then":{"maxProperties":1}}`},
		{"contains goes with its counts", `{"minContains":0}`, `{"contains":{"const":1},"minContains":2}`, `{"minContains":0,"allOf":[{"contains":{"const":1},"minContains":2}]}`},
		{"patterns of names", `{"patternProperties":{"^a":{"type":"string"}}}`, `{"patternProperties":{"^b":false}}`, `{"patternProperties":{"^a":{"type":"string"},"^b":false}}`},
		{"a pattern of names once more", `{"patternProperties":{"^a":{"type":"string"}}}`, `{"patternProperties":{"^a":{"maxLength":1}}}`,
			`{"patternProperties":{"^a":{"type":"string"}},"allOf":[{"patternProperties":{"^a":{"maxLength":1}}}]}`},
		{"patterns beside what is closed", `{"additionalProperties":false}`, `{"patternProperties":{"^b":true}}`, `{"additionalProperties":false,"allOf":[{"patternProperties":{"^b":true}}]}`},

		{"items", `{"type":"array","items":{"type":"string"}}`, `{"items":{"maxLength":5}}`, `{"type":"array","items":{"type":"string","maxLength":5}}`},
		{"items anew", `{"type":"array"}`, `{"items":{"maxLength":5}}`, `{"type":"array","items":{"maxLength":5}}`},
		{"items after a list", `{"prefixItems":[{"type":"string"}],"items":false}`, `{"items":{"maxLength":5}}`, `{"prefixItems":[{"type":"string"}],"items":false,"allOf":[{"items":{"maxLength":5}}]}`},
		{"items over a list of draft-07", `{` + stated07 + `,"items":[{"type":"string"}]}`, `{"items":{"maxLength":5}}`, `{` + stated07 + `,"items":[{"type":"string"}],"allOf":[{"items":{"maxLength":5}}]}`},
		{"a list over items", `{"items":{"type":"string"}}`, `{"prefixItems":[{"const":"a"}],"items":false}`, `{"items":{"type":"string"},"allOf":[{"prefixItems":[{"const":"a"}],"items":false}]}`},
		{"unevaluated anew", `{"allOf":[{"properties":{"a":{}}}]}`, `{"unevaluatedProperties":false}`, `{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`},

		{"zod, a property like another", `{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}},"additionalProperties":false,` + stated07 + `}`,
			`{"properties":{"a":{"maxLength":9}}}`,
			`{"type":"object","properties":{"a":{"type":"string","maxLength":9},"b":{"$ref":"#/definitions/upstream1"}},"additionalProperties":false,` + stated07 + `,"definitions":{"upstream1":{"type":"string"}}}`},
		{"zod, the property that is like another", `{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}},` + stated07 + `}`,
			`{"properties":{"b":{"maxLength":9}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","maxLength":9}},` + stated07 + `}`},
		{"zod, with a name", `{"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}},` + stated07 + `}`,
			`{"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"definitions":{"Args":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}},` + stated07 + `,"required":["a"]}`},
		{"pydantic", `{"$defs":{"Kind":{"enum":["x","y"],"title":"Kind","type":"string"}},"properties":{"kind":{"$ref":"#/$defs/Kind","description":"which","default":"x"},"n":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}},"title":"F","type":"object"}`,
			`{"properties":{"kind":{"enum":["x"]},"n":{"maximum":3}},"additionalProperties":false}`,
			`{"$defs":{"Kind":{"enum":["x","y"],"title":"Kind","type":"string"}},"properties":{"kind":{"enum":["x"],"title":"Kind","type":"string","description":"which","default":"x"},"n":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null,"maximum":3}},"title":"F","type":"object","additionalProperties":false}`},
		{"siblings of a reference count", `{"$defs":{"a":{"maxLength":5}},"properties":{"x":{"$ref":"#/$defs/a","minLength":1}}}`, `{"properties":{"x":{"maxLength":4}}}`,
			`{"$defs":{"a":{"maxLength":5}},"properties":{"x":{"maxLength":4,"allOf":[{"minLength":1}]}}}`},
		{"siblings of a reference do not count", `{` + stated07 + `,"definitions":{"a":{"maxLength":5}},"properties":{"x":{"$ref":"#/definitions/a","minLength":1,"title":"X"}}}`, `{"properties":{"x":{"maxLength":4}}}`,
			`{` + stated07 + `,"definitions":{"a":{"maxLength":5}},"properties":{"x":{"maxLength":4,"title":"X"}}}`},
		{"a reference to a reference", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"string"}},"items":{"$ref":"#/$defs/a"}}`, `{"items":{"minLength":1}}`,
			`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"string"}},"items":{"type":"string","minLength":1}}`},
		{"recursion", `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`, `{"properties":{"name":{"maxLength":3}}}`,
			`{"type":"object","properties":{"name":{"type":"string","maxLength":3},"children":{"type":"array","items":{"$ref":"#/$defs/upstream1"}}},"$defs":{"upstream1":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/upstream1"}}}}}}`},
		{"excluded by reference", `{"properties":{"a":{"type":"string"},"b":{"not":{"$ref":"#/properties/a"}}}}`, `{"properties":{"a":{"maxLength":1}}}`,
			`{"properties":{"a":{"type":"string","maxLength":1},"b":{"not":{"$ref":"#/$defs/upstream1"}}},"$defs":{"upstream1":{"type":"string"}}}`},
		{"an argument that may be null", `{"properties":{"f":{"anyOf":[{"type":"object","properties":{"x":{}}},{"type":"null"}]}}}`, `{"properties":{"f":{"properties":{"x":{"type":"string"}}}}}`,
			`{"properties":{"f":{"anyOf":[{"type":"object","properties":{"x":{}}},{"type":"null"}],"properties":{"x":{"type":"string"}}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Tighten(json.RawMessage(c.upstream), json.RawMessage(c.with))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTightenRefuses(t *testing.T) {
	for _, c := range []struct{ name, upstream, with, want string }{
		{"minimum", `{"properties":{"n":{"minimum":3}}}`, `{"properties":{"n":{"minimum":2}}}`, `/properties/n/minimum: 2 is looser than the upstream's minimum, 3`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Tighten(json.RawMessage(c.upstream), json.RawMessage(c.with))
			var loose *Loosening
			if !errors.As(err, &loose) {
				t.Fatalf("%s, %v", got, err)
			}
			if diff := cmp.Diff("not a tighter schema: "+c.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
