package mutation

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
)

type object = map[string]any

// part is a subschema of a schema, and where it stands.
type part struct {
	at   string // JSON Pointer; "" is the whole
	held object
}

// How a keyword holds subschemas.
var (
	holdOne  = []string{"additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems", "contains", "propertyNames", "not", "if", "then", "else"}
	holdList = []string{"items", "prefixItems", "allOf", "anyOf", "oneOf"}
	holdMap  = []string{"properties", "patternProperties", "dependentSchemas", "dependencies", "definitions", "$defs"}
)

// parts are a schema and its subschemas at all depths, outer ones first, those of
// one by the names of what holds them.
func parts(schema any, at string) (all []part) {
	held, ok := schema.(object)
	if !ok {
		return nil
	}
	all = append(all, part{at, held})
	for _, keyword := range slices.Sorted(maps.Keys(held)) {
		below := at + "/" + jsonvalue.Token(keyword)
		switch v := held[keyword].(type) {
		case object:
			if slices.Contains(holdOne, keyword) {
				all = append(all, parts(v, below)...)
			}
			if slices.Contains(holdMap, keyword) {
				for _, name := range slices.Sorted(maps.Keys(v)) {
					all = append(all, parts(v[name], below+"/"+jsonvalue.Token(name))...)
				}
			}
		case []any:
			if slices.Contains(holdList, keyword) {
				for i, item := range v {
					all = append(all, parts(item, below+"/"+strconv.Itoa(i))...)
				}
			}
		}
	}
	return all
}

// A bound of a keyword can be moved. Lower ones hold a value up.
var bounds = []struct {
	keyword string
	lower   bool
	counts  bool // it is of a size, which is not below zero
}{
	{"minimum", true, false}, {"exclusiveMinimum", true, false}, {"maximum", false, false}, {"exclusiveMaximum", false, false},
	{"minLength", true, true}, {"maxLength", false, true}, {"minItems", true, true}, {"maxItems", false, true},
	{"minProperties", true, true}, {"maxProperties", false, true}, {"minContains", true, true}, {"maxContains", false, true},
}

// droppable are the keywords that ask something of a value; "additionalProperties"
// and "required" have operators of their own.
var droppable = func() []string {
	all := []string{"type", "enum", "const", "pattern", "format", "multipleOf", "uniqueItems", "propertyNames", "contains",
		"not", "oneOf", "anyOf", "allOf", "if", "dependencies", "dependentRequired", "dependentSchemas",
		"patternProperties", "additionalItems", "unevaluatedItems", "$ref"}
	for _, b := range bounds {
		all = append(all, b.keyword)
	}
	return all
}()

// edit is one way to change a schema, and the place that it changes.
type edit struct {
	place string
	// change is made in a copy of the subschema that stands at of.
	of     string
	change func(held object)
}

// edits are the changes of one kind that a schema has a place for.
type edits func(p part) []edit

func unknownAllowed(p part) (all []edit) {
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		if p.held[keyword] == false {
			all = append(all, dropped(p, keyword))
		}
	}
	return all
}

var exclusive = map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}

func dropped(p part, keyword string) edit {
	return edit{p.at + "/" + jsonvalue.Token(keyword), p.at, func(held object) {
		delete(held, keyword)
		if flag, ok := exclusive[keyword]; ok {
			if _, isFlag := held[flag].(bool); isFlag {
				delete(held, flag) // in draft-04 it is of the bound, and nothing without
			}
		}
	}}
}

func requiredDropped(p part) (all []edit) {
	names, _ := p.held["required"].([]any)
	for i, name := range names {
		word, ok := name.(string)
		if !ok {
			continue
		}
		all = append(all, edit{p.at + "/required/" + jsonvalue.Token(word), p.at, func(held object) {
			if len(names) == 1 {
				delete(held, "required") // draft-04 has no empty list
				return
			}
			held["required"] = slices.Delete(slices.Clone(names), i, i+1)
		}})
	}
	return all
}

func keywordDropped(p part) (all []edit) {
	for _, keyword := range slices.Sorted(maps.Keys(p.held)) {
		if slices.Contains(droppable, keyword) || keyword == "items" && p.held[keyword] == false {
			all = append(all, dropped(p, keyword))
		}
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		if _, isSchema := p.held[keyword].(object); isSchema {
			all = append(all, dropped(p, keyword))
		}
	}
	return all
}

func memberDropped(p part) (all []edit) {
	members, _ := p.held["enum"].([]any)
	for i := range members {
		if len(members) > 1 {
			all = append(all, edit{p.at + "/enum/" + strconv.Itoa(i), p.at, func(held object) {
				held["enum"] = slices.Delete(slices.Clone(members), i, i+1)
			}})
		}
	}
	return all
}

// boundMoved moves each bound by one, so that it is looser or tighter.
func boundMoved(tighter bool) edits {
	return func(p part) (all []edit) {
		for _, b := range bounds {
			is, ok := p.held[b.keyword].(json.Number)
			if !ok {
				continue
			}
			by := int64(1)
			if b.lower != tighter {
				by = -1
			}
			to, ok := plus(is, by)
			if !ok || b.counts && to[0] == '-' {
				continue
			}
			all = append(all, edit{p.at + "/" + b.keyword, p.at, func(held object) { held[b.keyword] = to }})
		}
		return all
	}
}

// plus adds to a number; ok is false of one that has no plain form.
func plus(n json.Number, by int64) (sum json.Number, ok bool) {
	if len(n) > 40 {
		return "", false
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return "", false
	}
	r.Add(r, new(big.Rat).SetInt64(by))
	if r.IsInt() {
		return json.Number(r.Num().String()), true
	}
	f, exact := r.Float64()
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64)), exact || f != 0
}

// inSchema is the schema with an edit made in it.
func (e edit) inSchema(document json.RawMessage) json.RawMessage {
	root, err := jsonvalue.Decode(document) // a fresh copy, which is changed in place
	if err != nil {
		return document
	}
	found, _ := jsonvalue.Find(root, e.of)
	if held, ok := found.(object); ok {
		e.change(held)
	}
	return jsonvalue.AppendCanonical(nil, root)
}

// schemaOf is one of the two schemas of a contract.
type schemaOf func(c *contract.Contract) *json.RawMessage

func inputOf(c *contract.Contract) *json.RawMessage  { return &c.InputSchema }
func outputOf(c *contract.Contract) *json.RawMessage { return &c.OutputSchema }

// inSchemas are the spots of an edit in one of the schemas of every tool.
func inSchemas(of schemaOf, some edits) func(v *view) []spot {
	return func(v *view) (all []spot) {
		for _, c := range v.live() {
			for _, p := range parts(decoded(*of(&c)), "") {
				for _, e := range some(p) {
					all = append(all, spot{tool: c.Name, place: e.place, weaker: inContract(c.Name, func(c *contract.Contract) {
						*of(c) = e.inSchema(*of(c))
					})})
				}
			}
		}
		return all
	}
}

// decoded is nil of what is no JSON, or not there.
func decoded(document json.RawMessage) any {
	value, err := jsonvalue.Decode(document)
	if err != nil {
		return nil
	}
	return value
}

// property is the schema of a property of a tool's input, or nil.
func property(c *contract.Contract, name string) object {
	found, _ := jsonvalue.Find(decoded(c.InputSchema), "/properties/"+jsonvalue.Token(name))
	held, _ := found.(object)
	return held
}

func hasProperty(c *contract.Contract, name string) bool { return property(c, name) != nil }

// details are those of a refusal with one member.
func details(name string, value any) json.RawMessage {
	text, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		return json.RawMessage("{}")
	}
	return text
}
