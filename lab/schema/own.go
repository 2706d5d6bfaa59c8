package schema

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
	fault "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"agentlab/lab/jsonvalue"
)

// own are the keywords of one subschema that the second engine is kept from:
// it compares numbers anew for each pair of values, stops at the first of
// const, enum and format that fails, and loses the place of a property's name
// and the way to it.
type own struct {
	constant *string         // in the canonical form
	choices  map[string]bool // in the canonical form; nil without an enum
	format   string          // one of formats, or none
	unique   bool
	names    *jsonschema.Schema
}

func (w *rewriter) own(n *node, out object) *own {
	var o own
	live := func(name string) bool { return !w.c.ignored(n, name) }
	if value, ok := n.raw["const"]; ok && live("const") {
		text := canonical(value)
		o.constant = &text
	}
	if values, ok := n.raw["enum"].([]any); ok && live("enum") {
		o.choices = make(map[string]bool, len(values))
		for _, value := range values {
			o.choices[canonical(value)] = true
		}
	}
	if name, _ := n.raw["format"].(string); live("format") && formats[name] != nil {
		o.format = name
	}
	o.unique = n.raw["uniqueItems"] == true && live("uniqueItems")
	if _, names := out[ownNames]; !names && o.constant == nil && o.choices == nil && o.format == "" && !o.unique {
		return nil
	}
	return &o
}

func canonical(value any) string { return string(jsonvalue.AppendCanonical(nil, value)) }

func ownVocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL:        "urn:lab:own",
		Subschemas: []jsonschema.SchemaPath{{jsonschema.Prop(ownNames)}},
		Compile: func(ctx *jsonschema.CompilerContext, schema object) (jsonschema.SchemaExt, error) {
			o, ok := schema[ownKeyword].(*own)
			if !ok {
				return nil, nil
			}
			if _, ok := schema[ownNames]; ok {
				o.names = ctx.Enqueue([]string{ownNames})
			}
			return o, nil
		},
	}
}

// Validate is called by the engine.
func (o *own) Validate(ctx *jsonschema.ValidatorContext, value any) {
	if o.constant != nil || o.choices != nil {
		text := canonical(value)
		if o.constant != nil && text != *o.constant {
			ctx.AddError(&fault.Const{})
		}
		if o.choices != nil && !o.choices[text] {
			ctx.AddError(&fault.Enum{})
		}
	}
	switch v := value.(type) {
	case string:
		if o.format != "" && !formats[o.format](v) {
			ctx.AddError(&fault.Format{})
		}
	case []any:
		if o.unique && repeats(v) {
			ctx.AddError(&fault.UniqueItems{})
		}
	case object:
		if o.names == nil {
			return
		}
		for name := range v {
			if ctx.Validate(o.names, name, []string{name}) != nil {
				ctx.AddError(&fault.PropertyNames{Property: name})
			}
		}
	}
}

func repeats(items []any) bool {
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		text := canonical(item)
		if seen[text] {
			return true
		}
		seen[text] = true
	}
	return false
}
