package boundary

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// pairwise adds, for every object, calls in which each pair of its optional
// properties is there, not there, and there by halves.
func (w *walk) pairwise(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	for _, s := range w.records {
		must := make(map[string]bool)
		for _, part := range s.full.parts {
			addNames(must, part["required"])
		}
		var names []string
		var values []any
		for _, name := range declared(s.full) {
			if must[name] {
				continue
			}
			value, there := s.value.(object)[name]
			if !there {
				value, there = s.found[name]
			}
			if !there {
				continue
			}
			names, values = append(names, name), append(values, value)
		}
		if len(names) < 2 {
			continue
		}
		least := s.value
		for _, name := range names {
			least = without(least, name)
		}
		rows := pairs(len(names), random)
		for n, row := range rows {
			changed := least
			for i, there := range row {
				if there {
					changed = with(changed, names[i], values[i])
				}
			}
			words := fmt.Sprintf("with row %d of %d of the pairs of the optional properties of %s", n+1, len(rows), placeName(s.place))
			w.add(s, clause{s.pointer, "properties", ""}, Inside, near, words, changed)
		}
	}
}

func placeName(place string) string {
	if place == "" {
		return "its arguments"
	}
	return "its property " + shown(place[1:])
}

// pairs is a smallest table of rows in which every two columns have all four
// combinations of there and not there. The columns are different sets of half
// of the rows but the first, in which nothing is there (Kleitman and Spencer,
// 1973): two such sets have a row in common, and each has one of its own.
func pairs(columns int, random *rand.Rand) [][]bool {
	rows, half := 4, 2
	for choose(rows-1, half) < columns {
		rows++
		half = (rows + 1) / 2
	}
	table := make([][]bool, rows)
	for i := range table {
		table[i] = make([]bool, columns)
	}
	set := make([]int, half) // of 0 to rows-2, in rising order
	for i := range set {
		set[i] = i
	}
	for _, column := range random.Perm(columns) {
		for _, i := range set {
			table[i+1][column] = true
		}
		i := half - 1
		for i >= 0 && set[i] == rows-1-half+i {
			i--
		}
		if i < 0 {
			break
		}
		set[i]++
		for k := i + 1; k < half; k++ {
			set[k] = set[k-1] + 1
		}
	}
	slices.SortStableFunc(table, func(a, b []bool) int { return count(a) - count(b) })
	return table
}

func count(row []bool) int {
	n := 0
	for _, there := range row {
		if there {
			n++
		}
	}
	return n
}

// choose is the binomial coefficient, bounded.
func choose(n, k int) int {
	c := 1
	for i := 1; i <= k; i++ {
		if c = c * (n - k + i) / i; c > 1<<30 {
			return 1 << 30
		}
	}
	return c
}
