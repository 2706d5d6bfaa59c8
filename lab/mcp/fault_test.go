package mcp_test

import (
	"cmp"
	"strings"
	"testing"

	compare "github.com/google/go-cmp/cmp"

	"agentlab/lab/mcp"
	"agentlab/tests/faultserver"
)

// expected is what a fault must look like from here. What is left out is as it
// is of a server without faults.
type expected struct {
	faults string // several are parted by a semicolon
	want   seen
}

const gone = "as the first"

var overStdio = []expected{
	{"exit-at-start:no license", seen{Connect: "the server ended at its start (exit status 7)", Detail: "its last words on stderr:\n  no license"}},
	{"slow-start:200", seen{}},
	{"slow-start:1200", seen{}}, // it answers server/discover when that is no longer waited for
	{"greet:Hello there", seen{Notices: []string{"before breaks the protocol: its standard output has text that is no message (logs belong on standard error), which was skipped: Hello there"}}},
	{"bom", seen{Notices: []string{"before breaks the protocol: a line of its standard output starts with a byte-order mark, which was skipped"}}},
	{"crlf", seen{}},
	{"blank-lines", seen{}},
	{"flood-stderr:3", seen{}},
	{"ticking:5", seen{}},
	{"child", seen{}},
	{"daemon", seen{}},
	{"ignore-sigterm", seen{}},
	{"ignore-eof", seen{}},
	{"save-at-eof", seen{}},
	{"write-at-eof", seen{}},
	{"exit-code", seen{}},
	{"never-initialize", seen{Connect: "the server did not answer initialize within 1s"}},
	{"exit-at-initialize", seen{Connect: "the server ended at its start (exit status 7)", Detail: "its last words on stderr:\n  cannot initialize: no license"}},
	{"initialize-error", seen{Connect: "the server refused to initialize", Detail: "the database is locked"}},
	{"protocol-version", seen{Connect: "the server speaks a revision of the protocol that is not known here", Detail: `unsupported protocol version: "1999-12-31"`}},
	{"no-tools", seen{Tools: -1}},
	{"modern", seen{}},
	{"ignore-discover", seen{}},
	{"pages:4", seen{}},
	{"repeat-cursor", seen{List: "the server pages for ever: tools/list does not come to an end", Tools: -1, Notices: []string{"before breaks the protocol: it lists two tools of the name \"write_note\"; the first is taken"}}},
	{"new-cursors", seen{List: "the server pages for ever: tools/list does not come to an end", Tools: -1, Notices: []string{"before breaks the protocol: it lists two tools of the name \"write_note\"; the first is taken"}}},
	{"many-tools:10000", seen{Tools: 10020}},
	{"duplicate-tools", seen{Notices: []string{"before breaks the protocol: it lists two tools of the name \"write_note\"; the first is taken"}}},
	{"bad-schema", seen{Tools: 21}},
	{"bad-output-schema", seen{Tools: 21, Notices: []string{"before: the outputSchema of \"bad_output_schema\" is not checked: invalid schema: /type: \"objekt\" is not a type of JSON Schema"}}},
	{"remote-ref", seen{Tools: 21}},
	{"no-schema", seen{Tools: 21, Notices: []string{"before breaks the protocol: its tool \"no_schema\" has no inputSchema that is an object"}}},
	{"null-tools", seen{Tools: -1, Notices: []string{"before breaks the protocol: its list of tools is null, which is taken for an empty one"}}},
	{"list-hang", seen{List: "the server did not answer tools/list within 1s", Tools: -1}},
	{"list-error", seen{Tools: -1}},
	{"lie", seen{}},
	{"page-repeats", seen{}}, // what its pages hold is not looked at here
	{"page-misses", seen{}},
	{"page-endless", seen{}},
	{"limit-ignored", seen{}},
	{"forget-keys", seen{}},
	{"error-text:out of order@1", seen{First: "tool_failed/unknown/unknown: out of order"}},
	{"describe:Does another thing now.", seen{}},
	{`input-schema:{"type":"object"}`, seen{}},
	{"slow-write", seen{Tools: 21}},
	{"silent-write", seen{Tools: 21}},
	{"failing-write", seen{Tools: 21}},
	{"failing-text", seen{Tools: 21}},
	{"lost-update:20", seen{Tools: 21}},
	{"exit-at-call@1", seen{First: "lost: the server ended in the middle of a call (exit status 7)", Second: gone, Detail: "its last words on stderr:\n  panic: out of memory"}},
	{"hang@1", seen{First: "tool_timeout/dependency/unknown: The server did not answer in time."}},
	{"late:1500@1", seen{First: "tool_timeout/dependency/unknown: The server did not answer in time."}},
	{"close-stdout@1", seen{First: "lost: the server closed its standard output in the middle of a call", Second: gone}},
	{"text-at-call@1", seen{Notices: []string{"before breaks the protocol: its standard output has text that is no message (logs belong on standard error), which was skipped: Handling a call..."}}},
	{"flood-progress:3@1", seen{First: "lost: the server floods: more than 1 MiB of notifications without an answer", Second: gone}},
	{"flood-log:3@1", seen{First: "lost: the server floods: more than 1 MiB of notifications without an answer", Second: gone}},
	{"list-changed@1", seen{First: `{"sum":3} (list changed)`}},
	{"ask:roots/list", seen{First: "invalid_tool_output/internal/unknown: The structured content breaks the server's own outputSchema.", Second: gone}},
	{"write-twice@1", seen{}},
	{"rpc-error:-32602@1", seen{First: "protocol_error/protocol/unknown: something broke inside the server"}},
	{"null-result@1", seen{First: "protocol_error/protocol/unknown: The answer is not the result of a tool: it is no object."}},
	{"empty-result@1", seen{First: "protocol_error/protocol/unknown: The answer is not the result of a tool: it has no content."}},
	{"wrong-content@1", seen{First: "protocol_error/protocol/unknown: The answer is not the result of a tool: it has another form."}},
	{"unknown-block@1", seen{}},
	{"error-with-output@1", seen{First: `tool_failed/unknown/unknown: {"sum":3}`}},
	{"break-output-schema@1", seen{First: "invalid_tool_output/internal/unknown: The structured content breaks the server's own outputSchema."}},
	{"no-output@1", seen{First: "invalid_tool_output/internal/unknown: The structured content breaks the server's own outputSchema."}},
	{"no-jsonrpc@1", seen{First: "lost: the server answered with something that is no JSON-RPC message", Second: gone, Detail: `{"id":4,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}`}},
	{"result-and-error@1", seen{First: "protocol_error/protocol/unknown: and yet it failed"}},
	{"escape-codes@1", seen{}},
	{"bad-utf8@1", seen{First: "protocol_error/protocol/unknown: The answer has no single reading: invalid UTF-8."}},
	{"deep@1", seen{First: "lost: the server answered with JSON that is nested too deeply", Second: gone, Detail: `{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"…`}},
	{"duplicate-keys@1", seen{First: "protocol_error/protocol/unknown: The answer has no single reading: duplicate key."}},
	{"garble@1", seen{First: "lost: the server answered with invalid JSON", Second: gone, Detail: `{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"te`}},
	{"wrong-id@1", seen{First: "lost: the server answered with the wrong id", Second: gone, Detail: `{"jsonrpc":"2.0","id":987654321,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}`}},
	{"string-id@1", seen{First: "lost: the server answered with the wrong id", Second: gone, Detail: `{"jsonrpc":"2.0","id":"4","result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}`}},
	{"duplicate@1", seen{Notices: []string{"before breaks the protocol: it answered a request twice; the second answer was skipped"}}},
	{"huge:2@1", seen{First: "lost: the server floods: a message of more than 1 MiB", Second: gone}},
	{"endless@1", seen{First: "lost: the server floods: a message of more than 1 MiB", Second: gone}},
	{"batch@1", seen{}},
	{"split:20", seen{}},
	{"pretty@1", seen{First: "lost: the server answered with invalid JSON", Second: gone, Detail: "{"}},
}

