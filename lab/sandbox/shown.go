package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/process"
	"agentlab/lab/suite"
)

// shown is what stands in reports in place of the paths of a folder.
type shown struct {
	path string
	// The last part of the root's path. No encoder changes it, so that it is in
	// every form of the paths.
	mark     string
	document []replacement // in JSON; of the longer path first
	text     []replacement
}

type replacement struct{ form, name string }

func show(path, root string) shown {
	s := shown{path: path, mark: filepath.Base(root)}
	for _, p := range []struct{ path, name string }{
		{path, suite.SandboxVariable},
		{root, suite.SandboxVariable + "/.."},
	} {
		for i, form := range forms(p.path) {
			s.text = append(s.text, replacement{form, p.name})
			if i > 0 || form == inString(form) {
				s.document = append(s.document, replacement{form, p.name})
			}
		}
	}
	// What is left of a path that was cut, or is written in yet another way, is at
	// least the same in every run.
	last := replacement{s.mark, rootName}
	s.document, s.text = append(s.document, last), append(s.text, last)
	return s
}

// maxNested is how deep a JSON document may be a string in another for the path
// to be found in it.
const maxNested = 4

// forms are the ways in which a path is written, as it is first: within a JSON
// string, by encoders that escape the slash or what is not ASCII too; within a
// JSON document that is itself a string; within a URL.
func forms(path string) []string {
	quoted := inString(path)
	all := []string{path}
	for _, escaped := range []string{
		quoted,
		strings.ReplaceAll(quoted, "/", `\/`),
		ascii(quoted, `\u%04x`),
		ascii(quoted, `\u%04X`),
	} {
		for range maxNested {
			all = append(all, escaped)
			escaped = inString(escaped)
		}
	}
	all = append(all, (&url.URL{Path: path}).EscapedPath(), url.PathEscape(path))
	var unique []string
	seen := make(map[string]bool)
	for _, form := range all {
		if !seen[form] {
			seen[form] = true
			unique = append(unique, form)
		}
	}
	return unique
}

// inString is a text as it stands between the quotes of a JSON string.
func inString(text string) string {
	quoted := jsonvalue.AppendString(nil, text)
	return string(quoted[1 : len(quoted)-1])
}

func ascii(text, format string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, format, unit)
		}
	}
	return b.String()
}

var variable = []byte(suite.SandboxVariable)

// enter puts the path into a JSON document in place of the variable, also where
// the document has a string in it that is a JSON document.
func (s *shown) enter(document []byte) []byte {
	if !bytes.Contains(document, variable) {
		return document
	}
	quoted := inString(s.path)
	if quoted == s.path {
		return bytes.ReplaceAll(document, variable, []byte(quoted))
	}
	var out []byte
	for len(document) > 0 {
		start := bytes.IndexByte(document, '"')
		length := stringLength(document, start)
		if length == 0 {
			break
		}
		out = append(out, document[:start]...)
		text := document[start : start+length]
		document = document[start+length:]
		var inner string
		if bytes.Contains(text, variable) && json.Unmarshal(text, &inner) == nil && holds(inner) {
			text = jsonvalue.AppendString(nil, string(s.enter([]byte(inner))))
		} else {
			text = bytes.ReplaceAll(text, variable, []byte(quoted))
		}
		out = append(out, text...)
	}
	return append(out, document...)
}

// holds reports whether a text is a JSON document in which something stands.
func holds(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && strings.Contains(`{["`, text[:1]) && json.Valid([]byte(text))
}

// stringLength is the length of the JSON string that starts there, with its
// quotes, or 0 where there is none.
func stringLength(document []byte, start int) int {
	if start < 0 {
		return 0
	}
	for i := start + 1; i < len(document); i++ {
		switch document[i] {
		case '\\':
			i++
		case '"':
			return i + 1 - start
		}
	}
	return 0
}

// leave puts the variable into a JSON document in place of the paths, and takes
// out of it whatever else differs from run to run.
func (s *shown) leave(document []byte) []byte {
	document = process.Unmark(document)
	if !bytes.Contains(document, []byte(s.mark)) {
		return document
	}
	for _, r := range s.document {
		document = bytes.ReplaceAll(document, []byte(r.form), []byte(r.name))
	}
	return document
}

// leaveText is leave for a text.
func (s *shown) leaveText(text string) string {
	text = string(process.Unmark([]byte(text)))
	if !strings.Contains(text, s.mark) {
		return text
	}
	for _, r := range s.text {
		text = strings.ReplaceAll(text, r.form, r.name)
	}
	return text
}
