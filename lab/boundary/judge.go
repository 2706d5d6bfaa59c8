package boundary

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// tag is a side of one row.
type tag struct {
	row  int
	side Side
}

// judged is a probe, and what it covers.
type judged struct {
	Probe
	tags   []tag
	nth    int // of the candidates
	faults []tool.Violation
}

// judge turns candidates into probes.
type judge struct {
	*walk
	list  []*judged
	told  map[string]*judged // by arguments; nil for those that are left out
	bytes int
}

func newJudge(w *walk, base object) *judge {
	j := &judge{walk: w, told: make(map[string]*judged)}
	root := &spot{base: base, value: base}
	w.list = append(w.list, candidate{at: root, aim: Inside, rank: bound, words: "as the schema describes it", value: base})
	return j
}

// all judges every candidate, the most telling first, as far as the bounds go.
func (j *judge) all() {
	order := make([]int, len(j.walk.list))
	for i := range order {
		order[i] = i
	}
	last := len(order) - 1 // the base call
	slices.SortStableFunc(order, func(a, b int) int {
		if a == last || b == last {
			return cmp.Compare(b, a) // it comes first
		}
		return cmp.Compare(j.walk.list[a].rank, j.walk.list[b].rank)
	})
	for _, i := range order {
		nth := i + 1
		if i == last {
			nth = 0
		}
		j.one(&j.walk.list[i], nth)
	}
	slices.SortFunc(j.list, func(a, b *judged) int { return cmp.Compare(a.nth, b.nth) })
}

// perLook is how many bytes are written in the time that one subschema takes to
// meet a value.
const perLook = 8

// stub stands for a value whose text is put in afterwards.
const stub = "\x00lab\x00"

var stubText = string(jsonvalue.AppendString(nil, stub))

// text writes the call of a candidate. The second value is the call as it was
// read back where its text is not canonical; the third is false where there is
// none.
func (c *candidate) text() (text []byte, changed any, ok bool) {
	if c.raw == "" {
		changed = put(c.at.base, c.at.place, c.value)
		_, ok = changed.(object)
		if !ok {
			return nil, nil, false
		}
		return jsonvalue.AppendCanonical(nil, changed), changed, true
	}
	whole := put(c.at.base, c.at.place, stub)
	form := string(jsonvalue.AppendCanonical(nil, whole))
	if strings.Count(form, stubText) != 1 {
		return nil, nil, false
	}
	return []byte(strings.Replace(form, stubText, c.raw, 1)), nil, true
}

func (j *judge) one(c *candidate, nth int) {
	if len(j.list) >= maxProbes || j.bytes > maxProbeBytes || j.left <= 0 {
		return
	}
	text, changed, ok := c.text()
	if !ok {
		return
	}
	j.left -= len(text) / perLook
	p, known := j.told[string(text)]
	if known {
		if p != nil {
			p.also(c, j.label(c, p))
		}
		return
	}
	j.told[string(text)] = nil
	var found []tool.Violation
	ambiguous := false
	if c.raw != "" {
		decoded, err := jsonvalue.Decode(text)
		if err != nil {
			if limits(err) {
				return
			}
			ambiguous = true
		} else if changed, ok = decoded.(object); !ok {
			return
		}
	}
	if !ambiguous {
		if found, ok = j.look(changed, text); !ok {
			return
		}
	}
	p = &judged{Probe: Probe{Arguments: text, Valid: len(found) == 0 && !ambiguous, Ambiguous: ambiguous, Words: c.words}, nth: nth, faults: found}
	labelled := j.label(c, p)
	p.Pointer, p.Keyword, p.Property, p.Side, p.tags = labelled.Pointer, labelled.Keyword, labelled.Property, labelled.Side, labelled.tags
	j.told[string(text)] = p
	j.list = append(j.list, p)
	j.bytes += len(text)
}

// also notes what else a probe tests. That it is on a bound says more than that
// it is as it should be.
func (p *judged) also(c *candidate, l judged) {
	p.tags = append(p.tags, l.tags...)
	if l.Side == On && p.Side == Inside {
		p.Pointer, p.Keyword, p.Property, p.Side, p.Words = l.Pointer, l.Keyword, l.Property, On, c.words
	}
}

// limits reports whether a text is refused for a limit of lab/jsonvalue, which
// is no fault of the text.
func limits(err error) bool {
	return strings.Contains(err.Error(), "nested deeper") || strings.Contains(err.Error(), "a number ")
}

// look validates a call. It reports false where no verdict can be had, or where
// it depends on where the sandbox is.
func (j *judge) look(changed any, text []byte) ([]tool.Violation, bool) {
	if !j.spend(changed) {
		return nil, false
	}
	found := j.validate(changed)
	if strings.Contains(string(text), sandbox) {
		there := j.faults(changed)
		if (there == nil) != (found == nil) {
			return nil, false
		}
		found = there
	}
	return found, len(found) == 0 || proven(found)
}

