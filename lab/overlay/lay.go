package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
	"agentlab/lab/yamlfile"
)

// Tool is what a file says of one tool, laid over what the server says.
type Tool struct {
	// Contract is complete. Its definition is what a model sees.
	Contract contract.Contract
	// AddedKey is an argument that the server does not get; "" for none.
	AddedKey string
	// Within holds, by argument, the folder that what a call works on lies in:
	// absolute, or with [yamlfile.SandboxVariable] as its first part.
	Within       map[string]string
	Precondition *Precondition // nil for none
	Rules        []ErrorRule   // of which the first that matches counts
}

// Lay lays the file over the tools that a server lists, and returns those of the
// file, sorted by name. The error is a [*yamlfile.Invalid] with everything in
// which the two disagree.
func (f *File) Lay(definitions []tool.Definition) ([]Tool, error) {
	l := &laying{Reader: yamlfile.Reader{File: f.Path}, upstream: make(map[string]tool.Definition)}
	for _, d := range definitions {
		if _, again := l.upstream[d.Name]; !again {
			l.upstream[d.Name] = d
			l.names = append(l.names, d.Name)
		}
	}
	var tools []Tool
	for _, name := range f.Names() {
		tools = append(tools, l.tool(f.tools[name]))
	}
	if err := l.Invalid(); err != nil {
		return nil, err
	}
	return tools, nil
}

// laying gathers what does not fit.
type laying struct {
	yamlfile.Reader
	upstream map[string]tool.Definition
	names    []string
	missing  int // tools that the server does not have
}

// found is the server's tool of a name.
func (l *laying) found(at place, name string) (tool.Definition, bool) {
	d, ok := l.upstream[name]
	switch {
	case ok:
	case len(l.names) == 0:
		l.Fault(at, "the server has no such tool, nor any other")
	default:
		reason := "the server has no such tool"
		// What was meant is looked for among all: not for more than are told.
		if l.missing++; l.missing <= yamlfile.MaxFaults {
			reason += yamlfile.Instead(name, l.names, "its tools are")
		}
		l.Fault(at, reason)
	}
	return d, ok
}

func (l *laying) tool(e *entry) Tool {
	laid := e.Tool
	if e.Precondition != nil {
		l.precondition(e)
	}
	d, ok := l.found(e.at, e.Contract.Name)
	if !ok {
		return laid
	}
	if _, given := e.places["effect"]; !given {
		if guess := GuessEffect(d); guess.Effect != contract.Read {
			l.Fault(e.at.Member("effect"), fmt.Sprintf("missing: one of %s; only a tool that is seen to read may go without (%s)",
				yamlfile.Words(contract.Effects()...), guess.Reason))
		}
	}
	if e.describes {
		d.Description = e.Contract.Description
	}
	d.Annotations = annotations(e.Contract.Effect)
	if d.OutputSchema != nil {
		if _, err := schema.CompileForeign(d.OutputSchema, schema.Draft202012); err != nil {
			l.Fault(e.at, "the server's output schema cannot be checked: "+err.Error())
		}
	}
	if input, ok := l.input(e, d.InputSchema); ok {
		d.InputSchema = input
	}
	laid.Contract.Definition = d
	return laid
}

// input is the schema of what a model may send.
func (l *laying) input(e *entry, upstream json.RawMessage) (json.RawMessage, bool) {
	if _, err := schema.CompileForeign(upstream, schema.Draft202012); err != nil {
		l.Fault(e.at, "the server's input schema cannot be checked: "+err.Error())
		return nil, false
	}
	input := upstream
	if e.input != nil {
		tightened, err := schema.Tighten(upstream, e.input)
		if err != nil {
			l.loosening(e, err)
			return nil, false
		}
		input = tightened
	}
	known := argumentsOf(input)
	for _, a := range e.arguments {
		reason := known.lacks(a)
		if reason == "" {
			reason = a.unlike(schema.ArgumentOf(input, true, a.argument))
		}
		if reason != "" {
			l.Fault(a.at, reason)
		}
	}
	if e.AddedKey == "" {
		return input, true
	}
	with, reason := addKey(input, e.AddedKey)
	if reason == "" {
		if _, err := schema.CompileForeign(with, schema.Draft202012); err != nil {
			reason = "cannot be added: the schema cannot be checked then: " + err.Error()
		}
	}
	if reason != "" {
		l.Fault(e.places["idempotency.key"], reason)
		return nil, false
	}
	return with, true
}

