package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

func sized(c *contract.Contract) bool { return c.Output != nil && c.Output.MaxBytes > 0 }

// showing changes what the contracts say of outputs, where they say what is asked.
func showing(asked func(o *contract.Output) bool, change func(o *contract.Output)) func(v *view) []spot {
	return approving(predicates{func(c *contract.Contract) bool { return c.Output != nil && asked(c.Output) }}, func(c *contract.Contract) {
		other := *c.Output
		change(&other)
		c.Output = &other
	})
}

func isSized(o *contract.Output) bool { return o.MaxBytes > 0 }

const (
	needsOutputSchema = "an output schema"
	needsSize         = "a contract that bounds the size of its output"
	needsSecret       = "a contract that names what of its output is secret"
)

// ofOutput are the operators that weaken what may be answered.
var ofOutput = []Operator{
	{
		Name:      "output-schema-unchecked",
		Control:   "output",
		Does:      "The output of TOOL may be any JSON.",
		Unchecked: "Nobody checks that TOOL refuses an output that breaks its schema.",
		Needs:     needsOutputSchema,
		spots: approving(predicates{func(c *contract.Contract) bool { return c.OutputSchema != nil }}, func(c *contract.Contract) {
			c.OutputSchema = json.RawMessage("{}")
		}),
	},
	{
		Name:      "output-unknown-properties-allowed",
		Control:   "output",
		Does:      "The output of TOOL may have properties that its schema does not know: PLACE is dropped.",
		Unchecked: "Nobody checks that TOOL refuses an output with a property that it does not know (PLACE).",
		Needs:     needsOutputSchema + " that allows no further properties",
		spots:     inSchemas(outputOf, unknownAllowed),
	},
	{
		Name:      "output-required-dropped",
		Control:   "output",
		Does:      "What PLACE names may be missing from the output of TOOL.",
		Unchecked: "Nobody checks that TOOL refuses an output without what PLACE names.",
		Needs:     needsOutputSchema + " that requires a property",
		spots:     inSchemas(outputOf, requiredDropped),
	},
	{
		Name:      "output-keyword-dropped",
		Control:   "output",
		Does:      "PLACE is dropped from the output schema of TOOL.",
		Unchecked: "Nobody checks that TOOL refuses an output that only PLACE of its schema forbids.",
		Needs:     needsOutputSchema + " that asks something of its values",
		spots:     inSchemas(outputOf, keywordDropped),
	},
	{
		Name:      "output-member-dropped",
		Control:   "output",
		Does:      "The value PLACE of the output schema of TOOL is no longer among those that there are.",
		Unchecked: "Nobody checks that TOOL may answer with the value PLACE of its output schema.",
		Needs:     needsOutputSchema + " with an enum",
		spots:     inSchemas(outputOf, memberDropped),
	},
	{
		Name:      "output-bound-loosened",
		Control:   "output",
		Does:      "PLACE of the output schema of TOOL allows one more.",
		Unchecked: "Nobody checks an output just outside PLACE of the schema of TOOL.",
		Needs:     needsOutputSchema + " with a bound",
		spots:     inSchemas(outputOf, boundMoved(false)),
	},
	{
		Name:      "output-bound-tightened",
		Control:   "output",
		Does:      "PLACE of the output schema of TOOL allows one less.",
		Unchecked: "Nobody checks an output just on PLACE of the schema of TOOL.",
		Needs:     needsOutputSchema + " with a bound",
		spots:     inSchemas(outputOf, boundMoved(true)),
	},
	{
		Name:      "size-unchecked",
		Control:   "output",
		Does:      "The output of TOOL may be of any size.",
		Unchecked: "Nobody checks that TOOL refuses an output that is too large.",
		Needs:     needsSize,
		spots:     showing(isSized, func(o *contract.Output) { o.MaxBytes = 0 }),
	},
	{
		Name:      "size-one-more",
		Control:   "output",
		Does:      "The output of TOOL may be one byte larger than its contract says.",
		Unchecked: "Nobody checks an output of TOOL that is one byte too large.",
		Needs:     needsSize,
		spots:     showing(isSized, func(o *contract.Output) { o.MaxBytes++ }),
	},
	{
		Name:      "size-one-less",
		Control:   "output",
		Does:      "The output of TOOL may be one byte smaller than its contract says.",
		Unchecked: "Nobody checks an output of TOOL that is as large as it may be.",
		Needs:     needsSize,
		spots:     showing(func(o *contract.Output) bool { return o.MaxBytes > 1 }, func(o *contract.Output) { o.MaxBytes-- }),
	},
	{
		Name:      "narrowing-not-told",
		Control:   "output",
		Does:      "Where the output of TOOL is too large it is not said what would make it smaller.",
		Unchecked: "Nobody checks that TOOL says how to narrow a call whose output is too large.",
		Needs:     needsSize + ", and names what makes it smaller",
		spots: showing(func(o *contract.Output) bool { return o.MaxBytes > 0 && len(o.NarrowBy) > 0 },
			func(o *contract.Output) { o.NarrowBy = nil }),
	},
	{
		Name:      "output-truncated",
		Control:   "output",
		Does:      "An output of TOOL that is too large is cut until it fits, and not refused.",
		Unchecked: "Nobody checks that TOOL refuses an output that is too large, and does not cut it.",
		Needs:     needsSize,
		spots: func(v *view) []spot {
			return ofTool(v.live(sized), func(of contract.Contract) registry.Variant {
				return working(of.Name, func(own registry.Handler) registry.Handler {
					return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
						output, err := own(ctx, arguments)
						return cut(output, of.Output.MaxBytes), err
					}
				})
			})
		},
	},
	{
		Name:      "redaction-off",
		Control:   "output",
		Does:      "Nothing of the output of TOOL is kept secret.",
		Unchecked: "Nobody checks that TOOL tells no secret.",
		Needs:     needsSecret,
		spots: showing(func(o *contract.Output) bool { return len(o.Secret) > 0 || o.Credentials },
			func(o *contract.Output) { o.Secret, o.Credentials = nil, false }),
	},
	{
		Name:      "secret-told",
		Control:   "output",
		Does:      "The field PLACE of the output of TOOL is not kept secret.",
		Unchecked: "Nobody checks that TOOL does not tell PLACE.",
		Needs:     needsSecret,
		spots: func(v *view) (all []spot) {
			for _, c := range v.live(func(c *contract.Contract) bool { return c.Output != nil }) {
				for i, name := range c.Output.Secret {
					all = append(all, spot{tool: c.Name, place: name, weaker: inContract(c.Name, func(c *contract.Contract) {
						other := *c.Output
						other.Secret = slices.Delete(slices.Clone(other.Secret), i, i+1)
						c.Output = &other
					})})
				}
			}
			return all
		},
	},
	{
		Name:      "credentials-told",
		Control:   "output",
		Does:      "What of the output of TOOL is a credential by its name is not kept secret.",
		Unchecked: "Nobody checks that TOOL tells no credential.",
		Needs:     "a contract that has credentials kept secret",
		spots:     showing(func(o *contract.Output) bool { return o.Credentials }, func(o *contract.Output) { o.Credentials = false }),
	},
	{
		Name:      "applied-told-as-not-applied",
		Control:   "output",
		Does:      "Of a call of TOOL that was applied and answered badly it is said that nothing was applied.",
		Unchecked: "Nobody checks that a write of TOOL which was answered badly is told as applied.",
		Needs:     "a tool that changes something, with an output schema",
		spots:     toldAsNotApplied("output", "", changes, func(c *contract.Contract) bool { return c.OutputSchema != nil }),
	},
	{
		Name:      "cursor-unchecked",
		Control:   "output",
		Does:      "A cursor that TOOL never gave starts from the first page.",
		Unchecked: "Nobody checks that TOOL refuses a cursor that it never gave.",
		Needs:     "a tool of the lab's own with an argument named cursor",
		spots: func(v *view) []spot {
			return ofTool(v.live(own, named("cursor")), func(of contract.Contract) registry.Variant {
				return working(of.Name, func(own registry.Handler) registry.Handler {
					return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
						output, err := own(ctx, arguments)
						var refusal *tool.Error
						if errors.As(err, &refusal) && refusal != nil && refusal.Code == tool.InvalidCursor {
							return own(ctx, with(arguments, func(all object) { delete(all, "cursor") }))
						}
						return output, err
					}
				})
			})
		},
	},
	{
		Name:      "limit-ignored",
		Control:   "output",
		Does:      "TOOL answers with as much as it can, whatever its limit says.",
		Unchecked: "Nobody checks that TOOL keeps to its limit.",
		Needs:     "a tool with an argument named limit",
		spots: func(v *view) []spot {
			return ofTool(v.live(named("limit")), func(of contract.Contract) registry.Variant {
				most, bounded := property(&of, "limit")["maximum"].(json.Number)
				if !bounded {
					most = "1000"
				}
				return working(of.Name, func(own registry.Handler) registry.Handler {
					return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
						return own(ctx, with(arguments, func(all object) { all["limit"] = most }))
					}
				})
			})
		},
	},
}