var overHTTP = []expected{
	{"modern", seen{}},
	{"sse", seen{}},
	{"sse-prime", seen{}},
	{"sse-prime;modern", seen{}},
	{"sse-prime;list-changed@1", seen{First: `{"sum":3} (list changed)`}},
	{"ignore-discover", seen{}},
	{"never-initialize", seen{Connect: "the server did not answer initialize within 1s"}},
	{"initialize-error", seen{Connect: "the server refused to initialize", Detail: "the database is locked"}},
	{"exit-at-initialize", seen{Connect: "the server closed the connection without an answer", Detail: "EOF"}},
	{"status:401", seen{Connect: "the server answered with HTTP status 401", Detail: "the upstream is not well\n"}},
	{"status:500@1", seen{First: "lost: the server answered with HTTP status 500", Second: gone, Detail: "the upstream is not well\n"}},
	{"status:404@1", seen{First: "lost: the server closed the session (HTTP status 404)", Second: gone, Detail: "the upstream is not well\n"}},
	{"redirect", seen{Connect: "the server redirects to another host, which is not followed", Detail: "to http://127.0.0.1:1/mcp"}},
	{"redirect:http://127.0.0.1:1/mcp@1", seen{First: "lost: the server redirects to another host, which is not followed", Second: gone, Detail: "to http://127.0.0.1:1/mcp"}},
	{"redirect-same", seen{}},
	{"redirect-loop", seen{Connect: "the server redirects for ever", Detail: "to http://HOST/mcp/moved/moved/moved/moved/moved/moved"}},
	{"html", seen{Connect: "the server answered with something that is neither JSON nor an event stream", Detail: `"text/html": <!DOCTYPE html><title>Sign in</title><script>alert(1)</script>`}},
	{"html@1", seen{First: "lost: the server answered with something that is neither JSON nor an event stream", Second: gone, Detail: `"text/html": <!DOCTYPE html><title>Sign in</title><script>alert(1)</script>`}},
	{"content-type:text/plain@1", seen{First: "lost: the server answered with something that is neither JSON nor an event stream", Second: gone, Detail: `"text/plain": {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}`}},
	{"cut@1", seen{First: "lost: the server closed the connection without an answer", Second: gone, Detail: "unexpected EOF"}},
	{"slow-headers:3000@1", seen{First: "tool_timeout/dependency/unknown: The server did not answer in time."}},
	{"sse-endless@1", seen{First: "lost: the server floods: more than 1 MiB of notifications without an answer", Second: gone}},
	{"token:sesame-open", seen{Connect: "the server answered with HTTP status 401", Detail: "who are you?\n"}},
	{"no-session", seen{}},
	{"drop-session@1", seen{First: "lost: the server closed the session (HTTP status 404)", Second: gone, Detail: "no such session\n"}},
	{"no-get", seen{}},
	{"get-end", seen{}},
	{"get-list-changed", seen{Tools: 21}},
	{"get-flood:3;no-get", seen{}},
	{"huge:2@1", seen{First: "lost: the server floods: a message of more than 1 MiB", Second: gone}},
	{"garble@1", seen{First: "lost: the server answered with invalid JSON", Second: gone, Detail: "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[{\"type\":\"te\n"}},
	{"wrong-id@1", seen{First: "lost: the server answered with the wrong id", Second: gone, Detail: `{"jsonrpc":"2.0","id":987654321,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}`}},
	{"sse;garble@1", seen{First: "lost: the server answered with invalid JSON", Second: gone, Detail: `{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"te`}},
	{"sse;wrong-id@1", seen{First: "lost: the server answered with the wrong id", Second: gone, Detail: `{"jsonrpc":"2.0","id":987654321,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}`}},
	{"sse;huge:2@1", seen{First: "lost: the server floods: a message of more than 1 MiB", Second: gone}},
	{"sse;duplicate@1", seen{}},
	{"sse;flood-log:3@1", seen{First: "lost: the server floods: more than 1 MiB of notifications without an answer", Second: gone}},
	{"hang@1", seen{First: "tool_timeout/dependency/unknown: The server did not answer in time."}},
	{"sse;hang@1", seen{First: "tool_timeout/dependency/unknown: The server did not answer in time."}},
	{"list-changed@1", seen{First: `{"sum":3} (list changed)`}},
	{"rpc-error:-32602@1", seen{First: "protocol_error/protocol/unknown: something broke inside the server"}},
	{"endless@1", seen{First: "lost: the server floods: a message of more than 1 MiB", Second: gone}},
	{"sse;endless@1", seen{First: "lost: the server floods: a message of more than 1 MiB", Second: gone}},
	{"repeat-cursor", seen{List: "the server pages for ever: tools/list does not come to an end", Tools: -1, Notices: []string{"before breaks the protocol: it lists two tools of the name \"write_note\"; the first is taken"}}},
	{"exit-at-call@1", seen{First: "lost: the server closed the connection without an answer", Second: gone, Detail: "EOF"}},
	{"batch@1", seen{First: "lost: the server answered with something that is no JSON-RPC message", Second: gone, Detail: `[{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}]`}},
	{"ask:ping@1", seen{First: "invalid_tool_output/internal/unknown: The structured content breaks the server's own outputSchema."}},
	{"sse;deep@1", seen{First: "lost: the server answered with JSON that is nested too deeply", Second: gone, Detail: `{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"d":{"…`}},
	{"bad-utf8@1", seen{First: "protocol_error/protocol/unknown: The answer has no single reading: invalid UTF-8."}},
	{"modern;sse", seen{}},
	{"modern;ignore-discover", seen{}},
	{"modern:only;redirect-same", seen{}},
	{"modern;list-changed@1", seen{First: `{"sum":3} (list changed)`}},
	{"pretty@1", seen{First: "{\n      \"sum\": 3\n    }"}},
}

