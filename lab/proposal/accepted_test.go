package proposal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/proposal"
	"agentlab/lab/tool"
)

func call(name, arguments string) tool.Proposal {
	return tool.Proposal{Name: name, Arguments: json.RawMessage(arguments)}
}

type acceptedCase struct {
	name   string
	format proposal.Format
	text   string
	want   []tool.Proposal
}

var accepted = []acceptedCase{
	{"chat response", proposal.OpenAIChat, `{
  "id": "chatcmpl-C1a2b3", "object": "chat.completion", "created": 1767225600, "model": "gpt-5-mini",
  "choices": [{
    "index": 0,
    "message": {
      "role": "assistant",
      "content": "I will add the note and then look it up.",
      "refusal": null,
      "annotations": [],
      "tool_calls": [
        {"id": "call_A", "type": "function", "function": {
          "name": "add_ticket_note",
          "arguments": "{\"ticket_id\":\"T-102\",\"note\":\"Asked for a \\\"callback\\\"\\n\\u2014 today\",\"action_id\":\"act-000123\"}"}},
        {"id": "call_B", "type": "function", "function": {"name": "get_ticket", "arguments": "{ \"ticket_id\": \"T-102\" }\n"}}
      ]
    },
    "logprobs": null,
    "finish_reason": "tool_calls"
  }],
  "usage": {"prompt_tokens": 82, "completion_tokens": 41, "total_tokens": 123},
  "service_tier": "default"
}`, []tool.Proposal{
		call("add_ticket_note", `{"ticket_id":"T-102","note":"Asked for a \"callback\"\n\u2014 today","action_id":"act-000123"}`),
		call("get_ticket", "{ \"ticket_id\": \"T-102\" }\n"),
	}},
	{"chat choice", proposal.OpenAIChat,
		`{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":null,"function_call":null,` +
			`"tool_calls":[{"id":"call_A","type":"function","function":{"name":"list_tickets","arguments":"{}"}}]}}`,
		[]tool.Proposal{call("list_tickets", `{}`)}},
	{"chat message with escapes of every kind", proposal.OpenAIChat,
		`{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"\u0061dd_\u006eote","arguments":` +
			`"\u007b\"t\":\"\ud83d\ude00 \u5de5单 \\ud83d\\ude00 \/ \\t\",\r\n\t\"n\":1.0e+2}"}}]}`,
		[]tool.Proposal{call("add_note", "{\"t\":\"😀 工单 \\ud83d\\ude00 / \\t\",\r\n\t\"n\":1.0e+2}")}},
	{"chat message whose text looks like other formats", proposal.OpenAIChat,
		"{\"role\":\"assistant\",\"content\":\"```json\\n{\\\"name\\\":\\\"drop\\\",\\\"arguments\\\":{}}\\n```\"," +
			`"tool_calls":[{"type":"function","function":{"name":"get_ticket","arguments":"{\"parts\":[{\"functionCall\":{\"name\":\"drop\"}}]}"}}]}`,
		[]tool.Proposal{call("get_ticket", `{"parts":[{"functionCall":{"name":"drop"}}]}`)}},

	{"response", proposal.OpenAIResponses, `{
  "id": "resp_01", "object": "response", "created_at": 1767225600, "status": "completed", "error": null,
  "incomplete_details": null, "model": "gpt-5", "parallel_tool_calls": true, "tools": [],
  "output": [
    {"type": "reasoning", "id": "rs_01", "summary": []},
    {"type": "message", "id": "msg_01", "status": "completed", "role": "assistant",
     "content": [{"type": "output_text", "text": "Looking it up.", "annotations": []}]},
    {"type": "web_search_call", "id": "ws_01", "status": "completed"},
    {"type": "function_call", "id": "fc_01", "call_id": "call_01", "status": "completed",
     "name": "search_tickets", "arguments": "{\"query\":\"refund\",\"limit\":10}"},
    {"type": "function_call", "id": "fc_02", "call_id": "call_02", "status": "completed",
     "name": "get_ticket", "arguments": "{\"ticket_id\":\"T-7\"}"}
  ]
}`, []tool.Proposal{
		call("search_tickets", `{"query":"refund","limit":10}`),
		call("get_ticket", `{"ticket_id":"T-7"}`),
	}},
	{"response items", proposal.OpenAIResponses,
		`[{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"c","name":"get_ticket","arguments":"{\"id\":9007199254740993}"}]`,
		[]tool.Proposal{call("get_ticket", `{"id":9007199254740993}`)}},
	{"response item", proposal.OpenAIResponses,
		`{"type":"function_call","call_id":"c","name":"get_ticket","arguments":"{\"id\":-0}","status":null,"namespace":null}`,
		[]tool.Proposal{call("get_ticket", `{"id":-0}`)}},

	{"message", proposal.AnthropicMessages, `{
  "id": "msg_01Aq", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
  "content": [
    {"type": "thinking", "thinking": "The customer wants a note.", "signature": "c2ln"},
    {"type": "text", "text": "I'll add the note."},
    {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "opening hours"}},
    {"type": "tool_use", "id": "toolu_01", "name": "add_ticket_note",
     "input": {"ticket_id": "T-102",  "note": "Caf\u00e9 \"callback\"", "tags": [1, 1.0, 1e0]}},
    {"type": "tool_use", "id": "toolu_02", "name": "list_tickets", "input": {}}
  ],
  "stop_reason": "tool_use", "stop_sequence": null,
  "usage": {"input_tokens": 384, "output_tokens": 91}
}`, []tool.Proposal{
		call("add_ticket_note", `{"ticket_id": "T-102",  "note": "Caf\u00e9 \"callback\"", "tags": [1, 1.0, 1e0]}`),
		call("list_tickets", `{}`),
	}},
	{"content blocks", proposal.AnthropicMessages,
		`[{"type":"text","text":"Now."},{"type":"tool_use","id":"toolu_01","name":"get_ticket","input":{"id":"T-1"}}]`,
		[]tool.Proposal{call("get_ticket", `{"id":"T-1"}`)}},
	{"content block", proposal.AnthropicMessages,
		`{"type":"tool_use","id":"toolu_01","name":"get_ticket","input":{"name":"x","arguments":"{}","functionCall":{}}}`,
		[]tool.Proposal{call("get_ticket", `{"name":"x","arguments":"{}","functionCall":{}}`)}},

	{"gemini response", proposal.Gemini, `{
  "candidates": [{
    "content": {
      "role": "model",
      "parts": [
        {"text": "Checking.", "thought": true},
        {"functionCall": {"id": "f1", "name": "search_tickets", "args": {"query": "refund", "limit": 5}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "list_tickets"}}
      ]
    },
    "finishReason": "STOP", "index": 0, "safetyRatings": []
  }],
  "usageMetadata": {"promptTokenCount": 20, "totalTokenCount": 31}, "modelVersion": "gemini-2.5-flash"
}`, []tool.Proposal{
		call("search_tickets", `{"query": "refund", "limit": 5}`),
		call("list_tickets", `{}`),
	}},
	{"gemini candidate", proposal.Gemini,
		`{"content":{"parts":[{"functionCall":{"name":"get_ticket","args":{"id":"T-1"},"willContinue":false}}]},"index":0}`,
		[]tool.Proposal{call("get_ticket", `{"id":"T-1"}`)}},
	{"gemini content", proposal.Gemini,
		`{"role":"model","parts":[{"functionCall":{"name":"get_ticket","args":{"id":"T-1"}}}]}`,
		[]tool.Proposal{call("get_ticket", `{"id":"T-1"}`)}},
	{"gemini parts", proposal.Gemini,
		`[{"text":"Now."},{"functionCall":{"name":"get_ticket","args":{"id":"T-1"}}}]`,
		[]tool.Proposal{call("get_ticket", `{"id":"T-1"}`)}},
	{"gemini part", proposal.Gemini,
		`{"functionCall":{"args":{"id":"T-1"},"name":"get_ticket"}}`,
		[]tool.Proposal{call("get_ticket", `{"id":"T-1"}`)}},

	{"mcp request", proposal.MCP,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_ticket","arguments":{"ticket_id":"T-102"},"_meta":{"progressToken":"p"}}}`,
		[]tool.Proposal{call("get_ticket", `{"ticket_id":"T-102"}`)}},
	{"mcp request without arguments", proposal.MCP,
		`{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":{"name":"list_tickets"}}`,
		[]tool.Proposal{call("list_tickets", `{}`)}},

	{"fenced", proposal.Fenced,
		"I will add a note to the ticket.\n\n```json\n{\n  \"name\": \"add_ticket_note\",\n  \"arguments\": {\"ticket_id\": \"T-102\"}\n}\n```\n\nAnything else?\n",
		[]tool.Proposal{call("add_ticket_note", `{"ticket_id": "T-102"}`)}},
	{"fenced between other blocks", proposal.Fenced,
		"Not this:\r\n~~~\r\n{\"name\":\"a\",\"arguments\":{}}\r\n~~~\r\n  ``` json\t\r\n{\"name\":\"b\",\"arguments\":{\"md\":\"# a\\n```json\\n{}\\n```\"}}\r\n ```  \r\nnor this:\r\n\t````python\r\n\tdrop()\r\n\t````",
		[]tool.Proposal{call("b", "{\"md\":\"# a\\n```json\\n{}\\n```\"}")}},
	{"fenced alone with lone carriage returns", proposal.Fenced,
		"```json\r{\"arguments\":{},\"name\":\"list_tickets\"}\r```",
		[]tool.Proposal{call("list_tickets", `{}`)}},
}

