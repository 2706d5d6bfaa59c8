package mutation

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// permitted has the permission control take a caller for one who holds what a tool
// asks for, where that is so by some laxer rule.
func permitted(which func(v *view) []contract.Contract, holds func(v *view, asked string, held []string) bool) func(v *view) []spot {
	return func(v *view) []spot {
		return ofTool(which(v), func(of contract.Contract) registry.Variant {
			return asIf("permission", of.Name, func(_ *registry.Crossing, call *tool.Call) {
				if held := call.Caller.Permissions; holds(v, of.Permission, held) {
					call.Caller.Permissions = append(slices.Clone(held), of.Permission)
				}
			})
		})
	}
}

// resources are the spots of each argument that names a resource.
func resources(weaken func(of contract.Contract, i int) registry.Variant, asked ...func(contract.Resource) bool) func(v *view) []spot {
	return func(v *view) (all []spot) {
		for _, c := range v.live() {
		next:
			for i, r := range c.Resources {
				for _, is := range asked {
					if !is(r) {
						continue next
					}
				}
				all = append(all, spot{tool: c.Name, place: r.Argument, weaker: weaken(c, i)})
			}
		}
		return all
	}
}

// ofPermission are the operators that weaken what a caller may do.
var ofPermission = []Operator{
	{
		Name:      "any-permission",
		Control:   "permission",
		Does:      "Whoever holds any permission may call TOOL.",
		Unchecked: "Nobody checks that another permission than its own lets nobody call TOOL.",
		spots: permitted(func(v *view) []contract.Contract { return v.live() },
			func(_ *view, _ string, held []string) bool { return len(held) > 0 }),
	},
	{
		Name:      "permission-by-prefix",
		Control:   "permission",
		Does:      "Whoever holds a permission that begins as that of TOOL does may call it.",
		Unchecked: "Nobody checks that a permission one letter longer than its own lets nobody call TOOL.",
		spots: permitted(func(v *view) []contract.Contract { return v.live() }, func(_ *view, asked string, held []string) bool {
			return slices.ContainsFunc(held, func(h string) bool { return strings.HasPrefix(h, asked) })
		}),
	},
	{
		Name:      "permission-case-folded",
		Control:   "permission",
		Does:      "Whoever holds the permission of TOOL in other letters may call it.",
		Unchecked: "Nobody checks that the permission of TOOL is taken by its letters, upper and lower case.",
		spots: permitted(func(v *view) []contract.Contract { return v.live() }, func(_ *view, asked string, held []string) bool {
			return slices.ContainsFunc(held, func(h string) bool { return strings.EqualFold(h, asked) })
		}),
	},
	{
		Name:      "read-implies-write",
		Control:   "permission",
		Does:      "Whoever may read may call TOOL, which changes something.",
		Unchecked: "Nobody checks that who may only read is kept from TOOL.",
		Needs:     "a tool that changes something, and one that reads by another permission",
		spots: permitted(func(v *view) []contract.Contract {
			return v.live(changes, func(c *contract.Contract) bool {
				return v.some(func(o *contract.Contract) bool { return !changes(o) && o.Permission != c.Permission })
			})
		}, func(v *view, _ string, held []string) bool {
			return v.some(func(c *contract.Contract) bool { return !changes(c) && slices.Contains(held, c.Permission) })
		}),
	},
	{
		Name:      "resource-unchecked",
		Control:   "permission",
		Does:      "Nobody is asked whether the caller may touch what PLACE of TOOL names.",
		Unchecked: "Nobody checks that TOOL is kept from what its caller may not touch.",
		Needs:     "a contract that names what its tool works on",
		spots: resources(func(of contract.Contract, i int) registry.Variant {
			return inContract(of.Name, func(c *contract.Contract) {
				c.Resources = slices.Delete(slices.Clone(c.Resources), i, i+1)
			})
		}),
	},
	{
		Name:      "resource-by-prefix",
		Control:   "permission",
		Does:      "Of what PLACE of TOOL names all but the last character decides whether the caller may touch it.",
		Unchecked: "Nobody checks a resource of TOOL whose name only begins like that of another one.",
		Needs:     "a contract that names what its tool works on",
		spots: resources(func(of contract.Contract, i int) registry.Variant {
			argument := of.Resources[i].Argument
			return behind(func(b *registry.Backend) {
				own := b.Access[of.Name]
				if own == nil {
					return
				}
				b.Access = maps.Clone(b.Access)
				b.Access[of.Name] = func(ctx context.Context, caller tool.Caller, by, resource string) registry.Access {
					if by == argument {
						_, last := utf8.DecodeLastRuneInString(resource)
						resource = resource[:len(resource)-last]
					}
					return own(ctx, caller, by, resource)
				}
			})
		}),
	},
	{
		Name:      "hidden-resource-told",
		Control:   "permission",
		Does:      "Who may not know of what PLACE of TOOL names is told that it is forbidden.",
		Unchecked: "Nobody checks that TOOL does not tell of what its caller may not know of.",
		Needs:     "a contract that hides what its tool works on",
		spots: resources(func(of contract.Contract, i int) registry.Variant {
			return inContract(of.Name, func(c *contract.Contract) {
				c.Resources = slices.Clone(c.Resources)
				c.Resources[i].HiddenAs, c.Resources[i].HiddenMessage = "", ""
			})
		}, func(r contract.Resource) bool { return r.HiddenAs != "" }),
	},
}
