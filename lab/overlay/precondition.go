package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/yamlfile"
)

// Precondition is how the version of what a call works on is read.
type Precondition struct {
	Tool      string // of the same server; it need not be exposed
	Arguments []Argument
	// Fields are where the version stands in the answer: each a member of the
	// structured output, deeper ones behind dots, or else a line "FIELD: value" of
	// the text. Together they are the version.
	Fields []string
}

// Argument is one argument of the call that reads.
type Argument struct {
	Name  string
	From  string          // the argument of the call whose value it has; "" where Value is given
	Value json.RawMessage // nil where it is taken from the call
}

// Call makes the arguments of the call that reads from those of the call that it
// is for, whose values come in canonical form. One that is not among these is left
// out.
func (p *Precondition) Call(arguments json.RawMessage) (json.RawMessage, error) {
	tree, err := jsonvalue.Decode(arguments)
	given, object := tree.(map[string]any)
	if err == nil && !object {
		err = errors.New("not a JSON object")
	}
	if err != nil {
		return nil, fmt.Errorf("arguments of the precondition %s: %w", p.Tool, err)
	}
	call := []byte{'{'}
	for _, a := range p.Arguments {
		value := a.Value
		if a.From != "" {
			taken, has := given[a.From]
			if !has {
				continue
			}
			value = jsonvalue.AppendCanonical(nil, taken)
		}
		if len(call) > 1 {
			call = append(call, ',')
		}
		call = append(append(jsonvalue.AppendString(call, a.Name), ':'), value...)
	}
	return append(call, '}'), nil
}

var preconditionFields = table[entry]{
	yamlfile.Required("call", func(r *reader, p place, e *entry) {
		e.Precondition.Tool, _ = r.Filled(p, "the name of a tool")
		e.places["precondition.call"] = p
		if e.Precondition.Tool == e.Contract.Name && e.Precondition.Tool != "" {
			r.Fault(p, "names the tool itself, which is not called to look")
		}
	}),
	yamlfile.Optional("arguments", func(r *reader, p place, e *entry) {
		members, _ := r.Members(p)
		for _, m := range members {
			r.argument(m, e)
		}
	}),
	yamlfile.Required("field", func(r *reader, p place, e *entry) {
		items := []place{p}
		if p.Kind() == yamlfile.List {
			if items, _ = r.Items(p, ""); len(items) == 0 {
				r.Fault(p, "must name at least one field")
			}
		}
		for _, item := range items {
			field, ok := r.Filled(item, "the name of a field")
			if ok && strings.Contains("."+field+".", "..") {
				r.Fault(item, "must be names with dots between them")
			}
			e.Precondition.Fields = append(e.Precondition.Fields, field)
		}
	}),
}

func (r *reader) precondition(p place, e *entry) {
	e.Precondition = new(Precondition)
	if _, ok := yamlfile.ObjectSuch(r, p, "{call: get_item, arguments: {id: $.id}, field: version}", preconditionFields, e); !ok {
		e.Precondition = nil
	}
}

// The signs of a value that is that of an argument, and of one that only begins
// so.
const (
	fromCall = "$."
	literal  = "$$."
)

// argument reads one argument of a precondition's call.
func (r *reader) argument(m yamlfile.Member, e *entry) {
	value := m.Value
	if strings.Contains(m.Name, yamlfile.SandboxVariable) {
		r.Fault(m.Key, "variables are not expanded in keys")
	}
	e.places["precondition.arguments."+m.Name] = m.Key
	a := Argument{Name: m.Name}
	switch written := value.Written(); {
	case value.Kind() != yamlfile.String:
		var ok bool
		if a.Value, ok = r.JSON(value, yamlfile.WithSandbox); ok {
			r.nothingFromCall(value, a.Value)
		}
	case strings.HasPrefix(written, fromCall):
		text, ok := r.Text(value, yamlfile.WithoutSandbox)
		if a.From = strings.TrimPrefix(text, fromCall); ok && a.From == "" {
			r.Fault(value, "must name an argument after $.")
		}
		e.arguments = append(e.arguments, named{value, a.From, anything})
	default:
		text, _ := r.Text(value, yamlfile.WithSandbox)
		if strings.HasPrefix(written, literal) {
			text = text[1:]
		}
		a.Value = jsonvalue.AppendString(nil, text)
	}
	e.Precondition.Arguments = append(e.Precondition.Arguments, a)
}

// nothingFromCall refuses a reference to the call below the top of a value, where
// it would stay a text.
func (r *reader) nothingFromCall(p place, document json.RawMessage) {
	value, err := jsonvalue.Decode(document)
	if err != nil {
		return // it has been written by r.JSON
	}
	walk(value, "", func(at, text string) {
		if strings.HasPrefix(text, fromCall) {
			r.Fault(yamlfile.Locate(p, at), "an argument of the call may only stand for a whole value, not within one")
		}
	})
}

// walk visits the strings in a value.
func walk(value any, at string, visit func(at, text string)) {
	switch v := value.(type) {
	case string:
		visit(at, v)
	case []any:
		for i, item := range v {
			walk(item, fmt.Sprintf("%s/%d", at, i), visit)
		}
	case map[string]any:
		for name, member := range v {
			walk(member, at+"/"+jsonvalue.Token(name), visit)
		}
	}
}
