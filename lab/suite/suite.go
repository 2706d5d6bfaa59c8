// Package suite reads the suite file, lab.yaml: which MCP servers are graded,
// on which cases, and how their side effects are counted. It also reads the
// usual configuration of an MCP client.
//
// Start with [Read]. Its error is an [*yamlfile.Invalid] that lists everything that is
// wrong with the file, each with its line and column. [ReadClientConfig] takes
// one server from a client's file and [ParseEffect] reads a flag.
//
// How YAML is read, and what of it is not, is said in lab/yamlfile.
//
// One invariant: no fault tells what a variable was expanded to, nor anything
// of a value of env or headers. What the environment and those hold may be
// secret, and faults end in logs.
//
// It starts nothing and opens nothing but the file itself; of the files that it
// names it asks only whether they are there.
//
// # Decisions
//
// With more than one surface, both baseline and candidate are named: which of two
// is the better known is not for a program to guess. Effects have to be named
// too, as a lab that counts none would call every write harmless; an empty list
// says so on purpose.
package suite

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentlab/lab/yamlfile"
)

// DefaultFile is the suite file that is read where none is named.
const DefaultFile = "lab.yaml"

// Schema is the JSON Schema (draft-07) of the suite file.
//
//go:embed suite.schema.json
var Schema []byte

// The bounds of Suite.Timeout, and its default.
const (
	MinTimeout     = time.Millisecond
	MaxTimeout     = 10 * time.Minute
	DefaultTimeout = 10 * time.Second
)

// Suite is what a suite file says.
type Suite struct {
	Surfaces  []Surface     // one or more, sorted by name
	Baseline  string        // the name of a surface; "" where one is graded alone
	Candidate string        // the name of another surface, which is graded
	Cases     []string      // files that exist, in the order of their patterns, sorted within one
	Isolation Isolation     // how long a server lives
	Timeout   time.Duration // of a start, and of each call
}

// Surface returns the surface of a name.
func (s *Suite) Surface(name string) (Surface, bool) {
	for _, surface := range s.Surfaces {
		if surface.Name == name {
			return surface, true
		}
	}
	return Surface{}, false
}

// Isolation says how long a server lives.
type Isolation string

const (
	PerCase  Isolation = "case"  // a fresh server for every case
	PerSuite Isolation = "suite" // one server for all; only the sandbox is reset
)

// Surface is one server with what surrounds it.
type Surface struct {
	Name    string
	Server  Server
	Sandbox Sandbox
	Effects []Effect // in the order of the file; none where nothing is counted
}

// Sandbox is the folder that [SandboxVariable] stands for.
type Sandbox struct {
	Seed string // the folder that it is a copy of; "" for an empty one
}

// surfaceName is the form of a surface's name.
var surfaceName = yamlfile.Grammar(`^[A-Za-z0-9._-]{1,64}$`)

// Read reads the suite file at path. Variables are looked up by env. The error
// is an [*yamlfile.Invalid], or that of a file that cannot be read.
func Read(path string, env func(string) (string, bool)) (*Suite, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("read the suite file: %w", err)
	}
	r := newReader(path, filepath.Dir(path), env)
	s := r.suite(text)
	if err := r.Invalid(); err != nil {
		return nil, err
	}
	return s, nil
}

// written is a suite as it stands in the file.
type written struct {
	surfaces []writtenSurface
	all      bool // every key of the surfaces is among them
	suite    Suite
	shared   surroundings
}

type writtenSurface struct {
	at place
	Surface
	own surroundings
}

// surroundings are what the suite says for all surfaces and each for itself.
type surroundings struct {
	sandbox *Sandbox
	effects *[]Effect
}

var suiteFields = table[written]{
	yamlfile.Required("version", func(r *reader, p place, w *written) { r.Version(p) }),
	yamlfile.Required("surfaces", func(r *reader, p place, w *written) { w.surfaces, w.all = r.surfaces(p) }),
	yamlfile.Optional("baseline", func(r *reader, p place, w *written) { w.suite.Baseline, _ = r.Filled(p, "the name of a surface") }),
	yamlfile.Optional("candidate", func(r *reader, p place, w *written) { w.suite.Candidate, _ = r.Filled(p, "the name of a surface") }),
	yamlfile.Required("cases", func(r *reader, p place, w *written) { w.suite.Cases = r.cases(p) }),
	yamlfile.Optional("sandbox", func(r *reader, p place, w *written) { w.shared.sandbox = r.sandbox(p) }),
	yamlfile.Optional("effects", func(r *reader, p place, w *written) { w.shared.effects = r.effects(p) }),
	yamlfile.Optional("isolation", func(r *reader, p place, w *written) { w.suite.Isolation = r.isolation(p) }),
	yamlfile.Optional("timeout", func(r *reader, p place, w *written) { w.suite.Timeout = r.timeout(p) }),
}

