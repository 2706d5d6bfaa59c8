package schema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/jsonvalue"
)

// Limits of what the second engine looks through once more for each subschema.
const (
	maxResources = 100
	maxPointers  = 4 << 20 // bytes of the JSON Pointers to all subschemas
)

// placed is where a subschema stands and where its references lead. Only
// documents for the second engine have it.
type placed struct {
	at       string // JSON Pointer into the engine's document
	resource *resource
	jumps    []jump
	role     string // the keyword that holds it
}

// jump is a reference that stands beside other keywords.
type jump struct {
	keyword string
	text    string
	path    []string

	to      *node
	dynamic string  // the name that the way here may give another meaning
	again   bool    // the same for $recursiveRef
	ways    []*node // all that it may lead to
}

// resource is a part of a document that has an identity of its own.
type resource struct {
	address string // as the engine gets it
	base    *url.URL
	root    *node
	anchors map[string]*node
	dynamic map[string]*node // those of $dynamicAnchor
	again   bool             // it has $recursiveAnchor
}

type identities struct {
	current *resource
	all     []*resource
	byURI   map[string]*resource
}

// row finds a keyword of the draft. Many a foreign document has $defs and says
// that it is of a draft that had definitions.
func (c *checker) row(name string) *keyword {
	row := c.allowed[name]
	if row == nil && c.foreign && c.second && name == "$defs" {
		return allowed[Draft202012][name]
	}
	return row
}

// ignored reports whether the dialect gives a keyword no meaning at its place.
func (c *checker) ignored(n *node, name string) bool {
	row := c.row(name)
	if row == nil {
		return c.foreign
	}
	_, refers := n.raw["$ref"]
	return refers && c.draft&drafts != 0 && row.shape != reference && row.shape != schemaMap
}

// enter notes the identity and the anchors that begin with a subschema, and
// returns what takes the identity back.
func (c *checker) enter(n *node) (leave func(), err error) {
	outer := c.ids.current
	leave = func() { c.ids.current = outer }
	if !c.second {
		return leave, nil
	}
	if outer == nil {
		c.ids.byURI = make(map[string]*resource)
		c.begin(n, &url.URL{}, rootAddress)
	}
	key := "$id"
	if c.draft == Draft04 {
		key = "id"
	}
	if value, ok := n.raw[key]; ok && !c.ignored(n, key) {
		if err := c.within(key, func() error { return c.identify(n, value) }); err != nil {
			return leave, err
		}
	}
	n.resource = c.ids.current
	if c.draft == Draft201909 && n.raw["$recursiveAnchor"] == true {
		if n != n.resource.root {
			return leave, c.within("$recursiveAnchor", func() error {
				return c.unsupported("has no meaning but at the root of a schema with an $id")
			})
		}
		n.resource.again = true
	}
	return leave, nil
}

func (c *checker) begin(n *node, base *url.URL, address string) {
	c.ids.current = &resource{
		address: address, base: base, root: n,
		anchors: make(map[string]*node), dynamic: make(map[string]*node),
	}
	c.ids.all = append(c.ids.all, c.ids.current)
}

func (c *checker) identify(n *node, value any) error {
	id, ok := value.(string)
	if !ok {
		return c.invalid("must be a string")
	}
	reference, fragment, _ := strings.Cut(id, "#")
	if fragment != "" && c.draft&modern != 0 {
		return c.invalid("must not have a fragment; an anchor has its own keyword")
	}
	if reference != "" {
		base, err := join(c.ids.current.base, reference)
		if err != nil {
			return c.invalid("must be a URI reference")
		}
		if c.ids.byURI[base.String()] != nil {
			return c.invalid("is the identity of another subschema too")
		}
		if len(c.ids.all) == maxResources {
			return c.unsupported("the document has more than %d identities", maxResources)
		}
		if n == c.ids.all[0].root {
			c.ids.current.base = base
		} else {
			c.begin(n, base, "urn:lab:"+strconv.Itoa(len(c.ids.all)))
		}
		c.ids.byURI[base.String()] = c.ids.current
	}
	if fragment != "" {
		return c.name(n, fragment)
	}
	return nil
}

var anchorName = grammar(`^[A-Za-z_][-A-Za-z0-9._:]*$`)

func (c *checker) anchor(n *node, keyword string, value any) error {
	name, ok := value.(string)
	if !ok {
		return c.invalid("must be a string")
	}
	if keyword == "$dynamicAnchor" {
		n.resource.dynamic[name] = n
	}
	return c.name(n, name)
}

func (c *checker) name(n *node, name string) error {
	if !anchorName().MatchString(name) {
		return c.invalid("%q is not a name for an anchor", name)
	}
	if known := c.ids.current.anchors[name]; known != nil && known != n {
		return c.invalid("%q is the name of another subschema too", name)
	}
	c.ids.current.anchors[name] = n
	return nil
}

