package ticket

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// WideName names the surface of one tool without controls.
const WideName = "wide-tool-v1"

var wideDefinition = tool.Definition{
	Name:        "ticket_operation",
	Description: "Runs one ticket operation: get, record, list, or slow.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"operation":{"type":"string"},"payload":{"type":"object"}},"required":["operation"]}`),
}

// Wide is the control of the experiment: one tool that takes an operation and
// a free payload. It checks no arguments, permission or approval, forgets what
// it has done, and tells nothing of its failures.
type Wide struct{}

func (Wide) Name() string { return WideName }

func (Wide) Definitions() []tool.Definition { return []tool.Definition{wideDefinition} }

func (Wide) Open(context.Context) (tool.Session, error) {
	return &wideSession{NewStore()}, nil
}

type wideSession struct{ store *Store }

func (s *wideSession) Effects() int { return s.store.EffectCount() }

func (s *wideSession) Close() error { return nil }

func (s *wideSession) Call(_ context.Context, call tool.Call) tool.Result {
	result := tool.Result{Trace: tool.Trace{Decisions: []tool.Decision{}}}
	arguments, err := jsonvalue.Decode(call.Proposal.Arguments)
	if err == nil {
		result.Trace.Fingerprint = contract.Fingerprint(jsonvalue.AppendCanonical(make([]byte, 0, len(call.Proposal.Arguments)), arguments))
	}
	output, failure := s.answer(call.Proposal.Name, arguments, &result.Trace)
	if failure != "" {
		result.Error = &tool.Error{
			Code:     tool.ToolFailed,
			Category: tool.Uncategorised,
			Message:  failure,
			Details:  json.RawMessage("{}"),
		}
		return result
	}
	result.Output = output
	return result
}

func (s *wideSession) answer(name string, arguments any, trace *tool.Trace) (output json.RawMessage, failure string) {
	if name != wideDefinition.Name {
		return nil, "tool failed"
	}
	trace.HandlerRan = true
	payload := field[map[string]any](arguments, "payload")
	id := field[string](payload, "ticket_id")
	switch field[string](arguments, "operation") {
	case "get":
		var found *Ticket
		if t, ok := s.store.Get(id); ok {
			found = &t
		}
		return encode(struct {
			Ticket *Ticket `json:"ticket"`
		}{found}), ""
	case "record":
		if s.store.Append(id, field[string](payload, "note")) == 0 {
			s.store.Book(id)
		}
		return encode(struct {
			Status   string `json:"status"`
			TicketID string `json:"ticket_id"`
		}{"done", id}), ""
	case "list":
		if s.store.EffectCount() == 0 {
			return bytes.Clone(freshList()), ""
		}
		return encode(wideList{s.store.List()}), ""
	case "slow":
		return nil, "request failed"
	}
	return nil, "tool failed"
}

type wideList struct {
	Items []Ticket `json:"items"`
}

// freshList is what is listed before anything was written: the same large answer
// in most cases that ask for it.
var freshList = sync.OnceValue(func() json.RawMessage { return encode(wideList{NewStore().List()}) })

// field returns a member of a decoded object, or the zero value where it is
// missing or of another type: the wide tool never complains.
func field[T any](object any, name string) T {
	members, _ := object.(map[string]any)
	value, _ := members[name].(T)
	return value
}
