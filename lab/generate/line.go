package generate

import (
	"encoding/json"

	"agentlab/lab/tool"
)

// line is one case as lab/dataset reads it.
type line struct {
	ID        string       `json:"case_id"`
	Intent    string       `json:"intent"`
	Todo      string       `json:"todo,omitempty"`
	Caller    *tool.Caller `json:"caller,omitempty"`
	Approved  bool         `json:"approved,omitempty"`
	Proposals []proposal   `json:"proposals,omitempty"`
	// Calls are the proposals by surface, where the two are not given the same.
	Calls     map[string][]proposal `json:"calls,omitempty"`
	Approvals []approval            `json:"approvals,omitempty"`
	Budget    *budget               `json:"budget,omitempty"`
	Parallel  bool                  `json:"parallel,omitempty"`
	Tags      []string              `json:"tags"`
	Clause    string                `json:"clause"`
	Expected  expected              `json:"expected"`
}

type proposal struct {
	Name      *string         `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Raw       string          `json:"raw,omitempty"`
	Format    string          `json:"format,omitempty"`
	At        *int64          `json:"at_ms,omitempty"`
	Faults    *faults         `json:"faults,omitempty"`
	Caller    *tool.Caller    `json:"caller,omitempty"`
}

type faults struct {
	Latency      int64           `json:"latency_ms,omitempty"`
	Panic        bool            `json:"panic,omitempty"`
	Error        string          `json:"error,omitempty"`
	BadOutput    bool            `json:"bad_output,omitempty"`
	LostResponse bool            `json:"lost_response,omitempty"`
	Output       json.RawMessage `json:"output,omitempty"`
	Crash        bool            `json:"crash,omitempty"`
}

type approval struct {
	Proposal *int         `json:"proposal,omitempty"`
	Call     *proposal    `json:"call,omitempty"`
	Approver approverLine `json:"approver"`
	At       int64        `json:"at_ms"`
	IssuedAt *int64       `json:"issued_at_ms,omitempty"`
	Expires  int64        `json:"expires_at_ms"`
}

type approverLine struct {
	ID          string   `json:"id"`
	Permissions []string `json:"permissions"`
}

type budget struct {
	Proposals  int   `json:"proposals,omitempty"`
	Elapsed    int64 `json:"elapsed_ms,omitempty"`
	Concurrent int   `json:"concurrent,omitempty"`
	Cost       int   `json:"cost,omitempty"`
}

type expected struct {
	OK             *bool     `json:"ok,omitempty"`
	SideEffects    *int      `json:"side_effect_count,omitempty"`
	Accepted       *bool     `json:"accepted,omitempty"`
	ErrorCode      tool.Code `json:"error_code,omitempty"`
	Retryable      *bool     `json:"retryable,omitempty"`
	Replayed       *bool     `json:"replayed,omitempty"`
	HasNextCursor  *bool     `json:"has_next_cursor,omitempty"`
	MaxOutputBytes *int      `json:"max_output_bytes,omitempty"`
	Steps          []*step   `json:"steps,omitempty"`
}

// step is what has to come of one proposal. Of a step that is nil nothing is asked.
type step struct {
	OK            *bool           `json:"ok,omitempty"`
	SideEffects   *int            `json:"side_effect_count,omitempty"`
	Accepted      *bool           `json:"accepted,omitempty"`
	ErrorCode     tool.Code       `json:"error_code,omitempty"`
	Retryable     *bool           `json:"retryable,omitempty"`
	Replayed      *bool           `json:"replayed,omitempty"`
	OutputCount   *int            `json:"output_count,omitempty"`
	HasNextCursor *bool           `json:"has_next_cursor,omitempty"`
	RefusedBy     json.RawMessage `json:"refused_by,omitempty"` // null: by none
	HandlerRan    *bool           `json:"handler_ran,omitempty"`
	Outcome       tool.Outcome    `json:"outcome,omitempty"`
	Output        json.RawMessage `json:"output,omitempty"`
	Details       details         `json:"details,omitempty"`
}

// details are a part of those of an error, of which only these are ever asked.
type details map[string]detail

// detail is a text, a number, or a list of texts or of violations.
type detail struct{ value any }

func text(s string) detail      { return detail{s} }
func count(n int64) detail      { return detail{n} }
func list(all []string) detail  { return detail{append([]string{}, all...)} }
func ptr[T any](v T) *T         { return &v }
func byControl(c string) []byte { return append(append([]byte{'"'}, c...), '"') }

// MarshalJSON implements [json.Marshaler].
func (d detail) MarshalJSON() ([]byte, error) { return json.Marshal(d.value) }

var byNone = json.RawMessage("null")

// The steps that cases are made of.

// succeeds is a call that its handler answers.
func succeeds() *step {
	return &step{OK: ptr(true), RefusedBy: byNone, HandlerRan: ptr(true), Replayed: ptr(false)}
}

// repeats is a call that is answered from its receipt.
func repeats() *step {
	return &step{OK: ptr(true), RefusedBy: byNone, HandlerRan: ptr(false), Replayed: ptr(true)}
}

// refused is a call that a control refuses.
func refused(control string, code tool.Code) *step {
	s := &step{OK: ptr(false), ErrorCode: code, RefusedBy: byControl(control), HandlerRan: ptr(false)}
	switch control {
	case "handler", "output":
		s.HandlerRan = ptr(true)
	}
	if row, known := tool.Lookup(code); known && code != tool.ToolTimeout {
		s.Retryable = ptr(row.Retryable)
	}
	return s
}

func (s *step) with(name string, value detail) *step {
	if s.Details == nil {
		s.Details = make(details)
	}
	s.Details[name] = value
	return s
}

func (s *step) told(o tool.Outcome) *step {
	s.Outcome = o
	return s
}
