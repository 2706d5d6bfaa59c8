package yamlfile

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"agentlab/lab/jsonvalue"
)

// jsonNumber is the grammar of a number in JSON (RFC 8259, section 6).
var jsonNumber = Grammar(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// JSONObject reads a mapping as the JSON object that it is: keys in their order,
// numbers as they are written.
func (r *Reader) JSONObject(p Place, sandbox SandboxUse) (json.RawMessage, bool) {
	if !r.expect(p, Mapping, string(Mapping)) {
		return nil, false
	}
	return r.JSON(p, sandbox)
}

// JSON reads any value as the JSON that it is.
func (r *Reader) JSON(p Place, sandbox SandboxUse) (json.RawMessage, bool) {
	out, ok := r.json(p, nil, sandbox, 1)
	if !ok {
		return nil, false
	}
	if _, err := jsonvalue.Decode(out); err != nil {
		r.Fault(p, "cannot be sent as JSON: "+err.Error())
		return nil, false
	}
	return out, true
}

// json appends a value. It reports whether the value could be written.
func (r *Reader) json(p Place, out []byte, sandbox SandboxUse, depth int) ([]byte, bool) {
	if !r.Plain(p) {
		return out, false
	}
	if depth > jsonvalue.MaxDepth {
		r.Fault(p, fmt.Sprintf("nested deeper than %d levels", jsonvalue.MaxDepth))
		return out, false
	}
	switch p.Kind() {
	case Mapping:
		return r.jsonMembers(p, out, sandbox, depth)
	case List:
		ok := true
		out = append(out, '[')
		for i, node := range p.node.Content {
			if i > 0 {
				out = append(out, ',')
			}
			var item bool
			out, item = r.json(p.item(i, node), out, sandbox, depth+1)
			ok = ok && item
		}
		return append(out, ']'), ok
	case Null:
		return append(out, "null"...), true
	case Boolean:
		return append(out, strings.ToLower(p.node.Value)...), true
	case Number:
		if !jsonNumber().MatchString(p.node.Value) {
			r.Fault(p, "is not how JSON writes a number; put it in quotes if it is a string")
			return out, false
		}
		return append(out, p.node.Value...), true
	}
	text, ok := r.expand(p, sandbox)
	return jsonvalue.AppendString(out, text), ok
}

func (r *Reader) jsonMembers(p Place, out []byte, sandbox SandboxUse, depth int) ([]byte, bool) {
	members, _ := r.Members(p)
	ok := p.Whole()
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		if strings.Contains(m.Name, SandboxVariable) {
			r.Fault(m.Key, "variables are not expanded in keys")
			ok = false
		}
		out = append(jsonvalue.AppendString(out, m.Name), ':')
		var value bool
		out, value = r.json(m.Value, out, sandbox, depth+1)
		ok = ok && value
	}
	return append(out, '}'), ok
}

// Locate finds the place that a JSON Pointer (RFC 6901) leads to from p, whose
// value was read as JSON: of a member its key, where its name stands. What leads
// nowhere ends at the last step that there is.
func Locate(p Place, pointer string) Place {
	if pointer == "" {
		return p
	}
	at, value := p, p
steps:
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = jsonvalue.TokenName(token)
		switch value.Kind() {
		case Mapping:
			for i := 0; i+1 < len(value.node.Content); i += 2 {
				if key := value.node.Content[i]; key.Value == token {
					path := value.Member(Name(token)).path
					at, value = Place{key, path}, Place{value.node.Content[i+1], path}
					continue steps
				}
			}
		case List:
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(value.node.Content) {
				value = value.item(i, value.node.Content[i])
				at = value
				continue steps
			}
		}
		break
	}
	return at
}
