package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/jsonvalue"
)

// pointer writes a JSON Pointer (RFC 6901).
func pointer(path []string) string {
	var out strings.Builder
	for _, token := range path {
		out.WriteByte('/')
		out.WriteString(jsonvalue.Token(token))
	}
	return out.String()
}

// colour marks a node on the way through the graph.
type colour uint8

const (
	unseen colour = iota
	open
	done
)

// references resolves every $ref to a subschema of the document and refuses
// those that come back to themselves without a step into the data: checking
// any value against such a schema would never end.
func (c *checker) references(root *node) error {
	if len(c.refs) == 0 {
		return nil
	}
	places := make(map[string]*node, len(c.nodes))
	index(places, "", root)
	for _, from := range c.refs {
		c.path = from.path
		to, err := c.resolve(places, from.node.refers)
		if err != nil {
			return err
		}
		if to.always == nil && to.shared == "" {
			c.shared++
			to.shared = "s" + strconv.Itoa(c.shared)
		}
		from.node.ref = to
	}
	for _, from := range c.refs {
		if loop := comesBack(nil, from.node); loop != nil {
			at := slices.IndexFunc(c.refs, func(p place) bool { return slices.Contains(loop, p.node) })
			c.path = c.refs[at].path
			return c.invalid("the reference %q leads back to itself without a step into the data", c.refs[at].node.refers)
		}
	}
	return nil
}

func index(places map[string]*node, at string, n *node) {
	places[at] = n
	for _, e := range n.edges {
		below := at + "/" + jsonvalue.Token(e.keyword)
		if e.token != "" || e.use == inProperty || e.use == inPattern || e.use == kept || e.keyword == "dependencies" {
			below += "/" + jsonvalue.Token(e.token)
		}
		index(places, below, e.to)
	}
}

func (c *checker) resolve(places map[string]*node, ref string) (*node, error) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, c.unsupported("the reference %q leaves the document; nothing is fetched", ref)
	}
	decoded, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, c.invalid("the reference %q is not a URI reference", ref)
	}
	if decoded != "" && decoded[0] != '/' {
		return nil, c.unsupported("the reference %q names an anchor, which is not supported", ref)
	}
	to := places[decoded]
	if to == nil {
		return nil, c.invalid("the reference %q does not lead to a subschema of the document", ref)
	}
	return to, nil
}

// comesBack follows the keywords that stay at the same place of the data and
// returns the nodes of the first circle it meets.
func comesBack(way []*node, n *node) []*node {
	switch n.colour {
	case open:
		return way[slices.Index(way, n):]
	case done:
		return nil
	}
	n.colour = open
	way = append(way, n)
	if n.ref != nil {
		if loop := comesBack(way, n.ref); loop != nil {
			return loop
		}
	}
	for _, j := range n.jumps {
		for _, to := range j.ways {
			if loop := comesBack(way, to); loop != nil {
				return loop
			}
		}
	}
	for _, e := range n.edges {
		if e.use == inPlace {
			if loop := comesBack(way, e.to); loop != nil {
				return loop
			}
		}
	}
	n.colour = done
	return nil
}

// Error says why a document was refused as a schema.
type Error struct {
	Pointer string // JSON Pointer into the schema document; "" is the whole
	Reason  string

	// Unsupported tells a schema that this package does not check, or not
	// safely, from a document that is no valid schema at all.
	Unsupported bool
}

func (e *Error) Error() string {
	what := "invalid schema"
	if e.Unsupported {
		what = "unsupported schema"
	}
	if e.Pointer == "" {
		return fmt.Sprintf("%s: %s", what, e.Reason)
	}
	return fmt.Sprintf("%s: %s: %s", what, e.Pointer, e.Reason)
}
