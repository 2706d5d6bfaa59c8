package scan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// Severity says how bad a finding is.
type Severity string

const (
	Error   Severity = "error"   // a promise of the server's own, or of the protocol, is broken
	Warning Severity = "warning" // an agent is worse off, though nothing was promised
)

// Code is a stable word for what a scan can find.
type Code string

const (
	InvalidAccepted    Code = "invalid_call_accepted"
	FormatIgnored      Code = "format_not_checked"
	ErrorWithoutFlag   Code = "error_without_is_error"
	SuccessLikeError   Code = "success_reads_like_error"
	ErrorNotActionable Code = "error_not_actionable"
	OutputBroken       Code = "output_breaks_schema"
	OutputMissing      Code = "output_missing"
	OutputTooLarge     Code = "output_too_large"
	RepeatApplied      Code = "repeat_applied"
	RepeatDespiteKey   Code = "repeat_despite_key"
	RepeatDespiteHint  Code = "repeat_despite_hint"
	PageRepeats        Code = "page_repeats"
	PageMisses         Code = "page_misses"
	PagesWithoutEnd    Code = "pages_without_end"
	LimitIgnored       Code = "limit_ignored"
	CursorUnchecked    Code = "garbage_cursor_accepted"
	ReadChanged        Code = "read_only_changed_state"
	ConnectionLost     Code = "connection_lost"
	NoAnswer           Code = "no_answer"
	AnswerUnreadable   Code = "answer_unreadable"
	SchemaUnusable     Code = "schema_unusable"
	ProtocolBroken     Code = "protocol_broken"
)

// Kind is one row of what a scan can find.
type Kind struct {
	Code     Code
	Severity Severity
	Means    string // one sentence
}

// kinds are in the order in which findings of one tool are told.
var kinds = []Kind{
	{ReadChanged, Error, "A call changed something, though the server or the contract says that the tool only reads."},
	{ConnectionLost, Error, "A call ended the server, or the connection to it."},
	{NoAnswer, Error, "A call was not answered in time."},
	{AnswerUnreadable, Error, "A call was answered with what is not the result of a tool."},
	{InvalidAccepted, Error, "A call that the tool's own inputSchema forbids was carried out."},
	{FormatIgnored, Warning, "A call was carried out with a value that is not of the format that the inputSchema names; JSON Schema lets a server treat a format as a remark."},
	{ErrorWithoutFlag, Error, "An answer is an object that says no more than that the call failed, and isError is not set."},
	{SuccessLikeError, Warning, "The text of an answer begins like an error, and isError is not set: most often the call has failed."},
	{ErrorNotActionable, Warning, "An error does not say what to do otherwise: it is empty, a stack trace, or says only that something went wrong."},
	{OutputBroken, Error, "The structuredContent of an answer breaks the tool's own outputSchema."},
	{OutputMissing, Error, "An answer has no structuredContent, though the tool has an outputSchema."},
	{OutputTooLarge, Warning, "An answer is larger than the limit: it fills the context of a model."},
	{RepeatDespiteKey, Error, "The same call with the same idempotency key was carried out twice."},
	{RepeatDespiteHint, Error, "The same call was carried out twice and changed something each time, though the tool says idempotentHint."},
	{RepeatApplied, Warning, "The same call was carried out twice, and the tool takes no key: who repeats it after a lost answer does it twice."},
	{PageRepeats, Error, "Walking all pages gives an item more often than the list has it."},
	{PageMisses, Error, "Walking all pages does not give every item of the list."},
	{PagesWithoutEnd, Error, "Walking all pages comes to a cursor that was there before."},
	{LimitIgnored, Error, "A page has more items than the limit of the call."},
	{CursorUnchecked, Warning, "A cursor that nobody gave out is taken, and answered with some page: a mistake looks like an end."},
	{SchemaUnusable, Error, "An inputSchema or outputSchema cannot be read as JSON Schema, or not within bounds."},
	{ProtocolBroken, Warning, "The server breaks the protocol in a way that did not end the connection."},
}

// Kinds lists what a scan can find.
func Kinds() []Kind { return slices.Clone(kinds) }

func (c Code) kind() (place int, k Kind) {
	place = slices.IndexFunc(kinds, func(k Kind) bool { return k.Code == c })
	return place, kinds[place]
}

// Finding is what was found of one tool, or of the server where Tool is empty.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Tool     string   `json:"tool,omitempty"`
	// Says tells what was seen at the call below, in one sentence.
	Says string `json:"says"`
	// Calls are how many calls showed it, and Of how many could have; 0 where that is
	// no question.
	Calls int `json:"calls"`
	Of    int `json:"of,omitempty"`
	// Arguments are those of the smallest of these calls, and Answer begins what came
	// back. Nil and empty where there is none.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Answer    string          `json:"answer,omitempty"`
}

// smaller reports whether some arguments make a better example than others.
func smaller(a, b json.RawMessage) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), bytes.Compare(a, b)) < 0
}

// find notes what a call showed. Of all that show the same the smallest stands.
func (r *Report) find(code Code, name string, arguments json.RawMessage, answer, says string) {
	at := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == code && f.Tool == name })
	if at < 0 {
		_, kind := code.kind()
		at = len(r.Findings)
		r.Findings = append(r.Findings, Finding{Code: code, Severity: kind.Severity, Tool: name, Arguments: arguments, Answer: answer, Says: says})
	}
	f := &r.Findings[at]
	if f.Calls++; smaller(arguments, f.Arguments) {
		f.Arguments, f.Answer, f.Says = arguments, answer, says
	}
}

// sort puts findings of the server first, then those of the tools by name, each in
// the order of the kinds.
func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		first, _ := a.Code.kind()
		second, _ := b.Code.kind()
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(first, second))
	})
	slices.SortStableFunc(r.Tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
}

// of says how many calls could have shown a finding.
func (r *Report) of(code Code, name string, calls int) {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Code == code && f.Tool == name {
			f.Of = calls
		}
	}
}
