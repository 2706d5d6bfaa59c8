package suite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxFaults is how many faults are told one by one.
const MaxFaults = 50

// Fault is one thing that is wrong with a file.
type Fault struct {
	File   string // as its path was given
	Line   int    // counted from 1
	Column int    // counted from 1, in characters
	Field  string // such as surfaces.before.mcp.command[0]; empty for the whole file
	Reason string
}

func (f Fault) String() string {
	field := f.Field
	if field == "" {
		field = "file"
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, field, f.Reason)
}

// Invalid is the error of a file with faults: the first MaxFaults of them, in
// the order of their places, and how many there are.
type Invalid struct {
	Faults []Fault
	Total  int
}

func (e *Invalid) Error() string {
	var text strings.Builder
	for i, f := range e.Faults {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(f.String())
	}
	if more := e.Total - len(e.Faults); more > 0 {
		fmt.Fprintf(&text, "\nand %d more", more)
	}
	return text.String()
}

func (r *reader) fault(p place, reason string) {
	r.faults = append(r.faults, Fault{r.file, p.node.Line, p.node.Column, p.path, reason})
}

// invalid returns nil, or an [*Invalid] with the faults so far.
func (r *reader) invalid() error {
	if len(r.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(r.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Field, b.Field))
	})
	return &Invalid{r.faults[:min(len(r.faults), MaxFaults)], len(r.faults)}
}

// maxListed is how many names a fault lists.
const maxListed = 20

// instead ends a reason about a name that is unknown: with the one that was
// meant, or else with those that there are.
func instead(name string, known []string, lead string) string {
	if meant := nearest(name, known); meant != "" {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	return "; " + lead + " " + listed(known)
}

// listed are names in their order, as many as a reader looks through.
func listed(names []string) string {
	names = slices.Sorted(slices.Values(names))
	rest := ""
	if more := len(names) - maxListed; more > 0 {
		names, rest = names[:maxListed], fmt.Sprintf(" and %d more", more)
	}
	plain := make([]string, len(names))
	for i, name := range names {
		plain[i] = plainName(name)
	}
	return strings.Join(plain, ", ") + rest
}

// nearest returns the known name that a misspelt one is near to, or "".
func nearest(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		// A third of the letters may be wrong, and two at most.
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least && 3*d <= len(k) {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to add, remove, replace or swap with the next
// (optimal string alignment). Of long names it only says that they are far.
func distance(a, b string) int {
	const long = 64
	if len(a) > long || len(b) > long {
		return long
	}
	var before, last []int
	for i := range len(a) + 1 {
		row := make([]int, len(b)+1)
		for j := range row {
			switch {
			case i == 0 || j == 0:
				row[j] = i + j
				continue
			case a[i-1] == b[j-1]:
				row[j] = last[j-1]
			default:
				row[j] = 1 + min(last[j-1], last[j], row[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], 1+before[j-2])
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
