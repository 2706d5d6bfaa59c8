package schema

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	kinds6 "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"agentlab/lab/tool"
)

// TestCompileForeignIsBounded is TestCompileIsBounded for the second engine.
func TestCompileForeignIsBounded(t *testing.T) {
	for name, document := range map[string]string{
		"chain of references": `{"$ref":"#/$defs/d0","$defs":{` +
			members(2900, `"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"}}}`, func(i int) []any { return []any{i, i + 1} }) + `,"d2900":{}}}`,
		"references to each": `{"$defs":{` + members(4999, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"}]}`, func(i int) []any { return []any{i, i + 1} }) + `,"d4999":{}}}`,
		"many subschemas":    `{"properties":{` + members(5000, `"p%d":{"type":"null"}`, func(i int) []any { return []any{i} }) + `}}`,
		"many identities":    `{"$defs":{` + members(4000, `"d%d":{"$id":"i%d"}`, func(i int) []any { return []any{i, i} }) + `}}`,
		"identities and subschemas": `{"$defs":{` + members(99, `"d%d":{"$id":"i%d"}`, func(i int) []any { return []any{i, i} }) +
			`},"properties":{` + members(4000, `"p%d":{"$ref":"i7"}`, func(i int) []any { return []any{i} }) + `}}`,
		"many anchors": `{"$defs":{` + members(4900, `"d%d":{"$dynamicAnchor":"a%d"},"e%d":{"$dynamicRef":"#a%d"}`, func(i int) []any { return []any{i, i, i, i} }) + `}}`,
		"many meanings of an anchor": `{"$defs":{` + members(99, `"d%d":{"$id":"i%d","$dynamicAnchor":"a"}`, func(i int) []any { return []any{i, i} }) +
			`},"properties":{` + members(4000, `"p%d":{"$dynamicRef":"i7#a"}`, func(i int) []any { return []any{i} }) + `}}`,
		"long names": `{"properties":{"` + repeat("k", 500_000) + `":{"properties":{` + manyProperties(9000) + `}}}}`,
		"long names with references": `{"properties":{"` + repeat("~", 50_000) + `":{"properties":{` +
			members(9000, `"p%d":{"$ref":"#"}`, func(i int) []any { return []any{i} }) + `}}}}`,
		"large enum":          `{"enum":[` + manyTexts(60_000, 5) + `]}`,
		"large numbers":       `{"enum":[1e999999` + repeat(",1e999999", 100) + `]}`,
		"large required":      `{"required":[` + manyTexts(60_000, 5) + `]}`,
		"numbers in range":    `{"prefixItems":[` + members(3000, `{"minimum":%de-399,"multipleOf":%de399}`, func(i int) []any { return []any{i, i + 1} }) + `]}`,
		"many patterns":       `{"patternProperties":{` + manyPatterns(9000) + `}}`,
		"nested alternatives": nested(31, `{"anyOf":[`, `{}`, `,{}]}`),
		"unknown keywords":    `{` + members(60_000, `"x-%d":{}`, func(i int) []any { return []any{i} }) + `}`,
	} {
		start := time.Now()
		s, err := CompileForeign([]byte(document), Draft202012)
		compiled := time.Since(start)
		if err == nil {
			s.Validate([]any{})
			s.Validate(object{})
		}
		took := time.Since(start)
		t.Logf("%s: %v, then %v, %.150v", name, compiled, took-compiled, err)
		if took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func TestForeignTakes(t *testing.T) {
	const in07, in2019 = `"$schema":"http://json-schema.org/draft-07/schema#"`, `"$schema":"https://json-schema.org/draft/2019-09/schema"`
	for _, c := range []struct {
		document        string
		unstated        Dialect
		accepted        string
		refused, reason string // what is told of it
	}{
		// What is not known is an annotation.
		{`{"nullable":true,"x-order":1,"type":"string","format":"int32","$comment":"a"}`, Draft202012, `"a"`, `1`, ` type: must be string`},
		{`{` + in07 + `,"nullable":true,"type":"string","format":"int32"}`, Draft202012, `"a"`, `null`, ` type: must be string`},
		{`{"const":1,"minimum":2,"id":"http://a.test/"}`, Draft04, `3`, `1`, ` minimum: must be at least 2`},
		{`{"prefixItems":[false],"minItems":1}`, Draft07, `[1]`, `[]`, ` minItems: must have at least 1 item`},
		{`{"properties":{"a":{"x-y":{"$ref":"http://a.test/","$id":7},"type":"null"}}}`, Draft202012, `{"a":null}`, `{"a":1}`, `/a type: must be null`},
		{`{"unknown":{"$id":"b","$anchor":"b","pattern":"("},"$defs":{"x":{"$id":"b","type":"null"}},"$ref":"b"}`, Draft202012, `null`, `1`, ` type: must be null`},

		// The dialect that is stated counts.
		{`{"$ref":"#/$defs/a","minimum":5,"$defs":{"a":{"type":"number"}}}`, Draft202012, `5`, `1`, ` minimum: must be at least 5`},
		{`{` + in07 + `,"$ref":"#/$defs/a","minimum":5,"$defs":{"a":{"type":"number"}}}`, Draft202012, `1`, `"a"`, ` type: must be number`},
		{`{` + in2019 + `,"items":[{"type":"null"}],"additionalItems":false}`, Draft202012, `[null]`, `[null,1]`, ` additionalItems: must not have more items than the schema lists`},

		// What the first engine cannot do, in the drafts.
		{`{"const":9007199254740993}`, Draft07, `9007199254740993`, `9007199254740992`, ` const: must be 9007199254740993`},
		{`{"enum":[]}`, Draft06, ``, `1`, ` enum: must be one of no values`},
		{`{"items":[],"additionalItems":{"type":"null"}}`, Draft07, `[null]`, `[1]`, `/0 type: must be null`},
		{`{"minLength":3,"maxLength":2,"type":"string"}`, Draft07, ``, `"abcd"`, ` maxLength: must be at most 2 characters long`},
		{`{"$id":"http://a.test/","properties":{"a":{"$ref":"http://a.test/#b"}},"definitions":{"x":{"$id":"#b","type":"null"}}}`, Draft07, `{"a":null}`, `{"a":1}`, `/a type: must be null`},
		{`{"id":"http://a.test/","properties":{"a":{"$ref":"c"}},"definitions":{"x":{"id":"c","type":"null"}}}`, Draft04, `{"a":null}`, `{"a":1}`, `/a type: must be null`},
		{`{"properties":{"a":{"$ref":"#/definitions/x","$id":"http://other.test/","type":7}},"definitions":{"x":{"type":"null"}}}`, Draft07, `{"a":null}`, `{"a":1}`, `/a type: must be null`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"null"},"_a":{}},"definitions":{"a":{"type":"string"},"$a":{}}}`, Draft07, `null`, `"a"`, ` type: must be null`},
		{`{"minimum":5,"exclusiveMinimum":true,"x":1}`, Draft04, `6`, `5`, ` exclusiveMinimum: must be greater than 5`},
		{`{"enum":[` + manyTexts(1500, 0) + `]}`, Draft07, `"1400"`, ``, ``},

		// Identities.
		{`{"$id":"urn:uuid:0","properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"urn:uuid:0#/$defs/x"}},"$defs":{"x":{"type":"null"}}}`, Draft202012, `{"a":null,"b":null}`, `{"b":1}`, `/b type: must be null`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"x":{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x","type":"null"}},"$ref":"x"}`, Draft07, `null`, `1`, ` type: must be null`},
		{`{"$id":"http://json-schema.org/lab/schema","$defs":{"x":{"$id":"urn:lab:1","type":"null"},"y":{"$id":"y","type":"string"}},"$ref":"urn:lab:1"}`, Draft202012, `null`, `"a"`, ` type: must be null`},
		{`{"properties":{"a/b%~ ":{"properties":{"#":{"type":"null"}}}},"propertyNames":{"maxLength":9},"items":{"$ref":"#/propertyNames"},"contains":{"$ref":"#/properties/a~1b%25~0%20/properties/%23"}}`, Draft202012,
			`[null]`, `["0123456789",null]`, `/0 maxLength: must be at most 9 characters long`},
		{`{"$ref":"#/$defs/a","$dynamicRef":"#/$defs/b","$defs":{"a":{"type":"string"},"b":{"maxLength":1}}}`, Draft202012, `"a"`, `"ab"`, ` maxLength: must be at most 1 character long`},
		{`{"then":{"$ref":"#"},"else":{"$ref":"#"},"type":"object"}`, Draft202012, `{}`, `1`, ` type: must be object`},
		{`{"additionalProperties":{"$ref":"#/$defs/no"},"$defs":{"no":false}}`, Draft202012, `{}`, `{"a":1}`, ` additionalProperties: property "a" is not allowed`},
	} {
		s, err := CompileForeign([]byte(c.document), c.unstated)
		if err != nil {
			t.Errorf("%.200s: %v", c.document, err)
			continue
		}
		if c.accepted != "" {
			if got := s.Validate(decode(t, c.accepted)); got != nil {
				t.Errorf("%.200s refuses %s: %v", c.document, c.accepted, got)
			}
		}
		if c.refused != "" {
			got := s.Validate(decode(t, c.refused))
			if len(got) != 1 || got[0].Pointer+" "+got[0].Keyword+": "+got[0].Message != c.reason {
				t.Errorf("%.200s on %s: %v", c.document, c.refused, got)
			}
		}
	}
}

func TestForeignRefuses(t *testing.T) {
	const invalid, unsupported = false, true
	for _, c := range []struct {
		document    string
		pointer     string
		unsupported bool
		reason      string
	}{
		{`{"type":"text"}`, "/type", invalid, "not a type"},
		{`{"items":[{}]}`, "/items", invalid, "must be a schema"},
		{`{"minContains":-1}`, "/minContains", invalid, "0 or more"},
		{`{"dependentRequired":{"a":{}}}`, "/dependentRequired/a", invalid, "array of strings"},
		{`{"dependentRequired":{"a":["b","b"]}}`, "/dependentRequired/a/1", invalid, "listed twice"},
		{`{"dependentSchemas":{"a":["b"]}}`, "/dependentSchemas/a", invalid, "must be a schema"},
		{`{"prefixItems":[]}`, "/prefixItems", invalid, "one or more"},
		{`{"pattern":"(?=a)"}`, "/pattern", unsupported, "look-around"},
		{`{"$schema":"https://example.test/mine"}`, "/$schema", unsupported, "is not known"},
		{`{"not":{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"a"}}`, "/not/$schema", unsupported, "below the root"},
		{`{"not":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}`, "/not/$schema", unsupported, "below the root"},

		{`{"$id":"a#b"}`, "/$id", invalid, "fragment"},
		{`{"$id":7}`, "/$id", invalid, "must be a string"},
		{`{"$id":"http://a.test/%zz"}`, "/$id", invalid, "URI reference"},
		{`{"$defs":{"a":{"$id":"x"},"b":{"$id":"./x"}}}`, "/$defs/b/$id", invalid, "another subschema"},
		{`{"$anchor":"a b"}`, "/$anchor", invalid, "not a name"},
		{`{"$anchor":"/a"}`, "/$anchor", invalid, "not a name"},
		{`{"$dynamicAnchor":7}`, "/$dynamicAnchor", invalid, "must be a string"},
		{`{"$anchor":"a","not":{"$dynamicAnchor":"a"}}`, "/not/$dynamicAnchor", invalid, "another subschema"},

		{`{"$ref":7}`, "/$ref", invalid, "must be a string"},
		{`{"$ref":"#a"}`, "/$ref", invalid, "does not lead"},
		{`{"$ref":"#/%zz"}`, "/$ref", invalid, "URI reference"},
		{`{"$ref":"other"}`, "/$ref", unsupported, "leaves the document"},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "/$ref", unsupported, "leaves the document"},
		{`{"$ref":"http://json-schema.org/lab/schema"}`, "/$ref", unsupported, "leaves the document"},
		{`{"$defs":{"a":{"$id":"a"}},"$ref":"urn:lab:1"}`, "/$ref", unsupported, "leaves the document"},
		{`{"$dynamicRef":"file:///etc/hostname"}`, "/$dynamicRef", unsupported, "leaves the document"},
		{`{"$id":"urn:uuid:0","items":{"$ref":"other"}}`, "/items/$ref", unsupported, "leaves the document"},
		{`{"$id":"urn:uuid:0","items":{"$ref":"other#/$defs/a"},"$defs":{"a":{}}}`, "/items/$ref", unsupported, "leaves the document"},
		{`{"properties":{"` + repeat("k", 500_000) + `":{"properties":{` + manyProperties(9) + `}}}}`, "", unsupported, "too long"},
		{`{"$ref":"#/x-a","x-a":{}}`, "/$ref", invalid, "does not lead"},

		{`{"$ref":"#"}`, "/$ref", invalid, "leads back"},
		{`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`, "/$defs/a/anyOf/0/$ref", invalid, "leads back"},
		{`{"dependentSchemas":{"a":{"$ref":"#"}}}`, "/dependentSchemas/a/$ref", invalid, "leads back"},
		{`{"$dynamicAnchor":"a","allOf":[{"$dynamicRef":"#a"}]}`, "/allOf/0/$dynamicRef", invalid, "leads back"},
		{`{"$dynamicAnchor":"a","$ref":"b","$defs":{"b":{"$id":"b","$dynamicRef":"#a","$defs":{"c":{"$dynamicAnchor":"a"}}}}}`, "/$ref", invalid, "leads back"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","not":{"$recursiveRef":"#"}}`, "/not/$recursiveRef", invalid, "leads back"},

		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveRef":"#/items"}}`, "/items/$recursiveRef", invalid, "must be #"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveAnchor":true}}`, "/items/$recursiveAnchor", unsupported, "no meaning"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$ref":"b#/$defs/c","$defs":{"b":{"$id":"b","$recursiveAnchor":true,"$defs":{"c":{}}}}}`, "/$ref", unsupported, "into the middle"},
	} {
		_, err := CompileForeign([]byte(c.document), Draft202012)
		var got *Error
		if !errors.As(err, &got) {
			t.Errorf("%s: error %v", c.document, err)
			continue
		}
		if got.Pointer != c.pointer || got.Unsupported != c.unsupported || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %q unsupported %v: %s", c.document, got.Pointer, got.Unsupported, got.Reason)
		}
	}
	for _, unstated := range []Dialect{0, Draft04 | Draft06, 1 << 5} {
		if _, err := CompileForeign([]byte(`{}`), unstated); err == nil {
			t.Errorf("%d is a dialect", unstated)
		}
	}
}

// TestOwnNewerSchemasAreStrict: a misspelt keyword of our own never seems to be
// checked, whatever the dialect.
func TestOwnNewerSchemasAreStrict(t *testing.T) {
	const newest = `{"$schema":"https://json-schema.org/draft/2020-12/schema",`
	for document, pointer := range map[string]string{
		newest + `"minLenght":1}`:          "/minLenght",
		newest + `"format":"int32"}`:       "/format",
		newest + `"additionalItems":true}`: "/additionalItems",
	} {
		_, err := Compile([]byte(document))
		var got *Error
		if !errors.As(err, &got) || got.Pointer != pointer || !got.Unsupported {
			t.Errorf("%s: %v", document, err)
		}
	}
	s := compile(t, newest+`"prefixItems":[{"format":"date"}]}`)
	if got := s.Validate(decode(t, `["2024-02-30"]`)); len(got) != 1 || got[0].Pointer != "/0" || got[0].Keyword != "format" {
		t.Errorf("got %v", got)
	}
}

// TestPlacesOfNamesStayRight: the engine would give the place of a name that is
// not allowed a token of what it looked at later.
func TestPlacesOfNamesStayRight(t *testing.T) {
	s := compileForeign(t, `{"items":{"items":{"propertyNames":{"maxLength":1}}}}`)
	got := s.Validate(decode(t, `[[{"ab":1}],[{"cd":1},{"e":1}],[],[{}]]`))
	want := []tool.Violation{
		{Pointer: "/0/0", Keyword: "propertyNames", Message: `property "ab" has a name that is not allowed`},
		{Pointer: "/1/0", Keyword: "propertyNames", Message: `property "cd" has a name that is not allowed`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheWayDecidesEverywhere: a dynamic reference below propertyNames means
// what it means elsewhere.
func TestTheWayDecidesEverywhere(t *testing.T) {
	s := compileForeign(t, `{"$id":"http://a.test/","$ref":"b","$defs":{"name":{"$dynamicAnchor":"name","maxLength":1},
		"b":{"$id":"b","propertyNames":{"$dynamicRef":"#name"},"$defs":{"name":{"$dynamicAnchor":"name","minLength":1}}}}}`)
	if got := s.Validate(decode(t, `{"ab":1}`)); len(got) != 1 || got[0].Keyword != "propertyNames" {
		t.Errorf("got %v", got)
	}
	if got := s.Validate(decode(t, `{"":1}`)); got != nil {
		t.Errorf("got %v", got)
	}
}

// TestForeignOpensNothing is TestNothingIsFetched for the second engine.
func TestForeignOpensNothing(t *testing.T) {
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer server.Close()
	for _, format := range []string{`{"$ref":%q}`, `{"$schema":%q}`, `{"$id":%q,"items":{"$ref":"x"}}`, `{"$dynamicRef":%q}`, `{"$id":%q,"$ref":"?"}`} {
		if _, err := CompileForeign(fmt.Appendf(nil, format, server.URL), Draft202012); err == nil {
			t.Errorf(format+" was taken", server.URL)
		}
	}
	if _, err := (noLoader{}).Load(server.URL); err == nil {
		t.Error("the engine's way out is open")
	}
	// A reference that the check has missed.
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"$dynamicAnchor":"a"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{server.URL, "file://" + filepath.ToSlash(file)} {
		root := &node{raw: object{}, placed: placed{resource: &resource{address: rootAddress}}}
		root.jumps = []jump{{keyword: "$dynamicRef", dynamic: "a", to: &node{placed: placed{resource: &resource{address: address}}}}}
		if _, _, err := (&checker{draft: Draft202012, second: true}).compileSecond(root); err == nil {
			t.Errorf("%s was opened", address)
		}
	}
	select {
	case path := <-asked:
		t.Error("asked for", path)
	default:
	}
}

// TestPanicsOfTheSecondEngine: never an accepted value.
func TestPanicsOfTheSecondEngine(t *testing.T) {
	s := compileForeign(t, `{"enum":[1]}`)
	s.second.Extensions = append(s.second.Extensions, (*own)(nil))
	if got := s.Validate(decode(t, `1`)); len(got) != 1 || got[0].Keyword != refused || got[0].Message != notChecked {
		t.Errorf("got %v", got)
	}
	root := &node{raw: object{"minLength": "one"}, placed: placed{resource: &resource{}}}
	if _, _, err := (&checker{draft: Draft202012, second: true, allowed: allowed[Draft202012]}).compileSecond(root); err == nil {
		t.Error("a panic was not an error")
	}
}

func TestFindingsThatAreNotKnown(t *testing.T) {
	s := compileForeign(t, `{"type":"string"}`)
	for _, fault := range []error{
		errors.New("something else"),
		&jsonschema.ValidationError{SchemaURL: rootAddress + "#", ErrorKind: &kinds6.ContentSchema{}},
		&jsonschema.ValidationError{SchemaURL: rootAddress + "#/nowhere", ErrorKind: &kinds6.Not{}},
		&jsonschema.ValidationError{SchemaURL: rootAddress + "#"},
		&jsonschema.ValidationError{SchemaURL: rootAddress + "#", ErrorKind: &kinds6.AllOf{}},
	} {
		want := []tool.Violation{cannot("", notChecked)}
		if diff := cmp.Diff(want, (&outcome{nodes: s.nodes}).violations(fault)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", fault, diff)
		}
	}
}

func TestForeignConcurrentUse(t *testing.T) {
	s := compileForeign(t, `{"properties":{"a":{"enum":["x"]},"b":{"pattern":"^x$"}},"propertyNames":{"maxLength":1},"unevaluatedProperties":false}`)
	value := decode(t, `{"a":"y","b":"y","cc":-0.0,"p":1}`)
	want := s.Validate(value)
	if len(want) != 3 {
		t.Fatalf("got %v", want)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				if diff := cmp.Diff(want, s.Validate(value)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
	group.Wait()
}

// TestValuesTooLargeForTheSecondEngine: the meter goes the engine's ways.
func TestValuesTooLargeForTheSecondEngine(t *testing.T) {
	const twice = `{"anyOf":[{"items":%s},{"items":%s,"minItems":5}]}`
	again := func(reference string) string { return fmt.Sprintf(twice, reference, reference) }
	deep := nested(60, "[", "", "]")
	for name, c := range map[string]struct{ schema, value string }{
		"references":     {`{"title":"beside","$ref":"#/$defs/a","$defs":{"a":` + again(`{"$ref":"#"}`) + `}}`, deep},
		"recursive ones": {`{"$schema":"https://json-schema.org/draft/2019-09/schema",` + again(`{"$recursiveRef":"#"}`)[1:], deep},
		"dynamic ones":   {`{"$dynamicAnchor":"a",` + again(`{"$dynamicRef":"#a"}`)[1:], deep},
		"a meaning that the way gives": {`{"$ref":"b","$defs":{"a":{"$dynamicAnchor":"a",` + again(`{"$dynamicRef":"b#a"}`)[1:] + `,` +
			`"b":{"$id":"b","items":{"$dynamicRef":"#a"},"$defs":{"a":{"$dynamicAnchor":"a"}}}}}`, deep},
		"a meaning that the way gives again": {`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"anyOf":[{"$ref":"b"},{"$ref":"b","minItems":5}],` +
			`"$defs":{"b":{"$id":"b","$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}}}`, deep},
		"dependent schemas": {`{"dependentSchemas":{"a":{"additionalProperties":{"$ref":"#"}}},"unevaluatedProperties":{"$ref":"#"},"properties":{"b":{"$ref":"#"}}}`,
			nested(60, `{"a":`, "1", `}`)},
		"items after others": {`{"prefixItems":[true],"items":{"$ref":"#"},"anyOf":[{"items":{"$ref":"#"},"prefixItems":[true]},{"not":{}}]}`, nested(60, `[1,`, "1", `]`)},
		"left over":          {`{"unevaluatedItems":{"$ref":"#"},"anyOf":[{"unevaluatedItems":{"$ref":"#"}},{"minItems":5}]}`, deep},
		"too long a way":     {way(4000), nested(10, "[", "", "]")},
		"lists of what is left": {`{"unevaluatedProperties":true,"allOf":[` + members(200, `{"minProperties":%d}`, func(int) []any { return []any{1} }) + `]}`,
			manyNames(20_000)},
	} {
		want := []tool.Violation{{Pointer: "", Keyword: "schema", Message: "is too large to be checked against this schema"}}
		if diff := cmp.Diff(want, compileForeign(t, c.schema).Validate(decode(t, c.value))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, c := range map[string]struct{ schema, value string }{
		"a tree": {`{"$dynamicAnchor":"node","properties":{"next":{"$dynamicRef":"#node"}},"unevaluatedProperties":false}`, nested(60, `{"next":`, `{}`, `}`)},
		"a strict tree": {`{"$ref":"tree","$dynamicAnchor":"node","unevaluatedProperties":false,"$defs":{"tree":{"$id":"tree","$dynamicAnchor":"node",` +
			`"properties":{"next":{"$dynamicRef":"#node"}}}}}`, nested(60, `{"next":`, `{}`, `}`)},
		"a long list":      {`{"items":` + plainSchema + `}`, items(plainValue)(20_000)},
		"a choice of many": {`{"items":{"enum":[` + manyTexts(5000, 5) + `]}}`, items(`"7xxxxx"`)(20_000)},
	} {
		if got := compileForeign(t, c.schema).Validate(decode(t, c.value)); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestChoicesAreToldOnce(t *testing.T) {
	got := compileForeign(t, `{"enum":[1,1.0,10e-1,"a"]}`).Validate("b")
	want := []tool.Violation{{Keyword: "enum", Message: `must be 1 or "a"`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
