package shrink

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/jsonvalue"
)

// node is a JSON value whose members stay in their order and whose scalars stay as
// they are written. It is never changed: a step makes another.
type node struct {
	kind   jsontext.Kind // '{', '[', or that of a scalar
	scalar json.RawMessage
	names  []string // of the members of an object
	values []*node  // the members of an object, or the items of an array
}

// parse reads one JSON document.
func parse(text []byte) (*node, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	n, err := readNode(decoder, 0)
	if err != nil {
		return nil, jsonvalue.Syntax(err)
	}
	if _, err := decoder.ReadToken(); err != io.EOF {
		return nil, errors.New("there is text after it")
	}
	return n, nil
}

// maxDepth is deeper than a case can be of use.
const maxDepth = 1000

func readNode(decoder *jsontext.Decoder, depth int) (*node, error) {
	n := &node{kind: decoder.PeekKind()}
	if depth > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	if n.kind != '{' && n.kind != '[' {
		value, err := decoder.ReadValue()
		n.scalar = json.RawMessage(bytes.Clone(value))
		return n, err
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	for end := n.kind + 2; decoder.PeekKind() != end; {
		if n.kind == '{' {
			name, err := decoder.ReadToken()
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, name.String())
		}
		value, err := readNode(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		n.values = append(n.values, value)
	}
	_, err := decoder.ReadToken()
	return n, err
}

// append writes a node without white space.
func (n *node) append(dst []byte) []byte {
	switch n.kind {
	case '{', '[':
		dst = append(dst, byte(n.kind))
		for i, value := range n.values {
			if i > 0 {
				dst = append(dst, ',')
			}
			if n.kind == '{' {
				dst = append(jsonvalue.AppendString(dst, n.names[i]), ':')
			}
			dst = value.append(dst)
		}
		return append(dst, byte(n.kind)+2)
	}
	return append(dst, n.scalar...)
}

// member finds a member of an object.
func (n *node) member(name string) (*node, bool) {
	if n == nil || n.kind != '{' {
		return nil, false
	}
	at := slices.Index(n.names, name)
	if at < 0 {
		return nil, false
	}
	return n.values[at], true
}

// with is an object or array with another value at a place.
func (n *node) with(at int, value *node) *node {
	changed := *n
	changed.values = slices.Clone(n.values)
	changed.values[at] = value
	return &changed
}

// withMember is an object with another value of a member that it has.
func (n *node) withMember(name string, value *node) *node {
	return n.with(slices.Index(n.names, name), value)
}

// without is an object or array without some of its values.
func (n *node) without(from, to int) *node {
	changed := *n
	changed.values = slices.Delete(slices.Clone(n.values), from, min(to, len(n.values)))
	if n.kind == '{' {
		changed.names = slices.Delete(slices.Clone(n.names), from, min(to, len(n.names)))
	}
	return &changed
}
