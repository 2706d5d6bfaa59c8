package schema

import (
	"slices"
	"testing"
	"time"
)

// hostileForeign are made to cost the second engine as much as they can,
// beside those of hostile.
var hostileForeign = []struct {
	name   string
	schema string
	value  func(n int) string
}{
	{"recursive dynamic", `{"$dynamicAnchor":"a","anyOf":[{"items":{"$dynamicRef":"#a"}},{"items":{"$dynamicRef":"#a"},"minItems":5}]}`,
		func(n int) string { return nested(min(n, 60), `[`, ``, `]`) }},
	{"a dynamic reference for each item", `{"$dynamicAnchor":"a","type":["array","string"],"items":{"$dynamicRef":"#a"}}`, items(`1`)},
	{"a dynamic reference for each item below", `{"$dynamicAnchor":"a","type":["array","string"],"items":{"$dynamicRef":"#a"}}`,
		func(n int) string { return nested(60, "[", repeat("1,", n)+"1", "]") }},
	{"unevaluated at each step", `{"unevaluatedProperties":{"type":"null"},"allOf":[` + members(200, `{"minProperties":%d}`, func(i int) []any { return []any{i} }) + `]}`, manyNames},
	{"unevaluated items at each step", `{"unevaluatedItems":{"type":"null"},"anyOf":[` + members(200, `{"minItems":%d}`, func(i int) []any { return []any{i} }) + `]}`, items(`1`)},
	{"unevaluated and recursive", `{"properties":{"a":{"$ref":"#"}},"allOf":[{"properties":{"b":true}},{"properties":{"c":true}}],"unevaluatedProperties":{"$ref":"#"}}`,
		func(n int) string { return nested(60, `{"a":`, manyNames(n), `}`) }},
	{"unevaluated at every depth", `{"unevaluatedItems":{"$ref":"#"},"allOf":[{"contains":{"type":"null"}},{}]}`,
		func(n int) string { return nested(min(n, 60), `[`, `1`, `,2]`) }},
	{"contains for each item", `{"items":{"contains":{"type":"string"},"minContains":2}}`, items(`[1]`)},
	{"dependent on many", `{"items":{"dependentRequired":{"a":[` + manyTexts(1000, 3) + `]}}}`, items(`{"a":1}`)},
	{"dependent schemas", `{"dependentSchemas":{` + members(1000, `"name%d":{"minProperties":1000000}`, func(i int) []any { return []any{i} }) + `}}`, manyNames},
	{"a long way of references", way(4000), func(n int) string { return nested(min(n, 60), `[`, ``, `]`) }},
	{"a long way of references within reach", way(300), func(n int) string { return nested(min(n, 60), `[`, ``, `]`) }},
	{"a long way of references for each item", way(2000), items("1")},
	{"names that break propertyNames anew", `{"propertyNames":{"enum":[` + manyTexts(1000, 500) + `]}}`, manyNames},
	{"numbers that are no integers", `{"items":{"type":"integer"}}`, items(`1e-399`)},
	{"numbers with many digits", `{"items":{"multipleOf":` + repeat("7", 390) + `.5,"const":` + repeat("9", 390) + `}}`, items(repeat("8", 390) + ".25e-399")},
	{"equal large numbers", `{"uniqueItems":true}`, items(`1e400`)},
	{"large choices", `{"items":{"enum":[` + members(3000, `{"a":[%d,1e399]}`, func(i int) []any { return []any{i} }) + `]}}`, items(`{"a":[5001,1e399]}`)},
}

// way is a chain of references that goes round for every step into an array.
func way(n int) string {
	return `{"$ref":"#/$defs/d0","$defs":{` +
		members(n, `"d%d":{"$ref":"#/$defs/d%d"}`, func(i int) []any { return []any{i, i + 1} }) +
		`,"d` + encode(n) + `":{"items":{"$ref":"#"}}}}`
}

func hostileToSecond() []struct {
	name   string
	schema string
	value  func(n int) string
} {
	return slices.Concat(hostile, hostileForeign)
}

func compileForeign(tb testing.TB, document string) *Schema {
	tb.Helper()
	s, err := CompileForeign([]byte(document), Draft202012)
	if err != nil {
		tb.Fatalf("%.200s: %v", document, err)
	}
	return s
}

func BenchmarkHostileToSecond(b *testing.B) {
	for _, h := range hostileToSecond() {
		b.Run(h.name, func(b *testing.B) {
			s := compileForeign(b, h.schema)
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

// TestHostileToSecond is TestHostile for the second engine.
func TestHostileToSecond(t *testing.T) {
	for _, h := range hostileToSecond() {
		t.Run(h.name, func(t *testing.T) {
			start := time.Now()
			s := compileForeign(t, h.schema)
			for _, n := range []int{100, 20_000} {
				s.Validate(decode(t, h.value(n)))
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// BenchmarkSecond compares with BenchmarkCompile and BenchmarkValidate.
func BenchmarkSecond(b *testing.B) {
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			compileForeign(b, plainSchema)
		}
	})
	s := compileForeign(b, plainSchema)
	b.Run("validate", func(b *testing.B) {
		value := decode(b, plainValue)
		b.ReportAllocs()
		for b.Loop() {
			if s.Validate(value) != nil {
				b.Fatal("refused")
			}
		}
	})
	b.Run("refused", func(b *testing.B) {
		value := decode(b, `{"ticket_id":"","extra":1}`)
		b.ReportAllocs()
		for b.Loop() {
			if len(s.Validate(value)) != 3 {
				b.Fatal("not refused")
			}
		}
	})
}
