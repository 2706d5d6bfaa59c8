package generate

import (
	"slices"
	"strings"
	"unicode"

	"agentlab/lab/tool"
)

// nearNames are names that a hasty hand takes for another, without those of tools.
func (w *writer) nearNames(name string) []nearName {
	var near []nearName
	add := func(how, other string) {
		if other != name && !slices.Contains(w.names, other) &&
			!slices.ContainsFunc(near, func(n nearName) bool { return n.name == other }) {
			near = append(near, nearName{how, other})
		}
	}
	runes := []rune(name)
	if len(runes) > 0 {
		add("capital", string(unicode.ToUpper(runes[0]))+string(runes[1:]))
		add("short", string(runes[:len(runes)-1]))
		add("twice", name+string(runes[len(runes)-1]))
	}
	add("upper", strings.ToUpper(name))
	add("lower", strings.ToLower(name))
	add("space-after", name+" ")
	add("space-before", " "+name)
	add("line-end", name+"\n")
	add("plural", name+"s")
	add("singular", strings.TrimSuffix(name, "s"))
	add("camel", camel(name))
	add("snake", snake(name))
	add("hyphens", strings.ReplaceAll(name, "_", "-"))
	add("underscores", strings.ReplaceAll(name, "-", "_"))
	add("scoped", "functions."+name)
	add("version", name+"_v2")
	add("empty", "")
	return near
}

// nearName is another name, and in what way it is.
type nearName struct{ how, name string }

func camel(name string) string {
	var out strings.Builder
	up := false
	for _, r := range name {
		if r == '_' || r == '-' {
			up = out.Len() > 0
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		up = false
		out.WriteRune(r)
	}
	return out.String()
}

func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) {
			if i > 0 {
				out.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}

func (s *subject) lookup() {
	known := clause{"lookup", "name", inside}
	if s.src.Reach > Bare && s.good != nil && s.times(1) >= 0 {
		l := s.calls(succeeds())
		s.add(known, "", "Call "+s.Name+" by its name, as it may be called", l.come(s.times(1)))
	}
	arguments := []byte(`{}`)
	if s.good != nil {
		arguments = s.good.arguments
	}
	for i, near := range s.nearNames(s.Name) {
		l := line{Caller: ptr(s.somebody()), Proposals: []proposal{{Name: &near.name, Arguments: arguments}}}
		if s.src.Reach == Bare {
			// Nobody knows in what words a server says it, or by which control.
			l.Expected.Steps = []*step{{OK: ptr(false)}}
		} else {
			l.Approved = true
			missing := refused("lookup", tool.ToolNotFound)
			if i == 0 { // to be told of every tool is long
				missing.with("available_tools", list(s.available(*l.Caller)))
			}
			l.Expected.Steps = []*step{missing}
		}
		s.add(clause{"lookup", "name", outside}, "name-"+near.how,
			"Call a tool by a name that is nearly "+s.Name+" ("+near.how+")", l.come(0))
	}
}

// lifecycle is of a tool that the others have replaced.
func (s *subject) lifecycle() {
	l := line{Caller: ptr(s.somebody()), Approved: true, Proposals: []proposal{{Name: &s.Name, Arguments: []byte(`{}`)}}}
	refusal := refused("lookup", tool.ToolRetired)
	if s.Lifecycle.ReplacedBy != "" {
		refusal.with("replaced_by", text(s.Lifecycle.ReplacedBy))
	}
	l.Expected.Steps = []*step{refusal}
	s.add(clause{"lookup", "lifecycle", outside}, "", "Call "+s.Name+", which is retired", l.come(0))
	s.hidden()
}

// hidden is of callers who may not know of a tool.
func (s *subject) hidden() {
	v := s.Visibility
	if v == nil {
		return
	}
	full := s.somebody()
	for _, one := range []struct {
		place   string
		values  []string
		lacking func(*tool.Caller, string)
		having  func(*tool.Caller, string)
	}{
		{"permissions", v.Permissions,
			func(c *tool.Caller, near string) {
				c.Permissions = slices.DeleteFunc(slices.Clone(c.Permissions), func(p string) bool { return slices.Contains(v.Permissions, p) })
				if near != "" {
					c.Permissions = append(c.Permissions, near)
				}
			},
			func(c *tool.Caller, value string) { c.Permissions = append(slices.Clone(c.Permissions), value) }},
		{"tasks", v.Tasks, func(c *tool.Caller, near string) { c.Task = near }, func(c *tool.Caller, value string) { c.Task = value }},
		{"environments", v.Environments, func(c *tool.Caller, near string) { c.Environment = near }, func(c *tool.Caller, value string) { c.Environment = value }},
	} {
		if len(one.values) == 0 {
			continue
		}
		for i, near := range append([]string{""}, nearWords(one.values)...) {
			c := full
			one.lacking(&c, near)
			l := line{Caller: &c, Approved: true, Proposals: []proposal{{Name: &s.Name, Arguments: []byte(`{}`)}}}
			if s.good != nil {
				l.Proposals[0].Arguments = s.good.arguments
			}
			l.Expected.Steps = []*step{refused("lookup", tool.ToolNotFound)}
			words := "has none of its " + one.place
			if i > 0 {
				words = "has only nearly one of its " + one.place
			}
			s.add(clause{"lookup", "visibility/" + one.place, outside}, "", "Call "+s.Name+" for somebody who "+words+" and may not know of it", l.come(0))
		}
		if s.good == nil || s.retired() || s.times(1) < 0 {
			continue
		}
		for _, value := range one.values[:min(len(one.values), maxListed)] {
			c := full
			one.lacking(&c, "")
			one.having(&c, value)
			l := s.calls(succeeds())
			l.Caller = &c
			s.add(clause{"lookup", "visibility/" + one.place, inside}, "", "Call "+s.Name+" for somebody who may know of it", l.come(s.times(1)))
		}
	}
}

// maxListed is how many values of a list are each given a case.
const maxListed = 5

// nearWords are words that are nearly the first of a list, and none of it.
func nearWords(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	word := list[0]
	var near []string
	runes := []rune(word)
	for _, other := range []string{strings.ToUpper(word), word + "s", string(runes[:max(0, len(runes)-1)]), word + " "} {
		if other != "" && !slices.Contains(list, other) && !slices.Contains(near, other) {
			near = append(near, other)
		}
	}
	return near
}
