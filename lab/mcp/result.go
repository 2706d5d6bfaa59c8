package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Call calls a tool. What comes of it is a result; whether the connection is
// lost is for [Client.Lost] to say, and then the result is none. It blocks no
// longer than the server's timeout.
func (c *Client) Call(ctx context.Context, proposal tool.Proposal) tool.Result {
	arguments := proposal.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	} else if !json.Valid(arguments) {
		return tool.Result{Error: tool.Refusal(tool.ProtocolError, nil, "The arguments are no JSON, and were not sent.")}
	}
	got, err := c.call(ctx, "a call", func(ctx context.Context) error {
		_, err := c.session.CallTool(ctx, &sdk.CallToolParams{Name: proposal.Name, Arguments: arguments})
		return err
	})
	var result tool.Result
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		result.Error = tool.Refusal(tool.ToolTimeout, struct {
			Timeout int64 `json:"timeout_ms"`
		}{c.server.Timeout.Milliseconds()}, "The server did not answer in time.")
		result.Error.Outcome = tool.Unknown
	case err != nil:
		result.Error = tool.Refusal(tool.ToolFailed, nil, "The server could not be used.")
		result.Error.Outcome = tool.Unknown
	case got.fault != nil:
		result.Error = c.protocolError(got.fault)
	default:
		result = c.result(proposal.Name, got.result)
	}
	result.Trace.Fingerprint = Fingerprint(proposal.Arguments)
	result.Trace.ListChanged = got.changed
	return result
}

// Fingerprint identifies arguments; it is empty where they have no single reading.
func Fingerprint(arguments json.RawMessage) string {
	value, err := jsonvalue.Decode(arguments)
	if err != nil {
		return ""
	}
	return contract.Fingerprint(jsonvalue.AppendCanonical(nil, value))
}

// protocolError is what a JSON-RPC error becomes: it is about the request, and
// no tool has said anything.
func (c *Client) protocolError(fault *jsonrpc.Error) *tool.Error {
	e := tool.Refusal(tool.ProtocolError, struct {
		Code int64 `json:"code"`
	}{fault.Code}, "%s", tool.Words(c.server.scrub(fault.Message)))
	e.Outcome = tool.Unknown
	return e
}

// answer is the result of a call as a server sends it.
type answer struct {
	Content           []json.RawMessage `json:"content"`
	StructuredContent json.RawMessage   `json:"structuredContent"`
	IsError           bool              `json:"isError"`
	ResultType        string            `json:"resultType"`
}

// block is what matters of a content block.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// result maps an answer to the lab's own words.
func (c *Client) result(name string, raw json.RawMessage) tool.Result {
	broken := func(format string, args ...any) tool.Result {
		e := tool.Refusal(tool.ProtocolError, nil, format, args...)
		e.Outcome = tool.Unknown
		return tool.Result{Error: e}
	}
	if len(raw) == 0 || raw[0] != '{' {
		return broken("The answer is not the result of a tool: it is no object.")
	}
	if _, err := jsonvalue.Decode(raw); err != nil {
		var fault *jsonvalue.SyntaxError
		if errors.As(err, &fault) {
			return broken("The answer has no single reading: %s.", fault.Reason)
		}
		return broken("The answer has no single reading.")
	}
	var a answer
	if err := jsonv2.Unmarshal(raw, &a); err != nil {
		return broken("The answer is not the result of a tool: it has another form.")
	}
	if a.ResultType == "input_required" {
		return broken("The server asks for further input, and there is nobody to give it.")
	}
	sent := present(a.StructuredContent)
	if shown := c.shown(raw); !bytes.Equal(shown, raw) {
		a = answer{}
		if err := jsonv2.Unmarshal(shown, &a); err != nil {
			return broken("The answer is not the result of a tool: it has another form.")
		}
	}
	structured := present(a.StructuredContent)
	if a.Content == nil && structured == nil {
		return broken("The answer is not the result of a tool: it has no content.")
	}
	reply := &tool.Reply{IsError: a.IsError, Bytes: len(structured)}
	var only *block
	for i, document := range a.Content {
		reply.Bytes += len(document)
		var b block
		if err := jsonv2.Unmarshal(document, &b); err != nil || b.Type == "" {
			return broken("The answer is not the result of a tool: block %d of its content has another form.", i+1)
		}
		if b.Type == "text" {
			reply.Texts = append(reply.Texts, b.Text)
			if len(a.Content) == 1 {
				only = &b
			}
		}
	}
	result := tool.Result{Reply: reply}
	result.Trace.HandlerRan = true
	if a.IsError {
		result.Error = toolError(structured, only, reply.Texts)
		return result
	}
	if violations, checked := c.check(name, sent); checked {
		valid := len(violations) == 0
		reply.SchemaValid = &valid
		if !valid {
			result.Error = tool.Refusal(tool.InvalidToolOutput, struct {
				Violations []tool.Violation `json:"violations"`
			}{violations}, "The structured content breaks the server's own outputSchema.")
			result.Error.Outcome = tool.Unknown
			return result
		}
	}
	result.Output = output(structured, only, a.Content)
	return result
}

