package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/spelling"
)

// Limits of a case, the same as in the JSON Schema.
const (
	MaxIDLength  = 200           // characters of a case_id
	MaxCount     = 1_000_000_000 // of a count that is expected
	MaxProposals = 1000          // of one surface, so that a short line is not a long run
	MaxTodo      = 1000          // characters of a todo
	MaxClause    = 1000          // characters of a clause
)

func ptr[T any](v T) *T { return &v }

// lineReader reads the cases of one batch, a line at a time. A fault of form
// is noted and reading goes on; a fault of syntax ends the line.
type lineReader struct {
	source   bytes.Buffer // which the tokenizer reads in place
	tokens   jsontext.Decoder
	line     []byte
	syntax   error     // the fault that ended the line
	faults   int       // of the line
	settings *Settings // nil where nothing is known of surfaces
	note     func(field, reason string)
}

// fault notes what is wrong at a place of the line.
func (r *lineReader) fault(field, reason string) {
	r.faults++
	r.note(field, reason)
}

// decode reads one line. Where it noted a fault the case is of no use.
func (r *lineReader) decode(line []byte) *Case {
	r.line, r.syntax, r.faults = line, nil, 0
	r.source = *bytes.NewBuffer(line)
	r.tokens.Reset(&r.source)

	c := new(Case)
	object(r, caseFields, c)
	if r.syntax == nil {
		if rest := bytes.TrimLeft(line[r.tokens.InputOffset():], whiteSpace); len(rest) > 0 {
			r.syntax = &jsonvalue.SyntaxError{Offset: int64(len(line) - len(rest)), Reason: "text after the case"}
		}
	}
	var fault *jsonvalue.SyntaxError
	if errors.As(r.syntax, &fault) {
		r.fault(dotted(fault.Pointer), fmt.Sprintf("%s (byte %d of the line)", fault.Reason, fault.Offset+1))
	}
	if r.faults == 0 {
		r.whole(c)
	}
	return c
}

// fail ends the line where err is a fault of syntax.
func (r *lineReader) fail(err error) bool {
	if err != nil && r.syntax == nil {
		r.syntax = jsonvalue.Syntax(err)
	}
	return r.syntax != nil
}

// wrong notes that the value just read is not what it must be.
func (r *lineReader) wrong(format string, args ...any) {
	r.fault(dotted(string(r.tokens.StackPointer())), fmt.Sprintf(format, args...))
}

// expect reports whether a value of this kind comes next. Another value is
// noted and passed over.
func (r *lineReader) expect(kind jsontext.Kind, description string) bool {
	if r.syntax != nil {
		return false
	}
	found := r.tokens.PeekKind()
	if found == kind {
		return true
	}
	if r.fail(r.tokens.SkipValue()) {
		return false
	}
	r.wrong("must be %s, not %s", description, kindNames[found])
	return false
}

var kindNames = map[jsontext.Kind]string{
	'n': "null", 't': "true", 'f': "false", '"': "a string", '0': "a number", '{': "an object", '[': "an array",
}

func (r *lineReader) next() (jsontext.Token, bool) {
	token, err := r.tokens.ReadToken()
	return token, !r.fail(err)
}

// name reads the name of a member, which stays as it is until more is read.
func (r *lineReader) name() ([]byte, bool) {
	quoted, err := r.tokens.ReadValue()
	if r.fail(err) {
		return nil, false
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], true
	}
	name, _ := jsontext.AppendUnquote(nil, quoted)
	return name, true
}

// object reads an object by its table of fields.
func object[T any](r *lineReader, fields table[T], into *T) {
	if !r.expect('{', "an object") {
		return
	}
	if _, ok := r.next(); !ok {
		return
	}
	var seen uint64 // a bit a field
	for r.tokens.PeekKind() != '}' {
		name, ok := r.name()
		if !ok {
			return
		}
		known := false
		for i := range fields {
			if fields[i].name == string(name) {
				known = true
				seen |= 1 << i
				fields[i].read(r, into)
				break
			}
		}
		if !known {
			meant := instead(r.tokens.StackPointer(), string(name), fields)
			if r.fail(r.tokens.SkipValue()) {
				return
			}
			r.wrong("unknown field%s", meant)
		}
		if r.syntax != nil {
			return
		}
	}
	if _, ok := r.next(); !ok {
		return
	}
	for i := range fields {
		if reason := fields.presenceFault(i, seen); reason != "" {
			path := dotted(string(r.tokens.StackPointer()))
			r.fault(strings.TrimPrefix(path+"."+fields[i].name, "."), reason)
		}
	}
}

