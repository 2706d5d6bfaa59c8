package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/suite"
)

// client reads a server of a client's configuration.
func client(t *testing.T, text, server string) (suite.Server, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := suite.ReadClientConfig(file, server, someVariables.lookup)
	if err != nil {
		if diff := cmp.Diff(suite.Server{}, s); diff != "" {
			t.Errorf("a server beside an error: %s", diff)
		}
		return s, strings.ReplaceAll(err.Error(), dir+"/", "")
	}
	return s, ""
}

func TestReadClientConfig(t *testing.T) {
	const several = `{
	"globalShortcut": "Ctrl+Space",
	"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "server-filesystem", "${SANDBOX}"], "env": {"KEY": "${TOKEN}", "URL": "https:\/\/a"}},
		"broken": {"type": "sse", "url": "${ABSENT}", "args": 7},
		"remote": {"type": "streamable-http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"},
			"disabled": false, "autoApprove": ["*"], "timeout": 60, "command": null, "env": null},
		"emoji \ud83d\ude00": {"command": "say", "args": ["\ud83d\ude00 \\ud83d \uD83D\uDE00", "\u00e9\n"], "cwd": "/somewhere", "type": "stdio"}
	}
}
`
	tests := []struct {
		name, text, server string
		want               suite.Server
	}{
		{"a command", several, "files", suite.Server{
			Command: []string{"npx", "-y", "server-filesystem", "${SANDBOX}"}, Env: map[string]string{"KEY": "s3cr3t", "URL": "https://a"}}},
		{"a url", several, "remote", suite.Server{
			URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer s3cr3t"}}},
		{"escapes", several, "emoji 😀", suite.Server{Command: []string{"say", `😀 \ud83d 😀`, "é\n"}}},
		{"without arguments", `{"mcpServers": {"a": {"command": "a b"}}}`, "a", suite.Server{Command: []string{"a b"}}},
		{"YAML", "mcpServers:\n  a:\n    command: a # the program\n    args: [b]\nother: &x 1\n", "a", suite.Server{Command: []string{"a", "b"}}},
		{"http", `{"mcpServers": {"a": {"url": "http://a", "type": "http"}}}`, "a", suite.Server{URL: "http://a"}},
		{"another spelling", `{"mcpServers": {"a": {"url": "http://a", "type": "streamableHttp"}}}`, "a", suite.Server{URL: "http://a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, faults := client(t, tt.text, tt.server)
			if faults != "" {
				t.Fatal(faults)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClientConfigFaults(t *testing.T) {
	of := func(server string) string { return "{\"mcpServers\": {\"a\":\n" + server + "}}" }
	tests := []struct{ name, text, server, want string }{
		{"unknown server", `{"mcpServers": {"b": {}, "a c": {}, "a": {}}}`, "A", `1:16: mcpServers: has no server A; the servers are a, "a c", b`},
		{"unnamed server", `{"mcpServers": {"b": {}}}`, "", `1:16: mcpServers: has no server ""; the servers are b`},
		{"many servers", `{"mcpServers": {` + strings.Repeat(`"a":{},`, 0) + manyServers() + `}}`, "x", "1:16: mcpServers: has no server x; the servers are " +
			"a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t and 2 more"},
		{"no servers", `{"mcpServers": {}}`, "a", "1:16: mcpServers: names no server"},
		{"null servers", `{"mcpServers": null}`, "a", "1:1: mcpServers: must be a mapping, not null"},
		{"another file", `{"servers": {}}`, "a", "1:1: mcpServers: missing"},
		{"a list", `[]`, "a", "1:1: must be a mapping, not a list"},
		{"a list of servers", `{"mcpServers": [1]}`, "a", "1:16: mcpServers: must be a mapping, not a list"},
		{"twice", `{"mcpServers": {"a": {}, "a": {}}}`, "a", "1:26: mcpServers.a: duplicate key, first in line 1"},
		{"sse", of(`{"url": "http://s3cr3t", "type": "sse", "command": "a"}`), "a", "2:34: mcpServers.a.type: the old transport sse is not spoken; most servers that have it also speak streamable-http, often at /mcp"},
		{"unknown type", of(`{"url": "http://a", "type": "ws"}`), "a", "2:29: mcpServers.a.type: must be one of stdio, http, streamable-http, streamableHttp"},
		{"type of another", of(`{"url": "http://a", "type": "stdio"}`), "a", "2:29: mcpServers.a.type: stdio goes with a command, which is missing"},
		{"type of a url", of(`{"command": "a", "type": "http"}`), "a", "2:26: mcpServers.a.type: http goes with a url, which is missing"},
		{"nothing", of(`{"disabled": true}`), "a", "2:1: mcpServers.a: needs a command or a url"},
		{"null", of(`null`), "a", "2:1: mcpServers.a: must be a mapping, not null"},
		{"both", of(`{"command": "a", "url": "http://a"}`), "a", "2:25: mcpServers.a.url: may not stand beside command"},
		{"args of a url", of(`{"args": [], "url": "http://a"}`), "a", "2:10: mcpServers.a.args: may only stand beside command"},
		{"list for a command", of(`{"command": ["a"]}`), "a", "2:13: mcpServers.a.command: must be a string, not a list"},
		{"empty command", of(`{"command": ""}`), "a", "2:13: mcpServers.a.command: must name a program, not be an empty string"},
		{"one argument", of(`{"command": "a", "args": "b"}`), "a", "2:26: mcpServers.a.args: must be a list of strings, not a string"},
		{"number", of(`{"command": "a", "args": ["b", 1], "env": {"A": 1}}`), "a",
			"2:32: mcpServers.a.args[1]: must be a string, not a number; put it in quotes\n2:49: mcpServers.a.env.A: must be a string, not a number; put it in quotes"},
		{"variable", of(`{"command": "a", "env": {"A": "${ABSENT}${env:X}"}}`), "a",
			"2:31: mcpServers.a.env.A: the environment has no ABSENT; ${ABSENT:-default} would give it a default\n2:31: mcpServers.a.env.A: a variable is written ${NAME} or ${NAME:-default}; $${ writes ${ as it is"},
		{"comments", "{\n// a comment\n\"mcpServers\": {}}", "a", "2:1: is not JSON: invalid character '/' at start of value"},
		{"place behind escapes", of(`{"env": {"A": "\n\n\n"}, "command": 1}`), "a", "2:37: mcpServers.a.command: must be a string, not a number"},
		{"half a character", of(`{"command": "\ud83ds3cr3t"}`), "a", "2:14: is not JSON: invalid surrogate pair in string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got := client(t, tt.text, tt.server)
			want := strings.Split(tt.want, "\n")
			lines := strings.Split(got, "\n")
			for i, line := range lines {
				if len(lines) != len(want) || !strings.HasPrefix(line, "mcp.json:"+want[i]) {
					t.Fatalf("faults:\n%s\nwant:\n%s", got, tt.want)
				}
			}
			if strings.Contains(got, "s3cr3t") {
				t.Errorf("a secret is told:\n%s", got)
			}
		})
	}
}

func manyServers() string {
	var names []string
	for c := 'v'; c >= 'a'; c-- {
		names = append(names, `"`+string(c)+`": {}`)
	}
	return strings.Join(names, ", ")
}