// loosening places a fault of keywords that do not tighten.
func (l *laying) loosening(e *entry, err error) {
	var loose *schema.Loosening
	if !errors.As(err, &loose) {
		l.Fault(e.at, "the server's input schema cannot be tightened: "+err.Error())
		return
	}
	reason := loose.Reason
	if loose.Known == nil {
		reason = "does not tighten the server's schema: " + reason
	}
	l.Fault(yamlfile.Locate(e.places["input"], loose.Pointer), reason)
}

// precondition checks the call that looks.
func (l *laying) precondition(e *entry) {
	at := e.places["precondition.call"]
	d, ok := l.found(at, e.Precondition.Tool)
	if !ok {
		return
	}
	if d.Hints().Changes() {
		l.Fault(at, "must only read, and the server says that it changes something")
	}
	known := argumentsOf(d.InputSchema)
	for _, a := range e.Precondition.Arguments {
		if reason := known.lacks(named{argument: a.Name}); reason != "" {
			l.Fault(e.places["precondition.arguments."+a.Name], reason)
		}
	}
	for _, name := range known.required {
		if !slices.ContainsFunc(e.Precondition.Arguments, func(a Argument) bool { return a.Name == name }) {
			l.Fault(at, "requires the argument "+yamlfile.Name(name)+", which is not given")
		}
	}
}

// annotations are what a model is told of the effect. What the server says of it
// is a claim, and what the file says is what holds.
func annotations(effect contract.Effect) json.RawMessage {
	hints := struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Destructive bool `json:"destructiveHint"`
	}{effect == contract.Read, effect == contract.Destructive}
	encoded, _ := json.Marshal(hints) // booleans can always be encoded
	return encoded
}

// arguments are what a schema says by itself of the arguments of a call.
type arguments struct {
	properties map[string]any
	required   []string
	closed     bool // it takes no others
	unsure     bool // it says more, behind references and in combinations
}

func argumentsOf(document json.RawMessage) (a arguments) {
	value, _ := jsonvalue.Decode(document)
	top, _ := value.(map[string]any)
	a.properties, _ = top["properties"].(map[string]any)
	required, _ := top["required"].([]any)
	for _, name := range required {
		if text, ok := name.(string); ok {
			a.required = append(a.required, text)
		}
	}
	a.closed = top["additionalProperties"] == false
	_, refers := top["$ref"]
	_, all := top["allOf"]
	a.unsure = refers || all
	return a
}

// unlike tells what an argument has to be that a schema is not sure to say, or "".
func (n named) unlike(is schema.Argument) string {
	switch {
	case n.as == aKey && is != schema.Text:
		return "must be a string in the tool's schema"
	case n.as == aResource && is == schema.Unsure:
		return "must be a string or a list of strings in the tool's schema"
	}
	return ""
}

// lacks tells why an argument that the file names is not there, or "".
func (a arguments) lacks(n named) string {
	_, has := a.properties[n.argument]
	none := "the tool has no argument of this name"
	if n.as == aKey {
		none += "; add: true adds it to what a model sees"
	}
	switch {
	case !has && a.unsure:
		return ""
	case !has && len(a.properties) == 0:
		return strings.Replace(none, "name", "name, nor any other", 1)
	case !has:
		var names []string
		for name := range a.properties {
			names = append(names, name)
		}
		return none + yamlfile.Instead(n.argument, names, "its arguments are")
	case n.as == anything:
		return ""
	case !a.unsure && !slices.Contains(a.required, n.argument):
		return "the tool does not require this argument, and a call without it would work on who knows what; input: {required: [" + n.argument + "]} requires it"
	}
	return ""
}
