package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xeipuuv/gojsonschema"

	"agentlab/lab/jsonvalue"
)

const plainSchema = `{"type":"object","properties":{` +
	`"ticket_id":{"type":"string","minLength":1},` +
	`"note":{"type":"string","minLength":1,"maxLength":2000}},` +
	`"required":["ticket_id","note"],"additionalProperties":false}`

const plainValue = `{"ticket_id":"T-1001","note":"called back, waiting for the part"}`

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile([]byte(plainSchema)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkValidate compares the room with the engine alone.
func BenchmarkValidate(b *testing.B) {
	value := decode(b, plainValue)
	b.Run("room", func(b *testing.B) {
		s := compile(b, plainSchema)
		b.ReportAllocs()
		for b.Loop() {
			if s.Validate(value) != nil {
				b.Fatal("refused")
			}
		}
	})
	b.Run("engine", func(b *testing.B) {
		s, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(plainSchema))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if result, _ := s.Validate(gojsonschema.NewRawLoader(value)); !result.Valid() {
				b.Fatal("refused")
			}
		}
	})
	b.Run("refused", func(b *testing.B) {
		s := compile(b, plainSchema)
		value := decode(b, `{"ticket_id":"","extra":1}`)
		b.ReportAllocs()
		for b.Loop() {
			if len(s.Validate(value)) != 3 {
				b.Fatal("not refused")
			}
		}
	})
}

// hostile are schemas and values that are made to cost as much as they can.
// The value grows with n.
var hostile = []struct {
	name   string
	schema string
	value  func(n int) string
}{
	{"recursive anyOf", `{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["b"]},{"properties":{"a":{"$ref":"#"}},"required":["b"]},{"type":"string"}]}`,
		func(n int) string { return nested(min(n, 60), `{"a":`, `1`, `}`) }},
	{"recursive anyOf of items", `{"type":"array","anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"},"minItems":5}]}`,
		func(n int) string { return nested(min(n, 60), `[`, ``, `]`) }},
	{"doubling definitions", doubling(60), func(int) string { return `1` }},
	{"doubling definitions within reach", doubling(14), items(`1`)},
	{"a finding for each item", `{"items":{"type":"string"}}`, items(`1`)},
	{"five findings for each item", `{"items":{"minimum":5,"multipleOf":7,"exclusiveMinimum":8,"enum":[9],"not":{}}}`, items(`1`)},
	{"a long path for each finding", `{"additionalProperties":{"items":{"type":"string"}}}`,
		func(n int) string { return `{"` + repeat("k", 100*n) + `":` + items("1")(n) + `}` }},
	{"an escaped path for each finding", `{"additionalProperties":{"items":{"type":"string"}}}`,
		func(n int) string { return `{"` + repeat("~", 10*n) + `":` + items("1")(n) + `}` }},
	{"large numbers", `{"items":{"type":"integer","multipleOf":3e-400,"minimum":1e400}}`, items(`7e399`)},
	{"a pattern over a long text", `{"pattern":"^(a?){500}(a|b){400}$"}`, func(n int) string { return `"` + repeat("a", n) + `"` }},
	{"a pattern over long texts", `{"items":{"pattern":"(a|aa)*(ab|b)[a-z]+(.*x){9}"}}`, items(`"` + repeat("ab", 50) + `"`)},
	{"patterns over many names", `{"patternProperties":{"^(x?){500}a":{},"^(y?){500}b":{}}}`, manyNames},
	{"many patterns over many names", `{"patternProperties":{` + manyPatterns(300) + `}}`, manyNames},
	{"many properties over many names", `{"properties":{` + manyProperties(9_000) + `},"additionalProperties":false}`, manyNames},
	{"an enum for each item", `{"items":{"enum":[` + manyTexts(1000, 500) + `]}}`, items(`"z"`)},
	{"const at every depth", `{"const":1,"items":{"$ref":"#"}}`,
		func(n int) string { return nested(60, "[", repeat("1,", n)+"1", "]") }},
	{"uniqueItems at every depth", `{"uniqueItems":true,"items":{"$ref":"#"}}`,
		func(n int) string { return nested(60, "[", repeat("1,", n)+"1", "]") }},
	{"emails over long texts", `{"items":{"format":"email"}}`, func(n int) string { return `["` + repeat("a", n) + `@a.b"]` }},
	{"uris over long texts", `{"items":{"format":"uri-reference"}}`, func(n int) string { return `["/` + repeat("a:", n) + `"]` }},
	{"required by many", `{"items":{"required":[` + manyTexts(1000, 3) + `]}}`, items(`{}`)},
	{"too many names", `{"additionalProperties":false}`, manyNames},
	{"names that break propertyNames", `{"propertyNames":{"maxLength":1,"anyOf":[{"minLength":50},{"pattern":"^x$"}]}}`, manyNames},
}

