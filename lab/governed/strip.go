package governed

import (
	"bytes"
	"encoding/json"
)

// without takes a member out of an object in canonical form, where its name is
// written in one way only. It shares nothing with the object. The name is a JSON
// string in that form.
func without(object json.RawMessage, name []byte) json.RawMessage {
	out := make([]byte, 0, len(object))
	out = append(out, '{')
	for at := 1; at < len(object)-1; {
		member := at
		colon := stringEnd(object, at)
		at = valueEnd(object, colon+1)
		if !bytes.Equal(object[member:colon], name) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, object[member:at]...)
		}
		at++ // the comma
	}
	return append(out, '}')
}

// stringEnd is where a string ends that begins here.
func stringEnd(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// valueEnd is where a value ends that begins here: at the comma or bracket after it.
func valueEnd(text []byte, at int) int {
	for depth := 0; ; at++ {
		switch text[at] {
		case '"':
			at = stringEnd(text, at) - 1
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				return at
			}
			if text[at] != ',' {
				depth--
			}
		}
	}
}
