// Package schema compiles JSON Schema documents and validates values against
// them.
//
// Start with [Compile] for a schema of our own and [CompileForeign] for one that
// somebody else wrote; [Schema.Validate] takes a tree from jsonvalue.Decode
// and lists every violation as JSON Pointer, keyword and message. [Tighten] lays
// keywords of our own over a foreign schema, if they can only tighten it.
//
// One invariant: a value is never accepted wrongly. What the engines behind
// this package get wrong, do not know or cannot do in bounded time is refused
// when the schema is compiled, or put right; the error tells an invalid schema
// from one that is not supported here. A check takes about a second at most,
// and no file or address is ever opened.
//
// It is not a formatter, a generator or a fetcher of schemas: a reference
// that leaves the document is refused.
//
// # Schemas
//
// The dialects are draft-04, draft-06, draft-07, 2019-09 and 2020-12, by
// $schema. Without one, a schema of our own is of draft-07, and a foreign one
// of what the caller names: with MCP, 2020-12. The keywords are those of the
// table in keyword.go. Annotations are checked for their shape only.
//
// Two engines stand behind the one door. gojsonschema takes our own schemas of
// the drafts and the foreign ones of the drafts that hold nothing it cannot do:
// it is faster. santhosh-tekuri/jsonschema takes 2019-09, 2020-12 and what else
// foreign schemas hold in the drafts: identities below the root, anchors,
// keywords beside $ref (which the drafts ignore), and numbers in const and enum
// that a double cannot hold, which it compares exactly. It gets a document of
// this package's making, never the original, and is bounded by the same budget.
//
// In a schema of our own, a keyword or a format that is not known is refused:
// it must not seem to be checked. In a foreign one it is an annotation, as JSON
// Schema has it. Never supported are other dialects, references that leave the
// document or lead into a keyword that is not known, a metaschema's own
// vocabularies, and patterns that have no equal in RE2.
//
// The formats are asserted in every dialect, on strings only, each by the
// grammar of its RFC: date-time, date, time, email, hostname, ipv4, ipv6,
// uri, uri-reference, uuid, json-pointer and relative-json-pointer. Patterns
// match by code point, with ECMA 262's white space and line ends. Content
// (contentEncoding, contentSchema) is never looked at.
//
// 1.0 is an integer in every draft, as draft-06 made it; the letter of
// draft-04 is that its text has no fraction. Since 2019-09, definitions and
// dependencies are deprecated and still mean what they meant; many a foreign
// schema of a draft has $defs, which mean the same as definitions there.
//
// # Violations
//
// Both engines' findings are told in one form and one set of words. The place
// of required, the dependencies, additionalProperties, propertyNames and of
// what is unevaluated is the object or array, and the message names the
// property. A value of a wrong type gets no violation but that. A failing
// anyOf, oneOf, not or contains is one violation; what its branches would say
// is not told. Those of allOf, then, else and references are told as if they
// stood in the schema itself. What is unevaluated is told only where nothing
// else is wrong, because what fails has evaluated nothing. A schema that is
// false has the keyword "false". Messages hold values of the schema and keys of
// the data, never values of the data.
//
// Where gojsonschema is asked for const, enum or uniqueItems, a number that a
// double cannot hold is a violation wherever it stands, with the keyword
// "schema", and the only kind that is told. So is, with both engines, a value
// too large to be checked in time, with the place of the whole.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/xeipuuv/gojsonschema"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Last resorts: what no table foresees.
const (
	notTaken   = "the validator does not take the schema"
	notChecked = "the value could not be checked"
)

// Schema is a compiled schema. It does not change and is safe for concurrent
// use.
type Schema struct {
	engine   *gojsonschema.Schema
	second   *jsonschema.Schema // instead of engine
	nodes    map[string]*node   // for second: the subschemas by their places in its document
	root     *node
	leftover bool // something is unevaluated
	weight   int
	equality bool
	sources  map[string]string // patterns and numbers of the document, by the engine's form
}