func TestAccepts(t *testing.T) {
	for _, tt := range accepted {
		t.Run(tt.name, func(t *testing.T) {
			given := []byte(tt.text)
			got, err := proposal.Read(given)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Read (-want +got):\n%s", diff)
			}
			for _, format := range proposal.Formats() {
				got, err := proposal.ReadAs(format, given)
				switch {
				case format != tt.format && err == nil:
					t.Errorf("%s reads it too: %s", format, got)
				case format == tt.format && err != nil:
					t.Errorf("ReadAs(%s): %v", format, err)
				case format == tt.format:
					if diff := cmp.Diff(tt.want, got); diff != "" {
						t.Errorf("ReadAs(%s) (-want +got):\n%s", format, diff)
					}
				}
			}
		})
	}
}

func TestEveryFormatIsAccepted(t *testing.T) {
	for _, format := range proposal.Formats() {
		if !slices.ContainsFunc(accepted, func(c acceptedCase) bool { return c.format == format }) {
			t.Errorf("no document of %s", format)
		}
	}
}

func TestProposalsShareNoMemory(t *testing.T) {
	for _, tt := range accepted {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte(tt.text)
			got, err := proposal.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			if string(text) != tt.text {
				t.Error("Read changed its input")
			}
			copy(text, bytes.Repeat([]byte{'#'}, len(text)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("after the text changed (-want +got):\n%s", diff)
			}
			for i := range got {
				_ = append(got[i].Arguments, "###"...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("after appending to the arguments (-want +got):\n%s", diff)
			}
		})
	}
}

