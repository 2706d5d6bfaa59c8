package schema

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"agentlab/lab/jsonvalue"
)

// ordered is a JSON value whose objects keep the order of their keys and whose
// numbers stay as they were written. It does not change: what sets a member
// makes another value that shares the rest, so that what is the same pointer is
// the same text.
type ordered struct {
	kind  byte            // '{' or '[', or 0 for anything else
	text  json.RawMessage // of anything else
	names []string        // of an object, beside held
	held  []*ordered
}

// parse reads a text that jsonvalue.Decode has taken.
func parse(text []byte) *ordered {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return parseNext(decoder)
}

func parseNext(decoder *json.Decoder) *ordered {
	token, _ := decoder.Token()
	switch v := token.(type) {
	case json.Delim:
		o := &ordered{kind: byte(v)}
		for decoder.More() {
			if v == '{' {
				name, _ := decoder.Token()
				o.names = append(o.names, name.(string))
			}
			o.held = append(o.held, parseNext(decoder))
		}
		_, _ = decoder.Token()
		return o
	case json.Number:
		return &ordered{text: json.RawMessage(v)}
	case string:
		return plainText(v)
	case bool:
		return &ordered{text: strconv.AppendBool(nil, v)}
	}
	return &ordered{text: json.RawMessage("null")}
}

func plainText(s string) *ordered { return &ordered{text: jsonvalue.AppendString(nil, s)} }

func array(items ...*ordered) *ordered { return &ordered{kind: '[', held: items} }

func anObject(name string, value *ordered) *ordered {
	return &ordered{kind: '{', names: []string{name}, held: []*ordered{value}}
}

// append writes the value without white space. It stops somewhere behind the
// length that a schema may have: one place may stand in many copies.
func (o *ordered) append(dst []byte) []byte {
	if o.kind == 0 {
		return append(dst, o.text...)
	}
	dst = append(dst, o.kind)
	for i, held := range o.held {
		if len(dst) > maxDocument {
			return dst
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		if o.kind == '{' {
			dst = append(jsonvalue.AppendString(dst, o.names[i]), ':')
		}
		dst = held.append(dst)
	}
	return append(dst, o.kind+2) // } and ] in ASCII
}

// value is the tree that jsonvalue.Decode gives.
func (o *ordered) value() any {
	switch o.kind {
	case '{':
		members := make(object, len(o.held))
		for i, held := range o.held {
			members[o.names[i]] = held.value()
		}
		return members
	case '[':
		items := make([]any, len(o.held))
		for i, held := range o.held {
			items[i] = held.value()
		}
		return items
	}
	value, _ := jsonvalue.Decode(o.text)
	return value
}

// equal is the equality of JSON Schema: neither the order of keys nor the
// spelling of a number counts.
func (o *ordered) equal(other *ordered) bool { return canonical(o.value()) == canonical(other.value()) }

func (o *ordered) is(text string) bool { return o != nil && o.kind == 0 && string(o.text) == text }

// get is a member of an object, or nil.
func (o *ordered) get(name string) *ordered {
	if o == nil || o.kind != '{' {
		return nil
	}
	for i, known := range o.names {
		if known == name {
			return o.held[i]
		}
	}
	return nil
}

// with sets a member: in its place, or else as the last.
func (o *ordered) with(name string, value *ordered) *ordered {
	out := &ordered{kind: '{'}
	if o != nil {
		out.names, out.held = append(out.names, o.names...), append(out.held, o.held...)
	}
	for i, known := range out.names {
		if known == name {
			out.held[i] = value
			return out
		}
	}
	out.names, out.held = append(out.names, name), append(out.held, value)
	return out
}

// without leaves the members of these names out.
func (o *ordered) without(names ...string) *ordered {
	return o.only(func(name string) bool {
		for _, left := range names {
			if name == left {
				return false
			}
		}
		return true
	})
}

func (o *ordered) only(wanted func(name string) bool) *ordered {
	if o.kind != '{' {
		return o
	}
	out := &ordered{kind: '{'}
	for i, name := range o.names {
		if wanted(name) {
			out.names, out.held = append(out.names, name), append(out.held, o.held[i])
		}
	}
	return out
}

// and adds an item to an array; nil is an empty one.
func (o *ordered) and(items ...*ordered) *ordered {
	out := array()
	if o != nil {
		out.held = append(out.held, o.held...)
	}
	out.held = append(out.held, items...)
	return out
}

// find follows a JSON Pointer. It returns nil where it leads nowhere.
func (o *ordered) find(pointer string) *ordered {
	if pointer == "" {
		return o
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = jsonvalue.TokenName(token)
		if o != nil && o.kind == '[' {
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(o.held) {
				return nil
			}
			o = o.held[i]
		} else if o = o.get(token); o == nil {
			return nil
		}
	}
	return o
}

// replaced puts other values in the places of these pointers.
func (o *ordered) replaced(at string, values map[string]*ordered) *ordered {
	if value := values[at]; value != nil {
		return value
	}
	if o.kind == 0 {
		return o
	}
	out := &ordered{kind: o.kind, names: o.names, held: make([]*ordered, len(o.held))}
	for i, held := range o.held {
		token := strconv.Itoa(i)
		if o.kind == '{' {
			token = jsonvalue.Token(o.names[i])
		}
		out.held[i] = held.replaced(at+"/"+token, values)
	}
	return out
}