// Compile reads one JSON document as a schema of our own: without $schema it is
// of draft-07, and what is not known is refused, so that a misspelt keyword
// never seems to be checked. Every error is an [*Error].
func Compile(document []byte) (*Schema, error) {
	value, err := read(document)
	if err != nil {
		return nil, err
	}
	return (&checker{draft: Draft07}).compile(value)
}

// CompileForeign reads one JSON document as a schema that somebody else wrote:
// without $schema it is of the dialect given, and keywords and formats that
// are not known are annotations, as JSON Schema has it. Every error is an
// [*Error].
func CompileForeign(document []byte, unstated Dialect) (*Schema, error) {
	value, err := read(document)
	if err != nil {
		return nil, err
	}
	if unstated&anyDraft == 0 || unstated&(unstated-1) != 0 {
		return nil, &Error{Reason: "no dialect of JSON Schema was named", Unsupported: true}
	}
	c := checker{draft: unstated, foreign: true}
	s, err := c.compile(value)
	if err != nil && !c.second {
		return (&checker{draft: unstated, foreign: true, second: true}).compile(value)
	}
	return s, err
}

func read(document []byte) (any, error) {
	if len(document) > maxDocument {
		return nil, &Error{Reason: fmt.Sprintf("the document is longer than %d bytes", maxDocument), Unsupported: true}
	}
	value, err := jsonvalue.Decode(document)
	if err != nil {
		fault := &Error{Reason: err.Error()}
		if syntax := (*jsonvalue.SyntaxError)(nil); errors.As(err, &syntax) {
			fault.Pointer = syntax.Pointer
			fault.Reason = fmt.Sprintf("%s (byte %d)", syntax.Reason, syntax.Offset)
		}
		return nil, fault
	}
	return value, nil
}

func (c *checker) compile(value any) (*Schema, error) {
	root, err := c.document(value)
	if err != nil {
		return nil, err
	}
	s := &Schema{root: root, equality: c.equality, sources: c.sources, leftover: c.leftover}
	if c.second {
		s.second, s.nodes, err = c.compileSecond(root)
	} else {
		s.engine, err = engine(root)
	}
	if err != nil {
		// The engine's words are not for the outside, and it names no place.
		return nil, &Error{Reason: notTaken, Unsupported: true}
	}
	s.weight = weigh(root)
	return s, nil
}

// Validate lists what is wrong with a value, in the order of place, keyword
// and message, each once. The value is a tree from jsonvalue.Decode; nil means
// that it is valid.
func (s *Schema) Validate(value any) (found []tool.Violation) {
	defer func() {
		if recover() != nil {
			found = []tool.Violation{cannot("", notChecked)}
		}
	}()
	var x extent
	x.add(value, s.equality, 0)
	switch {
	case x.foreign:
		return []tool.Violation{cannot("", "is not a decoded JSON value")}
	case x.inexact:
		return sorted(inexact(nil, nil, value))
	case x.negativeZero:
		value = plainZeros(value)
	}
	if s.weight*(x.nodes+x.bytes/costSteps) > quickWork || x.bytes > quickBytes {
		work := meter{left: maxWork, leftover: s.leftover}
		if !work.visit(s.root, value, 0) {
			return []tool.Violation{cannot("", "is too large to be checked against this schema")}
		}
	}
	if s.second != nil {
		return (&outcome{nodes: s.nodes}).violations(s.second.Validate(value))
	}
	result, err := s.engine.Validate(gojsonschema.NewRawLoader(value))
	if err != nil {
		return []tool.Violation{cannot("", notChecked)}
	}
	if result.Valid() {
		return nil
	}
	return violations(result.Errors(), s.sources)
}

// inexact collects the numbers that the engine would round.
func inexact(found []tool.Violation, path []string, value any) []tool.Violation {
	switch v := value.(type) {
	case json.Number:
		if !jsonvalue.IsDouble(v) {
			found = append(found, cannot(pointer(path), "must be a number that a double can hold, to be compared"))
		}
	case []any:
		for i, item := range v {
			found = inexact(found, append(path, strconv.Itoa(i)), item)
		}
	case object:
		for name, member := range v {
			found = inexact(found, append(path, name), member)
		}
	}
	return found
}