func join(base *url.URL, reference string) (*url.URL, error) {
	parsed, err := url.Parse(reference)
	if err != nil {
		return nil, err
	}
	return base.ResolveReference(parsed), nil
}

// again reports whether a $schema below the root only repeats that of the
// document.
func (c *checker) again(n *node, stated any) bool {
	uri, _ := stated.(string)
	_, name, _ := strings.Cut(uri, "://")
	return c.second && n == n.resource.root && metaSchemas[strings.TrimSuffix(name, "#")] == c.draft
}

// reach corrects where a keyword applies its schemas: then and else say
// nothing without if.
func (c *checker) reach(n *node, e edge) use {
	if _, condition := n.raw["if"]; !condition && (e.keyword == "then" || e.keyword == "else") {
		return kept
	}
	return e.use
}

// places gives every subschema its place in the engine's document, by its
// place in this one.
func (c *checker) places(known map[string]*node, at string, n *node) (bytes int) {
	known[at] = n
	bytes = len(at)
	for _, e := range n.edges {
		keyword, token := c.written(e)
		below, written := at+"/"+jsonvalue.Token(e.keyword), n.at+"/"+jsonvalue.Token(keyword)
		if form(e) != alone {
			below, written = below+"/"+jsonvalue.Token(e.token), written+"/"+jsonvalue.Token(token)
		}
		e.to.at, e.to.role = written, e.keyword
		if bytes > maxPointers {
			break
		}
		bytes += c.places(known, below, e.to)
	}
	return bytes
}

// written is where the engine's document has what a keyword holds. A draft's
// $defs go beside its definitions, under names that cannot meet.
func (c *checker) written(e edge) (keyword, token string) {
	switch {
	case e.keyword == "propertyNames":
		return ownNames, ""
	case e.keyword == "$defs" && c.draft&drafts != 0:
		return "definitions", "$" + e.token
	case e.keyword == "definitions" && c.draft&drafts != 0:
		return "definitions", "_" + e.token
	}
	return e.keyword, e.token
}

// lead resolves every reference of a document for the second engine, and
// refuses those that may come back to themselves without a step into the data.
func (c *checker) lead(root *node) error {
	known := make(map[string]*node, len(c.nodes))
	c.path = nil
	if c.places(known, "", root) > maxPointers {
		return c.unsupported("the names in the document are too long")
	}
	origins := make(map[*node]string)
	for at, n := range known {
		origins[n] = at
	}
	for _, n := range c.nodes {
		for i := range n.jumps {
			if err := c.follow(known, origins, n, &n.jumps[i]); err != nil {
				return err
			}
		}
	}
	for _, n := range c.nodes {
		loop := comesBack(nil, n)
		for _, back := range loop {
			for _, j := range back.jumps {
				if slices.ContainsFunc(j.ways, func(to *node) bool { return slices.Contains(loop, to) }) {
					c.path = j.path
					return c.invalid("the reference %q leads back to itself without a step into the data", j.text)
				}
			}
		}
	}
	return nil
}

func (c *checker) follow(known map[string]*node, origins map[*node]string, from *node, j *jump) error {
	c.path = j.path
	uri, fragment, _ := strings.Cut(j.text, "#")
	into := from.resource
	if uri != "" {
		absolute, err := join(into.base, uri)
		if err != nil {
			return c.invalid("the reference %q is not a URI reference", j.text)
		}
		if into = c.ids.byURI[absolute.String()]; into == nil {
			return c.unsupported("the reference %q leaves the document; nothing is fetched", j.text)
		}
	}
	name, err := url.PathUnescape(fragment)
	switch {
	case err != nil:
		return c.invalid("the reference %q is not a URI reference", j.text)
	case name == "":
		j.to = into.root
	case name[0] == '/':
		j.to = known[origins[into.root]+name]
	default:
		j.to = into.anchors[name]
	}
	if j.to == nil {
		return c.invalid("the reference %q does not lead to a subschema of the document", j.text)
	}
	j.ways = []*node{j.to}
	switch j.keyword {
	case "$recursiveRef":
		if j.text != "#" {
			return c.invalid("must be #")
		}
		if j.again = into.again; j.again {
			j.ways = nil
			for _, r := range c.ids.all {
				if r.again {
					j.ways = append(j.ways, r.root)
				}
			}
		}
	case "$dynamicRef":
		if into.dynamic[name] == j.to {
			j.dynamic, j.ways = name, nil
			for _, r := range c.ids.all {
				if to := r.dynamic[name]; to != nil {
					j.ways = append(j.ways, to)
				}
			}
		}
	case "$ref":
		// The engine takes the place where it came into a resource for the
		// resource's root when it looks for a $recursiveAnchor.
		if to := j.to.resource; to != nil && to.again && to != from.resource && j.to != to.root {
			return c.unsupported("the reference %q leads into the middle of a schema with a $recursiveAnchor", j.text)
		}
	}
	return nil
}
