package overlay

import (
	"bytes"
	"encoding/json"
	"errors"

	"agentlab/lab/jsonvalue"
)

// members are a JSON object whose keys keep their order and whose values stay as
// they are written.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

// membersOf takes an object apart. A document with two readings is none.
func membersOf(document json.RawMessage) (members, error) {
	value, err := jsonvalue.Decode(document)
	if err != nil {
		return nil, err
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, errors.New("not a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	var all members
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string)} // of an object it can be nothing else
		if err := decoder.Decode(&m.value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// get is the value of a name, or nil.
func (all members) get(name string) json.RawMessage {
	for _, m := range all {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// with sets a value: in its place, or else as the last.
func (all members) with(name string, value json.RawMessage) members {
	set := make(members, 0, len(all)+1)
	found := false
	for _, m := range all {
		if m.name == name {
			m.value, found = value, true
		}
		set = append(set, m)
	}
	if !found {
		set = append(set, member{name, value})
	}
	return set
}

// document writes the object without white space between its members.
func (all members) document() json.RawMessage {
	out := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonvalue.AppendString(out, m.name), ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}
