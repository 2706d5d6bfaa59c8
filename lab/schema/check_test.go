package schema

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	in04 = `"$schema":"http://json-schema.org/draft-04/schema#"`
	in06 = `"$schema":"https://json-schema.org/draft-06/schema"`
)

func TestCompileRefuses(t *testing.T) {
	const invalid, unsupported = false, true
	for _, c := range []struct {
		document    string
		pointer     string
		unsupported bool
		reason      string // a part of it
	}{
		// The document.
		{``, "", invalid, "no JSON document"},
		{`{"type":"string"} {}`, "", invalid, "text after the document"},
		{`{"type":"string","type":"number"}`, "/type", invalid, "duplicate key"},
		{`{"minimum":1e999999}`, "/minimum", invalid, "exponent"},
		{nested(70, `{"not":`, `{}`, `}`), repeat("/not", 64), invalid, "nested deeper"},
		{`"string"`, "", invalid, "must be a schema: an object or a boolean"},
		{`{"properties":{"a":1}}`, "/properties/a", invalid, "must be a schema"},
		{`{"description":"` + repeat("x", maxDocument) + `"}`, "", unsupported, "longer than"},
		{`{"properties":{` + manyProperties(maxSubschemas) + `}}`, "/properties/prop9999", unsupported, "subschemas"},

		// Dialects.
		{`{"$schema":"https://json-schema.org/draft/next/schema"}`, "/$schema", unsupported, "is not known"},
		{`{"$schema":"http://json-schema.org/schema#"}`, "/$schema", unsupported, "is not known"},
		{`{"$schema":"json-schema.org/draft-07/schema"}`, "/$schema", unsupported, "is not known"},
		{`{"$schema":7}`, "/$schema", invalid, "must be a string"},
		{`{"not":{"$schema":"http://json-schema.org/draft-07/schema#"}}`, "/not/$schema", unsupported, "below the root"},
		{`{` + in04 + `,"not":true}`, "/not", invalid, "draft-04 has no boolean schemas"},
		{`{` + in04 + `,"const":1}`, "/const", unsupported, `draft-04 has no keyword "const"`},
		{`{` + in04 + `,"$id":"http://a.test/"}`, "/$id", unsupported, "no keyword"},
		{`{` + in06 + `,"if":{}}`, "/if", unsupported, `draft-06 has no keyword "if"`},
		{`{"id":"http://a.test/"}`, "/id", unsupported, `draft-07 has no keyword "id"`},
		{`{"prefixItems":[{}]}`, "/prefixItems", unsupported, `draft-07 has no keyword "prefixItems"`},
		{`{"properties":{"a":{"$defs":{}}}}`, "/properties/a/$defs", unsupported, "no keyword"},
		{`{"minLenght":1}`, "/minLenght", unsupported, "is not known"},
		{`{"properties":{"a/b~":{"x-y":1}}}`, "/properties/a~1b~0/x-y", unsupported, "is not known"},

		// Identities and references.
		{`{"$id":"#foo"}`, "/$id", unsupported, "anchor"},
		{`{"$id":5}`, "/$id", invalid, "must be a string"},
		{`{"items":{"$id":"x"}}`, "/items/$id", unsupported, "below the root"},
		{`{` + in04 + `,"items":{"id":"x"}}`, "/items/id", unsupported, "below the root"},
		{`{"$ref":5}`, "/$ref", invalid, "must be a string"},
		{`{"$ref":"other.json"}`, "/$ref", unsupported, "leaves the document"},
		{`{"$ref":"http://127.0.0.1:1/x"}`, "/$ref", unsupported, "nothing is fetched"},
		{`{"$ref":"file:///etc/hostname"}`, "/$ref", unsupported, "nothing is fetched"},
		{`{"$id":"http://a.test/","not":{"$ref":"http://a.test/"}}`, "/not/$ref", unsupported, "leaves the document"},
		{`{"$ref":""}`, "/$ref", unsupported, "leaves the document"},
		{`{"$ref":"#foo"}`, "/$ref", unsupported, "anchor"},
		{`{"$ref":"#/%zz"}`, "/$ref", invalid, "not a URI reference"},
		{`{"$ref":"#/definitions/a"}`, "/$ref", invalid, "does not lead to a subschema"},
		{`{"$ref":"#/definitions","definitions":{"a":{}}}`, "/$ref", invalid, "does not lead to a subschema"},
		{`{"items":{"$ref":"#/const"},"const":{"type":"string"}}`, "/items/$ref", invalid, "does not lead to a subschema"},
		{`{"items":{"$ref":"#/enum/0"},"enum":[{}]}`, "/items/$ref", invalid, "does not lead to a subschema"},
		{`{"items":{"$ref":"#/default"},"default":{}}`, "/items/$ref", invalid, "does not lead to a subschema"},
		{`{"items":{"$ref":"#/examples/0"},"examples":[{}]}`, "/items/$ref", invalid, "does not lead to a subschema"},
		{`{"allOf":[{}],"items":{"$ref":"#/allOf/00"}}`, "/items/$ref", invalid, "does not lead to a subschema"},
		{`{"dependencies":{"a":["b"]},"items":{"$ref":"#/dependencies/a"}}`, "/items/$ref", invalid, "does not lead to a subschema"},
		{`{"properties":{"a":{"$ref":"#","type":"string"}}}`, "/properties/a/type", unsupported, "beside $ref"},
		{`{"properties":{"a":{"$ref":"#","additionalProperties":false}}}`, "/properties/a/additionalProperties", unsupported, "beside $ref"},

		// References that never reach the data.
		{`{"$ref":"#"}`, "/$ref", invalid, "leads back to itself"},
		{`{"allOf":[{"$ref":"#"}]}`, "/allOf/0/$ref", invalid, "leads back to itself"},
		{`{"not":{"anyOf":[{"type":"string"},{"oneOf":[{"$ref":"#/not"}]}]}}`, "/not/anyOf/1/oneOf/0/$ref", invalid, "leads back"},
		{`{"if":{"$ref":"#"}}`, "/if/$ref", invalid, "leads back to itself"},
		{`{"then":{"$ref":"#"}}`, "/then/$ref", invalid, "leads back to itself"},
		{`{"else":{"$ref":"#"}}`, "/else/$ref", invalid, "leads back to itself"},
		{`{"dependencies":{"a":{"$ref":"#"}}}`, "/dependencies/a/$ref", invalid, "leads back to itself"},
		{`{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}`, "/definitions/a/$ref", invalid, "leads back"},
		{`{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"allOf":[{"$ref":"#/definitions/b"}]}}}`, "/definitions/b/allOf/0/$ref", invalid, "leads back"},

		// Shapes.
		{`{"title":1}`, "/title", invalid, "must be a string"},
		{`{"examples":1}`, "/examples", invalid, "must be an array"},
		{`{"readOnly":1}`, "/readOnly", invalid, "true or false"},
		{`{"uniqueItems":"yes"}`, "/uniqueItems", invalid, "true or false"},
		{`{"type":"text"}`, "/type", invalid, `"text" is not a type`},
		{`{"type":[]}`, "/type", invalid, "name of a type"},
		{`{"type":["string","string"]}`, "/type/1", invalid, "listed twice"},
		{`{"type":["string","any"]}`, "/type/1", invalid, "not a type"},
		{`{"minLength":-1}`, "/minLength", invalid, "0 or more"},
		{`{"minLength":1.5}`, "/minLength", invalid, "whole number"},
		{`{"maxItems":"3"}`, "/maxItems", invalid, "whole number"},
		{`{"maxItems":1e30}`, "/maxItems", unsupported, "less than"},
		{`{"minLength":2,"maxLength":1}`, "/minLength", unsupported, "must not be more than maxLength"},
		{`{"minProperties":2,"maxProperties":1}`, "/minProperties", unsupported, "must not be more"},
		{`{"minimum":"1"}`, "/minimum", invalid, "must be a number"},
		{`{"exclusiveMinimum":true,"minimum":1}`, "/exclusiveMinimum", invalid, "must be a number"},
		{`{` + in04 + `,"exclusiveMinimum":1}`, "/exclusiveMinimum", invalid, "true or false"},
		{`{` + in04 + `,"exclusiveMaximum":true}`, "/exclusiveMaximum", invalid, "needs maximum"},
		{`{"multipleOf":0}`, "/multipleOf", invalid, "greater than 0"},
		{`{"multipleOf":-1}`, "/multipleOf", invalid, "greater than 0"},
		{`{"required":"a"}`, "/required", invalid, "array of strings"},
		{`{"required":["a",1]}`, "/required/1", invalid, "must be a string"},
		{`{"required":["a","a"]}`, "/required/1", invalid, "listed twice"},
		{`{"required":[` + manyTexts(1001, 0) + `]}`, "/required", unsupported, "more than"},
		{`{` + in04 + `,"required":[]}`, "/required", invalid, "must not be empty"},
		{`{"dependencies":{"a":"b"}}`, "/dependencies/a", invalid, "must be a schema"},
		{`{"dependencies":{"a":["b","b"]}}`, "/dependencies/a/1", invalid, "listed twice"},
		{`{` + in04 + `,"dependencies":{"a":[]}}`, "/dependencies/a", invalid, "must not be empty"},
		{`{"allOf":[]}`, "/allOf", invalid, "one or more schemas"},
		{`{"oneOf":{}}`, "/oneOf", invalid, "one or more schemas"},
		{`{"anyOf":[{},1]}`, "/anyOf/1", invalid, "must be a schema"},
		{`{"items":[]}`, "/items", unsupported, "must not be empty"},
		{`{"items":1}`, "/items", invalid, "must be a schema"},
		{`{"properties":[]}`, "/properties", invalid, "must be an object"},
		{`{"definitions":{"a":1}}`, "/definitions/a", invalid, "must be a schema"},
		{`{"definitions":true}`, "/definitions", invalid, "must be an object"},

		// Values that are compared.
		{`{"enum":[]}`, "/enum", unsupported, "must not be empty"},
		{`{` + in04 + `,"enum":[]}`, "/enum", invalid, "must not be empty"},
		{`{` + in04 + `,"enum":[1,1.0]}`, "/enum/1", invalid, "listed twice"},
		{`{"enum":"a"}`, "/enum", invalid, "must be an array"},
		{`{"enum":[` + manyTexts(1001, 0) + `]}`, "/enum", unsupported, "more than"},
		{`{"const":1e400}`, "/const", unsupported, "double"},
		{`{"const":{"a":[9007199254740993]}}`, "/const", unsupported, "double"},
		{`{"enum":[1,9007199254740993]}`, "/enum", unsupported, "double"},

		// Formats and patterns.
		{`{"format":1}`, "/format", invalid, "must be a string"},
		{`{"format":"regex"}`, "/format", unsupported, `"regex" is not checked`},
		{`{"format":"int32"}`, "/format", unsupported, `"int32" is not checked`},
		{`{"format":""}`, "/format", unsupported, "is not checked"},
		{`{"pattern":1}`, "/pattern", invalid, "must be a string"},
		{`{"pattern":"("}`, "/pattern", invalid, "not a regular expression"},
		{`{"pattern":"(?=a)"}`, "/pattern", unsupported, "look-around"},
		{`{"patternProperties":{"(a)\\1":{}}}`, `/patternProperties/(a)\1`, unsupported, "back-reference"},
		{`{"properties":{"a":{"pattern":"` + repeat("x{1000}", 100) + `"}}}`, "/properties/a/pattern", unsupported, "too large"},
		{`{"pattern":"` + repeat("a", 1025) + `"}`, "/pattern", unsupported, "longer than"},
	} {
		_, err := Compile([]byte(c.document))
		var got *Error
		if !errors.As(err, &got) {
			t.Errorf("%.100s: error %v", c.document, err)
			continue
		}
		if got.Pointer != c.pointer || got.Unsupported != c.unsupported || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%.100s: %q unsupported %v: %s", c.document, got.Pointer, got.Unsupported, got.Reason)
		}
	}
}

