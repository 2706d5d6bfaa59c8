package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"agentlab/lab/jsonvalue"
)

// jsonNumber is the grammar of a number in JSON (RFC 8259, section 6).
var jsonNumber = grammar(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// arguments reads a mapping as the JSON object that it is: keys in their order,
// numbers as they are written.
func (r *reader) arguments(p place) json.RawMessage {
	if !r.expect(p, yaml.MappingNode, "a mapping") {
		return nil
	}
	var out bytes.Buffer
	if !r.json(p, &out, 1) {
		return nil
	}
	if _, err := jsonvalue.Decode(out.Bytes()); err != nil {
		r.fault(p, "cannot be sent as JSON: "+err.Error())
		return nil
	}
	return out.Bytes()
}

// json writes a value. It reports whether the value could be written.
func (r *reader) json(p place, out *bytes.Buffer, depth int) bool {
	if !r.plain(p) {
		return false
	}
	if depth > jsonvalue.MaxDepth {
		r.fault(p, fmt.Sprintf("nested deeper than %d levels", jsonvalue.MaxDepth))
		return false
	}
	switch kind(p.node) {
	case "a mapping":
		return r.jsonObject(p, out, depth)
	case "a list":
		ok := true
		out.WriteByte('[')
		for i, node := range p.node.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			ok = r.json(p.item(i, node), out, depth+1) && ok
		}
		out.WriteByte(']')
		return ok
	case aNull:
		out.WriteString("null")
	case aBoolean:
		out.WriteString(strings.ToLower(p.node.Value))
	case aNumber:
		if !jsonNumber().MatchString(p.node.Value) {
			r.fault(p, "is not how JSON writes a number; put it in quotes if it is a string")
			return false
		}
		out.WriteString(p.node.Value)
	default:
		text, ok := r.expand(p, withSandbox)
		writeString(out, text)
		return ok
	}
	return true
}

func (r *reader) jsonObject(p place, out *bytes.Buffer, depth int) bool {
	members, _ := r.members(p)
	ok := true
	out.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		if strings.Contains(m.name, SandboxVariable) {
			r.fault(m.key, "variables are not expanded in keys")
			ok = false
		}
		writeString(out, m.name)
		out.WriteByte(':')
		ok = r.json(m.value, out, depth+1) && ok
	}
	out.WriteByte('}')
	return ok
}

func writeString(out *bytes.Buffer, text string) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)    // a string can always be encoded
	out.Truncate(out.Len() - 1) // the line end
}
