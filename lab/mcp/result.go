package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// Call calls a tool. What comes of it is a result; whether the connection is
// lost is for [Client.Lost] to say, and then the result is none. It blocks no
// longer than the server's timeout.
func (c *Client) Call(ctx context.Context, proposal tool.Proposal) tool.Result {
	c.link.changed.Store(false)
	raw, fault, err := c.call(ctx, "a call", func(ctx context.Context) error {
		_, err := c.session.CallTool(ctx, &sdk.CallToolParams{Name: proposal.Name, Arguments: proposal.Arguments})
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
	case fault != nil:
		result.Error = protocolError(fault)
	default:
		result = c.result(proposal.Name, raw)
	}
	result.Trace.Fingerprint = Fingerprint(proposal.Arguments)
	result.Trace.ListChanged = c.link.changed.Load()
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

// maxMessageText is how much of a server's own text an error holds.
const maxMessageText = 1000

// plainText bounds a text of the server's.
func plainText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxMessageText {
		return text
	}
	end := maxMessageText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// protocolError is what a JSON-RPC error becomes: it is about the request, and
// no tool has said anything.
func protocolError(fault *wireFault) *tool.Error {
	e := tool.Refusal(tool.ProtocolError, struct {
		Code int64 `json:"code"`
	}{fault.Code}, "%s", plainText(fault.Message))
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
	if err := json.Unmarshal(raw, &a); err != nil {
		return broken("The answer is not the result of a tool: it has another form.")
	}
	if a.ResultType == "input_required" {
		return broken("The server asks for further input, and there is nobody to give it.")
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
		if err := json.Unmarshal(document, &b); err != nil || b.Type == "" {
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
	if violations, checked := c.check(name, structured); checked {
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
		if json.Unmarshal(document, &wrapped) == nil && len(wrapped.Error) > 0 && wrapped.Error[0] == '{' {
			document = wrapped.Error
		}
		var said coded
		if json.Unmarshal(document, &said) == nil && said.Code != "" {
			return said.error(texts)
		}
	}
	e := tool.Refusal(tool.ToolFailed, nil, "%s", plainText(strings.Join(texts, "\n")))
	e.Outcome = tool.Unknown
	return e
}

func (said *coded) error(texts []string) *tool.Error {
	e := &tool.Error{
		Code:       tool.Code(plainText(said.Code)),
		Category:   tool.Category(plainText(said.Category)),
		Message:    plainText(said.Message),
		Retryable:  said.Retryable,
		Details:    present(said.Details),
		NextAction: plainText(said.NextAction),
		Outcome:    tool.Unknown,
	}
	if e.Message == "" {
		e.Message = plainText(strings.Join(texts, "\n"))
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

// expect compiles the output schemas of the tools. One that cannot be checked
// is told, and then nothing is said of what its tool puts out.
func (c *Client) expect(definitions []tool.Definition) {
	c.outputs = make(map[string]*schema.Schema)
	for _, d := range definitions {
		if d.OutputSchema == nil {
			continue
		}
		compiled, err := schema.Compile(d.OutputSchema)
		if err != nil {
			c.server.notice("schema "+d.Name, fmt.Sprintf("%s: the outputSchema of %q is not checked: %s", c.server.Name, d.Name, err))
			continue
		}
		c.outputs[d.Name] = compiled
	}
}

// ShareSchemas takes over the output schemas that another connection to the same
// server has read.
func (c *Client) ShareSchemas(from *Client) { c.outputs = from.outputs }

// check compares structured content with the output schema of its tool.
func (c *Client) check(name string, structured json.RawMessage) (violations []tool.Violation, checked bool) {
	expected := c.outputs[name]
	if expected == nil {
		return nil, false
	}
	if structured == nil {
		return []tool.Violation{{Keyword: "structuredContent", Message: "is missing, though the tool has an outputSchema"}}, true
	}
	value, err := jsonvalue.Decode(structured)
	if err != nil {
		return []tool.Violation{{Keyword: "structuredContent", Message: "has no single reading"}}, true
	}
	return expected.Validate(value), true
}
