// Package stats counts what recorded runs show of the calls in them: how many there
// were and succeeded, what refused them, which arguments were invalid, how large the
// outputs were and how long the calls took.
//
// Start with [New]; every stream is begun with [Stats.Begin].
//
// One invariant: what is held does not grow with the number of runs, and what is told
// does not depend on their order. A histogram is bounded by [MaxValues]; over it values
// are rounded up, and that is told. Groups are bounded by [MaxGroups], and a list of a
// group by [MaxNames]: what comes after those is counted as [Others], where the order
// does tell.
//
// The package reads no file and renders nothing. It judges nothing either: whether a
// case passed is lab/eval's.
package stats

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

const (
	// MaxGroups is how many groups are told apart.
	MaxGroups = 10000
	// MaxNames is how many names a list of a group has.
	MaxNames = 1000
)

// Others stands for all names that there was no room for.
const Others = "(others)"

// Unreadable stands for the tool of a proposal that could not be read.
const Unreadable = "(unreadable)"

// Dimension is what calls can be told apart by.
type Dimension string

const (
	Surface Dimension = "surface"
	Tool    Dimension = "tool"
	Version Dimension = "version" // of the tool's contract, where the surface knows it
	Caller  Dimension = "caller"
)

// Dimensions are all of them, in the order in which a group has them.
func Dimensions() []Dimension { return []Dimension{Surface, Tool, Version, Caller} }

// Key is what the calls of a group have in common. What they are not told apart by,
// or what is not known, is empty.
type Key struct{ Surface, Tool, Version, Caller string }

// Of returns the part of a key.
func (k Key) Of(d Dimension) string {
	switch d {
	case Surface:
		return k.Surface
	case Tool:
		return k.Tool
	case Version:
		return k.Version
	default:
		return k.Caller
	}
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Surface, b.Surface), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Caller, b.Caller))
}

// Group counts calls. Each attempt is one.
type Group struct {
	Key
	Calls     int
	Succeeded int
	Replayed  int // with the result of an earlier call
	Unread    int // proposals that could not be read, and so led to no call
	Timeouts  int
	// BudgetStops are calls that were refused as the budget was used up.
	BudgetStops int
	Refusals    Counts // by control
	Invalid     int    // calls with invalid arguments
	// Properties are those that were invalid, each with the keyword that it broke;
	// what a call did wrong is known of the last attempt alone.
	Properties  Counts
	OutputBytes Histogram // of the calls that succeeded
	LatencyMS   Histogram // of the calls on a simulated clock
}

// Stats is what was counted so far.
type Stats struct {
	by       []Dimension
	groups   map[Key]*Group
	versions map[string]map[string]string // of the stream, by surface and tool

	Streams     int
	Runs        int // that came to their end
	CouldNotRun int
	Todo        int
}

// New starts to count, by dimensions.
func New(by []Dimension) *Stats {
	return &Stats{by: by, groups: make(map[Key]*Group)}
}

// By is what calls are told apart by, in the order of [Dimensions].
func (s *Stats) By() []Dimension {
	return slices.DeleteFunc(Dimensions(), func(d Dimension) bool { return !slices.Contains(s.by, d) })
}

// Begin begins a stream.
func (s *Stats) Begin(c *eval.Comparison) {
	s.Streams++
	s.versions = make(map[string]map[string]string, 2)
	for _, summary := range []*eval.Summary{c.Baseline, &c.Candidate} {
		if summary == nil {
			continue
		}
		of := make(map[string]string, len(summary.Tools))
		for _, t := range summary.Tools {
			of[t.Name] = t.Version
		}
		s.versions[summary.Strategy] = of
	}
}

// Add counts the runs of a case. The calls of a run that could not come to its end
// are counted as far as they did.
func (s *Stats) Add(pair *eval.Pair) {
	for _, run := range pair.Runs() {
		switch {
		case run.Case.Todo != "":
			s.Todo++
			continue
		case run.Unavailable != nil:
			s.CouldNotRun++
		default:
			s.Runs++
		}
		proposals := run.Case.Candidate
		if run == pair.Baseline {
			proposals = run.Case.Baseline
		}
		for i := range run.Steps {
			if i < len(proposals) {
				s.step(run, &run.Steps[i], &proposals[i])
			}
		}
	}
}

func (s *Stats) step(run *eval.Run, step *eval.Step, p *dataset.Proposal) {
	call, refused := eval.ReadProposal(p)
	if refused != nil {
		call.Name = Unreadable
	}
	caller := eval.ActorID
	if p.Setting != nil && p.Caller != nil {
		caller = p.Caller.ID
	}
	g := s.group(Key{run.Strategy, call.Name, s.versions[run.Strategy][call.Name], caller})
	if step.Malformed {
		g.Unread++
		return
	}
	for i := range step.Attempts {
		if i < len(step.Attempts)-1 {
			g.add(&step.Attempts[i].Result)
		}
	}
	g.add(&step.Result)
	if run.Case.Stage != nil && !step.Observed() {
		g.LatencyMS.Add(step.Took.Milliseconds())
	}
}

// group is that of a call, without what calls are not told apart by.
func (s *Stats) group(of Key) *Group {
	key := s.only(of)
	g := s.groups[key]
	if g == nil && len(s.groups) >= MaxGroups {
		key = s.only(Key{Others, Others, Others, Others})
		g = s.groups[key]
	}
	if g == nil {
		g = &Group{Key: key}
		s.groups[key] = g
	}
	return g
}

func (s *Stats) only(of Key) (key Key) {
	for _, d := range s.by {
		switch d {
		case Surface:
			key.Surface = tool.Cut(of.Surface, maxName)
		case Tool:
			key.Tool = tool.Cut(of.Tool, maxName)
		case Version:
			key.Version = tool.Cut(of.Version, maxName)
		case Caller:
			key.Caller = tool.Cut(of.Caller, maxName)
		}
	}
	return key
}

// Groups are sorted by what they have in common.
func (s *Stats) Groups() []*Group {
	return slices.SortedFunc(maps.Values(s.groups), func(a, b *Group) int { return compareKeys(a.Key, b.Key) })
}

func (g *Group) add(result *tool.Result) {
	g.Calls++
	if result.Replayed {
		g.Replayed++
	}
	if control := result.Trace.RefusedBy(); control != "" {
		g.Refusals.add(control)
	}
	if result.OK() {
		g.Succeeded++
		size := len(result.Output)
		if result.Reply != nil {
			size = result.Reply.Bytes
		}
		g.OutputBytes.Add(int64(size))
		return
	}
	switch result.Error.Code {
	case tool.ToolTimeout:
		g.Timeouts++
	case tool.BudgetExhausted:
		g.BudgetStops++
	case tool.InvalidArguments:
		g.Invalid++
		for _, property := range properties(result.Error.Details) {
			g.Properties.add(property)
		}
	}
}

// properties are the places that the details of an error name, each once.
func properties(details json.RawMessage) []string {
	var told struct {
		Violations []tool.Violation `json:"violations"`
	}
	if json.Unmarshal(details, &told) != nil {
		return nil
	}
	var all []string
	for _, v := range told.Violations[:min(len(told.Violations), MaxNames)] {
		name := v.Pointer
		if quoted, ok := strings.CutPrefix(v.Message, "property "); ok && (v.Keyword == "required" || v.Keyword == "additionalProperties") {
			// These are told of the object that has the property, or lacks it.
			if prefix, err := strconv.QuotedPrefix(quoted); err == nil {
				if property, err := strconv.Unquote(prefix); err == nil {
					name += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(property)
				}
			}
		}
		all = append(all, name+" "+v.Keyword)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
