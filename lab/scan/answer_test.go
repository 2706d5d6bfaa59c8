package scan

import (
	"encoding/json"
	"testing"

	"agentlab/lab/tool"
)

func reply(text string) *tool.Result {
	r := &tool.Result{Output: json.RawMessage(`{"content":[]}`), Reply: &tool.Reply{Texts: []string{text}}}
	if json.Valid([]byte(text)) && text[0] == '{' {
		r.Output = json.RawMessage(text)
	}
	return r
}

// TestFailed: what only speaks of errors is no failure.
func TestFailed(t *testing.T) {
	for text, want := range map[string]bool{
		`{"status":"error","message":"m"}`: true, `{"success":false}`: true, `{"ok":false,"reason":"r"}`: true, `{"error":"e"}`: true,
		`{"error":{"code":1}}`: true, `{"isError":true}`: true, `{"errors":["e"],"code":3}`: true, `{"error":true,"message":"m"}`: true,
		`{"status":"failed"}`: true,

		`{}`: false, `{"error":null}`: false, `{"error":""}`: false, `{"error":{}}`: false, `{"errors":[]}`: false, `{"success":true}`: false, `{"ok":true,"error":null}`: false,
		`{"status":"done"}`: false, `{"job":7,"status":"failed","error":"boom"}`: false, `{"error":"boom","id":"x"}`: false, `{"valid":false}`: false, `{"status":"error","rows":[]}`: false,

		"Error: no such table": true, "error - not found": true, "ERROR (42): x": true, "❌ Error: x": true, "Exception: x": true, "ValueError: bad": true,
		"MCP error -32602: x": true, "java.lang.NullPointerException: x": true, "Failed to open": true, "Traceback (most recent call last):\n": true,
		"Error executing tool x": true, "fatal: not a git repository": true, "  Error: leading space": true, "sqlite3.OperationalError: x": true,

		"": false, "fine": false, "Errors: 0": false, "No error: fine": false, "errors.log": false, "error.log": false, "The Error: x": false, "failures: none": false, "Failed": false,
		"error_count 3": false, "Exceptional: yes": false, "errorless": false,
	} {
		r := reply(text)
		if got := objectFailed(r) != "" || textFailed(r) != ""; got != want {
			t.Errorf("%s: failed %t", text, got)
		}
	}
	if r := (&tool.Result{Error: tool.Refusal(tool.ToolFailed, nil, "Error: x"), Reply: &tool.Reply{Texts: []string{"Error: x"}}}); textFailed(r) != "" || objectFailed(r) != "" {
		t.Error("what is told as an error is no success")
	}
}

func TestUnactionable(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "  \n": true, "Error": true, "error: ": true, "Internal error": true, "Internal server error.": true, "Something went wrong!": true, "undefined": true,
		"Error: undefined": true, "[object Object]": true, "MCP error -32603: Internal error": true, "An unknown error occurred": true, "invalid arguments": true, "Failed": true, "null": true,
		"TypeError: x is undefined\n    at run (/app/index.js:10:5)\n    at main (/app/index.js:2:1)": true,
		"Traceback (most recent call last):\n  File \"a.py\", line 3, in f":                           true,
		"boom\n\ngoroutine 1 [running]:\nmain.main()":                                                 true,
		"java.lang.Error: x\n\tat com.example.App.main(App.java:5)":                                   true,

		"path is required": false, "ENOENT: no such file or directory": false, "Invalid arguments for tool t: q is required": false, "unknown error code E42, see the log of the run": false,
		"MCP error -32602: q must be a string": false, "look at the noon entry (12:30)": false, "Meet at 10:30": false,
	} {
		r := &tool.Result{Error: tool.Refusal(tool.ToolFailed, nil, "%s", text), Reply: &tool.Reply{IsError: true, Texts: []string{text}}}
		if got := unactionable(r) != ""; got != want {
			t.Errorf("%q: unactionable %t", text, got)
		}
	}
	coded := &tool.Result{Error: tool.Coded("quota_used_up", "dependency", "")}
	if why := unactionable(coded); why != "" {
		t.Errorf("an error with a code of its own: %s", why)
	}
}
