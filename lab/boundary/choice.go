package boundary

import "strings"

// choices remembers every choice of one attempt to build a value: a branch of
// an anyOf, a type of several, an example. After a failed attempt the choices
// near the failure are moved on, like the wheels of a counter: the last first.
type choices struct {
	picked map[string]int // by key; 0 where there is nothing
	met    []choice       // of this attempt, in order
	moved  map[string]bool
}

type choice struct {
	place string // JSON Pointer into the data
	key   string
	of    int
}

func newChoices() *choices {
	return &choices{picked: make(map[string]int)}
}

// begin starts another attempt.
func (c *choices) begin() {
	c.met = c.met[:0]
	c.moved = make(map[string]bool)
}

// choose returns an index below of. The label is one of the place's own.
func (c *choices) choose(place, label string, of int) int {
	if of < 2 {
		return 0
	}
	key := place + "\x00" + label
	if c.picked[key] >= of {
		c.picked[key] = 0 // it was another choice when that was picked
	}
	c.met = append(c.met, choice{place, key, of})
	return c.picked[key]
}

// advance moves on to the next choice that can put a place right: of those at
// or below it, else of those at the places around it. It reports whether there
// was one.
func (c *choices) advance(place string) bool {
	if c.step(func(p string) bool { return within(p, place) }) {
		return true
	}
	for place != "" {
		place = place[:strings.LastIndexByte(place, '/')]
		if c.step(func(p string) bool { return p == place }) {
			return true
		}
	}
	return false
}

func (c *choices) step(near func(place string) bool) bool {
	for i := len(c.met) - 1; i >= 0; i-- {
		m := c.met[i]
		if !near(m.place) {
			continue
		}
		if c.moved[m.key] {
			return true // another fault of this attempt has moved it
		}
		if c.picked[m.key]+1 >= m.of {
			continue
		}
		c.picked[m.key]++
		c.moved[m.key] = true
		for _, later := range c.met[i+1:] {
			if later.key != m.key && !c.moved[later.key] && within(later.place, m.place) {
				delete(c.picked, later.key)
			}
		}
		return true
	}
	return false
}

func within(place, outer string) bool {
	return strings.HasPrefix(place, outer) && (len(place) == len(outer) || place[len(outer)] == '/')
}
