package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/jsonvalue"
)

// Limits of a schema. The engine looks for duplicates in an enum and a
// required by comparing each with each.
const (
	maxDocument   = 1 << 20 // bytes
	maxSubschemas = 10000
	maxListed     = 1000 // values of one enum, names of one required
	maxCount      = 1<<31 - 1
)

// object is a decoded JSON object.
type object = map[string]any

// node is one subschema of a checked document.
type node struct {
	always *bool // a boolean schema; then the rest is empty
	raw    object
	edges  []edge

	ref    *node  // what $ref points at
	refers string // the text of $ref
	shared string // the name under which others refer to it
	placed        // where it stands, for the second engine

	kinds    kind // what type admits; 0 is everything
	pattern  pattern
	compares bool // it has const, enum or uniqueItems

	// Costs of a check, see meter.
	upkeep  int    // its own keywords, whatever the type of the data
	extra   [6]int // those that one type of data meets
	perName int    // the patterns of patternProperties, for each property
	weight  int    // all of these and all below; 0 before it is known

	colour colour
}

// edge leads from a subschema to one in the value of a keyword.
type edge struct {
	keyword string
	token   string // the name or the index inside the value, if it has any
	re2     string // a pattern, translated
	size    int    // of its program
	use     use
	index   int
	pattern *regexp.Regexp
	to      *node
}

// pattern is a translated regular expression.
type pattern struct {
	re2  string
	size int // of its program
}

// checker walks a document by its structural keywords only. What stands in
// const, enum, default or examples is data, and names under properties are
// names.
type checker struct {
	draft    Dialect // at first, the one of a document that names none
	foreign  bool    // what is not known is an annotation
	second   bool    // the rules are those of the second engine
	ids      identities
	leftover bool // something is unevaluated
	allowed  map[string]*keyword
	path     []string
	nodes    []*node
	refs     []place
	sources  map[string]string // patterns and numbers of the document, by the engine's form
	programs int
	equality bool // const, enum or uniqueItems stands somewhere
	shared   int
}

// place remembers where a subschema with a $ref stands.
type place struct {
	node *node
	path []string
}

func (c *checker) fault(unsupported bool, format string, args ...any) error {
	return &Error{Pointer: pointer(c.path), Reason: fmt.Sprintf(format, args...), Unsupported: unsupported}
}

func (c *checker) invalid(format string, args ...any) error {
	return c.fault(false, format, args...)
}

func (c *checker) unsupported(format string, args ...any) error {
	return c.fault(true, format, args...)
}

// within runs a check one step down, so that a fault names the place. The path
// is left where a fault happened.
func (c *checker) within(token string, check func() error) error {
	c.path = append(c.path, token)
	err := check()
	c.path = c.path[:len(c.path)-1]
	return err
}

// document checks a whole document and returns its root.
func (c *checker) document(value any) (*node, error) {
	if root, ok := value.(object); ok {
		if stated, ok := root["$schema"]; ok {
			if err := c.within("$schema", func() error { return c.dialect(stated) }); err != nil {
				return nil, err
			}
		}
	}
	c.second = c.second || c.draft&modern != 0
	c.allowed = allowed[c.draft]
	root, err := c.schema(value)
	if err != nil {
		return nil, err
	}
	if c.second {
		return root, c.lead(root)
	}
	return root, c.references(root)
}

func (c *checker) dialect(stated any) error {
	uri, ok := stated.(string)
	if !ok {
		return c.invalid("must be a string")
	}
	name := strings.TrimPrefix(strings.TrimPrefix(uri, "https://"), "http://")
	draft, known := metaSchemas[strings.TrimSuffix(name, "#")]
	if !known || name == uri {
		return c.unsupported("the dialect %q is not known here; draft-04, draft-06, draft-07, 2019-09 and 2020-12 are", uri)
	}
	c.draft = draft
	return nil
}

