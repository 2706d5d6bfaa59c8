package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/dataset"
	"agentlab/lab/report"
	"agentlab/lab/tool"
)

// wanted counts the cases that call a tool, by its name.
type wanted map[string]int

// add takes the proposals that a case makes of one surface. What a model put out
// is not read for this.
func (w wanted) add(proposals []dataset.Proposal) {
	called := make(map[string]bool)
	for i := range proposals {
		if p := &proposals[i]; p.Setting == nil || p.Raw == nil {
			called[p.Name] = true
		}
	}
	for name := range called {
		w[name]++
	}
}

// maxUnlisted is how many tools are told that are not listed.
const maxUnlisted = 10

// unlisted says which of the wanted tools a surface does not list. A call of one
// is a failure, and where a failure is expected it passes for the wrong reason: it
// may be meant, but most often a name is misspelt or a tool was renamed. That none
// is listed cannot be meant, and is an error.
//
// Of some chosen cases it can.
func (w wanted) unlisted(surface string, definitions []tool.Definition, chosen bool) (notice string, err error) {
	listed := make([]string, len(definitions))
	for i, d := range definitions {
		listed[i] = d.Name
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(w)) {
		if !slices.Contains(listed, name) {
			missing = append(missing, fmt.Sprintf("%s (%s)", shownName(name), report.Counted(w[name], "case")))
		}
	}
	switch {
	case len(missing) == 0:
		return "", nil
	case len(listed) == 0:
		return surface + " lists no tools, and cases call some", nil
	case len(missing) == len(w) && !chosen:
		slices.Sort(listed)
		return "", usageError(fmt.Errorf("no case calls a tool that %s lists; it lists %s", surface, strings.Join(first(listed, maxUnlisted), ", ")))
	}
	return fmt.Sprintf("%s does not list what cases call: %s", surface, strings.Join(first(missing, maxUnlisted), ", ")), nil
}

// shownName is a name as a sentence can hold it: one that may be nothing to see is
// quoted.
func shownName(name string) string {
	if name == "" || strings.TrimSpace(name) != name {
		return strconv.Quote(name)
	}
	return name
}

// first cuts a list to so many, and says how many more there are.
func first(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}