func TestCompileTakes(t *testing.T) {
	for _, document := range []string{
		`true`,
		`{}`,
		`{"properties":{"$ref":{"type":"string"},"$id":{"type":"string"},"id":{},"enum":{},"definitions":{}}}`,
		`{"const":{"$ref":"#/nowhere","type":"nothing"},"enum":[{"$ref":1}],"default":{"$id":5}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://a.test/x","$ref":"#/definitions/a","definitions":{"a":{}},"title":"t"}`,
		`{"definitions":{"a":{"items":{"$ref":"#/definitions/a"}},"const":{"$ref":"#/definitions/a"}}}`,
		`{"definitions":{"a":true},"items":{"$ref":"#/definitions/a"},"not":{"$ref":"#/definitions/a"}}`,
		`{"propertyNames":{"$ref":"#"},"contains":{"$ref":"#"},"additionalItems":{"$ref":"#"}}`,
		`{"enum":[1,1.0]}`,
		`{"$id":"urn:example:a"}`,
	} {
		if _, err := Compile([]byte(document)); err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*Error{
		"invalid schema: no JSON document":             {Reason: "no JSON document"},
		"unsupported schema: /$ref: it is too far off": {Pointer: "/$ref", Reason: "it is too far off", Unsupported: true},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestNothingIsFetched serves what a schema refers to and sees nobody ask.
func TestNothingIsFetched(t *testing.T) {
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		fmt.Fprint(w, `{"type":"string"}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{server.URL, "file://" + file, file} {
		for _, format := range []string{`{"$ref":%q}`, `{"$id":%q,"items":{"$ref":"x"}}`, `{"$schema":%q}`, `{"$id":%q,"$ref":"#/definitions/a"}`} {
			if _, err := Compile(fmt.Appendf(nil, format, target)); err == nil {
				t.Errorf(format+" was taken", target)
			}
		}
		if loader := (sealed{}).LoaderFactory().New(target); loader != nil {
			if _, err := loader.LoadJSON(); err == nil {
				t.Error("the engine's way out is open")
			}
		}
	}
	select {
	case path := <-asked:
		t.Error("asked for", path)
	default:
	}
}

// TestCompileIsBounded compiles documents that are made to take long. The
// bound is wide, so that a slow machine does not fail it.
func TestCompileIsBounded(t *testing.T) {
	chain := `{"$ref":"#/definitions/d0","definitions":{` +
		members(4900, `"d%d":{"properties":{"a":{"$ref":"#/definitions/d%d"}}}`, func(i int) []any { return []any{i, i + 1} })
	for name, document := range map[string]string{
		"large enum":          `{"items":[` + members(90, `{"enum":[%s]}`, func(int) []any { return []any{manyTexts(1000, 5)} }) + `]}`,
		"large numbers":       `{"enum":[1e999999` + repeat(",1e999999", 100) + `]}`,
		"numbers in range":    `{"items":[` + members(9000, `{"minimum":%de-399,"multipleOf":%de399}`, func(i int) []any { return []any{i, i + 1} }) + `]}`,
		"chain of references": chain + `,"d4900":{}}}`,
		"references to each":  `{"definitions":{` + members(4999, `"d%d":{"allOf":[{"$ref":"#/definitions/d%d"}]}`, func(i int) []any { return []any{i, i + 1} }) + `,"d4999":{}}}`,
		"many patterns":       `{"patternProperties":{` + manyPatterns(9000) + `}}`,
		"large patterns":      `{"items":[` + members(100, `{"pattern":"(x{900}){%d}"}`, func(int) []any { return []any{1} }) + `]}`,
		"nested alternatives": nested(31, `{"anyOf":[`, `{}`, `,{}]}`),
	} {
		start := time.Now()
		s, err := Compile([]byte(document))
		if err == nil {
			s.Validate([]any{})
		}
		took := time.Since(start)
		t.Logf("%s: %v, %.150v", name, took, err)
		if took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func TestTranslate(t *testing.T) {
	for _, c := range []struct{ pattern, text string }{
		{`^\d+$`, "12"}, {`^[^\s]$`, "x"}, {`^\s$`, "\uFEFF"}, {`^[\s]$`, "\u2003"}, {`^[\S]$`, "é"},
		{`^.$`, "\v"}, {`^\/$`, "/"}, {`^[\/\-\.]$`, "-"}, {`^\cJ$`, "\n"}, {`^\0$`, "\x00"}, {`^\x41$`, "A"},
		{`^\uD83D\uDE00$`, "😀"}, {`^\u00e9$`, "é"}, {`^(?:a|b)$`, "b"}, {`^(?<year>\d{4})$`, "2024"},
		{`^[\b]$`, "\b"}, {`^\é$`, "é"}, {`^[a-]$`, "-"}, {`^[-a]$`, "-"}, {`^[\w-]$`, "-"}, {`^a{2}$`, "aa"},
		{`^[[]$`, "["}, {`^a{,2}$`, "a{,2}"}, {`^[.]$`, "."}, {`^\w+?$`, "ab"}, {`^$`, ""}, {`^\t[\t]$`, "\t\t"},
	} {
		s := compile(t, encode(map[string]string{"pattern": c.pattern}))
		if got := s.Validate(c.text); got != nil {
			t.Errorf("%s does not match %q: %v", c.pattern, c.text, got)
		}
		want := []string{"must match the pattern " + quoted(c.pattern)}
		if c.text == "" {
			continue
		}
		got := s.Validate("\nno\u2028")
		if len(got) != 1 || cmp.Diff(want[0], got[0].Message) != "" {
			t.Errorf("%s on another text: %v", c.pattern, got)
		}
	}
	for pattern, reason := range map[string]string{
		`a(?!b)`: "look-around", `(?<=a)b`: "look-around", `(?<!a)b`: "look-around",
		`(a)\1`: "back-reference", `(?<n>a)\k<n>`: "back-reference",
		`(?i)a`: "inline flags", `(?P<n>a)`: "inline flags", `(?i:a)`: "inline flags",
		`\Aa`: "escape", `a\z`: "escape", `a\Z`: "escape", `\Qa\E`: "escape", `\pL`: "escape", `\a`: "escape", `[\B]`: "escape",
		`\x{41}`: "hex digits", `\x4`: "hex digits", `\u{41}`: "hex digits", `\uD83D`: "surrogate", `\uDE00\uD83D`: "surrogate", `\01`: "escape",
		`[]`: "empty class", `[^]`: "empty class", `[[:alpha:]]`: "POSIX",
		`[\w-z]`: "dash", `[a-\d]`: "dash", `[+-\s]`: "dash", `a{1001}`: "cannot be matched",
		`[`: "not a regular", `)`: "not a regular", `*`: "not a regular", `a**`: "not a regular", `\`: "not a regular",
	} {
		if _, _, err := translate(pattern); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
