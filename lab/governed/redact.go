package governed

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// redactor takes the values of some fields out of what a server says. The registry
// does that for fields of the output; a server also writes JSON into texts, and
// says in its errors what it likes. The nil redactor takes out nothing.
type redactor struct{ hidden registry.Redaction }

// redacted is what the registry puts there too, where it is given no key.
const redacted = registry.Redacted

// maxNested bounds JSON in texts in JSON.
const maxNested = 4

func newRedactor(limits *contract.Output) *redactor {
	hidden := registry.RedactionBy(limits)
	if !hidden.Any() {
		return nil
	}
	return &redactor{hidden}
}

func (r *redactor) hides(name string) bool {
	return r != nil && r.hidden.Has(name)
}

// document returns a JSON document without what is hidden.
func (r *redactor) document(document json.RawMessage) json.RawMessage { return r.in(document, true) }

// output returns an output without what is hidden in its texts. Its own fields are
// left to the registry, which first holds them against the output schema: what
// stands for a value need not satisfy it.
func (r *redactor) output(output json.RawMessage) json.RawMessage { return r.in(output, false) }

func (r *redactor) in(document json.RawMessage, fields bool) json.RawMessage {
	if r == nil || len(document) == 0 {
		return document
	}
	value, err := jsonvalue.Decode(document)
	if err != nil {
		return document
	}
	if value, found := r.value(value, 0, fields); found {
		return jsonvalue.AppendCanonical(nil, value)
	}
	return document
}

// text returns a text without what is hidden in it, where it is JSON. One that
// begins as JSON and is none cannot be looked through. Any other is cut where a
// member of a hidden name begins, as where a message shows what it is about.
func (r *redactor) text(text string) string {
	text, _ = r.inText(text, 0)
	return text
}

func (r *redactor) inText(text string, nested int) (string, bool) {
	start := strings.Trim(text, "\ufeff \t\r\n")
	if r == nil || start == "" {
		return text, false
	}
	like := likeJSON(start)
	if like || start[0] == '[' || start[0] == '"' {
		if nested > maxNested {
			return redacted, true
		}
		value, err := jsonvalue.Decode([]byte(start))
		switch {
		case err == nil:
			if value, found := r.value(value, nested+1, true); found {
				return string(jsonvalue.AppendCanonical(nil, value)), true
			}
			return text, false
		case like:
			return redacted, true
		}
	}
	for _, at := range memberName().FindAllStringSubmatchIndex(text, -1) {
		if r.hides(text[at[2]:at[3]]) {
			return text[:at[0]] + redacted, true
		}
	}
	return text, false
}

// memberName is how a member begins in JSON, in JSON in a string, and as Python
// shows a dict.
var memberName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\*["']([^"'\\\n]{1,200})\\*["']\s*:`)
})

// likeJSON reports whether a text begins as an object does, or a list of what can
// hold one.
func likeJSON(text string) bool {
	rest, list := strings.CutPrefix(text, "[")
	for list {
		text = strings.TrimLeft(rest, " \t\r\n")
		rest, list = strings.CutPrefix(text, "[")
	}
	rest, object := strings.CutPrefix(text, "{")
	rest = strings.TrimLeft(rest, " \t\r\n")
	return object && (rest == "" || rest[0] == '"' || rest[0] == '}')
}

// value replaces what is hidden, in place, and reports whether there was anything.
// Without fields, those with a hidden name are passed over.
func (r *redactor) value(value any, nested int, fields bool) (any, bool) {
	found := false
	switch v := value.(type) {
	case string:
		return r.inText(v, nested)
	case []any:
		for i, item := range v {
			clean, was := r.value(item, nested, fields)
			v[i], found = clean, found || was
		}
	case map[string]any:
		for name, member := range v {
			if member != nil && r.hides(name) {
				if fields {
					v[name], found = redacted, true
				}
				continue
			}
			clean, was := r.value(member, nested, fields)
			v[name], found = clean, found || was
		}
	}
	return value, found
}

// texts are the texts of an output: those of its content, where it is the content
// of an answer, else all of it.
func texts(output json.RawMessage) []string {
	var blocks struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if bytes.Contains(output, []byte(`"content"`)) && json.Unmarshal(output, &blocks) == nil && blocks.Content != nil {
		all := []string{}
		for _, b := range blocks.Content {
			if b.Type == "text" {
				all = append(all, b.Text)
			}
		}
		return all
	}
	return []string{string(output)}
}

// said returns the texts of an answer, in the server's own words.
func said(result *tool.Result) []string {
	switch {
	case result.Reply != nil:
		return result.Reply.Texts
	case result.Error != nil:
		return []string{result.Error.Message}
	}
	return texts(result.Output)
}