// shown is an answer as reports may hold it: what else the run wants to hide, and
// then what only the server is to see.
func (c *Client) shown(raw json.RawMessage) json.RawMessage {
	if c.server.Shown != nil {
		raw = c.server.Shown(raw)
	}
	for _, secret := range c.hidden {
		if bytes.Contains(raw, secret) {
			raw = bytes.ReplaceAll(raw, secret, []byte(hidden))
		}
	}
	return raw
}

// output is the structured content, else the one text block where it is a JSON
// object, else the content as it is.
func output(structured json.RawMessage, only *block, content []json.RawMessage) json.RawMessage {
	if structured != nil {
		return structured
	}
	if only != nil {
		if document := object(only.Text); document != nil {
			return document
		}
	}
	out := []byte(`{"content":[`)
	for i, document := range content {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, document...)
	}
	return append(out, "]}"...)
}

// object is the text as a JSON object that has one reading, or nil.
func object(text string) json.RawMessage {
	document := bytes.TrimSpace([]byte(text))
	if len(document) == 0 || document[0] != '{' {
		return nil
	}
	if _, err := jsonvalue.Decode(document); err != nil {
		return nil
	}
	return document
}

// coded is an error in the form that an agent can act on.
type coded struct {
	Code       string          `json:"code"`
	Category   string          `json:"category"`
	Message    string          `json:"message"`
	Retryable  bool            `json:"retryable"`
	Details    json.RawMessage `json:"details"`
	NextAction string          `json:"next_action"`
	Outcome    string          `json:"outcome"`
}

// toolError reads what a tool says of its failure: a structured error, alone or
// under "error", in the structured content or in the one text block. Anything
// else is a text that nobody can act on.
func toolError(structured json.RawMessage, only *block, texts []string) *tool.Error {
	documents := []json.RawMessage{structured}
	if only != nil {
		documents = append(documents, object(only.Text))
	}
	for _, document := range documents {
		if document == nil {
			continue
		}
		var wrapped struct {
			Error json.RawMessage `json:"error"`
		}
		if jsonv2.Unmarshal(document, &wrapped) == nil && len(wrapped.Error) > 0 && wrapped.Error[0] == '{' {
			document = wrapped.Error
		}
		var said coded
		if jsonv2.Unmarshal(document, &said) == nil && said.Code != "" {
			return said.error(texts)
		}
	}
	e := tool.Refusal(tool.ToolFailed, nil, "%s", tool.Words(strings.Join(texts, "\n")))
	e.Outcome = tool.Unknown
	return e
}

func (said *coded) error(texts []string) *tool.Error {
	e := &tool.Error{
		Code:       tool.Code(tool.Words(said.Code)),
		Category:   tool.Category(tool.Words(said.Category)),
		Message:    tool.Words(said.Message),
		Retryable:  said.Retryable,
		Details:    present(said.Details),
		NextAction: tool.Words(said.NextAction),
		Outcome:    tool.Unknown,
	}
	if e.Message == "" {
		e.Message = tool.Words(strings.Join(texts, "\n"))
	}
	if e.Category == "" {
		e.Category = tool.Uncategorised
	}
	switch outcome := tool.Outcome(said.Outcome); outcome {
	case tool.Applied, tool.NotApplied:
		e.Outcome = outcome
	}
	return e
}
