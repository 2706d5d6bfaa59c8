package schema

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// TestTightenOnGenerated holds of schemas and keywords that are put together at
// random that what satisfies the result satisfies the upstream; and that it
// satisfies the keywords, and what satisfies both satisfies it, where no
// keyword is about what others leave.
func TestTightenOnGenerated(t *testing.T) {
	var laid, valid, exact, refused int
	rapid.Check(t, func(rt *rapid.T) {
		g := generator{rt, some(rt, Draft04, Draft06, Draft07, Draft201909, Draft202012, Draft202012)}
		root := g.upstream()
		var upstream *Schema
		document := []byte(encode(root))
		upstream, err := CompileForeign(document, Draft202012)
		if err != nil {
			return
		}
		for range 20 {
			with := g.with(root, 2)
			result, err := Tighten(document, []byte(encode(with)))
			if loose := (*Loosening)(nil); errors.As(err, &loose) {
				refused++
				continue
			}
			if err != nil {
				rt.Fatalf("%s with %s: %v", document, encode(with), err)
			}
			laid++
			tighter, err := CompileForeign(result, Draft202012)
			if err != nil {
				rt.Fatalf("%s: %v", result, err)
			}
			alone, err := (&checker{draft: g.dialect, second: true}).compile(decode(t, encode(with)))
			if err != nil {
				rt.Fatalf("%s: %v", encode(with), err)
			}
			independent := !leaves(with)
			for range 12 {
				text := encode(someValue(rt, 3))
				value := decode(t, text)
				under, both := upstream.Validate(value) == nil, alone.Validate(value) == nil
				got := tighter.Validate(value) == nil
				if got {
					valid++
				}
				if got && !under {
					rt.Fatalf("%s\nwith %s\nis %s,\nwhich lets %s in", document, encode(with), result, text)
				}
				if independent {
					exact++
					if got != (under && both) {
						rt.Fatalf("%s\nwith %s\nis %s,\nwhich says %t of %s", document, encode(with), result, got, text)
					}
				}
			}
		}
	})
	t.Logf("%d laid, %d refused; %d values valid, %d compared with both", laid, refused, valid, exact)
	if laid == 0 || valid == 0 || exact == 0 || refused == 0 {
		t.Error("nothing was tried")
	}
}

// leaves reports whether keywords are laid that speak of what other keywords
// leave, which in the result are also the upstream's.
func leaves(with any) bool {
	o, _ := with.(object)
	for _, name := range []string{"additionalProperties", "unevaluatedProperties", "unevaluatedItems"} {
		if _, ok := o[name]; ok {
			return true
		}
	}
	properties, _ := o["properties"].(object)
	for _, property := range properties {
		if leaves(property) {
			return true
		}
	}
	return o["items"] != nil && leaves(o["items"])
}

type generator struct {
	rt      *rapid.T
	dialect Dialect
}

func (g *generator) upstream() any {
	root := g.schema(3, true)
	o, ok := root.(object)
	if !ok {
		return root
	}
	if g.dialect&modern != 0 && rapid.IntRange(0, 4).Draw(g.rt, "left") == 0 {
		o[some(g.rt, "unevaluatedProperties", "unevaluatedItems")] = some[any](g.rt, false, object{"type": "integer"})
	}
	o["definitions"] = object{"a": g.schema(2, true), "b": g.schema(1, true)}
	for uri, d := range metaSchemas { // one of each
		if d == g.dialect {
			o["$schema"] = "http://" + uri
		}
	}
	return o
}

func (g *generator) schema(depth int, upstream bool) any {
	if g.dialect != Draft04 && rapid.IntRange(0, 11).Draw(g.rt, "always") == 0 {
		return rapid.Bool().Draw(g.rt, "true")
	}
	out := object{}
	if upstream && rapid.IntRange(0, 6).Draw(g.rt, "refers") == 0 {
		out["$ref"] = some(g.rt, "#", "#/definitions/a", "#/definitions/b", "#/properties/a", "#/items", "#/properties/a/properties/b", "#/allOf/0")
	}
	for range rapid.IntRange(0, 3).Draw(g.rt, "keywords") {
		g.keyword(out, depth, upstream)
	}
	return out
}

