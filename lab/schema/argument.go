package schema

import (
	"net/url"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
)

// Argument is what a schema is sure to say of an argument.
type Argument int

const (
	Unsure Argument = iota // anything may stand there, or nothing
	Text                   // always a string
	Texts                  // always a list of strings
)

// ArgumentOf tells what every instance of a schema has as the argument of this
// name; foreign says that it is for [CompileForeign], with the default draft of
// 2020-12. It believes what the schema says by itself, in its allOf and behind local
// references; all else that a schema may say leaves it unsure, which is careful
// and not wrong.
func ArgumentOf(document []byte, foreign bool, name string) Argument {
	root, err := jsonvalue.Decode(document)
	if err != nil {
		return Unsure
	}
	r := says{root: root, refAlone: !foreign, follows: !identified(root, true)}
	if object, ok := root.(map[string]any); ok {
		if dialect, ok := object["$schema"].(string); ok {
			r.refAlone = strings.Contains(dialect, "json-schema.org/draft-0")
		}
	}
	whole := r.all(root)
	if !whole.are("object") || !whole.require(name) {
		return Unsure
	}
	argument := r.below(whole, func(s map[string]any) any {
		properties, _ := s["properties"].(map[string]any)
		return properties[name]
	})
	switch {
	case argument.are("string"):
		return Text
	case argument.are("array") && r.below(argument, everyItem).are("string"):
		return Texts
	}
	return Unsure
}

// everyItem is the schema of every item of a list. One that is of some of them only
// says nothing of the others.
func everyItem(s map[string]any) any {
	if s["prefixItems"] != nil {
		return nil
	}
	return s["items"]
}

// says finds what a document says of one place. All that it finds holds at once.
type says struct {
	root     any
	refAlone bool // a reference makes nothing of the keywords beside it
	follows  bool // references: no identity below the root gives their pointers another meaning
	steps    int
}

// maxLooks bounds the way through references that lead back.
const maxLooks = 1000

// conjuncts are schemas that all hold of one value.
type conjuncts []map[string]any

func (r *says) all(schema any) conjuncts { return r.add(nil, schema) }

func (r *says) below(of conjuncts, part func(map[string]any) any) (found conjuncts) {
	for _, s := range of {
		found = r.add(found, part(s))
	}
	return found
}

func (r *says) add(found conjuncts, schema any) conjuncts {
	s, ok := schema.(map[string]any)
	if r.steps++; !ok || r.steps > maxLooks {
		return found
	}
	if ref, refers := s["$ref"]; refers {
		found = r.add(found, r.target(ref))
		if r.refAlone {
			return found
		}
	}
	found = append(found, s)
	parts, _ := s["allOf"].([]any)
	for _, part := range parts {
		found = r.add(found, part)
	}
	return found
}

// target is what a reference within the document leads to, or nil.
func (r *says) target(ref any) any {
	word, _ := ref.(string)
	pointer, local := strings.CutPrefix(word, "#")
	if !local || !r.follows {
		return nil
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return nil
	}
	at, _ := jsonvalue.Find(r.root, pointer) // an anchor leads nowhere
	return at
}

// identified reports whether any schema of a document but its root has an identity
// of its own. An example in it may only look like one, which is careful.
func identified(value any, root bool) bool {
	switch v := value.(type) {
	case map[string]any:
		_, is := v["$id"].(string)
		_, was := v["id"].(string) // in draft-04
		if (is || was) && !root {
			return true
		}
		for _, member := range v {
			if identified(member, false) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return identified(item, false) })
	}
	return false
}

// are reports whether the value is of this type by what is said of it.
func (c conjuncts) are(kind string) bool {
	return slices.ContainsFunc(c, func(s map[string]any) bool {
		one, _ := s["type"].([]any)
		return s["type"] == kind || len(one) == 1 && one[0] == kind
	})
}

func (c conjuncts) require(name string) bool {
	return slices.ContainsFunc(c, func(s map[string]any) bool {
		names, _ := s["required"].([]any)
		return slices.Contains(names, any(name))
	})
}
