package yamlfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/spelling"
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
	if meant := spelling.Nearest(name, known); meant != "" {
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