// schema checks one subschema and all below it.
func (c *checker) schema(value any) (*node, error) {
	if len(c.nodes) == maxSubschemas {
		return nil, c.unsupported("the document has more than %d subschemas", maxSubschemas)
	}
	n := &node{upkeep: costVisit}
	c.nodes = append(c.nodes, n)
	switch v := value.(type) {
	case bool:
		if c.draft == Draft04 {
			return nil, c.invalid("must be an object; draft-04 has no boolean schemas")
		}
		n.always = &v
		return n, nil
	case object:
		n.raw = v
	default:
		return nil, c.invalid("must be a schema: an object%s", map[bool]string{false: " or a boolean"}[c.draft == Draft04])
	}

	leave, err := c.enter(n)
	if err != nil {
		return nil, err
	}
	defer leave()
	// In order, so that the same document always meets the same fault first.
	for _, name := range sortedKeys(n.raw) {
		row := c.row(name)
		if c.second && c.ignored(n, name) {
			continue
		}
		c.path = append(c.path, name)
		if row == nil {
			return nil, c.unknown(name)
		}
		if _, refers := n.raw["$ref"]; refers && c.draft&drafts != 0 && !row.annotation && name != "$ref" {
			return nil, c.unsupported("a keyword beside $ref is ignored in %s; put the $ref into an allOf", c.draft)
		}
		if err := c.value(n, row, n.raw[name]); err != nil {
			return nil, err
		}
		c.path = c.path[:len(c.path)-1]
	}
	return n, c.together(n)
}

func (c *checker) unknown(name string) error {
	for _, k := range keywords {
		if k.name == name {
			return c.unsupported("%s has no keyword %q", c.draft, name)
		}
	}
	return c.unsupported("the keyword %q is not known here", name)
}

// together checks what keywords of one subschema say of each other.
func (c *checker) together(n *node) error {
	for _, pair := range [][2]string{{"minLength", "maxLength"}, {"minProperties", "maxProperties"}} {
		low, ok1 := n.raw[pair[0]].(json.Number)
		high, ok2 := n.raw[pair[1]].(json.Number)
		if ok1 && ok2 && !c.second && rational(low).Cmp(rational(high)) > 0 {
			return c.within(pair[0], func() error {
				return c.unsupported("must not be more than %s: nothing could satisfy both", pair[1])
			})
		}
	}
	if c.draft != Draft04 {
		return nil
	}
	for _, pair := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		_, exclusive := n.raw[pair[0]]
		if _, bound := n.raw[pair[1]]; exclusive && !bound {
			return c.within(pair[0], func() error { return c.invalid("needs %s beside it in draft-04", pair[1]) })
		}
	}
	return nil
}

// value checks the value of one keyword.
func (c *checker) value(n *node, row *keyword, value any) error {
	n.charge(row)
	switch row.shape {
	case anything:
		return nil
	case text:
		if _, ok := value.(string); !ok {
			return c.invalid("must be a string")
		}
	case flag:
		on, ok := value.(bool)
		if !ok {
			return c.invalid("must be true or false")
		}
		if row.name == "uniqueItems" && on {
			n.compares, c.equality = true, !c.second
		}
	case list:
		if _, ok := value.([]any); !ok {
			return c.invalid("must be an array")
		}
	case number, positive:
		literal, ok := value.(json.Number)
		if !ok {
			return c.invalid("must be a number")
		}
		exact := rational(literal)
		if row.shape == positive && exact.Sign() <= 0 {
			return c.invalid("must be greater than 0")
		}
		n.extra[slot(kindNumber)] += digits(literal) / 4
		c.quote(numberForm(new(big.Float).SetRat(exact)), string(jsonvalue.AppendCanonical(nil, literal)))
	case count:
		return c.count(value)
	case names:
		return c.names(value, c.draft == Draft04)
	case typeNames:
		return c.types(n, value)
	case values, aValue:
		return c.values(n, row, value)
	case aFormat:
		name, ok := value.(string)
		if !ok {
			return c.invalid("must be a string")
		}
		if formats[name] == nil && !(c.second && c.foreign) {
			return c.unsupported("the format %q is not checked here", name)
		}
	case aPattern:
		source, ok := value.(string)
		if !ok {
			return c.invalid("must be a string")
		}
		var err error
		n.pattern, err = c.pattern(n, source)
		return err
	case dialect:
		if len(c.path) > 1 && !c.again(n, value) {
			return c.unsupported("$schema below the root is not supported")
		}
	case identity:
		if c.second {
			return nil // c.enter has seen to it
		}
		return c.identity(value)
	case anchor:
		return c.anchor(n, row.name, value)
	case reference:
		ref, ok := value.(string)
		if !ok {
			return c.invalid("must be a string")
		}
		if c.second {
			n.jumps = append(n.jumps, jump{keyword: row.name, text: ref, path: slices.Clone(c.path)})
			return nil
		}
		n.refers = ref
		c.refs = append(c.refs, place{n, slices.Clone(c.path)})
	default:
		return c.subschemas(n, row, value)
	}
	return nil
}

