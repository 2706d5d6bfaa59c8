// Package jsonvalue gives JSON text exactly one reading: a strict decoder, and
// the canonical form that two texts share when they say the same.
//
// Start with [Decode]. It returns the tree that encoding/json would (map,
// slice, string, bool, nil) with every number as a [json.Number], or an error
// with the byte offset. [AppendCanonical] writes such a tree back.
//
// One invariant: a text with two possible readings (duplicate keys, invalid
// UTF-8, an unpaired surrogate, text after the document) is refused, never
// resolved.
//
// It stands below lab/schema, lab/contract and lab/dataset, which all have to
// agree on that one reading. It knows no types of the lab.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a document. They bound the recursion and the arithmetic of
// everything that walks a decoded tree.
const (
	MaxDepth    = 64  // nested arrays and objects
	MaxDigits   = 400 // digits of a number, leading and trailing zeros included
	MaxExponent = 400 // an exponent as written, either sign
)

// SyntaxError says why a text has no single reading.
type SyntaxError struct {
	Offset  int64  // bytes before the fault
	Pointer string // JSON Pointer of the value in which the fault is
	Reason  string
}

func (e *SyntaxError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("%s (byte %d)", e.Reason, e.Offset)
	}
	return fmt.Sprintf("%s at %s (byte %d)", e.Reason, e.Pointer, e.Offset)
}

type reader struct {
	source bytes.Buffer // which the tokenizer reads in place
	tokens jsontext.Decoder
	names  map[string]string // keys that were met, to be held once
}

// Bounds of reader.names.
const (
	maxNames = 256
	maxName  = 64 // bytes
)

var readers = sync.Pool{New: func() any { return &reader{names: make(map[string]string)} }}

// Decode reads one JSON document and nothing after it. Every error is a
// [*SyntaxError].
func Decode(text []byte) (any, error) {
	r := readers.Get().(*reader)
	defer func() {
		// What is put back holds on to nothing of the text.
		r.source = bytes.Buffer{}
		r.tokens.Reset(&r.source)
		readers.Put(r)
	}()
	r.source = *bytes.NewBuffer(text)
	r.tokens.Reset(&r.source)

	value, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if rest := bytes.TrimLeft(text[r.tokens.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, &SyntaxError{Offset: int64(len(text) - len(rest)), Reason: "text after the document"}
	}
	return value, nil
}

func (r *reader) value(depth int) (any, error) {
	token, err := r.tokens.ReadToken()
	if err != nil {
		return nil, Syntax(err)
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't':
		return true, nil
	case 'f':
		return false, nil
	case '"':
		return token.String(), nil
	case '0':
		literal := token.String()
		if reason := checkNumber(literal); reason != "" {
			return nil, r.fault(len(literal), reason)
		}
		return json.Number(literal), nil
	}
	if depth == MaxDepth {
		return nil, r.fault(1, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	if token.Kind() == '[' {
		array := []any{}
		for r.tokens.PeekKind() != ']' {
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			array = append(array, item)
		}
		_, err := r.tokens.ReadToken()
		return array, Syntax(err)
	}
	object := make(map[string]any, 4)
	for r.tokens.PeekKind() != '}' {
		key, err := r.name()
		if err != nil {
			return nil, Syntax(err)
		}
		if object[key], err = r.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err = r.tokens.ReadToken()
	return object, Syntax(err)
}

// name reads the key of a member. The same few keys come again and again.
func (r *reader) name() (string, error) {
	quoted, err := r.tokens.ReadValue()
	if err != nil || quoted.Kind() != '"' {
		return "", err
	}
	plain := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(plain, '\\') >= 0 {
		unquoted, err := jsontext.AppendUnquote(nil, quoted)
		return string(unquoted), err
	}
	if name, known := r.names[string(plain)]; known {
		return name, nil
	}
	name := string(plain)
	if len(name) <= maxName && len(r.names) < maxNames {
		r.names[name] = name
	}
	return name, nil
}

// fault refuses the token that was just read, which is that many bytes long.
func (r *reader) fault(length int, reason string) error {
	start := r.tokens.InputOffset() - int64(length)
	return &SyntaxError{start, string(r.tokens.StackPointer()), reason}
}

// Syntax turns an error of the JSON tokenizer into a [*SyntaxError] in the
// words of this package. It returns nil for nil.
func Syntax(err error) error {
	if err == nil {
		return nil
	}
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		if errors.Is(err, io.EOF) {
			return &SyntaxError{Reason: "no JSON document"}
		}
		return &SyntaxError{Reason: err.Error()}
	}
	fault := &SyntaxError{Offset: syntactic.ByteOffset, Pointer: string(syntactic.JSONPointer)}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		fault.Reason = "duplicate key"
	case errors.Is(err, io.ErrUnexpectedEOF):
		fault.Reason = "the document ends too early"
	default:
		fault.Reason = syntactic.Err.Error()
	}
	return fault
}