// costliest returns the largest value of at most a megabyte that the meter
// lets through, and its work.
func costliest(tb testing.TB, s *Schema, grow func(int) string) (value any, spent int) {
	const megabyte = 1 << 20
	for step, n := 1<<19, 0; step > 0; step /= 2 {
		text := grow(n + step)
		if len(text) > megabyte {
			continue
		}
		grown := decode(tb, text)
		work := meter{left: maxWork, leftover: s.leftover}
		if work.visit(s.root, grown, 0) {
			n += step
			value, spent = grown, maxWork-work.left
		}
	}
	return value, spent
}

func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		b.Run(h.name, func(b *testing.B) {
			s := compile(b, h.schema)
			value, spent := costliest(b, s, h.value)
			var n int
			for b.Loop() {
				n = len(s.Validate(value))
			}
			b.ReportMetric(float64(n), "violations")
			b.ReportMetric(float64(spent), "work")
		})
	}
}

// TestHostile holds that no value costs much more than maxWork stands for. The
// bound is wide, so that a slow machine does not fail it; BenchmarkHostile
// measures the costliest.
func TestHostile(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			s := compile(t, h.schema)
			for _, n := range []int{100, 40_000} {
				value := decode(t, h.value(n))
				start := time.Now()
				s.Validate(value)
				if took := time.Since(start); took > 20*time.Second {
					t.Errorf("took %v", took)
				}
			}
		})
	}
}

func repeat(s string, n int) string { return strings.Repeat(s, n) }

func items(item string) func(int) string {
	return func(n int) string { return "[" + repeat(item+",", n) + item + "]" }
}

func nested(depth int, before, inner, after string) string {
	return repeat(before, depth) + inner + repeat(after, depth)
}

func doubling(n int) string {
	var out bytes.Buffer
	out.WriteString(`{"$ref":"#/definitions/d0","definitions":{`)
	for i := range n {
		fmt.Fprintf(&out, `"d%d":{"allOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&out, `"d%d":{"type":"string"}}}`, n)
	return out.String()
}

func members(n int, format string, args func(i int) []any) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, args(i)...)
	}
	return strings.Join(parts, ",")
}

func manyNames(n int) string {
	return "{" + members(n, `"name%d":1`, func(i int) []any { return []any{i} }) + "}"
}

func manyPatterns(n int) string {
	return members(n, `"^p%d[a-z]+x$":{}`, func(i int) []any { return []any{i} })
}

func manyProperties(n int) string {
	return members(n, `"prop%d":true`, func(i int) []any { return []any{i} })
}

func manyTexts(n, length int) string {
	return members(n, `"%d%s"`, func(i int) []any { return []any{i, repeat("x", length)} })
}

func compile(tb testing.TB, document string) *Schema {
	tb.Helper()
	s, err := Compile([]byte(document))
	if err != nil {
		tb.Fatalf("%s: %v", document, err)
	}
	return s
}

func decode(tb testing.TB, text string) any {
	tb.Helper()
	value, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return value
}

// encode writes a schema that a test puts together.
func encode(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
