package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	fault "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"agentlab/lab/tool"
)

// outcome turns what the second engine finds into violations. The engine says
// where in the schema it stands; the words come from the schema itself.
type outcome struct {
	nodes   map[string]*node
	found   []tool.Violation
	choices map[*node]string // enums that are worded already
}

// violations is empty only where nothing was found.
func (o *outcome) violations(err error) []tool.Violation {
	if err == nil {
		return nil
	}
	if told := (*jsonschema.ValidationError)(nil); errors.As(err, &told) {
		o.tell(told)
	}
	if len(o.found) == 0 {
		return []tool.Violation{cannot("", notChecked)}
	}
	return sorted(o.found)
}

func (o *outcome) tell(e *jsonschema.ValidationError) {
	n := o.node(e)
	if n == nil {
		o.found = append(o.found, cannot("", notChecked))
		return
	}
	switch k := e.ErrorKind.(type) {
	case *fault.Schema, *fault.Group, *fault.Reference, *fault.AllOf:
		o.introduced(e.Causes)
	case *fault.FalseSchema:
		o.nothing(n, e)
	case *fault.Required:
		o.properties(e, "required", k.Missing)
	case *fault.AdditionalProperties:
		o.properties(e, "additionalProperties", k.Properties)
	case *fault.PropertyNames:
		o.properties(e, "propertyNames", []string{k.Property})
	case *fault.Dependency:
		o.properties(e, "dependencies", k.Missing)
	case *fault.DependentRequired:
		o.properties(e, "dependentRequired", k.Missing)
	case *fault.Type:
		o.add(e, "type", oneType(k.Want))
	case *fault.Const:
		o.add(e, "const", fmt.Sprintf(texts["const"], cut(canonical(n.raw["const"]))))
	case *fault.Enum:
		o.add(e, "enum", o.choice(n))
	case *fault.Format:
		o.add(e, "format", fmt.Sprintf(texts["format"], word(n.raw["format"])))
	case *fault.Pattern:
		o.add(e, "pattern", fmt.Sprintf(texts["pattern"], word(n.raw["pattern"])))
	case *fault.Minimum:
		o.bound(n, e, "minimum")
	case *fault.Maximum:
		o.bound(n, e, "maximum")
	case *fault.ExclusiveMinimum:
		o.bound(n, e, "exclusiveMinimum")
	case *fault.ExclusiveMaximum:
		o.bound(n, e, "exclusiveMaximum")
	case *fault.MultipleOf:
		o.bound(n, e, "multipleOf")
	case *fault.MinLength, *fault.MaxLength, *fault.MinItems, *fault.MaxItems,
		*fault.MinContains, *fault.MaxContains, *fault.MinProperties, *fault.MaxProperties:
		o.count(n, e, k.KeywordPath()[0])
	case *fault.Not:
		o.add(e, "not", texts["not"])
	case *fault.AnyOf, *fault.OneOf, *fault.Contains, *fault.UniqueItems, *fault.AdditionalItems:
		keyword := k.KeywordPath()[0]
		o.add(e, keyword, texts[keyword])
	default:
		o.add(e, refused, notChecked)
	}
}

// introduced tells what stands behind a finding that only introduces others.
// What fails has looked at nothing, so that everything is left over then: that
// is told only where nothing else is wrong.
func (o *outcome) introduced(causes []*jsonschema.ValidationError) {
	left := func(e *jsonschema.ValidationError) bool {
		n := o.node(e)
		return n != nil && (n.role == "unevaluatedProperties" || n.role == "unevaluatedItems")
	}
	some := slices.ContainsFunc(causes, left)
	only := some && !slices.ContainsFunc(causes, func(e *jsonschema.ValidationError) bool { return !left(e) })
	for _, cause := range causes {
		if only || !some || !left(cause) {
			o.tell(cause)
		}
	}
}

// node finds the subschema that found something.
func (o *outcome) node(e *jsonschema.ValidationError) *node {
	_, fragment, _ := strings.Cut(e.SchemaURL, "#")
	at, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	return o.nodes[at]
}

func (o *outcome) add(e *jsonschema.ValidationError, keyword, message string) {
	o.found = append(o.found, tool.Violation{Pointer: pointer(e.InstanceLocation), Keyword: keyword, Message: message})
}

func (o *outcome) properties(e *jsonschema.ValidationError, keyword string, names []string) {
	for _, name := range names {
		o.add(e, keyword, named(keyword, name))
	}
}

// nothing tells of a schema that is false. Where it refuses what is left over,
// that is said of the whole, as it is with additionalProperties.
func (o *outcome) nothing(n *node, e *jsonschema.ValidationError) {
	last := len(e.InstanceLocation) - 1
	if last >= 0 && (n.role == "unevaluatedProperties" || n.role == "unevaluatedItems") {
		name := e.InstanceLocation[last]
		e.InstanceLocation = e.InstanceLocation[:last]
		if n.role == "unevaluatedItems" {
			o.add(e, n.role, texts[n.role])
		} else {
			o.properties(e, n.role, []string{name})
		}
		return
	}
	o.add(e, "false", texts["false"])
}

func (o *outcome) choice(n *node) string {
	if o.choices[n] == "" {
		values, _ := n.raw["enum"].([]any)
		var list []string
		seen := make(map[string]bool, len(values))
		for _, value := range values {
			if text := canonical(value); !seen[text] {
				seen[text] = true
				list = append(list, cut(text))
			}
		}
		if o.choices == nil {
			o.choices = make(map[*node]string)
		}
		o.choices[n] = fmt.Sprintf(texts["enum"], either(list))
	}
	return o.choices[n]
}

func (o *outcome) bound(n *node, e *jsonschema.ValidationError, keyword string) {
	literal, ok := n.raw[keyword].(json.Number)
	if !ok { // draft-04 has the bound and a flag
		literal, _ = n.raw[map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[keyword]].(json.Number)
	}
	o.add(e, keyword, fmt.Sprintf(texts[keyword], cut(canonical(literal))))
}

func (o *outcome) count(n *node, e *jsonschema.ValidationError, keyword string) {
	o.add(e, keyword, counted(keyword, canonical(n.raw[keyword])))
}

func word(value any) string {
	text, _ := value.(string)
	return quoted(text)
}
