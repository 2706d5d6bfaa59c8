package yamlfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var plainWord = Grammar(`^[A-Za-z0-9_-]{1,80}$`)

// Name is a name as faults tell it: quoted where it is not a plain word,
// and cut where it is long.
func Name(name string) string {
	const longest = 80
	if plainWord().MatchString(name) {
		return name
	}
	if len(name) > longest {
		return strconv.Quote(strings.ToValidUTF8(name[:longest], "")) + "..."
	}
	return strconv.Quote(name)
}

// maxListed is how many names a fault lists.
const maxListed = 20

// Instead ends a reason about a name that is unknown: with the one that was
// meant, or else with those that there are.
func Instead(name string, known []string, lead string) string {
	if meant := nearest(name, known); meant != "" {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	return "; " + lead + " " + Listed(known)
}

// Listed are names in their order, as many as a reader looks through.
func Listed(names []string) string {
	names = slices.Sorted(slices.Values(names))
	rest := ""
	if more := len(names) - maxListed; more > 0 {
		names, rest = names[:maxListed], fmt.Sprintf(" and %d more", more)
	}
	plain := make([]string, len(names))
	for i, name := range names {
		plain[i] = Name(name)
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