// count checks a number of things.
func (c *checker) count(value any) error {
	literal, ok := value.(json.Number)
	if !ok {
		return c.invalid("must be a whole number of 0 or more")
	}
	n := rational(literal)
	if n.Sign() < 0 || !n.IsInt() {
		return c.invalid("must be a whole number of 0 or more")
	}
	if n.Cmp(big.NewRat(maxCount, 1)) > 0 && !c.second {
		return c.unsupported("must be less than 2147483648")
	}
	return nil
}

func (c *checker) names(value any, some bool) error {
	items, ok := value.([]any)
	if !ok {
		return c.invalid("must be an array of strings")
	}
	if some && len(items) == 0 {
		return c.invalid("must not be empty in draft-04")
	}
	if len(items) > maxListed && !c.second {
		return c.unsupported("more than %d names", maxListed)
	}
	seen := make(map[string]bool, len(items))
	for i, item := range items {
		name, ok := item.(string)
		if !ok || seen[name] {
			return c.within(strconv.Itoa(i), func() error {
				if !ok {
					return c.invalid("must be a string")
				}
				return c.invalid("%q is listed twice", name)
			})
		}
		seen[name] = true
	}
	return nil
}

func (c *checker) types(n *node, value any) error {
	if name, ok := value.(string); ok {
		if n.kinds = kinds[name]; n.kinds == 0 {
			return c.invalid("%q is not a type of JSON Schema", name)
		}
		return nil
	}
	items, ok := value.([]any)
	if !ok || len(items) == 0 {
		return c.invalid("must be the name of a type, or an array of such names")
	}
	if err := c.names(items, true); err != nil {
		return err
	}
	for i, item := range items {
		name := item.(string)
		if kinds[name] == 0 {
			return c.within(strconv.Itoa(i), func() error { return c.invalid("%q is not a type of JSON Schema", name) })
		}
		n.kinds |= kinds[name]
	}
	return nil
}

// values checks const and enum. The first engine compares through doubles; the
// second is kept from comparing.
func (c *checker) values(n *node, row *keyword, value any) error {
	n.compares, c.equality = true, !c.second
	items := []any{value}
	if row.shape == values {
		var ok bool
		if items, ok = value.([]any); !ok {
			return c.invalid("must be an array")
		}
		if len(items) == 0 && (!c.second || c.draft == Draft04) {
			return c.fault(c.draft != Draft04, "must not be empty")
		}
		if len(items) > maxListed && !c.second {
			return c.unsupported("more than %d values", maxListed)
		}
	}
	seen := make(map[string]bool, len(items))
	var canonical []byte
	for i, item := range items {
		canonical = jsonvalue.AppendCanonical(canonical[:0], item)
		if !c.second {
			n.upkeep += 1 + len(canonical)/costBytes
		}
		if !c.second && !compares(item) {
			return c.unsupported("a number that a double cannot hold is not compared here")
		}
		if seen[string(canonical)] && c.draft == Draft04 {
			return c.within(strconv.Itoa(i), func() error { return c.invalid("is listed twice") })
		}
		seen[string(canonical)] = true
	}
	return nil
}

// compares reports whether every number in a value survives a double.
func compares(value any) bool {
	switch v := value.(type) {
	case json.Number:
		return jsonvalue.IsDouble(v)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !compares(item) })
	case object:
		for _, item := range v {
			if !compares(item) {
				return false
			}
		}
	}
	return true
}

func (c *checker) pattern(n *node, source string) (pattern, error) {
	re2, size, err := translate(source)
	if err != nil {
		fault := err.(*patternError)
		return pattern{}, c.fault(fault.unsupported, "%s", fault.reason)
	}
	if c.programs += size; c.programs > maxPrograms {
		return pattern{}, c.unsupported("the patterns of the document are too large to be matched safely")
	}
	p := pattern{re2, size}
	c.quote(re2, source)
	n.extra[slot(kindString)] += size
	return p, nil
}

