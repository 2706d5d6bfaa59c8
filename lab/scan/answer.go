package scan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/tool"
)

// maxAnswer is how much of an answer a finding holds, in bytes.
const maxAnswer = 300

// begins is how an answer begins, as a finding shows it: on one line.
func begins(r *tool.Result) string {
	text := said(r)
	if text == "" && r.Output != nil {
		text = string(r.Output)
	}
	return tool.Cut(strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "\uFFFD"), maxAnswer)
}

// said is the text of an answer.
func said(r *tool.Result) string {
	if r.Reply != nil && len(r.Reply.Texts) > 0 {
		return strings.Join(r.Reply.Texts, "\n")
	}
	if r.Error != nil {
		return r.Error.Message
	}
	return ""
}

// failureWords begin a text that tells of a failure. The words of a result that only
// speaks of errors stand elsewhere in it, or are part of a longer word.
var failureWords = regexp.MustCompile(`^(?:\W{0,4}(?i:error|exception|fatal|failure|mcp error)\s?(?:[-:(\[]|-?\d+:|executing |calling |reading |writing |occurred)` +
	`|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): ` +
	`|(?i:failed to |traceback \(most recent call last\)))`)

// verdictNames are what the members of an object are called that says how a call
// went, and nothing else. An object with others is data: of a job that failed, say.
var verdictNames = []string{"error", "errors", "isError", "is_error", "success", "ok", "status", "code", "message", "reason", "details", "detail", "type"}

// objectFailed tells how the object of a success says that the call failed, or is
// empty.
func objectFailed(r *tool.Result) string {
	if r.Error != nil || r.Reply == nil {
		return ""
	}
	how := ""
	for name, value := range members(r.Output) {
		if !slices.Contains(verdictNames, name) {
			return ""
		}
		text := string(value)
		switch {
		case how != "":
		case name == "error" && (value.Kind() == '{' && text != "{}" || value.Kind() == '"' && text != `""` || text == "true"),
			name == "errors" && value.Kind() == '[' && text != "[]",
			(name == "isError" || name == "is_error") && text == "true",
			(name == "success" || name == "ok") && text == "false",
			name == "status" && (text == `"error"` || text == `"failed"` || text == `"failure"`):
			how = tool.Cut(fmt.Sprintf("%q: %s", name, value), 100)
		}
	}
	return how
}

// textFailed is how the text of a success begins, where that is with the words of a
// failure.
func textFailed(r *tool.Result) string {
	if r.Error != nil || r.Reply == nil || len(r.Reply.Texts) == 0 {
		return ""
	}
	return failureWords.FindString(strings.TrimSpace(r.Reply.Texts[0]))
}

// members reads the top level of an object in its order; of anything else there are
// none.
func members(document json.RawMessage) func(yield func(string, jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		decoder := jsontext.NewDecoder(strings.NewReader(string(document)))
		if decoder.PeekKind() != '{' {
			return
		}
		decoder.ReadToken()
		for decoder.PeekKind() == '"' {
			name, err := decoder.ReadToken()
			if err != nil {
				return
			}
			key := name.String()
			value, err := decoder.ReadValue()
			if err != nil {
				return
			}
			compact := value.Clone()
			if compact.Compact() != nil || !yield(key, compact) {
				return
			}
		}
	}
}

var (
	// stackTrace finds the lines that runtimes write: of Node.js, Python, Go and Java.
	stackTrace = regexp.MustCompile(`(?m)^\s+at .+[(:]\S*:\d+(?::\d+)?\)?$|^Traceback \(most recent call last\)|^\s+File ".+", line \d+|^goroutine \d+ \[|^\s+at [\w.$]+\([\w]+\.java:\d+\)`)
	// nothingSaid is a whole message that names no cause, after the marks that stand
	// before and after it were taken off.
	nothingSaid = regexp.MustCompile(`^(?i:(?:mcp )?error(?: -?\d+)?[:.]?\s*)?(?i:` +
		`|error|an? (?:unknown |unexpected |internal )?error(?: has)?(?: occurred)?|internal(?: server)? error|unknown error|unexpected error|server error` +
		`|something (?:went wrong|broke|failed)(?: inside the server)?|failed|failure|request failed|operation failed|tool execution failed|execution failed` +
		`|bad request|invalid (?:request|params|parameters|arguments|input)|\[object object\]|undefined|null|none|exception|oops)$`)
)

// unactionable tells why an error does not help, or is empty.
func unactionable(r *tool.Result) string {
	if r.Error == nil {
		return ""
	}
	text := said(r)
	switch {
	case stackTrace.MatchString(text):
		return "it shows a stack trace"
	case r.Error.Code != tool.ToolFailed && r.Error.Code != tool.ProtocolError:
		return "" // a code of its own says what it is
	case strings.TrimSpace(text) == "":
		return "it says nothing"
	case nothingSaid.MatchString(strings.Trim(strings.TrimSpace(text), "!.\"' ")):
		return "it says no more than this"
	}
	return ""
}

// rpcError reports whether the error is one that the server sent in place of a
// result, and not an answer that could not be read.
func rpcError(e *tool.Error) bool {
	for name := range members(e.Details) {
		if name == "code" {
			return true
		}
	}
	return false
}

// violation is the first thing that is wrong with an output, and whether that is
// only that it is not there.
func violation(e *tool.Error) (text string, missing bool) {
	var details struct {
		Violations []tool.Violation `json:"violations"`
	}
	if json.Unmarshal(e.Details, &details) != nil || len(details.Violations) == 0 {
		return e.Message, false
	}
	v := details.Violations[0]
	text = v.Message
	if v.Pointer != "" {
		text = v.Pointer + " " + text
	}
	return tool.Cut(text, maxAnswer), v.Keyword == "structuredContent" && strings.Contains(v.Message, "missing")
}
