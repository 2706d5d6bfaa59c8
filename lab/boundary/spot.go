package boundary

import (
	"maps"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
)

// spot is a place of the data with a valid call that has a value there.
type spot struct {
	site
	base    object
	value   any
	schemas []any
	forks   map[fork][]any // decided on the way here
	full    *demand        // with a choice made at every fork
	parts   []object       // the schemas that hold here, whatever is chosen
	fresh   []object       // those of them that were not looked at here before
	branch  clause         // the fork behind which it lies; zero: none
	pointer string         // where the first schema of it stands
	others  map[kind]*spot
	found   map[string]any // values of properties that it does not have and may have
}

// candidate is a change of one place that is yet to be judged.
type candidate struct {
	at    *spot
	tests clause
	aim   Side
	rank  rank
	words string
	value any
	raw   string // instead of value, the text of it
}

// rank says which candidates are judged first, where not all can be.
type rank uint8

const (
	bound rank = iota
	near
	odd
)

// Limits of a walk.
const (
	maxSpots      = 20_000
	maxCandidates = 400_000
	maxTries      = 30
	maxOpen       = 2 // levels of a schema inside of itself
)

type meeting struct {
	part  identity
	place string
}

// walk visits every place that the schema speaks of and lists what may be said
// there.
type walk struct {
	*check
	rows    *rows
	met     map[meeting]bool
	open    map[identity]int
	outer   map[identity]*spot  // where they were opened first
	located map[string][]object // the schemas that were met, by place of the data
	records []*spot
	list    []candidate
	spots   int
}

func newWalk(c *check) *walk {
	return &walk{check: c, rows: newRows(c.doc), met: make(map[meeting]bool), open: make(map[identity]int), outer: make(map[identity]*spot), located: make(map[string][]object)}
}

func (w *walk) begin(base object) {
	w.visit(&spot{base: base, value: base, schemas: []any{w.doc.root, anObject}})
}

func (w *walk) builder(s *spot) *builder {
	b := newBuilder(w.doc, newChoices(), depths[0])
	b.forks = s.forks
	return b
}

func (w *walk) visit(s *spot) {
	if w.spots++; w.spots > maxSpots || len(w.list) > maxCandidates || w.left <= 0 {
		return
	}
	b := w.builder(s)
	b.bare = true
	sure, err := b.gather(s.place, s.schemas)
	if err != nil {
		return
	}
	if s.full, err = w.builder(s).gather(s.place, s.schemas); err != nil {
		s.full = sure
	}
	s.parts = sure.parts
	for _, part := range s.parts {
		if m := (meeting{identify(part), s.place}); !w.met[m] {
			w.met[m] = true
			s.fresh = append(s.fresh, part)
			if _, stands := w.rows.pointers[identify(part)]; stands {
				w.located[s.place] = append(w.located[s.place], part)
			}
		}
	}
	if len(s.fresh) == 0 {
		if len(s.parts) == 0 && s.pointer != "" {
			w.oddities(s) // anything goes
		}
		return
	}
	s.pointer = w.rows.pointers[identify(s.fresh[0])]
	for _, part := range s.fresh {
		id := identify(part)
		if w.open[id]++; w.open[id] == 1 {
			w.outer[id] = s
		} else {
			w.nest(w.outer[id], s)
		}
	}
	w.keywords(s)
	if s.branch == (clause{}) {
		w.oddities(s)
	}
	if !slices.ContainsFunc(s.fresh, func(part object) bool { return w.open[identify(part)] > maxOpen }) {
		w.inside(s)
	}
	for _, part := range s.fresh {
		w.open[identify(part)]--
	}
}

// nest puts a value that can hold one of its own kind into itself.
func (w *walk) nest(outer, s *spot) {
	slot := s.place[len(outer.place):]
	held, ok := jsonvalue.Find(s.base, outer.place)
	if !ok || slot == "" {
		return
	}
	one := *outer
	one.base, one.value = s.base, held
	nested := held
	for range min(8, deep/strings.Count(slot, "/")) {
		nested = put(held, slot, nested)
	}
	w.add(&one, clause{s.pointer, "", ""}, Inside, near, w.whose(outer)+" has one of its kind inside of itself, several times", nested)
}

