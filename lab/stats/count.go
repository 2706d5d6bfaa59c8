package stats

import (
	"cmp"
	"maps"
	"slices"

	"agentlab/lab/tool"
)

// maxName is how many bytes of a name are told.
const maxName = 256

// Counts counts names. Over [MaxNames] they are counted as [Others].
type Counts struct {
	of map[string]int
}

// Count is how often a name was counted.
type Count struct {
	Name string
	N    int
}

func (c *Counts) add(name string) {
	if c.of == nil {
		c.of = make(map[string]int)
	}
	name = tool.Cut(name, maxName)
	if _, known := c.of[name]; !known && len(c.of) >= MaxNames {
		name = Others
	}
	c.of[name]++
}

// List is the most frequent first, and of equals by their names.
func (c *Counts) List() []Count {
	all := make([]Count, 0, len(c.of))
	for _, name := range slices.Sorted(maps.Keys(c.of)) {
		all = append(all, Count{name, c.of[name]})
	}
	slices.SortStableFunc(all, func(a, b Count) int { return cmp.Compare(b.N, a.N) })
	return all
}

// Total is how often anything was counted.
func (c *Counts) Total() (n int) {
	for _, m := range c.of {
		n += m
	}
	return n
}

// MaxValues is how many different values a histogram holds as they are.
const MaxValues = 4096

// Histogram holds values that are not negative. Where there are more different ones
// than MaxValues, all are rounded up to a multiple of the smallest power of two that
// makes them few enough; the largest is known in any case.
type Histogram struct {
	of    map[int64]int
	shift uint
	n     int
	max   int64
}

// maxValue is what larger values are taken for; no size and no time comes near to it.
const maxValue = 1 << 60

// Add counts a value.
func (h *Histogram) Add(value int64) {
	value = min(max(value, 0), maxValue)
	if h.of == nil {
		h.of = make(map[int64]int)
	}
	h.n++
	h.max = max(h.max, value)
	h.of[rounded(value, h.shift)]++
	for len(h.of) > MaxValues {
		h.shift++
		coarse := make(map[int64]int, len(h.of))
		for v, n := range h.of {
			coarse[rounded(v, h.shift)] += n
		}
		h.of = coarse
	}
}

// rounded rounds up to a multiple of 2^shift.
func rounded(value int64, shift uint) int64 {
	unit := int64(1) << shift
	return (value + unit - 1) &^ (unit - 1)
}

// N is how many values were counted.
func (h *Histogram) N() int { return h.n }

// Max is the largest value.
func (h *Histogram) Max() int64 { return h.max }

// Resolution is 1 where percentiles are exact; else they are too high by less than it.
func (h *Histogram) Resolution() int64 { return 1 << h.shift }

// Percentile is the smallest value that p of a hundred values do not exceed.
func (h *Histogram) Percentile(p int) int64 {
	rank := max((h.n*p+99)/100, 1)
	for _, v := range slices.Sorted(maps.Keys(h.of)) {
		if rank -= h.of[v]; rank <= 0 {
			return min(v, h.max)
		}
	}
	return h.max
}
