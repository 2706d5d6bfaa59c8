package yamlfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"agentlab/lab/jsonvalue"
)

// Document reads the text of a file as one YAML document, and returns the value
// that it holds.
func (r *Reader) Document(text []byte) (Place, bool) {
	if len(text) > MaxFile {
		r.everywhere(1, 1, fmt.Sprintf("is longer than %d MiB", MaxFile>>20))
		return Place{}, false
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if at, reason := unreadable(text); reason != "" {
		line, column := position(text, at)
		r.everywhere(line, column, reason)
		return Place{}, false
	}
	if _, err := jsonvalue.Decode(text); err == nil {
		text = escape().ReplaceAllFunc(text, known)
	}
	root, second, err := parse(text)
	switch {
	case err != nil:
		line, column, reason := diagnose(text, err)
		r.everywhere(line, column, reason)
	case root == nil:
		r.everywhere(1, 1, "is empty")
	case second != nil:
		r.everywhere(second.Line, second.Column, "a second document begins; a file holds one")
	default:
		return Place{node: root}, true
	}
	return Place{}, false
}

// JSON has escapes that YAML, or the library, does not know: a character beyond
// the first 65,536 as two halves, and the slash.
var escape = Grammar(`\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)`)

// known writes an escape of JSON as YAML knows it.
func known(escape []byte) []byte {
	if string(escape) == `\/` {
		return escape[1:]
	}
	if len(escape) == 2 {
		return escape
	}
	var text string
	if err := json.Unmarshal(slices.Concat([]byte(`"`), escape, []byte(`"`)), &text); err != nil {
		return escape
	}
	return fmt.Appendf(nil, `\U%08X`, []rune(text)[0])
}

// everywhere is a fault of the file rather than of a value.
func (r *Reader) everywhere(line, column int, reason string) {
	r.Fault(Place{node: &yaml.Node{Line: line, Column: column}}, reason)
}

// unreadable finds the first byte that no text has.
func unreadable(text []byte) (at int, reason string) {
	for at < len(text) {
		c, size := utf8.DecodeRune(text[at:])
		switch {
		case c == utf8.RuneError && size == 1:
			return at, "is not UTF-8"
		case c == 0xfeff:
			return at, "a byte-order mark in the middle"
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c >= 0x7f && c < 0xa0 && c != 0x85, c == 0xfffe, c == 0xffff:
			return at, fmt.Sprintf("the control character %U", c)
		}
		at += size
	}
	return 0, ""
}

// position counts lines and columns from 1, as the YAML library does.
func position(text []byte, at int) (line, column int) {
	before := lineEnd().Split(string(text[:at]), -1)
	return len(before), utf8.RuneCountInString(before[len(before)-1]) + 1
}

var lineEnd = Grammar("\r\n|[\r\n\u0085\u2028\u2029]")

// parse returns the values of the first and the second document. Both are nil
// in an empty text.
func parse(text []byte) (first, second *yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for _, into := range []**yaml.Node{&first, &second} {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		*into = document.Content[0]
	}
	return first, second, nil
}
