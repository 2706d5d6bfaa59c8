// Package mutation asks whether a gate would notice: it weakens the registry of a
// surface in one place at a time, replays the cases of the surface, and writes down
// which case and which grader noticed.
//
// Start with Run. Operators are the ways of weakening, as data; Mutants are
// what they make of one surface.
//
// One invariant: a mutant is killed by a case that passes on the surface itself and
// not on the mutant, and by nothing else.
//
// A case that panics on a mutant, or could not run there, has not passed either, and
// says so in place of the graders. One that never ends is a timeout.
//
// The package changes no source and no file: a mutant is a [registry.Variant], made
// of the registry's own list of controls, of contracts and of what stands behind
// them.
package mutation

import (
	"agentlab/lab/registry"
)

// Subject is a surface behind a registry whose parts can be exchanged.
type Subject = registry.Varied

// Mutant is one weakened registry.
type Mutant struct {
	// ID names it in every report and in waivers, the same in every run:
	// OPERATOR, OPERATOR/TOOL or OPERATOR/TOOL/PLACE. Where the operator is of every
	// control, the control stands in the place of the tool.
	ID       string `json:"id"`
	Operator string `json:"operator"`
	Control  string `json:"control"`         // the one that is weakened
	Tool     string `json:"tool,omitempty"`  // whose contract is; empty: every one
	Place    string `json:"place,omitempty"` // in a schema or a contract
	Does     string `json:"does"`            // what is weaker, as one plain sentence
	// Unchecked says, as one plain sentence, which behaviour nobody checks where the
	// mutant survives.
	Unchecked string `json:"unchecked"`
}

// Status is what became of a mutant.
type Status string

const (
	Killed     Status = "killed"      // some case fails on it
	Survived   Status = "survived"    // every case passes on it
	NoCoverage Status = "no_coverage" // it survived, and no case reaches what is weakened
	TimedOut   Status = "timeout"     // a case did not end on it, which somebody would notice
	Refused    Status = "refused"     // the registry takes no such contract, and says so
	Equivalent Status = "equivalent"  // it survived, and a waiver says why no case could notice
)

// Noticed reports whether somebody would notice the mutant.
func (s Status) Noticed() bool { return s == Killed || s == TimedOut || s == Refused }

// Kill is a case that fails on a mutant.
type Kill struct {
	Case    string   `json:"case"`
	Graders []string `json:"graders"` // that fail, in the order of reports
}

// Outcome is what became of one mutant.
type Outcome struct {
	Mutant
	Status Status `json:"status"`
	// Kills are the first case that noticed, or all of them in a full run; in the
	// order of the cases.
	Kills []Kill `json:"kills"`
	// Reached counts the cases that reach what is weakened, on the surface itself.
	Reached int    `json:"reached"`
	Reason  string `json:"reason,omitempty"` // of the waiver
	// Suggested is the id of a generated case that would kill a survivor, where one
	// was looked for and found.
	Suggested string `json:"suggested_case,omitempty"`
}

// Score counts the mutants of one control, or all of them.
type Score struct {
	Control    string `json:"control,omitempty"` // empty: all
	Mutants    int    `json:"mutants"`
	Noticed    int    `json:"noticed"`
	Survived   int    `json:"survived"` // without those that no case reaches
	NoCoverage int    `json:"no_coverage"`
	Equivalent int    `json:"equivalent"`
}

// Share is the part of the mutants that are not equivalent which was noticed; ok is
// false where there are none.
func (s Score) Share() (share float64, ok bool) {
	judged := s.Mutants - s.Equivalent
	if judged == 0 {
		return 0, false
	}
	return float64(s.Noticed) / float64(judged), true
}

// Matrix is what became of every mutant of a surface.
type Matrix struct {
	Surface string   // its name
	Cases   []string // that were replayed, in their order
	LeftOut []string // that do not pass on the surface itself, and so cannot notice
	Full    bool     // every case was replayed on every mutant
	// Selection are the patterns that restricted the mutants; nil where there are all.
	Selection []string
	Outcomes  []Outcome // in the order of the controls, of operators and of contracts
	Controls  []Score   // of those that have mutants, in the order in which a call meets them
	Total     Score
	// Idle are the cases that kill no mutant which no other case kills, in a full run:
	// nothing would be lost without any one of them.
	Idle []string
	// Stale are the waivers that excuse nothing: of a mutant that there is not, or
	// that is noticed.
	Stale []Waiver
}

// Waiver says why no case could notice a mutant.
type Waiver struct {
	Mutant string `json:"mutant"`
	Reason string `json:"reason"`
	Line   int    `json:"-"` // in the file that it stands in
	Why    string `json:"why_stale,omitempty"`
}
