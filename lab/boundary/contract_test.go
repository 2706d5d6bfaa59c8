package boundary_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/boundary"
	"agentlab/lab/tool"
)

// Behind a contract a call has what the contract asks for, so that it is refused
// for nothing but what is wrong with it; the server itself is sent what it knows.
func TestCasesBehindAContract(t *testing.T) {
	got, err := boundary.Cases([]tool.Definition{
		{Name: "write", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
		{Name: "read", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
	}, &boundary.Contract{Raw: "server", Governed: "governed", Caller: tool.Caller{ID: "agent", Permissions: []string{"p"}},
		Keys: map[string]string{"write": "action_id"}, Reads: map[string]bool{"read": true}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(got)) {
		if strings.Contains(line, "-missing-n") || strings.Contains(line, `-plain","intent"`) {
			lines = append(lines, line)
		}
	}
	const caller = `"caller":{"id":"agent","permissions":["p"]},"approved":true`
	want := []string{
		`{"case_id":"read-plain","intent":"Call read as its schema describes it.",` +
			`"todo":"Say what is right: ok, how many side effects, and what the output must hold.",` + caller +
			`,"calls":{"governed":[{"name":"read","arguments":{"n":1}}],"server":[{"name":"read","arguments":{"n":1}}]}` +
			`,"expected":{"ok":true,"side_effect_count":0}}` + "\n",
		`{"case_id":"read-missing-n","intent":"Refuse a call of read without its required property n.",` + caller +
			`,"calls":{"governed":[{"name":"read","arguments":{}}],"server":[{"name":"read","arguments":{}}]}` +
			`,"expected":{"ok":false,"side_effect_count":0,"error_code":"invalid_arguments"}}` + "\n",
		`{"case_id":"write-plain","intent":"Call write as its schema describes it.",` +
			`"todo":"Say what is right: ok, how many side effects, and what the output must hold.",` + caller +
			`,"calls":{"governed":[{"name":"write","arguments":{"action_id":"write-plain","n":1}}],"server":[{"name":"write","arguments":{"n":1}}]}` +
			`,"expected":{"ok":true,"side_effect_count":1}}` + "\n",
		`{"case_id":"write-missing-n","intent":"Refuse a call of write without its required property n.",` + caller +
			`,"calls":{"governed":[{"name":"write","arguments":{"action_id":"write-missing-n"}}],"server":[{"name":"write","arguments":{}}]}` +
			`,"expected":{"ok":false,"side_effect_count":0,"error_code":"invalid_arguments"}}` + "\n",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
