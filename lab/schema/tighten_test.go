package schema

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	stated2019 = `"$schema":"https://json-schema.org/draft/2019-09/schema"`
	stated07   = `"$schema":"http://json-schema.org/draft-07/schema#"`
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
		{"what is not known beside a reference", `{"$defs":{"a":{"type":"string","x-a":1,"x-b":1}},"properties":{"x":{"x-a":2,"$ref":"#/$defs/a"}}}`, `{"properties":{"x":{"maxLength":4}}}`,
			`{"$defs":{"a":{"type":"string","x-a":1,"x-b":1}},"properties":{"x":{"x-a":2,"type":"string","x-b":1,"maxLength":4}}}`},
		{"a reference to a reference", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"string"}},"items":{"$ref":"#/$defs/a"}}`, `{"items":{"minLength":1}}`,
			`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"string"}},"items":{"type":"string","minLength":1}}`},
		{"recursion", `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`, `{"properties":{"name":{"maxLength":3}}}`,
			`{"type":"object","properties":{"name":{"type":"string","maxLength":3},"children":{"type":"array","items":{"$ref":"#/$defs/upstream1"}}},"$defs":{"upstream1":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/upstream1"}}}}}}`},
		{"excluded by reference", `{"properties":{"a":{"type":"string"},"b":{"not":{"$ref":"#/properties/a"}}}}`, `{"properties":{"a":{"maxLength":1}}}`,
			`{"properties":{"a":{"type":"string","maxLength":1},"b":{"not":{"$ref":"#/$defs/upstream1"}}},"$defs":{"upstream1":{"type":"string"}}}`},
		{"items after a list without a rest", `{"prefixItems":[{"type":"string"}]}`, `{"items":{"maxLength":5}}`, `{"prefixItems":[{"type":"string"}],"allOf":[{"items":{"maxLength":5}}]}`},
		{"what a dialect does not know", `{` + in04 + `,"const":1,"prefixItems":[{}],"unevaluatedItems":false}`, `{"enum":[2],"items":{"minimum":1}}`,
			`{` + in04 + `,"const":1,"prefixItems":[{}],"unevaluatedItems":false,"enum":[2],"items":{"minimum":1}}`},
		{"a reference that nothing is laid over", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `{}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`},
		{"definitions below definitions", `{"$ref":"#/$defs/a","$defs":{"a":{"$defs":{"c":{"type":"null"}},"items":{"$ref":"#/$defs/b"}},"b":{}}}`, `{"minItems":1}`,
			`{"items":{"$ref":"#/$defs/b"},"$defs":{"a":{"$defs":{"c":{"type":"null"}},"items":{"$ref":"#/$defs/b"}},"b":{}},"minItems":1}`},
		{"a title before a reference", `{"items":{"title":"x","$ref":"#/$defs/a"},"$defs":{"a":{"title":"y","type":"string"}}}`, `{"items":{"minLength":1}}`,
			`{"items":{"title":"x","type":"string","minLength":1},"$defs":{"a":{"title":"y","type":"string"}}}`},
		{"siblings of a reference to what has an allOf", `{"$defs":{"a":{"allOf":[{"maxLength":5}]}},"items":{"$ref":"#/$defs/a","minLength":1}}`, `{"items":{"pattern":"a"}}`,
			`{"$defs":{"a":{"allOf":[{"maxLength":5}]}},"items":{"allOf":[{"maxLength":5},{"minLength":1}],"pattern":"a"}}`},
		{"a name that is taken", `{"$defs":{"upstream1":{"type":"null"}},"properties":{"a/~b":{},"~1":{"$ref":"#/properties/a~1~0b"},"c":{"$ref":"#/properties/~01"},"d":{"$dynamicRef":"#/properties/~01"}}}`,
			`{"properties":{"a/~b":{"maxLength":1},"~1":{"minLength":1}}}`,
			`{"$defs":{"upstream1":{"type":"null"},"upstream2":{},"upstream3":{"$ref":"#/$defs/upstream2"}},"properties":{"a/~b":{"maxLength":1},"~1":{"minLength":1},"c":{"$ref":"#/$defs/upstream3"},"d":{"$dynamicRef":"#/$defs/upstream3"}}}`},
		{"properties after a condition", `{"if":true,"then":{"properties":{"a":{}}},"else":{"oneOf":[{"properties":{"b":{}}}]}}`, `{"required":["a","b"]}`,
			`{"if":true,"then":{"properties":{"a":{}}},"else":{"oneOf":[{"properties":{"b":{}}}]},"required":["a","b"]}`},
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
	const upstream = `{"type":"object","properties":{"path":{"type":"string","maxLength":5},"n":{"type":"integer","minimum":3,"exclusiveMaximum":9},
		"kind":{"type":"string","enum":["a","b"]},"same":{"const":1},"map":{"additionalProperties":{"type":"string"}},"closed":{"additionalProperties":false},
		"left":{"unevaluatedProperties":false,"allOf":[{"properties":{"a":{}}}]},"rest":{"unevaluatedItems":false,"uniqueItems":true,"minItems":1},
		"never":false,"ref":{"$ref":"#/$defs/no"},"gone":{"$ref":"#/$defs/no","title":"x"}},"required":["path"],"additionalProperties":false,"$defs":{"no":false}}`
	in := func(name, with string) string { return `{"properties":{"` + name + `":` + with + `}}` }
	for _, c := range []struct{ upstream, with, want string }{
		{upstream, in("n", `{"minimum":2}`), `/properties/n/minimum: 2 is looser than the server's minimum, 3`},
		{upstream, in("n", `{"minimum":2.99999999999999999999999999999}`), `/properties/n/minimum: 2.99999999999999999999999999999 is looser than the server's minimum, 3`},
		{upstream, in("n", `{"exclusiveMinimum":2.5}`), `/properties/n/exclusiveMinimum: 2.5 is looser than the server's minimum, 3`},
		{upstream, in("n", `{"maximum":9}`), `/properties/n/maximum: 9 is looser than the server's exclusiveMaximum, 9`},
		{upstream, in("n", `{"exclusiveMaximum":9.5}`), `/properties/n/exclusiveMaximum: 9.5 is looser than the server's exclusiveMaximum, 9`},
		{upstream, in("path", `{"maxLength":6}`), `/properties/path/maxLength: 6 is looser than the server's maxLength, 5`},
		{upstream, in("rest", `{"minItems":0}`), `/properties/rest/minItems: 0 is looser than the server's minItems, 1`},
		{`{` + in04 + `,"minimum":5,"exclusiveMinimum":true}`, `{"minimum":5}`, `/minimum: 5 is looser than the server's`},
		{`{` + in04 + `,"maximum":5}`, `{"maximum":6,"exclusiveMaximum":true}`, `/maximum: 6 is looser than the server's`},

		{upstream, in("n", `{"type":"number"}`), `/properties/n/type: "number" is not what the server has: integer`},
		{upstream, in("path", `{"type":["string","null"]}`), `/properties/path/type: "null" is not what the server has: string`},
		{upstream, in("kind", `{"enum":["a","c"]}`), `/properties/kind/enum/1: "c" is not in the server's enum`},
		{upstream, in("kind", `{"const":"c"}`), `/properties/kind/const: "c" is not in the server's enum`},
		{upstream, in("same", `{"const":2}`), `/properties/same/const: 2 is not the server's const`},
		{upstream, in("same", `{"enum":[1,2]}`), `/properties/same/enum/1: 2 is not the server's const`},
		{upstream, in("n", `{"enum":[4,4.5]}`), `/properties/n/enum/1: 4.5 is not of the server's type: integer`},
		{upstream, in("path", `{"const":null}`), `/properties/path/const: null is not of the server's type: string`},
		{upstream, in("rest", `{"uniqueItems":false}`), `/properties/rest/uniqueItems: the server's is true`},

		{upstream, in("pth", `{"maxLength":1}`), `/properties/pth: the server's schema has no property "pth"; did you mean "path"?`},
		{upstream, in("nowhere", `{}`), `/properties/nowhere: the server's schema has no property "nowhere"; it has "closed", "gone", "kind", "left", "map", "n", "never", "path", "ref", "rest", "same"`},
		{`{"properties":{"a":{},"b":{},` + each(20, `"p%d":{}`) + `}}`, in("nowhere", `{}`), `/properties/nowhere: the server's schema has no property "nowhere"; it has "a", "b", "p0", "p1", "p10", "p11", "p12", "p13", "p14", "p15", "p16", "p17", "p18", "p19", "p2", "p3", "p4", "p5", "p6", "p7" and 2 more`},
		{upstream, `{"required":["path","kinds"]}`, `/required/1: the server's schema has no property "kinds"; did you mean "kind"?`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"properties":{"x":{}}}]}}}`, in("y", `{}`), `/properties/y: the server's schema has no property "y"; it has "x"`},
		{`{"anyOf":[{"properties":{"x":{}}},{"type":"null"}]}`, in("y", `{}`), `/properties/y: the server's schema has no property "y"; it has "x"`},
		{`{"else":{"oneOf":[{"properties":{"x":{}}}]}}`, in("y", `{}`), `/properties/y: the server's schema has no property "y"; it has "x"`},
		{`{` + stated07 + `,"allOf":[{"$ref":"#/definitions/a","anyOf":[{"properties":{"y":{}}}]}],"definitions":{"a":{"properties":{"x":{}}}}}`, in("y", `{}`), `/properties/y: the server's schema has no property "y"; it has "x"`},
		{upstream, in("map", `{"properties":{"a":{}}}`), `/properties/map/properties/a: the server's additionalProperties would no longer hold for it`},
		{upstream, in("closed", `{"properties":{"a":{}}}`), `/properties/closed/properties/a: the server's additionalProperties would no longer hold for it`},
		{upstream, in("left", `{"properties":{"a":{}}}`), `/properties/left/properties/a: the server's unevaluatedProperties would no longer hold for it`},
		{upstream, in("map", `{"additionalProperties":true}`), `/properties/map/additionalProperties: the server's is not open`},
		{upstream, in("closed", `{"additionalProperties":{}}`), `/properties/closed/additionalProperties: the server's is not open`},
		{upstream, in("closed", `{"additionalProperties":{"type":"string"}}`), `/properties/closed/additionalProperties: the server's is false`},
		{upstream, in("map", `{"additionalProperties":{"maxLength":1}}`), `/properties/map/additionalProperties: the server has a schema there; that this is tighter cannot be shown`},

		{upstream, in("left", `{"additionalProperties":{"type":"string"}}`), `/properties/left/additionalProperties: the server has unevaluatedProperties, which would no longer hold for what this looks at`},
		{upstream, in("left", `{"patternProperties":{"a":true}}`), `/properties/left/patternProperties: the server has unevaluatedProperties, which would no longer hold for what this looks at`},
		{upstream, in("left", `{"allOf":[{"properties":{"b":{}}}]}`), `/properties/left/allOf: the server has unevaluatedProperties, which would no longer hold for what this looks at`},
		{upstream, in("left", `{"dependentSchemas":{"b":{"properties":{"b":{}}}}}`), `/properties/left/dependentSchemas: the server has unevaluatedProperties, which would no longer hold for what this looks at`},
		{upstream, in("left", `{"unevaluatedProperties":{}}`), `/properties/left/unevaluatedProperties: the server has one; that this is tighter cannot be shown`},
		{upstream, in("rest", `{"items":{}}`), `/properties/rest/items: the server has unevaluatedItems, which would no longer hold for what this looks at`},
		{upstream, in("rest", `{"prefixItems":[true]}`), `/properties/rest/prefixItems: the server has unevaluatedItems, which would no longer hold for what this looks at`},
		{upstream, in("rest", `{"contains":true}`), `/properties/rest/contains: the server has unevaluatedItems, which would no longer hold for what this looks at`},
		{`{"unevaluatedItems":false,"prefixItems":[true]}`, `{"items":true}`, `/items: the server has unevaluatedItems, which would no longer hold for what this looks at`},

		{upstream, in("rest", `{"minContains":2}`), `/properties/rest/minContains: says nothing without contains beside it`},
		{upstream, `{"then":false}`, `/then: says nothing without if beside it`},
		{upstream, in("never", `{"title":"x"}`), `/properties/never: the server allows nothing here`},
		{upstream, in("ref", `{"title":"x"}`), `/properties/ref: the server allows nothing here`},
		{upstream, in("gone", `{"title":"x"}`), `/properties/gone: the server allows nothing here`},

		{upstream, `{"$ref":"#"}`, `/$ref: the reference "#" leads back to itself without a step into the data`},
		{upstream, in("path", `{"not":{"items":{"$ref":"#"}}}`), `/properties/path/not/items/$ref: has no place in keywords that tighten a schema`},
		{upstream, `{"$id":"x"}`, `/$id: has no place in keywords that tighten a schema`},
		{upstream, `{"$defs":{}}`, `/$defs: has no place in keywords that tighten a schema`},
		{upstream, `{"definitions":{}}`, `/definitions: has no place in keywords that tighten a schema`},
		{upstream, in("path", `{"$anchor":"a"}`), `/properties/path/$anchor: has no place in keywords that tighten a schema`},
		{upstream, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, `/$schema: the dialect is the server's`},
		{`{` + stated2019 + `}`, `{"$recursiveAnchor":true}`, `/$recursiveAnchor: has no place in keywords that tighten a schema`},

		{upstream, `{"maxlength":5}`, `/maxlength: the keyword "maxlength" is not known here`},
		{upstream, in("path", `{"format":"path"}`), `/properties/path/format: the format "path" is not checked here`},
		{`{` + stated07 + `}`, `{"minContains":1}`, `/minContains: draft-07 has no keyword "minContains"`},
		{`{` + in04 + `}`, `{"const":1}`, `/const: draft-04 has no keyword "const"`},
		{upstream, in("path", `{"pattern":"("}`), `/properties/path/pattern: not a regular expression: missing closing )`},
		{upstream, `[]`, `must be a schema: an object or a boolean`},
		{upstream, `{"title":"a","title":"b"}`, `/title: duplicate key (byte 13)`},
		{upstream, ``, `no JSON document (byte 0)`},

		{`{"$ref":"urn:x#/$defs/a","$defs":{"b":{"$id":"urn:x","$defs":{"a":{}}}}}`, `{"title":"x"}`, `where the server's reference leads cannot be shown`},
		{`{"$ref":"#a","$defs":{"b":{"$anchor":"a"}}}`, `{"title":"x"}`, `where the server's reference leads cannot be shown`},
		{`{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"$anchor":"x","minLength":1}}}`, `{"items":{"title":"x"}}`, `/items: where the server's reference leads cannot be shown`},
		{`{"$id":"http://a.test/","items":{"$ref":"http://a.test/#/$defs/b"},"$defs":{"b":{}}}`, `{"items":{"title":"x"}}`, `/items: where the server's reference leads cannot be shown`},
		{`{"$defs":{"a":{"$anchor":"a"}},"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, in("a", `{"maxLength":1}`), `that the server's reference at /properties/b/$ref keeps its meaning cannot be shown`},
		{`{` + stated2019 + `,"properties":{"a":{"$recursiveRef":"#"}}}`, `{"minProperties":1}`, `that the server's reference at /properties/a/$recursiveRef keeps its meaning cannot be shown`},
		{`{"$defs":{"a":{"properties":{"a":{}}}},"items":{"$ref":"#/$defs/a","unevaluatedProperties":false}}`, `{"items":{"minProperties":1}}`, `/items: what unevaluatedProperties sees through the server's reference cannot be shown`},
		{`{"$defs":{"a":{"unevaluatedProperties":false}},"items":{"$ref":"#/$defs/a","properties":{"a":{}}}}`, `{"items":{"minProperties":1}}`, `/items: what unevaluatedProperties sees through the server's reference cannot be shown`},
		{nested(61, `{"items":`, `{"not":{"const":1}}`, `}`), nested(61, `{"items":`, `{"not":{"not":{}}}`, `}`), `with these keywords the schema cannot be checked: ` + repeat("/items", 61) + `/allOf/0/not: nested deeper than 64 levels (byte 584)`},
	} {
		t.Run(cut(c.with), func(t *testing.T) {
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

// TestTightenTellsWhoseFault holds that a fault of the upstream is not one of
// the keywords, which have a place of their own.
func TestTightenTellsWhoseFault(t *testing.T) {
	for _, upstream := range []string{``, `[]`, `{"title":"a","title":"b"}`, `{} {}`, `{"type":"objekt"}`, `{"$ref":"http://a.test/"}`, `{"pattern":"(?=a)"}`} {
		_, err := Tighten(json.RawMessage(upstream), json.RawMessage(`{}`))
		if fault, ok := err.(*Error); !ok {
			t.Errorf("%s: %T %v", upstream, err, fault)
		}
	}
	_, err := Tighten(json.RawMessage(`true`), json.RawMessage(`{"type":"objekt"}`))
	var loose *Loosening
	var fault *Error
	if !errors.As(err, &loose) || !errors.As(err, &fault) || loose.Pointer != "/type" || fault.Pointer != "/type" || fault.Unsupported {
		t.Errorf("%#v", err)
	}
	_, err = Tighten(json.RawMessage(`{"properties":{"b":{},"a":{}}}`), json.RawMessage(`{"required":["c"]}`))
	if !errors.As(err, &loose) || loose.Unknown != "c" || !slices.Equal(loose.Known, []string{"a", "b"}) {
		t.Errorf("%#v", err)
	}
}

// each joins texts of which each holds its number, and the next.
func each(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.NewReplacer("%d", strconv.Itoa(i), "%e", strconv.Itoa(i+1)).Replace(format)
	}
	return strings.Join(all, ",")
}

// TestTightenIsBounded holds that no schema makes this take long or grow without
// a bound.
func TestTightenIsBounded(t *testing.T) {
	const tooLong = "with these keywords the schema cannot be checked: the document is longer than 1048576 bytes"
	for name, c := range map[string]struct{ upstream, with, want string }{
		"large copies": {`{"properties":{` + each(500, `"p%d":{"$ref":"#/$defs/large"}`) + `},"$defs":{"large":{"title":"` + repeat("x", 900_000) + `"}}}`,
			`{"properties":{` + each(500, `"p%d":{"minLength":1}`) + `}}`, tooLong},
		"a long way of references": {`{"properties":{` + each(4000, `"p%d":{"$ref":"#/properties/p%e"}`) + `,"p4000":{}}}`,
			`{"properties":{` + each(4000, `"p%d":{"minLength":1}`) + `}}`, "/properties/p0: where the server's reference leads cannot be shown"},
		"a way of references within reach": {`{"items":{"$ref":"#/$defs/p1"},"$defs":{` + each(100, `"p%d":{"$ref":"#/$defs/p%e"}`) + `,"p100":{}}}`, `{"items":{"minLength":1}}`, ""},
		"references to each": {`{"properties":{` + each(1500, `"p%d":{"$ref":"#/properties/q%d"},"q%d":{}`) + `}}`,
			`{"properties":{` + each(1500, `"p%d":{"minLength":1},"q%d":{"minLength":2}`) + `}}`, ""},
		"recursion": {`{"properties":{"a":{"$ref":"#"},` + each(4000, `"p%d":{"$ref":"#"}`) + `}}`,
			nested(30, `{"properties":{"a":`, `{"required":["p1"]}`, `}}`), tooLong},
		"names from far away": {`{"anyOf":[` + each(3000, `{"properties":{"p%d":{}}}`) + `]}`,
			`{"required":[` + each(3000, `"p%d"`) + `],"properties":{` + each(3000, `"p%d":{}`) + `}}`, ""},
		"large choices": {`{"enum":[` + each(3000, `"v%d"`) + `]}`, `{"enum":[` + each(3000, `"v%d"`) + `]}`, ""},
	} {
		start := time.Now()
		_, err := Tighten(json.RawMessage(c.upstream), json.RawMessage(c.with))
		took := time.Since(start)
		t.Logf("%s: %v", name, took)
		if took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "not a tighter schema: ")
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%.500s", name, diff)
		}
	}
}