// label says which clause a probe tests, and on which side it lies, given the
// verdict.
func (j *judge) label(c *candidate, verdict *judged) (l judged) {
	name := func(tests clause, side Side) judged {
		l.Pointer, l.Keyword, l.Property, l.Side = tests.pointer, tests.keyword, tests.property, side
		if row, ok := j.rows.index[tests]; ok {
			l.tags = []tag{{row, side}}
		}
		return l
	}
	behind := c.at.branch != clause{} && c.tests != c.at.branch
	switch {
	case verdict.Ambiguous:
		return name(clause{c.tests.pointer, ambiguity, ""}, Outside)
	case verdict.Valid && c.aim == Outside && behind:
		return name(c.at.branch, Inside) // another branch took it
	case verdict.Valid && c.aim == On:
		return name(c.tests, On)
	case verdict.Valid:
		return name(c.tests, Inside)
	}
	if slices.ContainsFunc(verdict.faults, func(v tool.Violation) bool { return blames(v, c) }) {
		return name(c.tests, Outside)
	}
	if c.aim == Outside && c.at.branch != (clause{}) && slices.ContainsFunc(verdict.faults, func(v tool.Violation) bool {
		return within(c.at.place, v.Pointer) && chooses[v.Keyword]
	}) {
		return name(c.tests, Outside)
	}
	for _, v := range verdict.faults {
		for _, part := range j.located[v.Pointer] {
			if _, ok := part[v.Keyword]; !ok {
				continue
			}
			for _, tests := range clausesOf(part, j.rows.pointers[identify(part)], v.Keyword) {
				if v.Keyword != "required" || speaksAbout(v, tests.property) {
					return name(tests, Outside)
				}
			}
		}
	}
	l = name(c.tests, Outside)
	l.tags = nil // for no reason that is known
	return l
}

// ambiguity stands for the keyword where a text has no single reading.
const ambiguity = "json"

// chooses are keywords that fail without telling what their schemas found.
var chooses = map[string]bool{"anyOf": true, "oneOf": true, "not": true, "contains": true}

// blames reports whether a violation is the one that a candidate aims at.
func blames(v tool.Violation, c *candidate) bool {
	if c.tests.keyword == "false" {
		return v.Keyword == "false"
	}
	if v.Pointer != c.at.place {
		return closes(c.tests.keyword) && v.Keyword == "false" && within(v.Pointer, c.at.place)
	}
	if c.tests.keyword == "required" && !speaksAbout(v, c.tests.property) {
		return false
	}
	switch c.tests.keyword {
	case v.Keyword:
		return true
	case "minimum", "maximum":
		return strings.EqualFold(v.Keyword, "exclusive"+c.tests.keyword)
	case "items", "additionalItems":
		return v.Keyword == "items" || v.Keyword == "additionalItems"
	case "contains":
		return v.Keyword == "minContains"
	case "minContains", "maxContains":
		return v.Keyword == "contains"
	case "dependentRequired", "dependencies":
		return v.Keyword == "dependencies" || v.Keyword == "dependentRequired"
	}
	return false
}

// speaksAbout reports whether a violation names a property.
func speaksAbout(v tool.Violation, property string) bool {
	const most = 150 // bytes of a name that no message has cut
	return len(property) > most || strings.Contains(v.Message, string(jsonvalue.AppendString(nil, property)))
}

// chosen are the probes, or an even choice of so many, with their coverage.
func (j *judge) chosen(most int, seed uint64) *ProbeSet {
	kept := j.list
	if most > 0 && most < len(kept) {
		kept = j.choice(most, rand.New(rand.NewPCG(seed, 1)))
	}
	set := &ProbeSet{Probes: make([]Probe, 0, len(kept)), Coverage: make([]Covered, len(j.rows.list))}
	for i, row := range j.rows.list {
		set.Coverage[i] = Covered{Pointer: row.pointer, Keyword: row.keyword, Property: row.property}
	}
	for _, p := range kept {
		set.Probes = append(set.Probes, p.Probe)
		for i, t := range p.tags {
			if slices.Contains(p.tags[:i], t) || t.side == Inside && slices.Contains(p.tags, tag{t.row, On}) {
				continue
			}
			switch row := &set.Coverage[t.row]; t.side {
			case Inside:
				row.Inside++
			case On:
				row.On++
			case Outside:
				row.Outside++
			}
		}
	}
	return set
}

// choice keeps first what covers a side that nothing kept so far covers, row by
// row from a row that the seed picks, then the rest in an order of the seed's.
func (j *judge) choice(most int, random *rand.Rand) []*judged {
	byTag := make(map[tag][]*judged)
	for _, p := range j.list {
		for _, t := range p.tags {
			byTag[t] = append(byTag[t], p)
		}
	}
	taken := make(map[*judged]bool)
	covered := make(map[tag]bool)
	var kept []*judged
	take := func(p *judged) {
		if taken[p] || len(kept) == most {
			return
		}
		taken[p] = true
		kept = append(kept, p)
		for _, t := range p.tags {
			covered[t] = true
		}
	}
	take(j.list[0])
	// A stride without a common factor spreads a short choice over all rows.
	n := len(j.rows.list)
	for _, sides := range [][]Side{{Outside, On}, {Inside}} {
		for _, row := range random.Perm(n) {
			for _, side := range sides {
				if of := byTag[tag{row, side}]; len(of) > 0 && !covered[tag{row, side}] {
					take(of[random.IntN(len(of))])
				}
			}
		}
	}
	for _, i := range random.Perm(len(j.list)) {
		take(j.list[i])
	}
	slices.SortFunc(kept, func(a, b *judged) int { return cmp.Compare(a.nth, b.nth) })
	return kept
}