// instead ends the reason of a field that is unknown, where it is known what was
// meant.
func instead[T any](at jsontext.Pointer, name string, fields table[T]) string {
	if at.Parent() == "/expected" && slices.Contains(stepFields.names(), name) {
		return "; it stands in expected.steps"
	}
	if meant := spelling.Nearest(name, fields.names()); meant != "" {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	return ""
}

// array reads an array of at least least items.
func array[T any](r *lineReader, least int, item func() T) []T {
	items := []T{}
	if !r.expect('[', "an array") {
		return items
	}
	if _, ok := r.next(); !ok {
		return items
	}
	for r.tokens.PeekKind() != ']' {
		items = append(items, item())
		if r.syntax != nil {
			return items
		}
	}
	if _, ok := r.next(); ok && len(items) < least {
		r.wrong("must not be empty")
	}
	return items
}

func (r *lineReader) text(least, most int) string {
	if !r.expect('"', "a string") {
		return ""
	}
	token, ok := r.next()
	if !ok {
		return ""
	}
	text := token.String()
	switch n := utf8.RuneCountInString(text); {
	case n < least:
		r.wrong("must not be empty")
	case n > most:
		r.wrong("must be at most %d characters", most)
	}
	return text
}

func (r *lineReader) boolean() bool {
	if kind := r.tokens.PeekKind(); kind != 't' && kind != 'f' {
		r.expect('t', "true or false")
		return false
	}
	token, ok := r.next()
	return ok && token.Bool()
}

func (r *lineReader) count() int { return r.number(0) }

func (r *lineReader) number(least int) int {
	if !r.expect('0', "a whole number") {
		return 0
	}
	token, ok := r.next()
	if !ok {
		return 0
	}
	number, err := wholeNumber(token.String())
	if err != nil || number < least || number > MaxCount {
		r.wrong("must be a whole number from %d to %d", least, MaxCount)
		return 0
	}
	return number
}

// wholeNumber reads an integer in any spelling (1, 1.0, 1e0). It is exact: a
// number that a double would round to an integer is none.
func wholeNumber(literal string) (int, error) {
	if number, err := strconv.Atoi(literal); err == nil {
		return number, nil
	}
	number, err := jsonvalue.Decode([]byte(literal))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(jsonvalue.AppendCanonical(nil, number)))
}

// set reads an array of texts, each of at least least characters, in which none
// stands twice.
func (r *lineReader) set(least int) []string {
	seen := make(map[string]bool)
	return array(r, 0, func() string {
		isText := r.tokens.PeekKind() == '"'
		key := r.text(least, math.MaxInt)
		if !isText || r.syntax != nil {
			return key
		}
		if seen[key] {
			r.wrong("repeats %q", key)
		}
		seen[key] = true
		return key
	})
}

func (r *lineReader) proposals() []Proposal {
	list := array(r, 1, func() (p Proposal) {
		object(r, proposalFields, &p)
		return p
	})
	if len(list) > MaxProposals && r.syntax == nil {
		r.wrong("must be at most %d proposals", MaxProposals)
	}
	return list
}

// calls reads lists of proposals, each under the name of its surface.
func (r *lineReader) calls() []Calls {
	calls := []Calls{}
	if !r.expect('{', "an object") {
		return calls
	}
	if _, ok := r.next(); !ok {
		return calls
	}
	for r.tokens.PeekKind() != '}' {
		name, ok := r.name()
		if !ok {
			return calls
		}
		surface := string(name) // before more is read
		calls = append(calls, Calls{surface, r.proposals()})
		if r.syntax != nil {
			return calls
		}
	}
	if _, ok := r.next(); ok && len(calls) == 0 {
		r.wrong("must not be empty")
	}
	return calls
}

// rawObject reads arguments without looking at what they say. Whether they
// have one reading is the concern of whoever is called with them; duplicate
// keys and invalid UTF-8 have ended the line already.
func (r *lineReader) rawObject() json.RawMessage {
	if !r.expect('{', "an object") {
		return nil
	}
	return r.raw()
}

// raw reads any value as it is written.
func (r *lineReader) raw() json.RawMessage {
	value, err := r.tokens.ReadValue()
	if r.fail(err) {
		return nil
	}
	// The tokenizer's bytes are its own, those of the line stay.
	end := r.tokens.InputOffset()
	start := end - int64(len(value))
	return json.RawMessage(r.line[start:end:end])
}

// dotted writes a JSON Pointer the way a person writes a place in a case:
// expected.output_keys[1].
func dotted(pointer string) string {
	var path strings.Builder
	for token := range jsontext.Pointer(pointer).Tokens() {
		if path.Len() > maxPath {
			path.WriteString("...")
			break
		}
		if path.Len() > 0 && token != "" && strings.Trim(token, "0123456789") == "" {
			fmt.Fprintf(&path, "[%s]", token)
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(plainName(token))
	}
	return path.String()
}

// maxName is how many bytes of a name a fault tells, and maxPath after how many
// a path has no further step.
const (
	maxName = 80
	maxPath = 240
)

// plainName returns a name that anything may print: a name that is not made of
// letters, digits, _ and - is quoted, and a long one is cut.
func plainName(name string) string {
	if len(name) > maxName {
		return plainName(strings.ToValidUTF8(name[:maxName], "")) + "..."
	}
	plain := func(c rune) bool {
		return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
	}
	if name != "" && strings.TrimFunc(name, plain) == "" {
		return name
	}
	return strconv.Quote(name)
}
