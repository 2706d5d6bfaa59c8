package schema

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/url"
	"regexp"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// rootAddress names the second engine's document. What stands under this host
// the engine does not check against a metaschema, which would take half as long
// again: the document is one that was checked here.
const rootAddress = "http://json-schema.org/lab/schema"

// Keywords of the second engine's document that are this package's own.
const (
	ownKeyword = "lab:own"
	ownNames   = "lab:propertyNames"
)

// compileSecond hands a checked schema to github.com/santhosh-tekuri/jsonschema in
// the forms in which that is right: without what is not known here, with every
// reference a pointer into the one document, and without what that engine
// compares, orders or places in ways of its own, see own.
func (c *checker) compileSecond(root *node) (compiled *jsonschema.Schema, nodes map[string]*node, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a panic")
		}
	}()
	w := rewriter{c, make(map[string]*node, len(c.nodes))}
	document := w.schema(root)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(map[Dialect]*jsonschema.Draft{
		Draft201909: jsonschema.Draft2019,
		Draft202012: jsonschema.Draft2020,
	}[c.draft])
	if c.draft&drafts != 0 {
		compiler.DefaultDraft(jsonschema.Draft7)
	}
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(ecmaPattern)
	compiler.RegisterVocabulary(ownVocabulary())
	compiler.AssertVocabs()
	if err := compiler.AddResource(rootAddress, document); err != nil {
		return nil, nil, err
	}
	compiled, err = compiler.Compile(rootAddress)
	return compiled, w.nodes, err
}

// noLoader holds that nothing is fetched, if the check before ever misses a
// reference that leaves the document.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is fetched") }

func ecmaPattern(source string) (jsonschema.Regexp, error) {
	re2, _, err := translate(source)
	if err != nil {
		return nil, err
	}
	return regexp.Compile(re2)
}

type rewriter struct {
	c     *checker
	nodes map[string]*node // by their places in the new document
}

func (w *rewriter) schema(n *node) any {
	w.nodes[n.at] = n
	if always := w.end(n).always; always != nil {
		return *always
	}
	out := make(object, len(n.raw)+1)
	for name, value := range n.raw {
		if !w.c.ignored(n, name) {
			w.keyword(n, out, name, value)
		}
	}
	for _, e := range n.edges {
		w.hold(out, e)
	}
	if r := n.resource; w.c.draft&modern != 0 && n == r.root && r.address != rootAddress {
		out["$id"] = r.address
	}
	for _, j := range n.jumps {
		w.refer(out, j)
	}
	if own := w.own(n, out); own != nil {
		out[ownKeyword] = own
	}
	return out
}

// end follows references that stand alone. One that leads to true or false is
// written as that, so that it is told like that.
func (w *rewriter) end(n *node) *node {
	for len(n.jumps) == 1 && n.jumps[0].keyword == "$ref" && len(n.edges) == 0 {
		for name := range n.raw {
			if name != "$ref" && !w.c.ignored(n, name) && !w.c.row(name).annotation {
				return n
			}
		}
		n = n.jumps[0].to
	}
	return n
}

// keyword writes a keyword that holds no schemas. What is not here is dropped.
func (w *rewriter) keyword(n *node, out object, name string, value any) {
	switch name {
	case "type", "multipleOf", "required", "pattern", "dependentRequired":
		out[name] = value
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		n.bound(out, name, value)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		// The engine keeps it in an int. No text or list is that long.
		whole := rational(value.(json.Number)).Num()
		if most := big.NewInt(maxCount); whole.Cmp(most) > 0 {
			whole = most
		}
		out[name] = json.Number(whole.String())
	case "items":
		if list, ok := value.([]any); ok {
			out[name] = make([]any, 0, len(list))
		}
	case "dependencies":
		lists := object{}
		for property, needed := range value.(object) {
			if _, ok := needed.([]any); ok {
				lists[property] = needed
			}
		}
		out[name] = lists
	case "$recursiveAnchor", "$dynamicAnchor":
		out[name] = value
	}
}

// holding is how a keyword holds a schema.
type holding uint8

const (
	alone holding = iota
	listed
	byName
)

func form(e edge) holding {
	switch e.keyword {
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return listed
	case "properties", "patternProperties", "dependencies", "dependentSchemas", "definitions", "$defs":
		return byName
	case "items":
		if e.use == inIndex {
			return listed
		}
	}
	return alone
}

func (w *rewriter) hold(out object, e edge) {
	written := w.schema(e.to)
	keyword, token := w.c.written(e)
	switch form(e) {
	case listed:
		list, _ := out[keyword].([]any)
		out[keyword] = append(list, written)
	case byName:
		members, _ := out[keyword].(object)
		if members == nil {
			members = object{}
			out[keyword] = members
		}
		members[token] = written
	default:
		out[keyword] = written
	}
}

func (w *rewriter) refer(out object, j jump) {
	switch {
	case j.again:
		out["$recursiveRef"] = "#"
	case j.dynamic != "":
		out["$dynamicRef"] = j.to.resource.address + "#" + url.PathEscape(j.dynamic)
	default:
		plain := rootAddress + "#" + url.PathEscape(j.to.at)
		if _, taken := out["$ref"]; !taken {
			out["$ref"] = plain
			return
		}
		all, _ := out["allOf"].([]any)
		out["allOf"] = append(all, object{"$ref": plain})
	}
}
