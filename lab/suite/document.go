package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"agentlab/lab/jsonvalue"
)

// document reads the text of a file as one YAML document, and returns the value
// that it holds.
func (r *reader) document(text []byte) (place, bool) {
	if len(text) > MaxFile {
		r.everywhere(1, 1, fmt.Sprintf("is longer than %d MiB", MaxFile>>20))
		return place{}, false
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if at, reason := unreadable(text); reason != "" {
		line, column := position(text, at)
		r.everywhere(line, column, reason)
		return place{}, false
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
		return place{node: root}, true
	}
	return place{}, false
}

// JSON has escapes that YAML, or the library, does not know: a character beyond
// the first 65,536 as two halves, and the slash.
var escape = grammar(`\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)`)

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
func (r *reader) everywhere(line, column int, reason string) {
	r.fault(place{node: &yaml.Node{Line: line, Column: column}}, reason)
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

var lineEnd = grammar("\r\n|[\r\n\u0085\u2028\u2029]")

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

// diagnose says where a text stops to be YAML, and why. The library tells a
// line that is often one before, and often that of what surrounds the mistake.
// So the lines that are YAML without the rest are looked for: the mistake is in
// the next one, or in what begins there.
func diagnose(text []byte, err error) (line, column int, reason string) {
	if likeJSON().Match(text) {
		// All of it is one flow mapping, of which the library tells little.
		var syntax *jsonvalue.SyntaxError
		if _, bad := jsonvalue.Decode(text); errors.As(bad, &syntax) {
			line, column = position(text, int(syntax.Offset))
			return line, column, "is not JSON: " + excerpt().ReplaceAllString(syntax.Reason, "")
		}
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	reached := min(reach(text), len(lines))
	begins := func(n int) int { return len(bytes.Join(lines[:n-1], nil)) }
	found := reached
	for n, spent := reached, 0; n > 0 && spent < maxReparsed; n-- {
		part := text[:begins(n)]
		if _, _, err := parse(part); err == nil {
			found = n
			break
		}
		spent += len(part)
	}
	indent := len(lines[found-1]) - len(bytes.TrimLeft(lines[found-1], " \t"))
	line, column = position(text, begins(found)+indent)
	return line, column, "is not YAML: " + words(err)
}

// excerpt is what a reason shows of the text, in which a secret may stand.
var excerpt = grammar("(?s) `.*`")

// maxReparsed bounds how many bytes of a faulty text are parsed again.
const maxReparsed = 512 << 10

// likeJSON is how JSON begins, comments that do not belong there included.
var likeJSON = grammar(`^\s*\{\s*["/]`)

// reach is the line that the parser has come to when it meets a mistake.
func reach(text []byte) int {
	lines := &lineReader{rest: text}
	decoder := yaml.NewDecoder(lines)
	for {
		if err := decoder.Decode(new(yaml.Node)); err != nil {
			return lines.given
		}
	}
}

// lineReader gives a line a Read.
type lineReader struct {
	rest  []byte
	given int // lines, in part or whole
	part  bool
}

func (l *lineReader) Read(into []byte) (int, error) {
	if len(l.rest) == 0 {
		return 0, io.EOF
	}
	size := bytes.IndexByte(l.rest, '\n') + 1
	if size == 0 {
		size = len(l.rest)
	}
	size = copy(into, l.rest[:size])
	if !l.part {
		l.given++
	}
	l.part = l.rest[size-1] != '\n'
	l.rest = l.rest[size:]
	return size, nil
}

var tellsLine = grammar(`^(yaml: )?(line \d+: )?`)

// words are the library's own, without the line and without what the file says.
func words(err error) string {
	text := tellsLine().ReplaceAllString(err.Error(), "")
	if strings.HasPrefix(text, "unknown anchor") {
		return "an alias (*) of an anchor that is not there; a string that begins with * is put in quotes"
	}
	return text
}
