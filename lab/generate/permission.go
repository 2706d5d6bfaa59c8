package generate

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

func (s *subject) permission(all []*subject) {
	lacking := clause{"permission", "permission", outside}
	deny := func(name, words string, held []string) {
		c := s.good.caller
		c.Permissions = held
		if slices.Contains(held, s.Permission) || !s.Visibility.Admits(c) {
			return
		}
		s.add(lacking, name, "Call "+s.Name+" for somebody with "+words,
			s.refusal(refused("permission", tool.PermissionDenied).with("required_permission", text(s.Permission)), func(l *line) { l.Caller = &c }))
	}
	rest := slices.DeleteFunc(slices.Clone(s.good.caller.Permissions), func(p string) bool { return p == s.Permission })
	deny("none", "no permission at all", []string{})
	if len(rest) > 0 {
		deny("without", "every permission but the one that it asks for", rest)
	}
	var others []string
	for _, other := range all {
		if p := other.Contract.Permission; p != s.Permission && p != "" && !slices.Contains(others, p) {
			others = append(others, p)
		}
		if a := other.Approver; a != nil && a.Permission != s.Permission && !slices.Contains(others, a.Permission) {
			others = append(others, a.Permission)
		}
	}
	for _, p := range others {
		deny("other-"+p, "the permission of another tool", []string{p})
	}
	if len(others) > 1 {
		deny("others", "the permissions of all other tools", others)
	}
	for _, near := range nearWords([]string{s.Permission}) {
		deny("near", "a permission that is nearly the one that it asks for", append(slices.Clone(rest), near))
	}
	if prefix, _, scoped := strings.Cut(s.Permission, ":"); scoped {
		deny("wildcard", "a permission that looks like all of a kind", append(slices.Clone(rest), prefix+":*", "*"))
	}
	if s.times(1) >= 0 && s.trial != nil {
		c := s.caller(tool.Caller{Task: s.good.caller.Task, Environment: s.good.caller.Environment})
		if len(c.Permissions) < len(s.good.caller.Permissions) && s.worksFor(c) {
			l := s.calls(succeeds())
			l.Caller = &c
			s.add(clause{"permission", "permission", on}, "just", "Call "+s.Name+" with just the permission that it asks for", l.come(s.times(1)))
		}
	}
	s.resources()
}

// resources are paths that lie outside of the folder that a contract names.
func (s *subject) resources() {
	for _, r := range s.Resources {
		folder := s.src.Within[s.Name][r.Argument]
		if folder != "" {
			for _, out := range outsideOf(folder) {
				arguments := s.withResource(r.Argument, out.path)
				if arguments == nil {
					continue
				}
				s.add(clause{"permission", "resources/" + r.Argument, outside}, "resource-"+r.Argument+"-"+out.how,
					"Call "+s.Name+" on a path that "+out.words,
					s.refusal(refused("permission", tool.ResourceForbidden), func(l *line) { l.Proposals[0].Arguments = arguments }))
			}
		}
		if none := s.empty(r.Argument); none != nil {
			s.add(clause{"permission", "resources/" + r.Argument, outside}, "resource-"+r.Argument+"-none",
				"Call "+s.Name+" on an empty list, which a tool may take for everything",
				s.refusal(refused("permission", tool.ResourceForbidden), func(l *line) { l.Proposals[0].Arguments = none }))
		}
	}
}

type outsidePath struct{ how, path, words string }

// outsideOf are paths that do not lie in a folder, and look as if.
func outsideOf(folder string) []outsidePath {
	folder = strings.TrimSuffix(folder, "/")
	return []outsidePath{
		{"above", folder + "/..", "is the folder above its own"},
		{"climbs", folder + "/../elsewhere", "leads out of its folder"},
		{"climbs-deep", folder + "/a/../../elsewhere", "leads into its folder and out again"},
		{"beside", folder + "-elsewhere/file", "only begins like its folder"},
		{"root", "/elsewhere", "lies elsewhere"},
		{"relative", path.Join("..", "elsewhere"), "nobody knows the beginning of"},
		{"home", "~/elsewhere", "lies in the home of whoever runs the server"},
		{"encoded", folder + "/%2e%2e/elsewhere", "leads out where a server decodes it"},
		{"backslash", folder + "/..\\elsewhere", "leads out where a backslash is a slash"},
	}
}

// withResource is the good call on another resource, if that is valid.
func (s *subject) withResource(argument, resource string) json.RawMessage {
	members := maps.Clone(s.good.members)
	if _, several := members[argument].([]any); several {
		members[argument] = []any{resource}
	} else {
		members[argument] = resource
	}
	if len(s.input.Validate(members)) > 0 {
		return nil
	}
	return jsonvalue.AppendCanonical(nil, members)
}

// empty is the good call on an empty list, where that is valid.
func (s *subject) empty(argument string) json.RawMessage {
	if _, several := s.good.members[argument].([]any); !several {
		return nil
	}
	members := maps.Clone(s.good.members)
	members[argument] = []any{}
	if len(s.input.Validate(members)) > 0 {
		return nil
	}
	return jsonvalue.AppendCanonical(nil, members)
}
