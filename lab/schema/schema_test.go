package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

func ExampleCompile() {
	s, err := Compile([]byte(`{
		"type": "object",
		"properties": {"note": {"type": "string", "minLength": 1}},
		"required": ["id", "note"]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	value, _ := jsonvalue.Decode([]byte(`{"note": ""}`))
	for _, v := range s.Validate(value) {
		fmt.Printf("%q %s: %s\n", v.Pointer, v.Keyword, v.Message)
	}
	_, err = Compile([]byte(`{"properties": {"id": {"minLength": -1}}}`))
	fmt.Println(err)
	// Output:
	// "" required: property "id" is required
	// "/note" minLength: must be at least 1 character long
	// invalid schema: /properties/id/minLength: must be a whole number of 0 or more
}

func TestValidateOrdersAndDropsDuplicates(t *testing.T) {
	s := compile(t, `{"allOf":[{"$ref":"#/definitions/a"},{"$ref":"#/definitions/a"}],"required":["z","y"],
		"definitions":{"a":{"properties":{"b":{"type":"string"},"a.b":{"type":"string"},"a":{"properties":{"b":{"type":"string"}}}},"required":["y"]}}}`)
	value := decode(t, `{"b":1,"a.b":1,"a":{"b":1}}`)
	want := []tool.Violation{
		{Pointer: "", Keyword: "required", Message: `property "y" is required`},
		{Pointer: "", Keyword: "required", Message: `property "z" is required`},
		{Pointer: "/a.b", Keyword: "type", Message: "must be string"},
		{Pointer: "/a/b", Keyword: "type", Message: "must be string"},
		{Pointer: "/b", Keyword: "type", Message: "must be string"},
	}
	for range 50 {
		if diff := cmp.Diff(want, s.Validate(value)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// TestPointersAreExact uses keys that could be taken for something else.
func TestPointersAreExact(t *testing.T) {
	s := compile(t, `{"additionalProperties":{"additionalProperties":{"type":"string"}}}`)
	for _, key := range []string{"", ".", "a.b", "/", "~", "~1", "(root)", "\x00", "ÿ", "\u00ff\u00ff", "0", "é😀", "\n"} {
		value := map[string]any{key: map[string]any{key: true}}
		want := "/" + jsonvalue.Token(key) + "/" + jsonvalue.Token(key)
		if got := s.Validate(value); len(got) != 1 || got[0].Pointer != want {
			t.Errorf("%q: %v", key, got)
		}
	}
}

func TestMessagesHoldNoValueOfTheData(t *testing.T) {
	for _, e := range table(t) {
		for _, draft := range e.Drafts {
			s, second := compile(t, e.in(draft)), compileSecond(t, e.in(draft))
			for _, value := range []string{`"SECRET-%!s(MISSING)"`, `["SECRET"]`, `{"a":"SECRET","b":["SECRET"],"abc":"SECRET"}`, `8675309.25`} {
				for _, v := range slices.Concat(s.Validate(decode(t, value)), second.Validate(decode(t, value))) {
					if text := v.Message; strings.Contains(text, "SECRET") || strings.Contains(text, "8675309") {
						t.Errorf("%s tells %s: %s", e.Schema, value, text)
					}
				}
			}
		}
	}
}

// TestMessagesOfTheSchemasNumbers holds that a message has the number of the
// schema in its canonical form, however large.
func TestMessagesOfTheSchemasNumbers(t *testing.T) {
	for literal, want := range map[string]string{
		"0.1": "0.1", "1.50": "1.5", "1e3": "1000", "12345678901234567890.5": "12345678901234567890.5",
		"9007199254740993": "9007199254740993", "0.30000000000000000001": "0.30000000000000000001", "-0": "0",
	} {
		s := compile(t, `{"minimum":`+literal+`}`)
		if got := s.Validate(json.Number("-1e5")); len(got) != 1 || got[0].Message != "must be at least "+want {
			t.Errorf("%s: %v", literal, got)
		}
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	s := compile(t, `{"propertyNames":{"maxLength":3},"properties":{"a":{"enum":[`+manyTexts(100, 300)+`]}}}`)
	for _, v := range s.Validate(decode(t, `{"`+repeat("é", 500)+`":1,"a":1}`)) {
		if len(v.Message) > (maxChoice+1)*(maxQuoted+10) || !strings.Contains(v.Message, "…") {
			t.Errorf("%d bytes: %s", len(v.Message), v.Message)
		}
	}
}

// TestNumbersBeyondDoubles: never rounded, never a panic.
func TestNumbersBeyondDoubles(t *testing.T) {
	for _, c := range []struct {
		schema, value string
		pointers      []string
	}{
		{`{"properties":{"id":{"minimum":9007199254740993}}}`, `{"id":9007199254740993}`, nil},
		{`{"properties":{"id":{"minimum":9007199254740993}}}`, `{"id":9007199254740992}`, []string{"/id"}},
		{`{"maximum":1e400}`, `1e399`, nil},
		{`{"const":1}`, `1e400`, []string{""}},
		{`{"properties":{"kind":{"enum":["a"]}}}`, `{"kind":"a","ids":[1,9007199254740993,1e400]}`, []string{"/ids/1", "/ids/2"}},
		{`{"properties":{"kind":{"enum":["a"]}}}`, `{"kind":"a","ids":[1,9007199254740992,1e40]}`, nil},
		{`{"uniqueItems":true}`, `[9007199254740992,9007199254740993]`, []string{"/1"}},
		{`{"uniqueItems":false}`, `[9007199254740992,9007199254740993]`, nil},
		{`{"const":0}`, `1e-400`, []string{""}},
	} {
		var pointers []string
		for _, v := range compile(t, c.schema).Validate(decode(t, c.value)) {
			pointers = append(pointers, v.Pointer)
		}
		if !slices.Equal(pointers, c.pointers) {
			t.Errorf("%s on %s: %q", c.schema, c.value, pointers)
		}
	}
}

// TestForeignValues: only what jsonvalue.Decode returns is a value.
func TestForeignValues(t *testing.T) {
	loop := []any{nil}
	loop[0] = loop
	for _, value := range []any{1, 1.5, "a"[0], []string{"a"}, map[string]int{}, struct{}{}, json.RawMessage("1"), []any{1}, map[string]any{"a": 1.5}, loop, json.Number("x"), json.Number(""),
		json.Number("1e1000000000"), json.Number("1E-0099999"), json.Number(repeat("9", 1_000_000))} {
		for _, schema := range []string{`{}`, `{"type":"string"}`, `{"type":"number"}`, `{"const":1}`, `{"multipleOf":2}`} {
			for _, s := range []*Schema{compile(t, schema), compileForeign(t, schema)} {
				if got := s.Validate(value); len(got) != 1 || got[0].Keyword != refused {
					t.Errorf("%s on %T: %v", schema, value, got)
				}
			}
		}
	}
}

func TestValuesTooLargeForTheSchema(t *testing.T) {
	s := compile(t, `{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"},"minItems":5}]}`)
	if got := s.Validate(decode(t, nested(5, "[", "", "]"))); got != nil {
		t.Errorf("a shallow value: %v", got)
	}
	want := []tool.Violation{{Pointer: "", Keyword: "schema", Message: "is too large to be checked against this schema"}}
	if diff := cmp.Diff(want, s.Validate(decode(t, nested(60, "[", "", "]")))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLargeValuesPass: the budget is for hostile schemas, not for large data.
func TestLargeValuesPass(t *testing.T) {
	for name, c := range map[string]struct{ schema, value string }{
		"numbers":  {`{"items":{"type":"integer"}}`, items("1")(200_000)},
		"texts":    {`{"items":{"type":"string","minLength":1,"enum":["a","b","c"]}}`, items(`"a"`)(50_000)},
		"objects":  {`{"items":` + plainSchema + `}`, items(plainValue)(20_000)},
		"one text": {`{"type":"string","pattern":"^[a-z]+$"}`, `"` + repeat("a", 1_000_000) + `"`},
		"recursive": {`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}},"name":{"type":"string"}},"additionalProperties":false}`,
			`{"children":` + items(`{"children":`+items(`{"name":"a"}`)(10)+`}`)(2_000) + `}`},
	} {
		if got := compile(t, c.schema).Validate(decode(t, c.value)); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"enum":["x"]},"b":{"pattern":"^x$"},"c":{"minimum":2}},"patternProperties":{"^p":{"type":"null"}}}`)
	value := decode(t, `{"a":"y","b":"y","c":-0.0,"p":1}`)
	want := s.Validate(value)
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
	if diff := cmp.Diff(decode(t, `{"a":"y","b":"y","c":-0.0,"p":1}`), value); diff != "" {
		t.Errorf("the value was changed:\n%s", diff)
	}
}

// FuzzCompileValidate holds that no pair of texts panics, overflows or hangs,
// and that what Validate says does not change from call to call.
func FuzzCompileValidate(f *testing.F) {
	for _, e := range table(f) {
		for _, draft := range e.Drafts {
			for _, value := range e.Accepted {
				f.Add(e.in(draft), string(value))
			}
			for _, r := range e.Refused {
				f.Add(e.in(draft), string(r.Value))
			}
		}
	}
	for _, schema := range []string{`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"$ref":"#a"}`, `{"const":1e400}`, `{"pattern":"[\\s-\\d]"}`} {
		f.Add(schema, `[1e400,{"a":-0}]`)
	}
	f.Fuzz(func(t *testing.T, document, text string) {
		start := time.Now()
		defer func() {
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		}()
		s, err := Compile([]byte(document))
		if err != nil {
			if _, ok := err.(*Error); !ok {
				t.Fatalf("%T", err)
			}
			if err.(*Error).Reason == notTaken {
				t.Fatal("the engine refuses what the check lets through")
			}
			return
		}
		value, err := jsonvalue.Decode([]byte(text))
		if err != nil {
			return
		}
		found := s.Validate(value)
		for _, v := range found {
			if v.Message == notChecked {
				t.Fatal("a panic")
			}
		}
		if !slices.Equal(found, s.Validate(value)) {
			t.Fatal("another answer the second time")
		}
	})
}
