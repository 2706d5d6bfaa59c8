package schema

import (
	"encoding/json"
	"math"
	"math/bits"
	"strings"

	"agentlab/lab/jsonvalue"
)

// Costs of a check, in units of about 100 ns. They are for the case in which
// every keyword fails that can: a finding costs far more than what holds. The
// numbers come from BenchmarkHostile.
const (
	costVisit       = 5   // one subschema at one place, or a keyword that only leads to others
	costFinding     = 25  // a keyword that may fail
	costCompare     = 10  // one value inside of one that is compared
	costBytes       = 64  // so many bytes copied or compared are one unit
	costSteps       = 8   // so many steps of a pattern's program are one unit
	costHere        = 16  // so many schemas at one place, each compared with the next, are one unit
	costPath        = 256 // so many bytes of a path cost a finding its price once more
	costPattern     = 50  // compiling a pattern, and each step of its program
	costPatternStep = 2

	// maxWork bounds a check to about a second.
	maxWork = 6_000_000
	// Below it, the product of the sizes of schema and data bounds the work
	// well enough.
	quickWork  = 500_000
	quickBytes = 1 << 16

	unbounded = math.MaxInt32
)

// weigh adds up what a schema costs at one place of the data and all below
// it, or says unbounded where it is recursive.
func weigh(n *node) int {
	const open = -1
	switch {
	case n.weight == open:
		return unbounded
	case n.weight > 0:
		return n.weight
	}
	n.weight = open
	total := costFinding + n.upkeep + n.perName + len(n.edges)/costBytes
	for _, cost := range n.extra {
		total += cost
	}
	if required, ok := n.raw["required"].([]any); ok {
		total += costFinding * len(required)
	}
	if n.ref != nil {
		total += weigh(n.ref)
	}
	for _, j := range n.jumps {
		for _, to := range j.ways {
			total += weigh(to)
		}
	}
	for _, e := range n.edges {
		if e.use != kept {
			total += weigh(e.to)
		}
		if total >= unbounded {
			total = unbounded
			break
		}
	}
	n.weight = min(total, unbounded)
	return n.weight
}

// extent is what one walk over the data finds.
type extent struct {
	nodes, bytes int
	inexact      bool // a number that a double cannot hold
	negativeZero bool
	foreign      bool // a value that jsonvalue.Decode does not return
}

// add measures a value. Numbers are looked at closely only where the schema
// compares values.
func (x *extent) add(value any, compare bool, depth int) {
	x.nodes++
	switch v := value.(type) {
	case nil, bool:
	case string:
		x.bytes += len(v)
	case json.Number:
		if v == "" || v[0] != '-' && (v[0] < '0' || v[0] > '9') || beyond(v) {
			x.foreign = true
			return
		}
		x.bytes += digits(v)
		if !compare || len(v) <= 15 && strings.Trim(string(v), "0123456789") == "" {
			return
		}
		if isNegativeZero(v) {
			x.negativeZero = true
		} else if !jsonvalue.IsDouble(v) {
			x.inexact = true
		}
	case []any:
		if depth == jsonvalue.MaxDepth {
			x.foreign = true
			return
		}
		for _, item := range v {
			x.add(item, compare, depth+1)
		}
	case object:
		if depth == jsonvalue.MaxDepth {
			x.foreign = true
			return
		}
		for name, member := range v {
			x.bytes += len(name)
			x.add(member, compare, depth+1)
		}
	default:
		x.foreign = true
	}
}

// beyond reports whether a number is larger than any that was decoded: written
// out, a large exponent takes all the memory there is.
func beyond(literal json.Number) bool {
	if len(literal) <= 5 {
		return false
	}
	at := strings.LastIndexAny(string(literal), "eE")
	exponent := strings.TrimLeft(string(literal[at+1:]), "+-0")
	return len(literal) > 3*jsonvalue.MaxDigits || at >= 0 && len(exponent) > 3
}

// digits bounds how long a number is when it is written out.
func digits(literal json.Number) int {
	if len(literal) > 2 && strings.ContainsAny(string(literal), "eE") {
		return len(literal) + jsonvalue.MaxExponent
	}
	return len(literal)
}

// meter walks schema and data as the engine would, without its shortcuts, and
// stops when the work gets too much. A check of recursive schemas can grow
// with a power of the depth of the data.
type meter struct {
	left     int
	leftover bool        // the second engine keeps lists of what is unevaluated
	depth    int         // schemas on the way
	here     int         // those of them at the same place of the data
	way      []*resource // the resources that the way has come into
}

// maxWay bounds how many schemas lie between the root and the last: each is
// some calls on the engine's stack.
const maxWay = 20_000

// spend reports whether the budget still holds.
func (m *meter) spend(cost int) bool {
	m.left -= cost
	return m.left >= 0
}

