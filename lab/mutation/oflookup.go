package mutation

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/spelling"
	"agentlab/lab/tool"
)

// taken has lookup take a name that is not there for another one.
func taken(otherwise func(name string, known []string) string) func(v *view) []spot {
	return func(v *view) []spot {
		known := v.names()
		return []spot{{weaker: before("lookup", "", func(c *registry.Crossing) {
			proposed := &c.Call().Proposal
			if slices.Contains(known, proposed.Name) {
				return
			}
			if other := otherwise(proposed.Name, known); other != "" {
				proposed.Name = other
			}
		})}}
	}
}

// forwarded has a call of one tool taken for a call of another.
func forwarded(from, to string) registry.Variant {
	return before("lookup", "", func(c *registry.Crossing) {
		if proposed := &c.Call().Proposal; proposed.Name == from {
			proposed.Name = to
		}
	})
}

// replaced are the spots of tools that have a successor.
func (v *view) replaced(isRetired bool) (all []spot) {
	for _, c := range v.contracts {
		if c.Lifecycle != nil && c.Lifecycle.Retired == isRetired && slices.Contains(v.names(), c.Lifecycle.ReplacedBy) {
			all = append(all, spot{tool: c.Name, place: c.Lifecycle.ReplacedBy, weaker: forwarded(c.Name, c.Lifecycle.ReplacedBy)})
		}
	}
	return all
}

// visibilities are the lists of who may know of a tool.
var visibilities = []struct {
	name string
	list func(v *contract.Visibility) *[]string
}{
	{"permissions", func(v *contract.Visibility) *[]string { return &v.Permissions }},
	{"tasks", func(v *contract.Visibility) *[]string { return &v.Tasks }},
	{"environments", func(v *contract.Visibility) *[]string { return &v.Environments }},
}

// ofLookup are the operators that weaken which tool a name stands for.
var ofLookup = []Operator{
	{
		Name:      "name-case-folded",
		Control:   "lookup",
		Does:      "A name in other letters is taken for the tool of that name.",
		Unchecked: "Nobody checks that a tool's name is taken by its letters, upper and lower case.",
		spots: taken(func(name string, known []string) string {
			if at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); at >= 0 {
				return known[at]
			}
			return ""
		}),
	},
	{
		Name:      "name-trimmed",
		Control:   "lookup",
		Does:      "A name with white space around it is taken for the tool of that name.",
		Unchecked: "Nobody checks that white space around a tool's name makes another name.",
		spots: taken(func(name string, known []string) string {
			if trimmed := strings.TrimSpace(name); slices.Contains(known, trimmed) {
				return trimmed
			}
			return ""
		}),
	},
	{
		Name:      "nearest-name",
		Control:   "lookup",
		Does:      "A misspelt name is taken for the tool with the nearest name.",
		Unchecked: "Nobody checks that a misspelt name calls nothing.",
		spots:     taken(spelling.Nearest),
	},
	{
		Name:      "visibility-ignored",
		Control:   "lookup",
		Does:      "Callers know of TOOL whatever its list of PLACE says.",
		Unchecked: "Nobody checks that TOOL is hidden from those who lack one of its PLACE.",
		Needs:     "a contract that restricts who may know of its tool",
		spots: func(v *view) (all []spot) {
			for _, c := range v.live(func(c *contract.Contract) bool { return c.Visibility != nil }) {
				for _, of := range visibilities {
					if len(*of.list(c.Visibility)) == 0 {
						continue
					}
					all = append(all, spot{tool: c.Name, place: of.name, weaker: inContract(c.Name, func(c *contract.Contract) {
						open := *c.Visibility
						*of.list(&open) = nil
						c.Visibility = &open
					})})
				}
			}
			return all
		},
	},
	{
		Name:      "hidden-tool-told",
		Control:   "lookup",
		Does:      "Whoever calls a tool that is not there is told of every tool, also of hidden ones.",
		Unchecked: "Nobody checks which tools a caller is told of.",
		Needs:     "a contract that restricts who may know of its tool",
		spots: func(v *view) []spot {
			if !v.some(func(c *contract.Contract) bool { return c.Visibility != nil }) {
				return nil
			}
			names := slices.Sorted(slices.Values(v.names()))
			return []spot{{weaker: refused("lookup", "", tool.ToolNotFound, told(func(_ *registry.Crossing, e *tool.Error) {
				e.Details = details("available_tools", names)
			}))}}
		},
	},
	{
		Name:      "retired-routed",
		Control:   "lookup",
		Does:      "TOOL, which is retired, is called all the same.",
		Unchecked: "Nobody checks that TOOL, which is retired, is refused.",
		Needs:     "a retired tool",
		spots: func(v *view) (all []spot) {
			for _, c := range v.contracts {
				if !retired(&c) {
					continue
				}
				weaker := inContract(c.Name, func(c *contract.Contract) { c.Lifecycle = nil })
				weaker.Backend = func(b *registry.Backend) {
					if b.Handlers[c.Name] == nil {
						b.Handlers = maps.Clone(b.Handlers)
						b.Handlers[c.Name] = func(context.Context, json.RawMessage) (json.RawMessage, error) {
							return json.RawMessage("{}"), nil
						}
					}
				}
				all = append(all, spot{tool: c.Name, weaker: weaker})
			}
			return all
		},
	},
	{
		Name:      "retired-forwarded",
		Control:   "lookup",
		Does:      "A call of TOOL, which is retired, is taken for one of PLACE.",
		Unchecked: "Nobody checks that PLACE is not called in the place of TOOL, which is retired.",
		Needs:     "a retired tool with a successor on the surface",
		spots:     func(v *view) []spot { return v.replaced(true) },
	},
	{
		Name:      "deprecated-forwarded",
		Control:   "lookup",
		Does:      "A call of TOOL, which is deprecated, is taken for one of PLACE.",
		Unchecked: "Nobody checks that PLACE is not called in the place of TOOL, which is deprecated and still works.",
		Needs:     "a deprecated tool with a successor on the surface",
		spots:     func(v *view) []spot { return v.replaced(false) },
	},
}
