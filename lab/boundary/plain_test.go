package boundary_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"encoding/json"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/boundary"
	"agentlab/lab/schema"
)

// with makes a schema of one required property a.
func with(property string) string {
	return `{"type":"object","properties":{"a":` + property + `},"required":["a"]}`
}

func TestPlain(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"const", with(`{"const":{"b":[1,null]}}`), `{"a":{"b":[1,null]}}`},
		{"const before default", with(`{"const":2,"default":3}`), `{"a":2}`},
		{"example before default", with(`{"type":"string","default":"b","examples":["c","d"]}`), `{"a":"c"}`},
		{"example of the wrong type", with(`{"type":"string","examples":[1,"c"]}`), `{"a":"c"}`},
		{"example that breaks a bound", with(`{"type":"integer","examples":[0,7],"minimum":5}`), `{"a":7}`},
		{"default that breaks a bound", with(`{"type":"integer","default":0,"minimum":5}`), `{"a":5}`},
		{"many defaults that break bounds", `{"required":["a","b","c","d"],"properties":{` +
			`"a":{"type":"integer","default":0,"minimum":5},"b":{"type":"integer","default":0,"minimum":5},` +
			`"c":{"type":"integer","default":0,"minimum":5},"d":{"type":"string","default":"","minLength":1}}}`, `{"a":5,"b":5,"c":5,"d":"example"}`},
		{"null default", with(`{"type":["string","null"],"default":null}`), `{"a":"example"}`},
		{"only null", with(`{"type":"null","default":null}`), `{"a":null}`},
		{"default in an enum", with(`{"enum":["b","c"],"default":"c"}`), `{"a":"c"}`},
		{"default outside of an enum", with(`{"enum":["b","c"],"default":"d"}`), `{"a":"b"}`},
		{"enum of a type", with(`{"type":"integer","enum":["b",3]}`), `{"a":3}`},
		{"enums that meet", with(`{"allOf":[{"enum":[1,2]},{"enum":[2,3]}]}`), `{"a":2}`},
		{"enum and a bound", with(`{"enum":[1,2,9],"minimum":5}`), `{"a":9}`},
		{"example of the whole", `{"type":"object","properties":{"a":{"type":"integer"}},"examples":[{"a":41}]}`, `{"a":41}`},

		{"integer", with(`{"type":"integer"}`), `{"a":1}`},
		{"integer at least", with(`{"type":"integer","minimum":4}`), `{"a":4}`},
		{"integer at most", with(`{"type":"integer","maximum":-4}`), `{"a":-4}`},
		{"integer above", with(`{"type":"integer","exclusiveMinimum":4}`), `{"a":5}`},
		{"integer above, draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#",` + with(`{"type":"integer","minimum":4,"exclusiveMinimum":true}`)[1:], `{"a":5}`},
		{"integer below, draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#",` + with(`{"type":"integer","maximum":-4,"exclusiveMaximum":true}`)[1:], `{"a":-5}`},
		{"integer between fractions", with(`{"type":"integer","minimum":2.5,"maximum":3.5}`), `{"a":3}`},
		{"integer in steps", with(`{"type":"integer","minimum":10,"multipleOf":7}`), `{"a":14}`},
		{"integer in two steps", with(`{"type":"integer","allOf":[{"multipleOf":4},{"multipleOf":6}]}`), `{"a":12}`},
		{"integer in broken steps", with(`{"type":"integer","multipleOf":1.5}`), `{"a":3}`},
		{"number between", with(`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`), `{"a":0.5}`},
		{"number in steps", with(`{"type":"number","multipleOf":0.01,"exclusiveMinimum":1}`), `{"a":2}`},
		{"number in steps between", with(`{"type":"number","multipleOf":0.25,"exclusiveMinimum":0,"exclusiveMaximum":1}`), `{"a":0.25}`},
		{"large", with(`{"type":"integer","minimum":9007199254740993}`), `{"a":9007199254740993}`},
		{"very large", with(`{"minimum":1e300}`), `{"a":1e+300}`},
		{"number that is not whole", with(`{"oneOf":[{"type":"number"},{"type":"integer"}]}`), `{"a":1.5}`},
		{"not that one", with(`{"type":"integer","not":{"const":1}}`), `{"a":2}`},

		{"long", with(`{"type":"string","minLength":10}`), `{"a":"examplexxx"}`},
		{"the stricter length", with(`{"type":"string","allOf":[{"minLength":9,"maxLength":20},{"minLength":8,"maxLength":9}]}`), `{"a":"examplexx"}`},
		{"short", with(`{"type":"string","maxLength":3}`), `{"a":"exa"}`},
		{"empty", with(`{"type":"string","maxLength":0}`), `{"a":""}`},
		{"pattern", with(`{"type":"string","pattern":"^[A-Z]{3}-\\d+$"}`), `{"a":"AAA-1"}`},
		{"pattern and length", with(`{"type":"string","pattern":"^[a-z]+-[0-9]{2,}$","minLength":8,"maxLength":8}`), `{"a":"aaaaa-11"}`},
		{"two patterns", with(`{"allOf":[{"pattern":"^[a-z]*$","type":"string"},{"pattern":"^e"}]}`), `{"a":"eexample"}`},
		{"pattern of choices", with(`{"type":"string","pattern":"^(?:foo|bar)$"}`), `{"a":"foo"}`},
		{"escaped pattern", with(`{"type":"string","pattern":"^\\u0041\\/\\.$"}`), `{"a":"A/."}`},
		{"open pattern", with(`{"type":"string","pattern":"^item:"}`), `{"a":"item:example"}`},
		{"no named ends", with(`{"type":"string","pattern":"b"}`), `{"a":"bexample"}`},
		{"format", with(`{"type":"string","format":"email"}`), `{"a":"someone@example.test"}`},
		{"format and length", with(`{"type":"string","format":"uri","minLength":24}`), `{"a":"https://example.test/xxx"}`},
		{"format by the type of a list", with(`{"type":["null","string"],"format":"uuid"}`), `{"a":"123e4567-e89b-42d3-a456-426614174000"}`},
		{"bound speaks of a type", with(`{"minimum":3}`), `{"a":3}`},

		{"array", with(`{"type":"array","items":{"type":"integer"}}`), `{"a":[1]}`},
		{"array of anything", with(`{"type":"array"}`), `{"a":["example"]}`},
		{"array of nothing", with(`{"type":"array","items":false}`), `{"a":[]}`},
		{"empty array", with(`{"type":"array","maxItems":0}`), `{"a":[]}`},
		{"tuple", `{"$schema":"http://json-schema.org/draft-07/schema#",` + with(`{"type":"array","items":[{"type":"integer"},{"type":"boolean"}],"additionalItems":{"type":"null"},"minItems":3}`)[1:], `{"a":[1,false,null]}`},
		{"unique texts", with(`{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"string"}}`), `{"a":["example","example-2","example-3"]}`},
		{"after unique texts", `{"required":["a","b"],"properties":{"a":{"type":"array","minItems":2,"uniqueItems":true},"b":{"type":"string"}}}`, `{"a":["example","example-2"],"b":"example"}`},
		{"unique numbers", with(`{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"integer","maximum":1}}`), `{"a":[1,0,-1]}`},
		{"unique flags", with(`{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"boolean"}}`), `{"a":[false,true]}`},
		{"unique choices", with(`{"type":"array","minItems":2,"uniqueItems":true,"items":{"enum":["b","c"]}}`), `{"a":["b","c"]}`},
		{"unique objects", with(`{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"object","required":["b"],"properties":{"b":{"pattern":"^[xy]$","type":"string"}}}}`),
			`{"a":[{"b":"x"},{"b":"y"}]}`},
		{"unique paths", with(`{"type":"object","required":["paths"],"properties":{"paths":{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"string"}}}}`),
			`{"a":{"paths":["${SANDBOX}/example.txt","${SANDBOX}/example-2.txt"]}}`},
		{"contains", with(`{"type":"array","contains":{"const":4},"items":{"type":"integer"}}`), `{"a":[4]}`},

		{"nested", with(`{"type":"object","required":["b"],"properties":{"b":{"type":"object","required":["c"]}}}`), `{"a":{"b":{"c":"example"}}}`},
		{"optional", `{"properties":{"a":{"type":"string","default":"b"}}}`, `{}`},
		{"some properties", `{"minProperties":1,"properties":{"a":false,"b":{"type":"integer"}}}`, `{"b":1}`},
		{"more properties", `{"minProperties":2,"propertyNames":{"pattern":"^[a-z]$"},"additionalProperties":{"type":"integer"}}`, `{"a":1,"b":1}`},
		{"patterned properties", `{"minProperties":2,"patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":false}`, `{"x-example":1,"x-example-2":1}`},
		{"dependent", `{"required":["a"],"dependencies":{"a":["b"],"b":{"required":["c"],"properties":{"c":{"type":"integer"}}}}}`, `{"a":"example","b":"example","c":1}`},

		{"reference", `{"properties":{"a":{"$ref":"#/definitions/b~1c%20d"}},"required":["a"],"definitions":{"b/c d":{"type":"integer"}}}`, `{"a":1}`},
		{"recursion by choice", `{"properties":{"a":{"$ref":"#/definitions/tree"}},"required":["a"],"definitions":{"tree":{"anyOf":[
			{"type":"object","properties":{"left":{"$ref":"#/definitions/tree"}},"required":["left"],"additionalProperties":false},{"type":"integer"}]}}}`, `{"a":{"left":1}}`},
		{"recursion by type", `{"required":["a"],"properties":{"a":{"$ref":"#"}}}`, `{"a":"example"}`},
		{"recursion by items", `{"properties":{"a":{"$ref":"#/definitions/node"}},"required":["a"],"definitions":{"node":{"type":"object",
			"properties":{"children":{"type":"array","items":{"$ref":"#/definitions/node"}}},"required":["children"]}}}`, `{"a":{"children":[]}}`},
		{"the first branch of several", with(`{"anyOf":[{"type":"boolean"},{"type":"integer"}]}`), `{"a":false}`},
		{"a branch that cannot be", with(`{"anyOf":[false,{"type":"integer","minimum":3,"maximum":2},{"type":"integer"}]}`), `{"a":1}`},
		{"one of several", with(`{"oneOf":[{"minimum":0},{"type":"integer","maximum":5},{"type":"string"}],"type":["integer","string"],"examples":["x","y"],"not":{"type":"string"}}`), ``},
		{"tagged", with(`{"oneOf":[{"properties":{"kind":{"const":"b"},"b":{"type":"integer"}},"required":["kind","b"],"type":"object"},
			{"properties":{"kind":{"const":"c"}},"required":["kind"],"type":"object"}]}`), `{"a":{"b":1,"kind":"b"}}`},
		{"one of two names", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"oneOf":[{"required":["b"]},{"required":["a"]}]}`, `{"b":1}`},
		{"else", with(`{"type":"integer","if":{"minimum":10},"then":{"multipleOf":7},"else":{"minimum":3}}`), `{"a":3}`},
		{"then", with(`{"type":"integer","if":{"minimum":10},"then":{"multipleOf":7},"else":false}`), `{"a":14}`},
		{"if and then", with(`{"type":"object","if":{"required":["b"],"properties":{"b":{"const":"c"}}},"then":{"required":["d"]},"else":false}`), `{"a":{"b":"c","d":"example"}}`},
		{"all", with(`{"allOf":[{"type":"integer"},{"minimum":3},{"allOf":[{"maximum":3}]}]}`), `{"a":3}`},

		{"path", `{"required":["file_path"]}`, `{"file_path":"${SANDBOX}/example.txt"}`},
		{"path with an absolute default", `{"required":["dbPath"],"properties":{"dbPath":{"type":"string","default":"/var/lib/a.db","examples":["~/a.db","../a.db","C:\\a.db"]}}}`,
			`{"dbPath":"${SANDBOX}/example.txt"}`},
		{"path with a relative default", `{"required":["path"],"properties":{"path":{"type":"string","default":"."}}}`, `{"path":"."}`},
		{"path with a pattern", `{"required":["path"],"properties":{"path":{"type":"string","pattern":"^/"}}}`, `{"path":"${SANDBOX}/example.txt"}`},
		{"absolute text", with(`{"type":"string","pattern":"^/[a-z]+/"}`), `{"a":"${SANDBOX}/example.txt"}`},
		{"path of a pattern", `{"required":["file"],"properties":{"file":{"type":"string","pattern":"^[a-z]+\\.csv$"}}}`, `{"file":"a.csv"}`},
		{"paths in an example", `{"required":["files"],"properties":{"files":{"type":"array","items":{"type":"string"},"examples":[["/etc/hosts"]]}}}`, `{"files":["${SANDBOX}/example.txt"]}`},
		{"directory", `{"required":["target_dir"]}`, `{"target_dir":"${SANDBOX}"}`},
		{"address", `{"required":["url"]}`, `{"url":"https://example.test/"}`},
		{"rehearsal", `{"required":["dryRun","force"],"properties":{"dryRun":{"type":"boolean"},"force":{"type":"boolean"}}}`, `{"dryRun":true,"force":false}`},

		{"long path", `{"required":["path"],"properties":{"path":{"type":"string","minLength":24,"maxLength":24}}}`, `{"path":"${SANDBOX}/example.txtxx"}`},
		{"short path", `{"required":["path","dir"],"properties":{"path":{"type":"string","maxLength":12},"dir":{"type":"string","maxLength":2}}}`, `{"dir":"ex","path":"${SANDBOX}/a"}`},

		{"names", `{"required":["a\"b","c\nd","\u0000","~/"],"properties":{"~/":{"type":"integer","default":"x"}}}`,
			`{"\u0000":"example","a\"b":"example","c\nd":"example","~/":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := define("t", tt.schema)
			got, err := boundary.Plain(d)
			if tt.want == "" {
				if err == nil {
					t.Errorf("%s for what nothing satisfies", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			holds(t, d)
		})
	}
}