// inside visits the members, the items and the branches of a spot.
func (w *walk) inside(s *spot) {
	for _, part := range s.fresh {
		for _, keyword := range []string{"anyOf", "oneOf"} {
			branches, _ := part[keyword].([]any)
			for _, branch := range branches[:min(len(branches), maxBranches)] {
				w.branch(s, part, keyword, []any{branch})
			}
		}
		if condition, ok := part["if"]; ok {
			w.branch(s, part, "if", appendPresent([]any{condition}, part, "then"))
			w.branch(s, part, "if", appendPresent(nil, part, "else"))
		}
	}
	if t := w.as(s, record); t != nil {
		w.members(t)
	}
	if t := w.as(s, array); t != nil {
		w.items(t)
	}
}

// branch visits the same place with one choice decided.
func (w *walk) branch(s *spot, part object, keyword string, schemas []any) {
	t := &spot{site: s.site, base: s.base, schemas: s.schemas, forks: maps.Clone(s.forks)}
	t.branch = clause{w.rows.pointers[identify(part)], keyword, ""}
	if t.forks == nil {
		t.forks = make(map[fork][]any)
	}
	t.forks[fork{s.place, identify(part), keyword}] = schemas
	if w.find(t, t.schemas) {
		if keyword != "if" {
			w.add(t, t.branch, Inside, bound, w.whose(t)+" is of another alternative", t.value)
		}
		w.visit(t)
	}
}

// as is a spot with a value of the type, or nil.
func (w *walk) as(s *spot, want kind) *spot {
	if kindOf(s.value)&want != 0 {
		return s
	}
	if s.full.kinds&want == 0 || !slices.ContainsFunc(s.fresh, func(part object) bool { return speaksOf(part, want) }) {
		return nil
	}
	t, known := s.others[want]
	if !known {
		one := *s
		one.others = nil
		if w.find(&one, append(slices.Clip(s.schemas), object{"type": typeName(want)})) && kindOf(one.value)&want != 0 {
			t = &one
		}
		if s.others == nil {
			s.others = make(map[kind]*spot)
		}
		s.others[want] = t
	}
	return t
}

// speaksOf reports whether a schema has a keyword about values of a type.
func speaksOf(part object, want kind) bool {
	for _, row := range speaks {
		if row.kind&want != 0 && slices.ContainsFunc(row.keywords, func(keyword string) bool { _, ok := part[keyword]; return ok }) {
			return true
		}
	}
	return false
}

func typeName(k kind) string {
	for _, name := range []string{"null", "boolean", "integer", "string", "array", "object"} {
		if kinds[name]&k != 0 {
			return name
		}
	}
	return "number"
}

// find gives a spot a value that is valid there by all the schemas, and reports
// whether there is one.
func (w *walk) find(s *spot, schemas []any) bool {
	options := newChoices()
	for range maxTries {
		options.begin()
		b := newBuilder(w.doc, options, depths[0])
		b.forks = s.forks
		value, err := b.value(s.site, schemas)
		var places []string
		if fault, ok := err.(*Unmet); ok {
			places = []string{fault.Place}
		} else {
			changed, ok := put(s.base, s.place, value).(object)
			if !ok || !w.spend(changed) {
				return false
			}
			found := w.faults(changed)
			if found == nil {
				s.base, s.value = changed, value
				return true
			}
			for _, violation := range found[:min(len(found), maxReport)] {
				places = append(places, violation.Pointer)
			}
		}
		moved := false
		for _, one := range slices.Compact(places) {
			moved = options.advance(one) || moved
		}
		if !moved {
			return false
		}
	}
	return false
}

// wide is what a member or an item of a changed copy takes of the work.
const wide = 8

func (w *walk) add(s *spot, tests clause, aim Side, r rank, words string, value any) {
	switch v := value.(type) {
	case object:
		w.left -= wide * len(v)
	case []any:
		w.left -= wide * len(v)
	}
	if w.left > 0 {
		w.list = append(w.list, candidate{at: s, tests: tests, aim: aim, rank: r, words: words, value: value})
	}
}

// addRaw adds a text that is not what the canonical form of any value is.
func (w *walk) addRaw(s *spot, tests clause, aim Side, words, raw string) {
	w.list = append(w.list, candidate{at: s, tests: tests, aim: aim, rank: odd, words: words, raw: raw})
}

// whose begins the words of a change.
func (w *walk) whose(s *spot) string {
	if s.place == "" {
		return "whose set of arguments"
	}
	return "whose property " + shown(s.place[1:])
}
