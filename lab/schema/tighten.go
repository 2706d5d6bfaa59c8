package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"agentlab/lab/jsonvalue"
)

// Tighten lays the keywords of one schema over a foreign one, which without
// $schema is of 2020-12: whatever satisfies the result satisfies the upstream
// schema too.
//
// The keywords are laid over the whole, over what properties names, and over
// items. There type, enum, const and the bounds take the place of the
// upstream's where they are as tight or tighter; so does an
// additionalProperties that is false, or that the upstream leaves open; required
// is added to; annotations take the upstream's place; and everything else is
// asked for beside what the upstream asks. A property that the upstream does
// not name, where it names any, is refused: it would bind nothing. A
// local $ref in the way is replaced by a copy of what it leads to; references
// from elsewhere to what is tightened lead to a copy of what was there before,
// since whoever excludes it would else let more in.
//
// The keywords are in the upstream's dialect, and one that it does not know is
// refused. They may not hold references, identities or definitions.
//
// A fault of the upstream is an [*Error], one of the keywords a [*Loosening].
// The result is without white space, in the upstream's order of keys, with new
// ones at the end and numbers as they were written.
func Tighten(upstream, with json.RawMessage) (json.RawMessage, error) {
	if _, err := read(upstream); err != nil {
		return nil, err
	}
	under, err := inspect(parse(upstream))
	if err != nil {
		return nil, err
	}
	over, err := under.keywords(with)
	if err != nil {
		return nil, err
	}
	laid, err := (&laying{document: under}).schema(under.tree, over)
	if err != nil {
		return nil, err
	}
	touched, err := under.touched(laid)
	if err != nil {
		return nil, err
	}
	if len(touched) > 0 {
		if under, err = under.redirected(touched); err != nil {
			return nil, err
		}
		if laid, err = (&laying{document: under}).schema(under.tree, over); err != nil {
			return nil, err
		}
	}
	result := laid.append(nil)
	if _, err := CompileForeign(result, Draft202012); err != nil {
		return nil, because("", "with these keywords the schema cannot be checked", err)
	}
	return result, nil
}

const notShown = "cannot be shown"

// Loosening says why keywords were not laid over a schema: they would let more
// in than it does, or it cannot be shown that they do not.
type Loosening struct {
	Pointer string // JSON Pointer into the keywords; "" is the whole
	// Reason calls the upstream the server, as whoever writes keywords knows it.
	Reason string

	// Unknown is a property that the upstream does not name, where that is the
	// fault, and Known are those that it names, sorted; else nil. The reason is
	// then a sentence of its own.
	Unknown string
	Known   []string

	cause error
}

func (l *Loosening) Error() string {
	const what = "not a tighter schema: "
	if l.Pointer == "" {
		return what + l.Reason
	}
	return what + l.Pointer + ": " + l.Reason
}

// Unwrap returns the [*Error] of keywords that are no schema, or nil.
func (l *Loosening) Unwrap() error { return l.cause }

// because makes a Loosening of a fault of a schema.
func because(at, what string, err error) error {
	reason := err.Error()
	if fault := (*Error)(nil); errors.As(err, &fault) {
		if reason = fault.Reason; at == "" && what != "" && fault.Pointer != "" {
			reason = fault.Pointer + ": " + reason
		}
	}
	if what != "" {
		reason = what + ": " + reason
	}
	return &Loosening{Pointer: at, Reason: reason, cause: err}
}

// document is a foreign schema with what the check knows of it.
type document struct {
	tree     *ordered
	check    *checker
	pointers map[*node]string
}

func inspect(tree *ordered) (*document, error) {
	d := document{
		tree: tree, check: &checker{draft: Draft202012, foreign: true, second: true},
		pointers: make(map[*node]string),
	}
	root, err := d.check.document(tree.value())
	if err != nil {
		return nil, err
	}
	d.point(root)
	return &d, nil
}

func (d *document) point(root *node) {
	known := make(map[string]*node, len(d.check.nodes))
	d.check.places(known, "", root)
	for at, n := range known {
		d.pointers[n] = at
	}
}

// keywords reads what is to be laid over the document. It is a schema of our
// own: what is not known is refused.
func (d *document) keywords(with []byte) (*ordered, error) {
	value, err := read(with)
	if err != nil {
		return nil, because(err.(*Error).Pointer, "", err)
	}
	if members, ok := value.(object); ok && members["$schema"] != nil {
		return nil, &Loosening{Pointer: "/$schema", Reason: "the dialect is the server's"}
	}
	own := document{check: &checker{draft: d.check.draft, second: true}, pointers: make(map[*node]string)}
	compiled, err := own.check.compile(value)
	if err != nil {
		return nil, because(err.(*Error).Pointer, "", err)
	}
	own.point(compiled.root)
	for _, n := range own.check.nodes {
		for _, name := range sortedKeys(n.raw) {
			if row := own.check.row(name); row.structural() {
				return nil, &Loosening{Pointer: own.pointers[n] + "/" + jsonvalue.Token(name), Reason: "has no place in keywords that tighten a schema"}
			}
		}
	}
	return parse(with), nil
}

// structural reports whether a keyword is about the document and not about the
// data.
func (k *keyword) structural() bool {
	switch k.shape {
	case dialect, identity, anchor, reference:
		return true
	}
	return k.use == kept || k.name == "$vocabulary" || k.name == "$recursiveAnchor"
}

// laying lays keywords over a document.
type laying struct {
	*document
	path []string // into the keywords
}

// fault is about the keywords at a place below the one that is looked at.
func (l *laying) fault(tokens []string, format string, args ...any) error {
	return &Loosening{Pointer: pointer(slices.Concat(l.path, tokens)), Reason: fmt.Sprintf(format, args...)}
}

// schema lays the keywords of one place over the upstream's schema there, or
// over nil.
func (l *laying) schema(under, over *ordered) (*ordered, error) {
	switch {
	case under != nil && lets(over):
		return under, nil
	case over.is("false"), lets(under):
		return over, nil
	case under.is("false"):
		return nil, l.fault(nil, "the server allows nothing here")
	}
	under, err := l.resolved(under)
	if err != nil {
		return nil, err
	}
	p := spot{laying: l, under: under, over: over, out: under}
	for i, name := range over.names {
		if err := p.keyword(name, over.held[i]); err != nil {
			return nil, err
		}
	}
	return p.out, nil
}

// below runs a step one or more tokens down.
func (l *laying) below(step func() error, tokens ...string) error {
	before := len(l.path)
	l.path = append(l.path, tokens...)
	err := step()
	l.path = l.path[:before]
	return err
}