// identity checks $id (in draft-04: id). Only the root may have one: another
// would change what the references below it mean.
func (c *checker) identity(value any) error {
	id, ok := value.(string)
	if !ok {
		return c.invalid("must be a string")
	}
	if len(c.path) > 1 {
		return c.unsupported("%s below the root changes the base of references and is not supported", c.path[len(c.path)-1])
	}
	parsed, err := url.Parse(id)
	if err != nil {
		return c.invalid("must be a URI reference")
	}
	if parsed.Fragment != "" {
		return c.unsupported("an anchor is not supported")
	}
	return nil
}

// subschemas checks the values that hold schemas.
func (c *checker) subschemas(n *node, row *keyword, value any) error {
	switch row.shape {
	case aSchema:
		return c.child(n, edge{keyword: row.name, use: row.use}, value)
	case schemaOrFlag:
		if always, ok := value.(bool); ok && c.draft == Draft04 {
			child := &node{always: &always, upkeep: costVisit}
			n.edges = append(n.edges, edge{keyword: row.name, use: row.use, to: child})
			return nil
		}
		return c.child(n, edge{keyword: row.name, use: row.use}, value)
	case schemaOrList:
		if items, ok := value.([]any); ok {
			if len(items) == 0 && (!c.second || c.draft == Draft04) {
				return c.fault(c.draft != Draft04, "must not be empty")
			}
			return c.children(n, edge{keyword: row.name, use: inIndex}, items)
		}
		return c.child(n, edge{keyword: row.name, use: row.use}, value)
	case schemaList:
		items, ok := value.([]any)
		if !ok || len(items) == 0 {
			return c.invalid("must be an array of one or more schemas")
		}
		return c.children(n, edge{keyword: row.name, use: row.use}, items)
	}

	members, ok := value.(object)
	if !ok {
		return c.invalid("must be an object")
	}
	for _, name := range sortedKeys(members) {
		member := members[name]
		c.path = append(c.path, name)
		e := edge{keyword: row.name, token: name, use: row.use}
		if row.shape == patternMap {
			p, err := c.pattern(n, name)
			if err != nil {
				return err
			}
			n.perName += costPattern + costPatternStep*p.size
			e.re2, e.size = p.re2, p.size
			if e.pattern, err = regexp.Compile(p.re2); err != nil {
				return c.unsupported("the pattern cannot be matched here")
			}
		}
		var err error
		if needed, ok := member.([]any); row.shape == namesMap || ok && row.shape == dependencyMap {
			n.extra[slot(kindObject)] += costFinding * len(needed)
			err = c.names(member, c.draft == Draft04)
		} else {
			err = c.child(n, e, member)
		}
		if err != nil {
			return err
		}
		c.path = c.path[:len(c.path)-1]
	}
	return nil
}

func (c *checker) children(n *node, e edge, items []any) error {
	for i, item := range items {
		e.index, e.token = i, strconv.Itoa(i)
		c.path = append(c.path, e.token)
		if err := c.child(n, e, item); err != nil {
			return err
		}
		c.path = c.path[:len(c.path)-1]
	}
	return nil
}

func (c *checker) child(n *node, e edge, value any) error {
	to, err := c.schema(value)
	if err != nil {
		return err
	}
	e.to = to
	if c.second {
		e.use = c.reach(n, e)
		c.leftover = c.leftover || e.use == inLeft
	}
	n.edges = append(n.edges, e)
	return nil
}

// quote remembers how the document writes what the engine only gives back in
// its own form. Of two spellings of the same, messages use the lesser.
func (c *checker) quote(form, source string) {
	if known, ok := c.sources[form]; ok && known <= source {
		return
	}
	if c.sources == nil {
		c.sources = make(map[string]string)
	}
	c.sources[form] = source
}

// numberForm is the form in which the engine gives back a number of the
// schema. Its decimal form would take a millisecond to compute.
func numberForm(n *big.Float) string { return n.Text('p', 0) }

func rational(literal json.Number) *big.Rat {
	// Decode has bounded digits and exponent, so this is cheap and exact.
	r, _ := new(big.Rat).SetString(string(literal))
	return r
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
