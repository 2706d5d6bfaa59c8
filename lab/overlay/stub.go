package overlay

import (
	"encoding/json"
	"errors"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
)

// What stands here is of lab/schema, where it is not yet: tighten is
// schema.Tighten and loosening is schema.Loosening. This one knows the plainest
// keywords only and refuses the rest.

type loosening struct {
	Pointer, Reason string
	Known           []string
}

func (l *loosening) Error() string { return l.Pointer + ": " + l.Reason }

func tighten(upstream, with json.RawMessage) (json.RawMessage, error) {
	var fault *schema.Error
	if _, err := schema.Compile(with); errors.As(err, &fault) {
		return nil, &loosening{Pointer: fault.Pointer, Reason: fault.Reason}
	}
	return tightenAt(upstream, with, "")
}

func tightenAt(upstream, with json.RawMessage, at string) (json.RawMessage, error) {
	under, err := membersOf(upstream)
	if err != nil {
		return nil, err
	}
	over, err := membersOf(with)
	if err != nil {
		return nil, &loosening{Pointer: at, Reason: "no schema"}
	}
	for _, keyword := range over {
		here := at + "/" + escaper.Replace(keyword.name)
		is := under.get(keyword.name)
		switch {
		case keyword.name == "properties":
			properties, _ := membersOf(is)
			asked, _ := membersOf(keyword.value)
			for _, p := range asked {
				if properties.get(p.name) == nil {
					l := &loosening{Pointer: here + "/" + escaper.Replace(p.name), Reason: "no such property"}
					for _, known := range properties {
						l.Known = append(l.Known, known.name)
					}
					return nil, l
				}
				tightened, err := tightenAt(properties.get(p.name), p.value, here+"/"+escaper.Replace(p.name))
				if err != nil {
					return nil, err
				}
				properties = properties.with(p.name, tightened)
			}
			under = under.with("properties", properties.document())
		case keyword.name == "required":
			var has, wants []string
			_, _ = json.Unmarshal(orElse(is, "[]"), &has), json.Unmarshal(keyword.value, &wants)
			list := []byte{'['}
			for i, name := range append(has, wants...) {
				if i > 0 {
					list = append(list, ',')
				}
				list = jsonvalue.AppendString(list, name)
			}
			under = under.with("required", append(list, ']'))
		case is == nil || keyword.name == "additionalProperties" && string(keyword.value) == "false":
			under = under.with(keyword.name, keyword.value)
		case string(is) != string(keyword.value):
			return nil, &loosening{Pointer: here, Reason: "cannot be shown"}
		}
	}
	return under.document(), nil
}