// visit takes the bytes of the path to the value too: each finding copies it.
func (m *meter) visit(n *node, value any, path int) bool {
	if m.depth == maxWay {
		return false
	}
	m.depth++
	m.here++
	defer func() { m.depth--; m.here-- }()
	if n.resource != nil && (len(m.way) == 0 || m.way[len(m.way)-1] != n.resource) {
		m.way = append(m.way, n.resource)
		defer func() { m.way = m.way[:len(m.way)-1] }()
	}
	for n.ref != nil {
		n = n.ref
		if !m.spend(1) {
			return false
		}
	}
	at := 1 + path/costPath
	kind := kindOf(value)
	if n.always != nil || n.kinds != 0 && n.kinds&kind == 0 {
		return m.spend(costFinding * at)
	}
	cost := (n.upkeep+n.extra[slot(kind)])*at + len(n.edges)/4 + m.here/costHere
	switch v := value.(type) {
	case string:
		cost += len(v)/costBytes + len(v)*n.pattern.size/costSteps
		if _, ok := n.raw["format"]; ok {
			cost += len(v) / 2
		}
	case json.Number:
		cost += digits(v) / 4 * (1 + n.extra[slot(kind)]/costFinding)
		if strings.ContainsAny(string(v), ".eE") {
			cost += costFinding * at // it may not be an integer
		}
	case object:
		cost += len(v) * (1 + n.perName + len(n.edges)/16)
		required, _ := n.raw["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				cost += costFinding * at
			}
		}
		cost += len(required) / 4
	}
	if m.leftover {
		switch v := value.(type) {
		case object:
			cost += 2 * len(v)
		case []any:
			cost += 2 * len(v)
		}
	}
	if n.compares {
		var x extent
		x.add(value, false, 0)
		cost += x.nodes*costCompare + x.bytes/costBytes
	}
	if !m.spend(cost) {
		return false
	}
	tuple := 0
	for _, e := range n.edges {
		if e.use == inIndex {
			tuple++
		}
	}
	for _, e := range n.edges {
		if e.use == inPlace {
			if e.keyword == "dependencies" || e.keyword == "dependentSchemas" {
				members, _ := value.(object)
				if _, ok := members[e.token]; !ok {
					continue
				}
			}
			if !m.visit(e.to, value, path) {
				return false
			}
		}
	}
	for _, j := range n.jumps {
		cost := costVisit
		if j.again || j.dynamic != "" {
			cost += m.depth // the engine looks at every schema on the way
		}
		if !m.spend(cost) || !m.visit(m.target(n, j), value, path) {
			return false
		}
	}
	here := m.here
	m.here = 0
	defer func() { m.here = here }()
	switch v := value.(type) {
	case []any:
		return m.items(n, v, tuple, path+4)
	case object:
		return m.members(n, v, path+1)
	}
	return true
}

func (m *meter) items(n *node, items []any, tuple, path int) bool {
	for _, e := range n.edges {
		apply := items
		switch e.use {
		case inItem:
		case inIndex:
			if e.index >= len(items) {
				continue
			}
			apply = items[e.index : e.index+1]
		case inRest:
			if tuple == 0 || tuple >= len(items) {
				continue
			}
			apply = items[tuple:]
		case inTail:
			apply = items[min(tuple, len(items)):]
		case inLeft:
			if has(n, "items") {
				continue
			}
		default:
			continue
		}
		for _, item := range apply {
			if !m.visit(e.to, item, path) {
				return false
			}
		}
	}
	return true
}

func (m *meter) members(n *node, members object, path int) bool {
	known, _ := n.raw["properties"].(object)
	for _, e := range n.edges {
		switch e.use {
		case inProperty:
			if member, ok := members[e.token]; ok && !m.visit(e.to, member, path+len(e.token)) {
				return false
			}
		case inName:
			for name := range members {
				if !m.spend(costFinding*(1+path/costPath)) || !m.visit(e.to, name, path) {
					return false
				}
			}
		case inPattern:
			for name, member := range members {
				if !m.spend(1 + len(name)*e.size/costSteps) {
					return false
				}
				if e.pattern.MatchString(name) && !m.visit(e.to, member, path+len(name)) {
					return false
				}
			}
		case inLeft:
			if has(n, "additionalProperties") {
				continue
			}
			for name, member := range members {
				if _, ok := known[name]; !ok && !matchesAny(n, name) && !m.visit(e.to, member, path+len(name)) {
					return false
				}
			}
		case inOther:
			for name, member := range members {
				if _, ok := known[name]; !ok && !matchesAny(n, name) && !m.visit(e.to, member, path+len(name)) {
					return false
				}
			}
		}
	}
	return true
}

func has(n *node, keyword string) bool {
	_, ok := n.raw[keyword]
	return ok
}

// target finds what a reference leads to on the way that was taken, as the
// engine does: the outermost resource decides what a dynamic one means.
func (m *meter) target(n *node, j jump) *node {
	for _, r := range m.way {
		if to := r.dynamic[j.dynamic]; j.dynamic != "" && to != nil {
			return to
		}
		if j.again && r.again {
			return r.root
		}
	}
	return j.to
}

func matchesAny(n *node, name string) bool {
	for _, e := range n.edges {
		if e.use == inPattern && e.pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// charge adds what a keyword costs to the data that it can refuse.
func (n *node) charge(row *keyword) {
	if row.annotation || row.shape == typeNames {
		return // a wrong type is charged where it is met
	}
	cost := costFinding
	switch row.shape {
	case schemaMap, patternMap, schemaOrFlag, schemaOrList, dependencyMap, reference, names:
		cost = costVisit
	}
	if row.on == anyKind {
		n.upkeep += cost
	} else {
		n.extra[slot(row.on)] += cost
	}
}

// slot is the place of one type in the list of costs.
func slot(one kind) int { return bits.TrailingZeros8(uint8(one)) }

func kindOf(value any) kind {
	switch value.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBoolean
	case json.Number:
		return kindNumber
	case string:
		return kindString
	case []any:
		return kindArray
	}
	return kindObject
}