func TestUnmet(t *testing.T) {
	tests := []struct{ name, schema, place, reason string }{
		{"false", `false`, "", "allows nothing"},
		{"no object", `{"type":"string"}`, "", "no type"},
		{"false property", with(`false`), "/a", "allows nothing"},
		{"no name", `{"required":["a"],"additionalProperties":false}`, "/a", "allows nothing"},
		{"bounds", with(`{"type":"integer","minimum":3,"maximum":2}`), "/a", "within all its bounds"},
		{"no step", with(`{"type":"integer","minimum":3,"maximum":6,"multipleOf":7}`), "/a", "within all its bounds"},
		{"open bounds", with(`{"type":"number","exclusiveMinimum":3,"maximum":3}`), "/a", "within all its bounds"},
		{"pattern that nothing meets", with(`{"type":"string","pattern":"a^b"}`), "/a", `the pattern`},
		{"pattern and length", with(`{"type":"string","pattern":"^a{5}$","maxLength":4}`), "/a", `the pattern "^a{5}$" and at most 4`},
		{"two patterns", with(`{"type":"string","allOf":[{"pattern":"^a$"},{"pattern":"^b$"}]}`), "/a", "the pattern"},
		{"enums", with(`{"allOf":[{"enum":[1]},{"enum":[2]}]}`), "/a", "const and enum"},
		{"enum of another type", with(`{"enum":[1],"type":"string"}`), "/a", "const and enum"},
		{"types", with(`{"allOf":[{"type":"string"},{"type":"integer"}]}`), "/a", "no type"},
		{"deep", with(`{"type":"array","minItems":2,"items":{"type":"object","required":["b~/"],"properties":{"b~/":false}}}`), "/a/0/b~0~1", "allows nothing"},
		{"for ever", `{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`, "/a/a/a/a/a/a/a/a", "too many levels"},
		{"many items", with(`{"type":"array","minItems":100000}`), "/a", "more than 1000 items"},
		{"long", with(`{"type":"string","minLength":1000000}`), "/a", "more than 65536 characters"},
		{"many properties", `{"minProperties":1000000}`, "", "more than 2000 properties"},
		{"equal items", with(`{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"boolean"}}`), "/a", "two equal items"},
		{"not", with(`{"not":{}}`), "/a", ""},
		{"deep example", `{"examples":[` + strings.Repeat(`{"a":`, 62) + `1` + strings.Repeat(`}`, 62) + `]}`, "", "nested deeper"},
		{"too many digits", with(`{"type":"integer","minimum":1e400}`), "/a", "longer than 400 digits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := boundary.Plain(define("t", tt.schema))
			var unmet *boundary.Unmet
			if !errors.As(err, &unmet) {
				t.Fatalf("Plain = %s, %v", got, err)
			}
			if unmet.Place != tt.place || !strings.Contains(unmet.Reason, tt.reason) {
				t.Errorf("%q: %s, want %q: %s", unmet.Place, unmet.Reason, tt.place, tt.reason)
			}
			if holds(t, define("t", tt.schema)) {
				t.Error("the second time there is a plain call")
			}
		})
	}
	for _, text := range []string{``, `{`, `{"minimum":"a"}`, `{"$ref":"https://example.test/a.json"}`, `{"pattern":"(?=a)"}`, `{"a":1e999}`} {
		_, err := boundary.Plain(define("t", text))
		if fault := (*schema.Error)(nil); !errors.As(err, &fault) {
			t.Errorf("%s: %v", text, err)
		}
		holds(t, define("t", text))
	}
}

