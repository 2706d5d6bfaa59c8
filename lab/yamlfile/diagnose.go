package yamlfile

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"agentlab/lab/jsonvalue"
)

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
	told := words(err)
	return line, column, "is not YAML: " + told + advice(told, lines[found-1][:indent])
}

// advised are words of the library, and what most often is behind them.
var advised = []struct{ words, advice string }{
	{"mapping values are not allowed in this context", "a line is perhaps indented differently from its neighbours, or a string that holds a colon and a space needs quotes"},
	{"could not find expected ':'", "a space may be missing after a colon"},
	{"did not find expected key", "a line is perhaps indented differently from its neighbours"},
	{"did not find expected '-' indicator", "a line is perhaps indented differently from its neighbours"},
	{"found character that cannot start any token", "a string that begins with such a character is put in quotes"},
}

// advice is what to look for on a line that begins with this white space.
func advice(told string, indentation []byte) string {
	if bytes.IndexByte(indentation, '\t') >= 0 {
		return "; indent with spaces, not with a tab"
	}
	for _, a := range advised {
		if strings.HasPrefix(told, a.words) {
			return "; " + a.advice
		}
	}
	return ""
}

// excerpt is what a reason shows of the text, in which a secret may stand.
var excerpt = Grammar("(?s) `.*`")

// maxReparsed bounds how many bytes of a faulty text are parsed again.
const maxReparsed = 512 << 10

// likeJSON is how JSON begins, comments that do not belong there included.
var likeJSON = Grammar(`^\s*\{\s*["/]`)

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

var tellsLine = Grammar(`^(yaml: )?(line \d+: )?`)

// words are the library's own, without the line and without what the file says.
func words(err error) string {
	text := tellsLine().ReplaceAllString(err.Error(), "")
	if strings.HasPrefix(text, "unknown anchor") {
		return "an alias (*) of an anchor that is not there; a string that begins with * is put in quotes"
	}
	return text
}