func TestFaultsOverStdio(t *testing.T) {
	t.Parallel()
	for _, row := range overStdio {
		t.Run(row.faults, func(t *testing.T) {
			t.Parallel()
			row.check(t, stdioServer(t, strings.Split(row.faults, ";")...))
		})
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, row := range overHTTP {
		t.Run(row.faults, func(t *testing.T) {
			t.Parallel()
			s := httpServer(t, strings.Split(row.faults, ";")...)
			host := strings.TrimPrefix(strings.TrimSuffix(s.URL, "/mcp"), "http://")
			row.want.Detail = strings.ReplaceAll(row.want.Detail, "HOST", host)
			if row.want.Connect != "" || row.want.List != "" || strings.HasPrefix(row.want.First, "lost") {
				row.want.Detail = strings.TrimPrefix(row.want.Detail+"\nat "+s.URL, "\n")
			}
			row.check(t, s)
		})
	}
}

func (e expected) check(t *testing.T, s *mcp.Server) {
	t.Helper()
	calls := s.Timeout
	for _, name := range strings.FieldsFunc(e.faults, func(r rune) bool { return strings.ContainsRune(";:@", r) }) {
		switch name {
		case "never-initialize":
			s.Timeout = brief
		case "ignore-discover", "slow-start":
			s.Timeout = 3 * brief // a third of which is waited for
		case "list-hang", "hang", "late", "slow-headers":
			calls = brief
		}
	}
	want := e.want
	if want.Connect == "" {
		want.First = cmp.Or(want.First, `{"sum":3}`)
		if want.Second == gone {
			want.Second = want.First
		}
		want.Second = cmp.Or(want.Second, `{"sum":3}`)
		want.Tools = max(cmp.Or(want.Tools, 20), 0)
	}
	got := look(t, s, calls, addition)
	if e.faults == "get-list-changed" {
		// It is said on a stream of its own, before the first call or in the middle of one.
		got.First = strings.TrimSuffix(got.First, " (list changed)")
		got.Second = strings.TrimSuffix(got.Second, " (list changed)")
	}
	if diff := compare.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A new fault needs a row, or it is not known what comes of it.
func TestEveryFaultHasARow(t *testing.T) {
	have := make(map[string]bool)
	for _, row := range append(append([]expected{}, overStdio...), overHTTP...) {
		for _, text := range strings.Split(row.faults, ";") {
			f, err := faultserver.ParseFault(text)
			if err != nil {
				t.Error(err)
			}
			have[f.Name] = true
		}
	}
	for _, k := range faultserver.Known {
		if !have[k.Name] {
			t.Errorf("no row says what comes of %s: %s", k.Name, k.Does)
		}
	}
}
