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
//
// A surface names a contract file, which lab/overlay reads, or has none. Behind a
// contract it may have the server of another surface, so that a server and the
// same server behind its contract stand in one file and the server is written
// once; what it does not say itself of sandbox and effects is then that surface's,
// else the two could not be compared. Only a surface with a server and without a
// contract is named so: of more there would be a contract behind a contract, or
// a doubt whether there is.
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
		w.suite.Surfaces = append(w.suite.Surfaces, r.resolved(s, seen, &w))
	}
	slices.SortFunc(w.suite.Surfaces, func(a, b Surface) int { return strings.Compare(a.Name, b.Name) })
	if w.all {
		r.compared(root, seen, &w.suite)
	}
	return &w.suite
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