var surfaceFields = table[writtenSurface]{
	yamlfile.Required("mcp", func(r *reader, p place, s *writtenSurface) { s.Server = r.server(p) }),
	yamlfile.Optional("sandbox", func(r *reader, p place, s *writtenSurface) { s.own.sandbox = r.sandbox(p) }),
	yamlfile.Optional("effects", func(r *reader, p place, s *writtenSurface) { s.own.effects = r.effects(p) }),
}

var sandboxFields = table[Sandbox]{
	yamlfile.Optional("seed", func(r *reader, p place, s *Sandbox) { s.Seed = r.seed(p) }),
}

func (r *reader) suite(text []byte) *Suite {
	root, ok := r.Document(text)
	if !ok {
		return nil
	}
	w := written{suite: Suite{Isolation: PerCase, Timeout: DefaultTimeout}}
	seen, ok := yamlfile.Object(r, root, suiteFields, &w)
	if !ok {
		return nil
	}
	for _, s := range w.surfaces {
		w.suite.Surfaces = append(w.suite.Surfaces, r.surrounded(s, seen, w.shared))
	}
	slices.SortFunc(w.suite.Surfaces, func(a, b Surface) int { return strings.Compare(a.Name, b.Name) })
	if w.all {
		r.compared(root, seen, &w.suite)
	}
	return &w.suite
}

// surrounded gives a surface what it has of its own, else what the suite has.
func (r *reader) surrounded(s writtenSurface, seen map[string]place, shared surroundings) Surface {
	switch {
	case s.own.sandbox != nil:
		s.Sandbox = *s.own.sandbox
	case shared.sandbox != nil:
		s.Sandbox = *shared.sandbox
	}
	switch _, given := seen["effects"]; {
	case s.own.effects != nil:
		s.Effects = *s.own.effects
	case shared.effects != nil:
		s.Effects = *shared.effects
	case !given:
		r.Fault(s.at.Member("effects"), "missing, here and for the whole suite: it says how side effects are counted, and [] counts none")
	}
	return s.Surface
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
		if _, ok := yamlfile.Object(r, m.Value, surfaceFields, &s); !ok {
			s.own.effects = new([]Effect) // one fault is enough
		}
		surfaces = append(surfaces, s)
	}
	return surfaces, len(members) > 0 && yamlfile.Whole(p, members)
}

// compared finds out which surfaces are compared, or which one stands alone.
func (r *reader) compared(root place, seen map[string]place, s *Suite) {
	var names []string
	for _, surface := range s.Surfaces {
		names = append(names, surface.Name)
	}
	known := true
	for _, role := range []struct{ key, name string }{{"baseline", s.Baseline}, {"candidate", s.Candidate}} {
		at, given := seen[role.key]
		switch {
		case !given && len(names) > 1:
			r.Fault(root.Member(role.key), "missing: with more than one surface, both baseline and candidate are named")
			known = false
		case given && role.name != "" && !slices.Contains(names, role.name):
			r.Fault(at, "no such surface"+yamlfile.Instead(at.Written(), names, "the surfaces are"))
			known = false
		}
	}
	_, baseline := seen["baseline"]
	switch {
	case !known:
	case baseline && len(names) == 1:
		r.Fault(seen["baseline"], "there is only one surface, and nothing to compare it with; leave it out")
	case s.Candidate == "":
		s.Candidate = names[0]
	case s.Baseline == s.Candidate:
		r.Fault(seen["candidate"], "must be another surface than the baseline")
	}
}

func (r *reader) isolation(p place) Isolation {
	text, ok := r.Text(p, yamlfile.WithoutSandbox)
	switch given := Isolation(text); {
	case !ok:
	case given == PerCase || given == PerSuite:
		return given
	default:
		r.Fault(p, fmt.Sprintf("must be %q or %q", PerCase, PerSuite))
	}
	return PerCase
}

func (r *reader) timeout(p place) time.Duration {
	timeout, _ := r.Duration(p, MinTimeout, MaxTimeout, "from 1ms to 10m, such as 10s")
	return timeout
}

func (r *reader) sandbox(p place) *Sandbox {
	s := new(Sandbox)
	yamlfile.Object(r, p, sandboxFields, s)
	return s
}