// A document that is cut at any byte is refused. Of prose only what is after
// its block can go, and without loss.
func TestTruncationIsRefused(t *testing.T) {
	for _, tt := range accepted {
		t.Run(tt.name, func(t *testing.T) {
			for end := range len(tt.text) {
				got, err := proposal.Read([]byte(tt.text[:end]))
				var malformed *proposal.Malformed
				switch {
				case err == nil:
					if tt.format != proposal.Fenced || !cmp.Equal(tt.want, got) {
						t.Errorf("cut at %d: %s", end, got)
					}
				case tt.format == proposal.Fenced && errors.Is(err, proposal.ErrNothing):
				case !errors.As(err, &malformed):
					t.Errorf("cut at %d: %v", end, err)
				case malformed.Offset > end:
					t.Errorf("cut at %d: a fault at %d", end, malformed.Offset)
				}
			}
		})
	}
}

// Whatever one byte does to a document, it is refused or what it proposes is
// valid.
func TestMutationsAreRefusedOrValid(t *testing.T) {
	inserted := []string{"{", "}", "]", `"`, "'", `\`, ",", ":", "0", "e", " ", "\n", "`", "\x00", "\x80"}
	for _, tt := range accepted {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for at := range len(tt.text) {
				checkReading(t, []byte(tt.text[:at]+tt.text[at+1:]))
			}
			for at := 0; at <= len(tt.text); at += raceFactor {
				for _, s := range inserted {
					text := []byte(tt.text[:at] + s + tt.text[at:])
					proposals, err := proposal.Read(text)
					checkAnswer(t, text, proposals, err)
				}
			}
		})
	}
}
