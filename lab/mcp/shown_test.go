package mcp_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"agentlab/lab/tool"
)

// What is shown of an answer is what is counted and read, but the schema judges
// what was sent.
func TestShown(t *testing.T) {
	const list = `{"tools":[{"name":"where","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"path":{"type":"string","maxLength":16}},"required":["path"]}}]}`
	const answer = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"/tmp/x17/a"}],"structuredContent":{"path":"/tmp/x17/a"}}}`
	s := scripted(t, list, answer)
	plain := connect(t, s)
	if _, err := plain.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := plain.Call(t.Context(), tool.Proposal{Name: "where", Arguments: json.RawMessage(`{}`)})

	s.Shown = func(answer json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(answer, []byte("/tmp/x17"), []byte("${SANDBOX-OF-THE-CASE}"))
	}
	c := connect(t, s)
	if _, err := c.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := c.Call(t.Context(), tool.Proposal{Name: "where", Arguments: json.RawMessage(`{}`)})
	if r.Error != nil {
		t.Fatalf("%v: the schema judged what is shown", r.Error)
	}
	const shown = "${SANDBOX-OF-THE-CASE}/a"
	if got := string(r.Output); got != `{"path":"`+shown+`"}` {
		t.Errorf("output %s", got)
	}
	if len(r.Reply.Texts) != 1 || r.Reply.Texts[0] != shown {
		t.Errorf("texts %q", r.Reply.Texts)
	}
	if more := 2 * (len("${SANDBOX-OF-THE-CASE}") - len("/tmp/x17")); r.Reply.Bytes != before.Reply.Bytes+more {
		t.Errorf("%d bytes, and %d before, want %d more", r.Reply.Bytes, before.Reply.Bytes, more)
	}
}

// What only the server is to see is in no result, wherever the server puts it.
func TestSecretsAreInNoAnswer(t *testing.T) {
	const token = "sesame-\"open\"-1234"
	const list = `{"tools":[{"name":"tell","inputSchema":{"type":"object"}}]}`
	for name, answer := range map[string]string{
		"structured": `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"x"}],"structuredContent":{"token":"a sesame-\"open\"-1234 b"}}}`,
		"text":       `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a sesame-\"open\"-1234 b"}]}}`,
		"failure":    `{"jsonrpc":"2.0","id":ID,"result":{"isError":true,"content":[{"type":"text","text":"bad token sesame-\"open\"-1234"}]}}`,
		"variable":   `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"sesame-of-the-environment, structuredContent"}]}}`,
		"protocol":   `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"bad token sesame-\"open\"-1234"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted(t, list, answer)
			s.Headers = map[string]string{"Authorization": "Bearer " + token, "X-Mode": "text"}
			s.Env = map[string]string{"MODE": "structuredContent", "API_TOKEN": "sesame-of-the-environment"}
			c := connect(t, s)
			r := c.Call(t.Context(), tool.Proposal{Name: "tell", Arguments: json.RawMessage(`{}`)})
			told, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(told, []byte("sesame")) {
				t.Errorf("the token is told: %s", told)
			}
			if name == "variable" && !bytes.Contains(told, []byte("structuredContent")) {
				t.Errorf("a word is hidden: %s", told)
			}
			if !bytes.Contains(told, []byte("[hidden]")) {
				t.Errorf("nothing is hidden: %s", told)
			}
		})
	}
}
