package schema

import (
	"encoding/json"
	"errors"

	"github.com/xeipuuv/gojsonschema"

	"agentlab/lab/jsonvalue"
)

// sharedShelf is where the engine's document keeps what references lead to.
// The engine parses what stands under definitions once more for each place;
// a keyword that it does not know is parsed only when referred to.
const sharedShelf = "shared"

// The engine keeps its formats, and its texts in quiet.go, for the whole
// program. Nothing else in the program uses it.
func init() {
	for name, check := range formats {
		gojsonschema.FormatCheckers.Add(name, assertion(check))
	}
}

// engine hands a checked schema to gojsonschema in the few forms in which that
// is right: without annotations, identities and escapes in references, with
// one draft for all, and so that what a failing branch says can be told apart.
func engine(root *node) (*gojsonschema.Schema, error) {
	w := writer{written: make(map[*node]bool)}
	document := w.schema(root)
	if len(w.waiting) > 0 {
		shelf := object{}
		for len(w.waiting) > 0 {
			n := w.waiting[0]
			w.waiting = w.waiting[1:]
			shelf[n.shared] = w.body(n)
		}
		document.(object)[sharedShelf] = shelf
	}
	loader := gojsonschema.NewSchemaLoader()
	loader.AutoDetect = false
	loader.Draft = gojsonschema.Draft7
	return loader.Compile(sealed{gojsonschema.NewRawLoader(document)})
}

// sealed is a document from which no reference leads to a file or an address.
// None is left by then; this holds if one is missed.
type sealed struct{ gojsonschema.JSONLoader }

func (sealed) LoaderFactory() gojsonschema.JSONLoaderFactory { return nothingElse{} }

type nothingElse struct{}

func (nothingElse) New(string) gojsonschema.JSONLoader {
	return absent{gojsonschema.NewRawLoader(nil)}
}

type absent struct{ gojsonschema.JSONLoader }

func (absent) LoadJSON() (any, error) { return nil, errors.New("nothing is fetched") }

type writer struct {
	waiting []*node
	written map[*node]bool
}

func (w *writer) schema(n *node) any {
	if n.always != nil {
		return *n.always
	}
	if n.shared == "" {
		return w.body(n)
	}
	if !w.written[n] {
		w.written[n] = true
		w.waiting = append(w.waiting, n)
	}
	return object{"$ref": "#/" + sharedShelf + "/" + n.shared}
}

func (w *writer) body(n *node) any {
	if n.ref != nil {
		return w.schema(n.ref)
	}
	out := make(object, len(n.raw))
	for name, value := range n.raw {
		switch name {
		case "type", "format", "multipleOf", "uniqueItems", "required", "additionalItems", "dependencies":
			out[name] = value
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
			n.bound(out, name, value)
		case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
			// 2.0 is 2, which the engine does not see.
			out[name] = json.Number(rational(value.(json.Number)).Num().String())
		case "pattern":
			out[name] = n.pattern.re2
		case "const":
			out[name] = plainZeros(value)
		case "enum":
			out[name] = distinct(value.([]any))
		}
	}
	w.subschemas(n, out)
	return out
}

// bound writes a bound of numbers as every draft but draft-04 has it: there a flag
// beside it turns it into an exclusive one.
func (n *node) bound(out object, name string, value any) {
	switch name {
	case "minimum", "maximum":
		exclusive := map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}[name]
		if n.raw[exclusive] == true {
			name = exclusive
		}
	default:
		if _, flag := value.(bool); flag {
			return
		}
	}
	out[name] = value
}

// subschemas writes what the keywords of a schema hold.
func (w *writer) subschemas(n *node, out object) {
	delete(out, "additionalItems") // without a list of items it says nothing
	if value, ok := out["dependencies"].(object); ok {
		lists := object{}
		for name, needed := range value {
			if _, ok := needed.([]any); ok {
				lists[name] = needed
			}
		}
		out["dependencies"] = lists
	}
	_, tuple := n.raw["items"].([]any)
	_, condition := n.raw["if"]
	for _, e := range n.edges {
		switch e.keyword {
		case "definitions":
		case "not", "items", "additionalProperties":
			if tuple && e.keyword == "items" {
				list, _ := out["items"].([]any)
				out["items"] = append(list, w.schema(e.to))
				continue
			}
			out[e.keyword] = w.schema(e.to)
		case "additionalItems":
			if tuple {
				out[e.keyword] = w.schema(e.to)
			}
		case "if", "then", "else":
			if condition {
				out[e.keyword] = w.schema(e.to)
			}
		case "contains", "propertyNames":
			out[e.keyword] = muted(w.schema(e.to))
		case "anyOf", "oneOf":
			list, _ := out[e.keyword].([]any)
			out[e.keyword] = append(list, muted(w.schema(e.to)))
		case "allOf":
			list, _ := out[e.keyword].([]any)
			out[e.keyword] = append(list, w.schema(e.to))
		case "patternProperties":
			members, _ := out[e.keyword].(object)
			if members == nil {
				members = object{}
				out[e.keyword] = members
			}
			key := e.re2
			for members[key] != nil { // two spellings of one pattern
				key = "(?:" + key + ")"
			}
			members[key] = w.schema(e.to)
		default: // properties, dependencies
			members, _ := out[e.keyword].(object)
			if members == nil {
				members = object{}
				out[e.keyword] = members
			}
			members[e.token] = w.schema(e.to)
		}
	}
	// What follows a failing oneOf must not be another keyword of the same
	// schema, see findings.
	if branches, ok := out["oneOf"]; ok {
		delete(out, "oneOf")
		all, _ := out["allOf"].([]any)
		out["allOf"] = append(all, object{"oneOf": branches})
	}
}

// muted is a schema that fails when the given one does, but with exactly one
// finding of its own instead of all of those.
func muted(schema any) any { return object{"not": object{"not": schema}} }

// distinct drops values that are equal to earlier ones, which the engine
// refuses.
func distinct(values []any) []any {
	kept := make([]any, 0, len(values))
	seen := make(map[string]bool, len(values))
	for _, value := range values {
		value = plainZeros(value)
		key := string(jsonvalue.AppendCanonical(nil, value))
		if !seen[key] {
			seen[key] = true
			kept = append(kept, value)
		}
	}
	return kept
}

// plainZeros copies a value with every zero written as 0: the engine tells -0
// from it.
func plainZeros(value any) any {
	switch v := value.(type) {
	case json.Number:
		if isNegativeZero(v) {
			return json.Number("0")
		}
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = plainZeros(item)
		}
		return items
	case object:
		members := make(object, len(v))
		for name, member := range v {
			members[name] = plainZeros(member)
		}
		return members
	}
	return value
}

func isNegativeZero(literal json.Number) bool {
	return literal != "" && literal[0] == '-' && rational(literal).Sign() == 0
}
