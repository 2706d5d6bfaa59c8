package schema

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"agentlab/lab/jsonvalue"
)

// FuzzTighten holds that what satisfies the result satisfies the upstream, that
// faults are of the two types, and that nothing takes long.
func FuzzTighten(f *testing.F) {
	for _, seed := range [][3]string{
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"properties":{"a":{"maxLength":1}},"additionalProperties":false}`, `{"a":"x","b":"xy"}`},
		{`{"$ref":"#/definitions/A","definitions":{"A":{"properties":{"c":{"$ref":"#"}}}},"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"properties":{"c":{"required":["c"]}}}`, `{"c":{"c":{}}}`},
		{`{"unevaluatedItems":false,"prefixItems":[{"minimum":1}],"items":{"maximum":4}}`, `{"items":{"enum":[1,2]},"uniqueItems":true}`, `[1,2]`},
		{`{"$dynamicAnchor":"x","items":{"$dynamicRef":"#x"},"minItems":1}`, `{"items":{"minItems":2}}`, `[[],[]]`},
		{`{"if":{"type":"string"},"then":{"format":"date"},"contains":true}`, `{"if":true,"else":false,"contains":{"not":{}},"maxContains":2}`, `[1]`},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, upstream, with, text string) {
		start := time.Now()
		result, err := Tighten(json.RawMessage(upstream), json.RawMessage(with))
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		if err != nil {
			var fault *Error
			var loose *Loosening
			if !errors.As(err, &fault) && !errors.As(err, &loose) {
				t.Fatalf("%T", err)
			}
			return
		}
		value, err := jsonvalue.Decode([]byte(text))
		if err != nil {
			return
		}
		under, err := CompileForeign([]byte(upstream), Draft202012)
		if err != nil {
			t.Fatal(err)
		}
		tighter, err := CompileForeign(result, Draft202012)
		if err != nil {
			t.Fatal(err)
		}
		// What cannot be checked in time, or only by one engine, is refused by
		// either for a reason of its own.
		if tighter.Validate(value) == nil {
			for _, v := range under.Validate(value) {
				if v.Keyword != "schema" {
					t.Fatalf("%s lets in what %s refuses: %v", result, upstream, v)
				}
			}
		}
		again, err := Tighten(result, json.RawMessage(`{}`))
		if err != nil || string(again) != string(result) {
			t.Fatalf("%s is not its own: %s, %v", result, again, err)
		}
	})
}