// TestEveryKeyword goes through the table of keywords: what each accepts and
// refuses as the value of a required property, an optional one, an item.
func TestEveryKeyword(t *testing.T) {
	text, err := os.ReadFile("../../tests/schema/keywords.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Keyword  string
		Drafts   []string
		Schema   json.RawMessage
		Accepted []json.RawMessage
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	built, total := 0, 0
	for _, row := range rows {
		for _, draft := range row.Drafts {
			head := `{"$schema":"http://json-schema.org/draft-` + draft + `/schema#",`
			// References of a row are to its root: it is where it stands only there.
			for _, property := range []string{
				head + string(row.Schema[1:]),
				head + `"properties":{"a":` + string(row.Schema) + `},"required":["a"]}`,
				head + `"properties":{"a":` + string(row.Schema) + `}}`,
				head + `"properties":{"a":{"type":"array","minItems":1,"items":` + string(row.Schema) + `}},"required":["a"]}`,
			} {
				total++
				if _, err := schema.CompileForeign([]byte(property), schema.Draft202012); err != nil {
					total--
					continue
				}
				if holds(t, define("t", property)) {
					built++
				} else if len(row.Accepted) > 0 && !strings.HasPrefix(property, head+string(row.Schema[1:])) {
					_, err := boundary.Plain(define("t", property))
					t.Errorf("%s: no plain call: %v", property, err)
				}
			}
		}
	}
	if built < 300 || built < total*9/10 {
		t.Errorf("%d plain calls for %d schemas", built, total)
	}
}
