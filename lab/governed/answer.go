package governed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// rule is an [overlay.ErrorRule] that was read.
type rule struct {
	overlay.ErrorRule
	part any // of an output; nil where there is none
}

func newRule(r overlay.ErrorRule) (rule, error) {
	if r.Category == "" {
		if row, known := tool.Lookup(r.Code); known {
			r.Category = row.Category
		}
	}
	made := rule{ErrorRule: r}
	var err error
	if r.Part != nil {
		if made.part, err = jsonvalue.Decode(r.Part); err != nil {
			err = fmt.Errorf("the result of the rule for %s: %w", r.Code, err)
		}
	} else if r.Begins == "" && r.Match == "" {
		err = fmt.Errorf("the rule for %s matches everything", r.Code)
	}
	return made, err
}

// ofSuccess reports whether the rule is for answers that the server calls a
// success.
func (r rule) ofSuccess() bool { return r.Part != nil || r.Begins != "" }

// failure finds the rule for an answer that the server calls a failure.
func (t *covered) failure(texts []string, message string) *rule {
	for i := range t.rules {
		r := &t.rules[i]
		if !r.ofSuccess() && (holds(texts, r.Match) || strings.Contains(message, r.Match)) {
			return r
		}
	}
	return nil
}

// hiddenFailure finds the rule for an answer that the server calls a success, and
// that says otherwise.
func (t *covered) hiddenFailure(output json.RawMessage, texts []string) *rule {
	var value any
	for i := range t.rules {
		r := &t.rules[i]
		if !r.ofSuccess() || !holds(texts, r.Match) {
			continue
		}
		if r.Begins != "" && !slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, r.Begins) }) {
			continue
		}
		if r.Part != nil {
			if value == nil {
				value, _ = jsonvalue.Decode(output)
			}
			if !partOf(r.part, value) {
				continue
			}
		}
		return r
	}
	return nil
}

func holds(texts []string, match string) bool {
	return match == "" || slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, match) })
}

// partOf reports whether a value has all that part has: of an object some members,
// of anything else the whole.
func partOf(part, value any) bool {
	members, ok := part.(map[string]any)
	if !ok {
		return bytes.Equal(jsonvalue.AppendCanonical(nil, part), jsonvalue.AppendCanonical(nil, value))
	}
	object, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for name, member := range members {
		has, there := object[name]
		if !there || !partOf(member, has) {
			return false
		}
	}
	return true
}

// take reads an answer of the server: what it put out, or the error that the
// caller is told. Nothing is said yet of what became of a write.
func (t *covered) take(result *tool.Result) (json.RawMessage, *tool.Error) {
	e := result.Error
	if e == nil {
		if slices.ContainsFunc(t.rules, rule.ofSuccess) {
			texts := said(result)
			if r := t.hiddenFailure(result.Output, texts); r != nil {
				return nil, coded(r, t.spoken(texts))
			}
		}
		t.missed.answer(result.Output)
		return t.hidden.output(result.Output), nil
	}
	texts := said(result)
	if brokePromise(result) {
		return nil, t.own(tool.InvalidToolOutput, tool.Internal, e, texts)
	}
	if r := t.failure(texts, e.Message); r != nil {
		return nil, coded(r, t.message(e, texts))
	}
	return nil, t.unmapped(result, texts)
}

// brokePromise reports whether the work was done, and its output breaks the
// server's own schema.
func brokePromise(result *tool.Result) bool {
	return result.Error != nil && result.Error.Code == tool.InvalidToolOutput &&
		(result.Reply == nil || !result.Reply.IsError)
}

// spoken are the server's words as an error may hold them.
func (t *covered) spoken(texts []string) string {
	clean := make([]string, len(texts))
	for i, text := range texts {
		clean[i] = t.hidden.text(text)
	}
	return tool.Words(strings.Join(clean, "\n"))
}

// message is what an error of the server says. Where that is all the texts of its
// answer it may have been cut, and can then no more be looked through.
func (t *covered) message(e *tool.Error, texts []string) string {
	if strings.HasPrefix(strings.Join(texts, "\n"), strings.TrimSuffix(e.Message, "…")) ||
		e.Code == tool.ToolFailed && t.hidden != nil {
		return t.spoken(texts)
	}
	return tool.Words(t.hidden.text(e.Message))
}

func coded(r *rule, message string) *tool.Error {
	e := tool.Coded(r.Code, r.Category, "%s", message)
	e.Retryable = r.Retryable
	if r.NextAction != "" {
		e.NextAction = r.NextAction
	}
	return e
}

// unmapped is what the caller is told of a failure that no rule names: the
// server's own code for it, where that is one that a server can have.
func (t *covered) unmapped(result *tool.Result, texts []string) *tool.Error {
	e := result.Error
	category := e.Category
	if !slices.Contains(tool.Categories(), category) {
		category = tool.Uncategorised
	}
	switch {
	case e.Code == tool.ProtocolError && result.Reply == nil:
		// It is about the request, and not in the words of a tool.
		return t.own(tool.ProtocolError, tool.Protocol, e, texts)
	case !mayHave(e.Code):
		return tool.Refusal(tool.ToolFailed, nil, "%s", t.message(e, texts))
	}
	own := t.own(e.Code, category, e, texts)
	if e.NextAction != "" {
		own.NextAction = tool.Words(t.hidden.text(e.NextAction))
	}
	own.Retryable = e.Retryable
	return own
}

// maxDetails is how long the details of a server's own error are, in bytes.
const maxDetails = 4096

// own is an error with the server's words, and its details as far as they are
// small.
func (t *covered) own(code tool.Code, category tool.Category, said *tool.Error, texts []string) *tool.Error {
	e := tool.Coded(code, category, "%s", t.message(said, texts))
	switch details := t.hidden.document(said.Details); {
	case len(details) > maxDetails:
		e.Details = fmt.Appendf(nil, `{"bytes":%d}`, len(details))
	case json.Valid(details):
		e.Details = details
	}
	return e
}

// mayHave reports whether a server may say a code: one of its own in the form of
// the lab's, or one that the lab's table gives to backends. What only a control of
// the lab can say is not for a server to claim.
func mayHave(code tool.Code) bool {
	if row, known := tool.Lookup(code); known {
		return row.Control == "handler" && (row.Category == tool.NotFound || row.Category == tool.Validation)
	}
	return code.Plain()
}
