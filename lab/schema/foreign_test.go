package schema

import (
	"testing"
	"time"
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
