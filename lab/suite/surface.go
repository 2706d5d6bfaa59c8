package suite

import "agentlab/lab/yamlfile"

// Surface is one server with what surrounds it.
type Surface struct {
	Name     string
	Server   Server
	Contract string // the contract file that is laid over the server's tools; "" for none
	Sandbox  Sandbox
	Effects  []Effect // in the order of the file; none where nothing is counted
}

// Sandbox is the folder that [SandboxVariable] stands for.
type Sandbox struct {
	Seed string // the folder that it is a copy of; "" for an empty one
}

// surfaceName is the form of a surface's name.
var surfaceName = yamlfile.Grammar(`^[A-Za-z0-9._-]{1,64}$`)

type writtenSurface struct {
	at place
	Surface
	over  string           // the surface whose server it has
	given map[string]place // its keys
	own   surroundings
}

// surroundings are what the suite says for all surfaces and each for itself.
type surroundings struct {
	sandbox *Sandbox
	effects *[]Effect
}

// or is what they are, and what others are where they say nothing.
func (s surroundings) or(others surroundings) surroundings {
	if s.sandbox == nil {
		s.sandbox = others.sandbox
	}
	if s.effects == nil {
		s.effects = others.effects
	}
	return s
}

var surfaceFields = table[writtenSurface]{
	yamlfile.Optional("mcp", func(r *reader, p place, s *writtenSurface) { s.Server = r.server(p) }),
	yamlfile.Optional("surface", func(r *reader, p place, s *writtenSurface) { s.over, _ = r.Filled(p, "the name of a surface") }),
	yamlfile.Optional("contract", func(r *reader, p place, s *writtenSurface) { s.Contract = r.Existing(p) }),
	yamlfile.Optional("sandbox", func(r *reader, p place, s *writtenSurface) { s.own.sandbox = r.sandbox(p) }),
	yamlfile.Optional("effects", func(r *reader, p place, s *writtenSurface) { s.own.effects = r.effects(p) }),
}

var sandboxFields = table[Sandbox]{
	yamlfile.Optional("seed", func(r *reader, p place, s *Sandbox) { s.Seed = r.seed(p) }),
}

func (r *reader) surfaces(p place) (surfaces []writtenSurface, all bool) {
	members, ok := r.Members(p)
	if ok && len(members) == 0 {
		r.Fault(p, "must name at least one surface")
	}
	for _, m := range members {
		if !surfaceName().MatchString(m.Name) {
			r.Fault(m.Key, "must be a name of 1 to 64 letters, digits and . _ -")
		}
		s := writtenSurface{at: m.Value}
		s.Name = m.Name
		if s.given, ok = yamlfile.ObjectSuch(r, m.Value, "{mcp: {command: [npx, -y, a-server]}}", surfaceFields, &s); ok {
			r.served(s)
		} else {
			s.own.effects = new([]Effect) // one fault is enough
		}
		surfaces = append(surfaces, s)
	}
	return surfaces, len(members) > 0 && p.Whole()
}

// served checks that a surface has a server in one way.
func (r *reader) served(s writtenSurface) {
	_, mcp := s.given["mcp"]
	over, named := s.given["surface"]
	_, contract := s.given["contract"]
	switch {
	case mcp && named:
		r.Fault(over, "may not stand beside mcp")
	case !mcp && !named && contract && s.at.Whole():
		r.Fault(s.at.Member("mcp"), "missing; a contract stands over mcp, or over surface: NAME")
	case !mcp && !named && s.at.Whole():
		r.Fault(s.at.Member("mcp"), "missing; in its place, a contract may stand over the server of another surface")
	case named && !contract:
		r.Fault(over, "needs a contract beside it: else it is the same surface again")
	}
}

// resolved gives a surface the server of the one that it names, and of what
// surrounds it what it has of its own, else what that one has, else the suite.
func (r *reader) resolved(s writtenSurface, seen map[string]place, w *written) Surface {
	around := s.own
	if _, named := s.given["surface"]; named {
		if base := r.base(s, w); base != nil {
			s.Server = base.Server
			around = around.or(base.own)
		} else {
			around = around.or(surroundings{effects: new([]Effect)}) // one fault is enough
		}
	}
	around = around.or(w.shared)
	if around.sandbox != nil {
		s.Sandbox = *around.sandbox
	}
	switch _, given := seen["effects"]; {
	case around.effects != nil:
		s.Effects = *around.effects
	case !given:
		r.Fault(s.at.Member("effects"), "missing, here and for the whole suite: it says how side effects are counted, and [] counts none")
	}
	return s.Surface
}

// base finds the surface whose server another has. It is nil where there is a
// fault.
func (r *reader) base(s writtenSurface, w *written) *writtenSurface {
	at, name := s.given["surface"], s.over
	if name == "" {
		return nil
	}
	var bases []string
	for i := range w.surfaces {
		other := &w.surfaces[i]
		_, named := other.given["surface"]
		_, contract := other.given["contract"]
		switch {
		case other.Name != name:
			if !named && !contract {
				bases = append(bases, other.Name)
			}
		case name == s.Name:
			r.Fault(at, "names itself; name the surface that has the server")
			return nil
		case named:
			r.Fault(at, "has the server of a surface itself; name that one")
			return nil
		case contract:
			r.Fault(at, "has a contract, and none is laid over another; give the server a surface without one, and name that")
			return nil
		default:
			return other
		}
	}
	if w.all {
		reason := "no such surface"
		if len(bases) > 0 {
			reason += yamlfile.Instead(at.Written(), bases, "the surfaces with a server and no contract are")
		}
		r.Fault(at, reason)
	}
	return nil
}

func (r *reader) sandbox(p place) *Sandbox {
	s := new(Sandbox)
	yamlfile.ObjectSuch(r, p, "{seed: a-folder}", sandboxFields, s)
	return s
}
