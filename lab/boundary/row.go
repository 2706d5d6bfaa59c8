package boundary

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// clause is a keyword of one place of the schema, and of one name where it
// lists names.
type clause struct{ pointer, keyword, property string }

// rows are the keywords of a schema that a call can break.
type rows struct {
	doc      *document
	pointers map[identity]string // where the schemas stand
	reached  map[identity]bool
	list     []clause
	index    map[clause]int
}

func newRows(doc *document) *rows {
	r := &rows{doc: doc, pointers: make(map[identity]string), reached: make(map[identity]bool), index: make(map[clause]int)}
	r.locate(doc.root, "")
	return r
}

// Where keywords hold schemas.
var (
	holdOne  = []string{"additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	holdList = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	holdMap  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// below lists the schemas in a schema with where they stand, by keyword.
func (r *rows) below(part object, pointer string, keep func(keyword string) bool, each func(schema any, pointer string)) {
	for _, keyword := range holdOne {
		if schema, ok := part[keyword]; ok && keep(keyword) {
			if _, list := schema.([]any); !list {
				each(schema, below(pointer, keyword))
			}
		}
	}
	for _, keyword := range holdList {
		list, _ := part[keyword].([]any)
		for i, schema := range list {
			if keep(keyword) {
				each(schema, below(below(pointer, keyword), strconv.Itoa(i)))
			}
		}
	}
	for _, keyword := range holdMap {
		named, _ := part[keyword].(object)
		if !keep(keyword) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			each(named[name], below(below(pointer, keyword), name))
		}
	}
}

// locate notes where each schema of the document stands.
func (r *rows) locate(schema any, pointer string) {
	part, ok := schema.(object)
	if !ok {
		return
	}
	r.pointers[identify(part)] = pointer
	r.below(part, pointer, func(string) bool { return true }, r.locate)
}

// decides are keywords whose schemas refuse nothing by themselves.
var decides = map[string]bool{"$defs": true, "definitions": true, "if": true, "not": true, "contains": true, "propertyNames": true}

// reach lists the keywords that a call can meet from a schema on.
func (r *rows) reach(schema any, pointer string) {
	if schema == false && pointer != "" {
		r.add(clause{pointer, "false", ""})
		return
	}
	part, ok := schema.(object)
	if !ok || r.reached[identify(part)] {
		return
	}
	if stands, ok := r.pointers[identify(part)]; ok {
		pointer = stands
	}
	r.reached[identify(part)] = true
	for _, keyword := range slices.Sorted(maps.Keys(part)) {
		for _, one := range clausesOf(part, pointer, keyword) {
			r.add(one)
		}
	}
	for _, keyword := range references {
		if ref, ok := part[keyword].(string); ok {
			if to, ok := r.doc.resolve(ref); ok {
				r.reach(to, pointer)
			}
		}
	}
	r.below(part, pointer, func(keyword string) bool { return !decides[keyword] }, func(schema any, at string) {
		if schema != false || !closes(at[len(pointer)+1:]) {
			r.reach(schema, at)
		}
	})
}

var references = []string{"$ref", "$dynamicRef", "$recursiveRef"}

// closes reports whether a keyword that is false is itself what is broken.
func closes(keyword string) bool {
	switch keyword {
	case "additionalProperties", "additionalItems", "items", "unevaluatedProperties", "unevaluatedItems":
		return true
	}
	return false
}

func (r *rows) add(c clause) {
	if _, known := r.index[c]; !known {
		r.index[c] = len(r.list)
		r.list = append(r.list, c)
	}
}

// clausesOf are what one keyword of a schema says, if it can refuse anything.
func clausesOf(part object, pointer, keyword string) []clause {
	one := []clause{{pointer, keyword, ""}}
	if pointer == "" && keyword == "type" {
		return nil // arguments are an object, whatever is proposed
	}
	switch value := part[keyword]; keyword {
	case "type", "enum", "const", "format", "pattern", "multipleOf", "minimum", "maximum", "contains", "propertyNames", "not", "anyOf", "oneOf",
		"minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties":
		return one
	case "exclusiveMinimum", "exclusiveMaximum", "uniqueItems":
		if _, number := value.(json.Number); number || value == true {
			return one
		}
	case "required":
		var list []clause
		names := make(map[string]bool)
		addNames(names, value)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			list = append(list, clause{pointer, keyword, name})
		}
		return list
	case "dependencies", "dependentRequired", "dependentSchemas":
		var list []clause
		members, _ := value.(object)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if _, names := members[name].([]any); names {
				list = append(list, clause{pointer, keyword, name})
			}
		}
		return list
	default:
		if closes(keyword) && value == false {
			return one
		}
	}
	return nil
}
