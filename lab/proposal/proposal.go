// Package proposal turns what a model put out into proposals, strictly.
//
// Start with [Read], which recognises the format of one document by its shape,
// or with [ReadAs] where the format is known. Both return the proposals in
// their order, or an error.
//
// One invariant: a document has exactly one reading or is refused. Nothing is
// repaired, completed, picked out of free text or evaluated, and a call that
// cannot be read whole refuses its whole document. What is returned shares no
// memory with the text.
//
// Beside calls a document may hold text, reasoning and the traces of tools
// that the provider ran itself, and envelopes may have fields that are unknown
// here. Ids of calls are not kept: a proposal is graded by its place. The
// arguments are the bytes that were proposed; only where Gemini and MCP
// document them as optional, and they are absent, are they {}. An empty
// arguments string, as some servers send it, is refused: what is documented is
// a string of JSON, and that it is not. The words in an envelope are never
// read as [Fenced].
//
// A document of a known format without a call is well formed and is told by
// [ErrNothing]. One of which its provider says that it was cut off is
// malformed even so, since the call can be what is missing.
//
// It is not for streams of deltas, nor for deciding whether a tool exists and
// its arguments fit: those are the registry's lookup and input controls.
package proposal

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// MaxBytes is the limit of a document. Nesting and numbers have the limits of
// lab/jsonvalue; nesting is counted by JSON text, so that a document with its
// envelope is one count and an arguments string another.
const MaxBytes = 1 << 20

// What a [*Malformed] is as a [tool.Error].
const (
	MalformedCode     tool.Code     = "malformed_proposal"
	MalformedCategory tool.Category = "protocol"
)

// Format names the shape of a document.
type Format string

const (
	// OpenAIChat is a Chat Completions response, one of its choices, or an
	// assistant message.
	OpenAIChat Format = "openai-chat"
	// OpenAIResponses is a Responses response, a list of output items, or one
	// function_call item.
	OpenAIResponses Format = "openai-responses"
	// AnthropicMessages is a Messages response, a list of content blocks, or
	// one tool_use block.
	AnthropicMessages Format = "anthropic-messages"
	// Gemini is a generateContent response, a candidate, a content, a list of
	// parts, or one functionCall part.
	Gemini Format = "gemini"
	// MCP is a tools/call request.
	MCP Format = "mcp"
	// Fenced is prose with one block that opens with ```json and holds an
	// object of name and arguments, and nothing else.
	Fenced Format = "fenced"
)

// Formats lists the formats in the order of the documentation.
func Formats() []Format {
	return []Format{OpenAIChat, OpenAIResponses, AnthropicMessages, Gemini, MCP, Fenced}
}

// ErrNothing says that a document of a known format has no call: the model
// answered in words, or asked for something that is no tool.
var ErrNothing = errors.New("nothing was proposed")

// Malformed says why a text has no single reading as proposals.
type Malformed struct {
	// Offset is the number of bytes before the fault in the text as given.
	// Where the fault is in an arguments string it points at the byte, or the
	// start of the escape, that spells the faulty character.
	Offset int
	Reason string
}

// Code returns [MalformedCode].
func (*Malformed) Code() tool.Code { return MalformedCode }

func (e *Malformed) Error() string {
	return fmt.Sprintf("%s: %s (byte %d)", MalformedCode, e.Reason, e.Offset)
}

func fault(offset int, format string, args ...any) error {
	return &Malformed{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// Read reads one document whose format its shape tells. The error is a
// [*Malformed] or [ErrNothing].
//
// A text that begins with { or [ is JSON as a whole; any other is prose, and
// has the shape of a format only where it has a fence. Bare JSON in prose, or
// after it, is never looked for.
func Read(text []byte) ([]tool.Proposal, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	switch {
	case startsJSON(text):
		return readJSON(text, shapes, anyFormat)
	case hasFence(text):
		return readFenced(text)
	default:
		return nil, fault(skipSpace(text, 0), "the text does not have the shape of %s", anyFormat)
	}
}

const anyFormat = "any format"

// ReadAs reads one document of a format. The error is a [*Malformed] or
// [ErrNothing]; only an unknown format gives another.
//
// Read as [Fenced], prose without a fence is [ErrNothing].
func ReadAs(format Format, text []byte) ([]tool.Proposal, error) {
	if !slices.Contains(Formats(), format) {
		return nil, fmt.Errorf("no format is named %q", format)
	}
	if err := checkText(text); err != nil {
		return nil, err
	}
	if format != Fenced {
		ofFormat := slices.DeleteFunc(slices.Clone(shapes), func(s shape) bool { return s.format != format })
		return readJSON(text, ofFormat, string(format))
	}
	if startsJSON(text) && !hasFence(text) {
		return nil, fault(skipSpace(text, 0), "JSON without a fence is not %s", Fenced)
	}
	return readFenced(text)
}

// checkText refuses what no format allows.
func checkText(text []byte) error {
	if len(text) > MaxBytes {
		return fault(MaxBytes, "longer than %d bytes", MaxBytes)
	}
	if bytes.HasPrefix(text, byteOrderMark) {
		return fault(0, "a byte order mark")
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return fault(at, "invalid UTF-8")
		}
		at += size
	}
	return nil
}

var byteOrderMark = []byte("\ufeff")

// startsJSON reports whether a text begins as a JSON object or array does.
func startsJSON(text []byte) bool {
	at := skipSpace(text, 0)
	return at < len(text) && (text[at] == '{' || text[at] == '[')
}

// skipSpace returns where the white space of JSON ends that begins at a place.
func skipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}

// checkJSON refuses what is not one strict JSON document, with the offset in
// that document.
func checkJSON(text []byte) error {
	if bytes.HasPrefix(text, byteOrderMark) {
		return fault(0, "a byte order mark")
	}
	_, err := jsonvalue.Decode(text)
	var syntax *jsonvalue.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fault(int(syntax.Offset), "%s", syntax.Reason)
	case err != nil:
		return fault(0, "%v", err)
	}
	return nil
}

// readJSON reads a text in the one of these shapes that it has. What they have
// in common is told where it has none.
func readJSON(text []byte, shapes []shape, wanted string) ([]tool.Proposal, error) {
	if err := checkJSON(text); err != nil {
		return nil, err
	}
	root, err := newDocument(valueIn(text, 0, len(text)))
	if err != nil {
		return nil, err
	}
	var found []shape
	for _, s := range shapes {
		if s.fits(root) {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fault(root.start, "the text does not have the shape of %s", wanted)
	case len(found) > 1:
		return nil, fault(root.start, "the text has two shapes: %s and %s", found[0].name, found[1].name)
	}
	proposals, err := found[0].read(root)
	if err != nil {
		return nil, err
	}
	if len(proposals) == 0 {
		return nil, ErrNothing
	}
	return proposals, nil
}