// with is arguments of which something was changed.
func with(arguments json.RawMessage, change func(all object)) json.RawMessage {
	all, ok := decoded(arguments).(object)
	if !ok {
		return arguments
	}
	change(all)
	return jsonvalue.AppendCanonical(nil, all)
}

// cut takes items off the longest list of an output, or characters off its longest
// text, until it has so many bytes or there is nothing to take.
func cut(output json.RawMessage, most int) json.RawMessage {
	value, err := jsonvalue.Decode(output)
	for err == nil && len(output) > most {
		var longest func()
		longestOf(value, func(shorter any) { value = shorter }, new(int), &longest)
		if longest == nil {
			break
		}
		longest()
		output = jsonvalue.AppendCanonical(nil, value)
	}
	return output
}

// longestOf finds what can be made shorter and weighs most; replace puts something
// else in its place.
func longestOf(value any, replace func(any), weight *int, shorten *func()) {
	weigh := func(w int, shorter func() any) {
		if w > *weight {
			*weight, *shorten = w, func() { replace(shorter()) }
		}
	}
	switch v := value.(type) {
	case string:
		runes := []rune(v)
		weigh(len(runes), func() any { return string(runes[:len(runes)-1]) })
	case []any:
		for i, item := range v {
			longestOf(item, func(other any) { v[i] = other }, weight, shorten)
		}
		weigh(len(jsonvalue.AppendCanonical(nil, v))-len("[]"), func() any { return v[:len(v)-1] })
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			longestOf(v[name], func(other any) { v[name] = other }, weight, shorten)
		}
	}
}
