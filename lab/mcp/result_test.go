package mcp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/mcp"
	"agentlab/lab/tool"
)

// scripted is a server over HTTP without sessions that answers calls with one
// text, in which ID stands for the id, in a millisecond.
func scripted(t testing.TB, list, answer string) *mcp.Server {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body := `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}`
		switch m.Method {
		case "initialize":
			body = `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
		case "tools/list":
			body = `{"jsonrpc":"2.0","id":ID,"result":` + list + `}`
		case "tools/call":
			body = answer
			time.Sleep(time.Millisecond)
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(strings.Replace(body, "ID", string(m.ID), 1)))
	}))
	t.Cleanup(web.Close)
	return &mcp.Server{Name: "before", URL: web.URL, Timeout: ample, MaxMessage: message}
}

func TestResult(t *testing.T) {
	t.Parallel()
	refused := func(code tool.Code, details, text string) *tool.Error {
		e := tool.Refusal(code, json.RawMessage(details), "%s", text)
		e.Outcome = tool.Unknown
		return e
	}
	failed := func(text string) *tool.Error { return refused(tool.ToolFailed, `{}`, text) }
	valid, invalid := true, false
	long := strings.Repeat("é", 600)
	tests := []struct {
		name   string
		schema string
		result string // or, with a leading "!", the JSON-RPC error
		output string
		err    *tool.Error
		reply  *tool.Reply
	}{
		{name: "structured content comes first",
			result: `{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":2}}`,
			output: `{"a":2}`, reply: &tool.Reply{Texts: []string{`{"a":1}`}, Bytes: len(`{"type":"text","text":"{\"a\":1}"}`) + len(`{"a":2}`)}},
		{name: "structured content that is null is none",
			result: `{"content":[{"type":"text","text":" {\"a\":1} "}],"structuredContent":null}`,
			output: `{"a":1}`, reply: &tool.Reply{Texts: []string{` {"a":1} `}, Bytes: len(`{"type":"text","text":" {\"a\":1} "}`)}},
		{name: "structured content alone",
			result: `{"structuredContent":{"a":9007199254740993}}`,
			output: `{"a":9007199254740993}`, reply: &tool.Reply{Bytes: 22}},
		{name: "a text that is no object",
			result: `{"content":[{"type":"text","text":"[1]"}]}`,
			output: `{"content":[{"type":"text","text":"[1]"}]}`, reply: &tool.Reply{Texts: []string{"[1]"}, Bytes: 28}},
		{name: "an object that has two readings",
			result: `{"content":[{"type":"text","text":"{\"a\":1,\"a\":2}"}]}`,
			output: `{"content":[{"type":"text","text":"{\"a\":1,\"a\":2}"}]}`, reply: &tool.Reply{Texts: []string{`{"a":1,"a":2}`}, Bytes: 42}},
		{name: "two texts",
			result: `{"content":[{"type":"text","text":"{}"}, {"type":"text","text":"b"}]}`,
			output: `{"content":[{"type":"text","text":"{}"},{"type":"text","text":"b"}]}`, reply: &tool.Reply{Texts: []string{"{}", "b"}, Bytes: 27 + 26}},
		{name: "no content at all", result: `{"content":[]}`, output: `{"content":[]}`, reply: &tool.Reply{}},
		{name: "a block of another type beside a text",
			result: `{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":"{}"}]}`,
			output: `{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":"{}"}]}`,
			reply:  &tool.Reply{Texts: []string{"{}"}, Bytes: 53 + 27}},

		{name: "names are taken as they are spelt",
			result: `{"content":[],"IsError":true,"StructuredContent":{"a":1}}`, output: `{"content":[]}`, reply: &tool.Reply{}},
		{name: "a block whose type is spelt wrongly", result: `{"content":[{"Type":"text","text":"a"}]}`,
			err: refused(tool.ProtocolError, `{}`, "The answer is not the result of a tool: block 1 of its content has another form.")},
		{name: "a block that is none", result: `{"content":[{"type":"text","text":"a"},7]}`,
			err: refused(tool.ProtocolError, `{}`, "The answer is not the result of a tool: block 2 of its content has another form.")},
		{name: "no object", result: `[]`, err: refused(tool.ProtocolError, `{}`, "The answer is not the result of a tool: it is no object.")},
		{name: "nothing in it", result: `{}`, err: refused(tool.ProtocolError, `{}`, "The answer is not the result of a tool: it has no content.")},
		{name: "content that is null", result: `{"content":null}`, err: refused(tool.ProtocolError, `{}`, "The answer is not the result of a tool: it has no content.")},
		{name: "content that is a text", result: `{"content":"a"}`, err: refused(tool.ProtocolError, `{}`, "The answer is not the result of a tool: it has another form.")},
		{name: "a key twice", result: `{"content":[],"content":[]}`, err: refused(tool.ProtocolError, `{}`, "The answer has no single reading: duplicate key.")},
		{name: "invalid UTF-8", result: "{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}", err: refused(tool.ProtocolError, `{}`, "The answer has no single reading: invalid UTF-8.")},
		{name: "input is required", result: `{"resultType":"input_required","inputRequests":{}}`,
			err: refused(tool.ProtocolError, `{}`, "The server asks for further input, and there is nobody to give it.")},

		{name: "a plain error", result: `{"content":[{"type":"text","text":"no"},{"type":"text","text":"way"}],"isError":true}`,
			err: failed("no\nway"), reply: &tool.Reply{IsError: true, Texts: []string{"no", "way"}, Bytes: 27 + 28}},
		{name: "an error without a word", result: `{"content":[],"isError":true}`, err: failed(""), reply: &tool.Reply{IsError: true}},
		{name: "an error in structured content",
			result: `{"structuredContent":{"code":"no_note","category":"not_found","message":"no such note","retryable":true,"details":{"k":9007199254740993},"next_action":"look","outcome":"not_applied"},"isError":true}`,
			err: &tool.Error{Code: "no_note", Category: "not_found", Message: "no such note", Retryable: true,
				Details: json.RawMessage(`{"k":9007199254740993}`), NextAction: "look", Outcome: tool.NotApplied},
			reply: &tool.Reply{IsError: true, Bytes: 161}},
		{name: "an error in a text", result: `{"content":[{"type":"text","text":"{\"code\":\"x\"}"}],"isError":true}`,
			err:   &tool.Error{Code: "x", Category: "unknown", Message: `{"code":"x"}`, Outcome: tool.Unknown},
			reply: &tool.Reply{IsError: true, Texts: []string{`{"code":"x"}`}, Bytes: 41}},
		{name: "an error under error", result: `{"structuredContent":{"error":{"code":"x","message":"m","outcome":"applied"}},"isError":true}`,
			err:   &tool.Error{Code: "x", Category: "unknown", Message: "m", Outcome: tool.Applied},
			reply: &tool.Reply{IsError: true, Bytes: 56}},
		{name: "an outcome that is none", result: `{"structuredContent":{"code":"x","message":"m","outcome":"maybe"},"isError":true}`,
			err:   &tool.Error{Code: "x", Category: "unknown", Message: "m", Outcome: tool.Unknown},
			reply: &tool.Reply{IsError: true, Bytes: 44}},
		{name: "an error in structured content without a code, and one in the text",
			result: `{"structuredContent":{"error":"no"},"content":[{"type":"text","text":"{\"code\":\"x\",\"message\":\"m\"}"}],"isError":true}`,
			err:    &tool.Error{Code: "x", Category: "unknown", Message: "m", Outcome: tool.Unknown},
			reply:  &tool.Reply{IsError: true, Texts: []string{`{"code":"x","message":"m"}`}, Bytes: 14 + 59}},
		{name: "an error in one of two texts is none",
			result: `{"content":[{"type":"text","text":"{\"code\":\"x\"}"},{"type":"text","text":""}],"isError":true}`,
			err:    failed("{\"code\":\"x\"}\n"), reply: &tool.Reply{IsError: true, Texts: []string{`{"code":"x"}`, ""}, Bytes: 41 + 25}},
		{name: "a long error is cut between two characters", result: `{"content":[{"type":"text","text":"x` + long + `"}],"isError":true}`,
			err: failed("x" + strings.Repeat("é", 499) + "…"), reply: &tool.Reply{IsError: true, Texts: []string{"x" + long}, Bytes: 26 + 1200}},
		{name: "the output schema says nothing of an error", schema: `{"type":"object","required":["a"]}`,
			result: `{"content":[],"structuredContent":{},"isError":true}`, err: failed(""), reply: &tool.Reply{IsError: true, Bytes: 2}},

		{name: "a JSON-RPC error", result: `!{"code":-32602,"message":"Unknown tool: x"}`, err: refused(tool.ProtocolError, `{"code":-32602}`, "Unknown tool: x")},

		{name: "what the output schema promises", schema: `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`,
			result: `{"content":[],"structuredContent":{"a":1}}`, output: `{"a":1}`, reply: &tool.Reply{Bytes: 7, SchemaValid: &valid}},
		{name: "what it does not", schema: `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a","b"]}`,
			result: `{"content":[],"structuredContent":{"a":"1"}}`, reply: &tool.Reply{Bytes: 9, SchemaValid: &invalid},
			err: refused(tool.InvalidToolOutput, `{"violations":[{"pointer":"","keyword":"required","message":"property \"b\" is required"},{"pointer":"/a","keyword":"type","message":"must be integer"}]}`,
				"The structured content breaks the server's own outputSchema.")},
		{name: "no structured content", schema: `{"type":"object"}`, result: `{"content":[]}`, reply: &tool.Reply{SchemaValid: &invalid},
			err: refused(tool.InvalidToolOutput, `{"violations":[{"pointer":"","keyword":"structuredContent","message":"is missing, though the tool has an outputSchema"}]}`,
				"The structured content breaks the server's own outputSchema.")},
		{name: "words of 2020-12", schema: `{"type":"object","$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}},"required":["v"]}},"$ref":"#/$defs/n","properties":{"pair":{"prefixItems":[{"type":"string"}],"items":false}}}`,
			result: `{"content":[],"structuredContent":{"v":1,"next":{},"pair":[1,2]}}`, reply: &tool.Reply{Bytes: 30, SchemaValid: &invalid},
			err: refused(tool.InvalidToolOutput, `{"violations":[{"pointer":"/next","keyword":"required","message":"property \"v\" is required"},{"pointer":"/pair/0","keyword":"type","message":"must be string"},{"pointer":"/pair/1","keyword":"false","message":"nothing is allowed here"}]}`, "The structured content breaks the server's own outputSchema.")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list := `{"tools":[{"name":"x","inputSchema":{"type":"object"}` + map[bool]string{true: `,"outputSchema":` + tt.schema}[tt.schema != ""] + `}]}`
			answer := `{"jsonrpc":"2.0","id":ID,"result":` + tt.result + `}`
			if fault, ok := strings.CutPrefix(tt.result, "!"); ok {
				answer = `{"jsonrpc":"2.0","id":ID,"error":` + fault + `}`
			}
			s := scripted(t, list, answer)
			n := listen(s)
			c := connect(t, s)
			if _, err := c.Tools(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := c.Call(t.Context(), call("x", `{}`))
			if diff := cmp.Diff(tt.output, string(r.Output)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.err, r.Error); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.reply, r.Reply); diff != "" {
				t.Error(diff)
			}
			if c.Lost() != nil || len(n.all()) > 0 {
				t.Error(c.Lost(), n.all())
			}
			if r.Trace.HandlerRan != (tt.reply != nil) {
				t.Errorf("the handler ran: %v", r.Trace.HandlerRan)
			}
			if r.Trace.Fingerprint != mcp.Fingerprint([]byte(`{}`)) || r.Trace.Fingerprint == "" {
				t.Errorf("fingerprint %q", r.Trace.Fingerprint)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	c := connect(t, stdioServer(t))
	for _, tt := range []struct{ arguments, want string }{
		{`{"n":9007199254740993,"x":1e400,"t":"<&>"}`, `{"n":9007199254740993,"x":1e400,"t":"<&>"}`},
		{``, `{}`},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`},
	} {
		r := c.Call(t.Context(), call("echo", tt.arguments))
		if r.Reply == nil || len(r.Reply.Texts) != 1 || r.Reply.Texts[0] != tt.want {
			t.Errorf("%s arrived as %+v, %v", tt.arguments, r.Reply, r.Error)
		}
	}
	r := c.Call(t.Context(), call("echo", `{"a":`))
	want := tool.Refusal(tool.ProtocolError, nil, "The arguments are no JSON, and were not sent.")
	if diff := cmp.Diff(want, r.Error); diff != "" || c.Lost() != nil {
		t.Error(diff, c.Lost())
	}
	if r = c.Call(t.Context(), addition); string(r.Output) != `{"sum":3}` {
		t.Errorf("then %s, %v", r.Output, r.Error)
	}
}
