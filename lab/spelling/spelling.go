// Package spelling finds the word that a misspelt one was meant to be.
//
// Start with [Nearest], which is all of it: whoever refuses a name tells by it the
// one that was meant.
//
// One invariant: what it returns is one of the words that it was given, or nothing.
//
// It says nothing to anybody: the rooms that read files word their own faults.
package spelling

import "strings"

// Nearest returns the known name that a misspelt one is near to, or "". Of two as
// near it is the first.
func Nearest(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		// A third of the letters may be wrong, and two at most.
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least && 3*d <= len(k) {
			best, least = k, d
		}
	}
	if best == "" {
		return begun(name, known)
	}
	return best
}

// begun returns the one known name that begins as another does, but for its last
// letter, or "". A beginning of a few letters says little.
func begun(name string, known []string) string {
	const telling = 6
	if len(name) <= telling {
		return ""
	}
	found := ""
	for _, k := range known {
		if !strings.HasPrefix(k, name[:len(name)-1]) {
			continue
		}
		if found != "" {
			return ""
		}
		found = k
	}
	return found
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
