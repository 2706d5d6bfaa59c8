package boundary

import (
	"encoding/json"
	"maps"
	"math/big"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
)

// object is a decoded JSON object.
type object = map[string]any

// kind is a set of JSON types, with numbers told apart by their fraction.
type kind uint8

const (
	null kind = 1 << iota
	boolean
	whole
	fraction
	text
	array
	record

	anything = null | boolean | whole | fraction | text | array | record
)

var kinds = map[string]kind{
	"null":    null,
	"boolean": boolean,
	"integer": whole,
	"number":  whole | fraction,
	"string":  text,
	"array":   array,
	"object":  record,
}

func kindOf(value any) kind {
	switch v := value.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case string:
		return text
	case []any:
		return array
	case json.Number:
		if exact, ok := new(big.Rat).SetString(string(v)); ok && exact.IsInt() {
			return whole
		}
		return fraction
	}
	return record
}

// document is an input schema that was found to be one. It is only read.
type document struct {
	root    any
	anchors map[string]any // by what a reference calls them
	nodes   int            // objects and booleans, a bound of its subschemas
	thick   int            // the most subschemas that meet at one place of the data
	steps   int            // of its largest pattern's program, for each character

	patterns map[string]*regexp.Regexp // nil for one that cannot be matched here
	weights  map[identity]int
}

// identity tells one object of the document from another that says the same.
type identity uintptr

func identify(o object) identity { return identity(reflect.ValueOf(o).Pointer()) }

func newDocument(root any) *document {
	d := &document{root: root, anchors: make(map[string]any), patterns: make(map[string]*regexp.Regexp), weights: make(map[identity]int)}
	d.index(root)
	d.weigh(root)
	return d
}

// index finds everything that a reference can name. It takes every object for a
// schema: one that is data is asked about by nobody.
func (d *document) index(value any) {
	switch v := value.(type) {
	case object:
		d.nodes++
		for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := v[keyword].(string); ok {
				d.name("#"+name, v)
			}
		}
		for _, keyword := range []string{"$id", "id"} {
			if name, ok := v[keyword].(string); ok {
				d.name(strings.TrimSuffix(name, "#"), v)
			}
		}
		if pattern, ok := v["pattern"].(string); ok {
			d.steps = max(d.steps, steps(pattern))
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			d.index(v[key])
		}
	case []any:
		for _, item := range v {
			d.index(item)
		}
	case bool:
		d.nodes++
	}
}

func (d *document) name(name string, schema object) {
	if _, taken := d.anchors[name]; !taken {
		d.anchors[name] = schema
	}
}

// enough bounds sums of weights.
const enough = 1 << 24

// inPlace are the keywords whose schemas meet the same place of the data.
var inPlace = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}

// weigh counts the subschemas that meet the same place as this one, itself
// included and each as often as it is met, and keeps the largest count. A
// circle counts once: a check of it is bounded by the data.
func (d *document) weigh(value any) int {
	var below []any
	switch v := value.(type) {
	case object:
		id := identify(v)
		if weight, known := d.weights[id]; known {
			return weight
		}
		d.weights[id] = 0
		weight := 1
		if ref, ok := v["$ref"].(string); ok {
			if to, ok := d.resolve(ref); ok {
				weight += d.weigh(to)
			}
		}
		for _, keyword := range inPlace {
			switch members := v[keyword].(type) {
			case []any:
				for _, member := range members {
					weight = min(weight+d.weigh(member), enough)
				}
			case object:
				if keyword != "dependentSchemas" && keyword != "dependencies" {
					weight = min(weight+d.weigh(members), enough)
					break
				}
				for _, member := range members {
					weight = min(weight+d.weigh(member), enough)
				}
			}
		}
		d.weights[id] = weight
		d.thick = max(d.thick, weight)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below = append(below, v[key])
		}
	case []any:
		below = v
	default:
		d.thick = max(d.thick, 1)
		return 1
	}
	for _, item := range below {
		d.weigh(item)
	}
	if o, ok := value.(object); ok {
		return d.weights[identify(o)]
	}
	return 0
}

// resolve finds what a reference names inside the document.
func (d *document) resolve(ref string) (any, bool) {
	if ref == "#" {
		return d.root, true
	}
	if to, ok := d.anchors[ref]; ok {
		return to, true
	}
	base, pointer, _ := strings.Cut(ref, "#")
	at := d.root
	if base != "" {
		to, ok := d.anchors[base]
		if !ok {
			return nil, false
		}
		at = to
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return nil, false
	}
	return jsonvalue.Find(at, pointer)
}

// below is the JSON Pointer of a member of the value at a place.
func below(place, token string) string { return place + "/" + jsonvalue.Token(token) }
