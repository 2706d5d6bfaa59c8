package yamlfile

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
	Field  string // such as surfaces.before.mcp.command[0]; empty for the whole file, and then not told
	Reason string
}

func (f Fault) String() string {
	if f.Field == "" {
		return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Reason)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Field, f.Reason)
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

// Fault notes what is wrong at a place.
func (r *Reader) Fault(p Place, reason string) {
	r.faults = append(r.faults, Fault{r.File, p.node.Line, p.node.Column, p.path, reason})
}

// Invalid returns nil, or an [*Invalid] with the faults so far.
func (r *Reader) Invalid() error {
	if len(r.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(r.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Field, b.Field))
	})
	return &Invalid{r.faults[:min(len(r.faults), MaxFaults)], len(r.faults)}
}