// meets are keywords that say something of what another says something of.
var meets = map[string][]string{
	"additionalProperties":  {"properties", "patternProperties"},
	"patternProperties":     {"properties", "additionalProperties"},
	"unevaluatedProperties": {"properties", "patternProperties", "additionalProperties", "allOf", "dependentSchemas"},
	"unevaluatedItems":      {"items", "prefixItems", "contains", "anyOf"},
	"items":                 {"prefixItems", "additionalItems"},
	"prefixItems":           {"items"},
	"enum":                  {"const"},
	"type":                  {"enum"},
	"minimum":               {"exclusiveMinimum"},
	"exclusiveMaximum":      {"maximum"},
}

// with are keywords that are often tighter.
func (g *generator) with(upstream any, depth int) any {
	out := object{}
	under, _ := upstream.(object)
	if properties, ok := under["properties"].(object); ok && depth > 0 {
		members := object{}
		for _, name := range sortedKeys(properties) {
			if rapid.Bool().Draw(g.rt, "property") {
				members[name] = g.with(properties[name], depth-1)
			}
		}
		out["properties"] = members
	}
	if items, ok := under["items"].(object); ok && depth > 0 && rapid.Bool().Draw(g.rt, "items") {
		out["items"] = g.with(items, depth-1)
	}
	if rapid.IntRange(0, 2).Draw(g.rt, "close") == 0 {
		out["additionalProperties"] = false
	}
	for range rapid.IntRange(0, 2).Draw(g.rt, "keywords") {
		g.keyword(out, min(depth, 1), false)
	}
	// What meets a keyword of the upstream is what can go wrong.
	for _, name := range sortedKeys(under) {
		for _, name := range append(meets[name], name) {
			if k := allowed[g.dialect][name]; k != nil && !k.structural() && out[name] == nil && (depth > 0 || k.use == nowhere) && rapid.IntRange(0, 3).Draw(g.rt, "meets") == 0 {
				g.named(out, name, min(depth, 1), false)
			}
		}
	}
	return out
}

func (g *generator) keyword(out object, depth int, upstream bool) {
	d := g.dialect
	var choices []string
	for _, k := range keywords {
		if k.dialects&d == 0 || k.structural() || k.name == "format" || depth == 0 && k.use != nowhere || k.annotation && k.name != "title" {
			continue
		}
		choices = append(choices, k.name)
		if k.name == "properties" || k.name == "additionalProperties" || k.name == "items" {
			choices = append(choices, k.name, k.name)
		}
	}
	g.named(out, some(g.rt, choices...), depth, upstream)
}

func (g *generator) named(out object, name string, depth int, upstream bool) {
	rt := g.rt
	below := func() any { return g.schema(depth-1, upstream) }
	small := func() json.Number { return json.Number(some(rt, "0", "1", "1.0", "2")) }
	row := allowed[g.dialect][name]
	switch row.shape {
	case text:
		out[name] = "a"
	case flag:
		out[name] = rapid.Bool().Draw(rt, "flag")
		if name != "uniqueItems" { // draft-04
			out[counterpart(name)] = small()
		}
	case number, count:
		out[name] = small()
	case positive:
		out[name] = json.Number(some(rt, "1", "0.5", "2"))
	case aPattern:
		out[name] = some(rt, "^a", "b$", `\d`)
	case names:
		out[name] = some(rt, []any{"a"}, []any{"a", "b"}, []any{"b"})
	case typeNames:
		out[name] = some[any](rt, "string", "integer", "number", "object", "object", "array", []any{"null", "boolean", "integer"}, []any{"object", "array", "number"})
	case values:
		list, seen := []any{}, map[string]bool{}
		for range 4 {
			if v := someValue(rt, 1); !seen[canonical(v)] {
				list, seen[canonical(v)] = append(list, v), true
			}
		}
		out[name] = list
	case aValue:
		out[name] = someValue(rt, 1)
	case schemaList:
		out[name] = []any{below(), below()}
	case schemaMap:
		out[name] = object{"a": below(), some(rt, "b", "a/b~"): below()}
	case patternMap:
		out[name] = object{some(rt, "^a", "b"): below()}
	case namesMap:
		out[name] = object{"a": []any{"b"}}
	case dependencyMap:
		out[name] = object{"a": some[any](rt, []any{"b"}, below())}
	case schemaOrList:
		out[name] = below()
		if rapid.IntRange(0, 3).Draw(rt, "list") == 0 {
			out[name] = []any{below()}
		}
	case schemaOrFlag:
		out[name] = some[any](rt, true, false, below())
	default:
		out[name] = below()
	}
	if name == "if" {
		maps.Copy(out, object{"then": below(), "else": below()})
	}
}
