package pin

import (
	"maps"
	"slices"
	"strconv"

	"agentlab/lab/jsonvalue"
)

// differences compares two canonical JSON texts by their parts.
func differences(before, after string) []Difference {
	a, errA := jsonvalue.Decode([]byte(before))
	b, errB := jsonvalue.Decode([]byte(after))
	if errA != nil || errB != nil {
		return []Difference{{Old: before, New: after}}
	}
	return compare(nil, "", a, b)
}

func compare(found []Difference, at string, a, b any) []Difference {
	switch was := a.(type) {
	case object:
		if is, ok := b.(object); ok {
			return compareMembers(found, at, was, is)
		}
	case []any:
		if is, ok := b.([]any); ok {
			return compareItems(found, at, was, is)
		}
	}
	if before, after := written(a), written(b); before != after {
		found = append(found, Difference{at, before, after})
	}
	return found
}

func written(value any) string { return string(jsonvalue.AppendCanonical(nil, value)) }

func compareMembers(found []Difference, at string, a, b object) []Difference {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := a[name]
		is, has := b[name]
		below := at + "/" + jsonvalue.Token(name)
		switch {
		case !had:
			found = append(found, Difference{Pointer: below, New: written(is)})
		case !has:
			found = append(found, Difference{Pointer: below, Old: written(was)})
		default:
			found = compare(found, below, was, is)
		}
	}
	return found
}

// compareItems leaves out what two arrays begin and end with, so that an item
// that came or went does not move all after it.
func compareItems(found []Difference, at string, a, b []any) []Difference {
	was, is := make([]string, len(a)), make([]string, len(b))
	for i, item := range a {
		was[i] = written(item)
	}
	for i, item := range b {
		is[i] = written(item)
	}
	first := 0
	for first < min(len(a), len(b)) && was[first] == is[first] {
		first++
	}
	last := 0
	for last < min(len(a), len(b))-first && was[len(a)-1-last] == is[len(b)-1-last] {
		last++
	}
	for i := first; i < max(len(a), len(b))-last; i++ {
		below := at + "/" + strconv.Itoa(i)
		switch {
		case i >= len(a)-last:
			found = append(found, Difference{Pointer: below, New: is[i]})
		case i >= len(b)-last:
			found = append(found, Difference{Pointer: below, Old: was[i]})
		default:
			found = compare(found, below, a[i], b[i])
		}
	}
	return found
}
