package faultserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain runs the server itself where a test starts this binary again.
func TestMain(m *testing.M) {
	if os.Getenv("FAULTSERVER") != "" {
		Main()
	}
	os.Exit(m.Run())
}

// client is the other end of a server in a process of its own.
type client struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string // closed at the end of stdout
	stderr bytes.Buffer
}

func start(t *testing.T, args ...string) *client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, cmd: exec.Command(self, args...), lines: make(chan string, 1000)}
	c.cmd.Env = append(os.Environ(), "FAULTSERVER=1", "GORACE=atexit_sleep_ms=0")
	c.cmd.Stderr = &c.stderr
	c.cmd.WaitDelay = 100 * time.Millisecond
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdout = writer
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	go func() {
		defer reader.Close()
		defer close(c.lines)
		for r := bufio.NewReader(reader); ; {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it has ended already, in most tests
		_ = c.cmd.Wait()
	})
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.stdin, line+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

// next is the next line, or "" at the end.
func (c *client) next() string {
	c.t.Helper()
	select {
	case line := <-c.lines:
		return line
	case <-time.After(10 * time.Second):
		c.t.Fatalf("no line came; stderr: %s", &c.stderr)
		return ""
	}
}

// silent fails if a line comes within a short while.
func (c *client) silent() {
	c.t.Helper()
	select {
	case line, open := <-c.lines:
		if open {
			c.t.Fatalf("said %s", line)
		}
	case <-time.After(100 * time.Millisecond):
	}
}

// end closes stdin and returns the exit code.
func (c *client) end() int {
	c.t.Helper()
	c.stdin.Close()
	done := make(chan struct{})
	go func() { _ = c.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		c.t.Fatal("it did not end")
	}
	return c.cmd.ProcessState.ExitCode()
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	discover   = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	list       = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	ping       = `{"jsonrpc":"2.0","id":8,"method":"ping"}`
	pong       = `{"jsonrpc":"2.0","id":8,"result":{}}`
	cancelled  = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`
	write      = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write_note","arguments":{"key":"a","text":"b"}}}`
)

func tool(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

func faultArgs(faults []string) []string {
	var args []string
	for _, f := range faults {
		args = append(args, "-fault", f)
	}
	return args
}

// TestAnswers asks one thing and looks at the whole of the first line.
func TestAnswers(t *testing.T) {
	add := tool("add", `{"a":2,"b":3}`)
	const summed = `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"sum\":5}"}],"structuredContent":{"sum":5}}}` + "\n"
	for _, test := range []struct {
		name   string
		faults []string
		send   string
		want   []string
	}{
		{"initialize", nil, initialize, []string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"faultserver","version":"1.0.0"}}}` + "\n"}},
		{"no discovery", nil, discover, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}` + "\n"}},
		{"discovery", []string{"modern"}, discover, []string{`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"logging":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"faultserver","version":"1.0.0"}}}}` + "\n"}},
		{"modern only", []string{"modern:only"}, initialize, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"]}}}` + "\n"}},
		{"initialize error", []string{"initialize-error"}, initialize, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the database is locked"}}` + "\n"}},
		{"other version", []string{"protocol-version:3000-01-01"}, initialize, []string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"3000-01-01","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"faultserver","version":"1.0.0"}}}` + "\n"}},
		{"no tools", []string{"no-tools"}, initialize, []string{`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{}},"serverInfo":{"name":"faultserver","version":"1.0.0"}}}` + "\n"}},
		{"null tools", []string{"null-tools"}, list, []string{`{"jsonrpc":"2.0","id":2,"result":{"tools":null}}` + "\n"}},
		{"list error", []string{"list-error"}, list, []string{`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}` + "\n"}},
		{"add", nil, add, []string{summed}},
		{"exact", nil, tool("number", `{}`), []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"value\":9007199254740993}"}],"structuredContent":{"value":9007199254740993}}}` + "\n"}},
		{"wrong type", nil, tool("add", `{"a":"2","b":3}`), []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"code\":\"invalid_arguments\",\"category\":\"validation\",\"message\":\"cannot unmarshal string into Go struct field arguments.a of type int64\",\"retryable\":false}"}],"structuredContent":{"code":"invalid_arguments","category":"validation","message":"cannot unmarshal string into Go struct field arguments.a of type int64","retryable":false},"isError":true}}` + "\n"}},
		{"unknown tool", nil, tool("nope", `{}`), []string{`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool: nope"}}` + "\n"}},
		{"slow write", []string{"slow-write"}, tool("slow_write", `{"key":"a","text":"b","ms":20}`), []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"key\":\"a\",\"created\":true,\"bytes\":1}"}],"structuredContent":{"key":"a","created":true,"bytes":1}}}` + "\n"}},
		{"slow write that is cancelled", []string{"slow-write"}, tool("slow_write", `{"key":"a","text":"b","ms":5000}`) + "\n" + cancelled + "\n" + ping, []string{pong + "\n"}},
		{"failing write", []string{"failing-write"}, tool("failing_write", `{"key":"a","text":"b"}`), []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"Error: ENOSPC: no space left on device"}],"isError":true}}` + "\n"}},
		{"failing text", []string{"failing-text"}, tool("failing_text", `{"key":"people","text":"b"}`), []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"Error: no such table: people"}]}}` + "\n"}},
		{"a writer that is not listed", nil, tool("failing_write", `{"key":"a","text":"b"}`), []string{`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool: failing_write"}}` + "\n"}},
		{"fail", nil, tool("fail", `{"message":"no"}`), []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}` + "\n"}},
		{"fail coded", nil, tool("fail_coded", `{"code":"c","category":"conflict","message":"m","retryable":true,"as":"text"}`), []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"code\":\"c\",\"category\":\"conflict\",\"message\":\"m\",\"retryable\":true}"}],"isError":true}}` + "\n"}},
		{"tree", nil, tool("tree", `{"root":{"name":"r","children":[{"name":"a"},{"name":"b"}]}}`), []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"leaves\":2}"}],"structuredContent":{"leaves":2}}}` + "\n"}},
		{"greet", []string{"greet:Hello"}, ping, []string{"Hello\n", pong + "\n"}},
		{"bom", []string{"bom"}, ping, []string{"\ufeff" + pong + "\n"}},
		{"crlf", []string{"crlf"}, ping, []string{pong + "\r\n"}},
		{"blank lines", []string{"blank-lines"}, ping, []string{pong + "\n", "\n"}},
		{"text at call", []string{"text-at-call:Working: 1"}, add, []string{"Working: 1\n", summed}},
		{"not yet", []string{"garble@2"}, add, []string{summed}},
		{"garble", []string{"garble@1"}, add, []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"te` + "\n"}},
		{"wrong id", []string{"wrong-id"}, add, []string{strings.Replace(summed, `"id":3`, `"id":987654321`, 1)}},
		{"string id", []string{"string-id"}, add, []string{strings.Replace(summed, `"id":3`, `"id":"3"`, 1)}},
		{"duplicate", []string{"duplicate"}, add, []string{summed, summed}},
		{"batch", []string{"batch"}, add, []string{"[" + strings.TrimSpace(summed) + "]\n"}},
		{"split", []string{"split:10"}, add, []string{summed}},
		{"no jsonrpc", []string{"no-jsonrpc"}, add, []string{strings.Replace(summed, `"jsonrpc":"2.0",`, "", 1)}},
		{"rpc error", []string{"rpc-error:-32603"}, add, []string{`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"something broke inside the server"}}` + "\n"}},
		{"null result", []string{"null-result"}, add, []string{`{"jsonrpc":"2.0","id":3,"result":null}` + "\n"}},
		{"empty result", []string{"empty-result"}, add, []string{`{"jsonrpc":"2.0","id":3,"result":{}}` + "\n"}},
		{"result and error", []string{"result-and-error"}, add, []string{strings.Replace(summed, "}}}\n", `}},"error":{"code":-32603,"message":"and yet it failed"}}`+"\n", 1)}},
		{"wrong content", []string{"wrong-content"}, add, []string{`{"jsonrpc":"2.0","id":3,"result":{"content":"just a string","structuredContent":{"sum":5}}}` + "\n"}},
		{"unknown block", []string{"unknown-block"}, add, []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"hologram","data":"AAAA"}],"structuredContent":{"sum":5}}}` + "\n"}},
		{"error with output", []string{"error-with-output"}, add, []string{strings.Replace(summed, "}}}\n", `},"isError":true}}`+"\n", 1)}},
		{"broken output", []string{"break-output-schema"}, add, []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"sum\":\"five\",\"extra\":true}"}],"structuredContent":{"sum":"five","extra":true}}}` + "\n"}},
		{"no output", []string{"no-output"}, add, []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"sum\":5}"}]}}` + "\n"}},
		{"deep", []string{"deep:3"}, add, []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"sum\":5}"}],"structuredContent":{"d":{"d":{"d":0}}}}}` + "\n"}},
		{"duplicate keys", []string{"duplicate-keys"}, add, []string{`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"sum\":5}"}],"structuredContent":{"k":1,"k":2}}}` + "\n"}},
		{"bad UTF-8", []string{"bad-utf8"}, add, []string{"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\xfe\xc0\"}]}}\n"}},
		{"list changed", []string{"list-changed"}, add, []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n", summed}},
		{"late", []string{"late:20"}, add + "\n" + cancelled, []string{summed}},
		{"cancelled", nil, tool("slow", `{"ms":5000}`) + "\n" + cancelled + "\n" + ping, []string{pong + "\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, faultArgs(test.faults)...)
			c.send(test.send)
			var got []string
			for range test.want {
				got = append(got, c.next())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			c.silent()
			if code := c.end(); code != 0 {
				t.Errorf("exit code %d: %s", code, &c.stderr)
			}
		})
	}
}

// TestSilences are the faults in which nothing comes, and the server lives.
func TestSilences(t *testing.T) {
	for _, test := range []struct{ fault, send string }{
		{"never-initialize", initialize},
		{"ignore-discover", discover},
		{"list-hang", list},
		{"hang", write},
		{"hang:after", write},
		{"silent-write", tool("silent_write", `{"key":"a","text":"b"}`)},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			c := start(t, "-fault", test.fault, folder)
			c.send(test.send)
			c.silent()
			c.send(ping)
			if got := c.next(); got != pong+"\n" {
				t.Errorf("ping: %s", got)
			}
			c.end()
			if _, err := os.Stat(filepath.Join(folder, "a.txt")); (err == nil) != (test.fault == "hang:after" || test.fault == "silent-write") {
				t.Errorf("the note: %v", err)
			}
		})
	}
}

func TestDeaths(t *testing.T) {
	for _, test := range []struct {
		fault, send, stderr string
		code                int
		written             bool
	}{
		{"exit-at-start:no key", "", "no key\n", 7, false},
		{"exit-at-initialize:no license", initialize, "no license\n", 7, false},
		{"exit-at-call::boom", write, "boom\n", 7, false},
		{"exit-at-call:after:boom", write, "boom\n", 7, true},
		{"exit-at-call@2", write, "", 0, true},
		{"exit-code:5", "", "", 5, false},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			c := start(t, "-fault", test.fault, folder)
			if test.send != "" {
				c.send(test.send)
				c.next()
			}
			if code := c.end(); code != test.code || c.stderr.String() != test.stderr {
				t.Errorf("code %d, stderr %q", code, &c.stderr)
			}
			if _, err := os.Stat(filepath.Join(folder, "a.txt")); (err == nil) != test.written {
				t.Errorf("the note: %v", err)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	for _, folder := range []string{"", t.TempDir()} {
		var args []string
		if folder != "" {
			args = []string{folder}
		}
		c := start(t, args...)
		for _, step := range []struct{ tool, arguments, want string }{
			{"write_note", `{"key":"a","text":"b"}`, `{"key":"a","created":true,"bytes":1}`},
			{"write_note", `{"key":"a","text":"bc"}`, `{"key":"a","created":false,"bytes":2}`},
			{"append_note", `{"key":"z","text":"1","idempotency_key":"k"}`, `{"key":"z","bytes":2,"replayed":false}`},
			{"append_note", `{"key":"z","text":"1","idempotency_key":"k"}`, `{"key":"z","bytes":2,"replayed":true}`},
			{"append_note", `{"key":"z","text":"1"}`, `{"key":"z","bytes":4,"replayed":false}`},
			{"list_notes", `{"limit":1}`, `{"items":["a"],"next_cursor":"a"}`},
			{"list_notes", `{"limit":1,"cursor":"a"}`, `{"items":["z"]}`},
			{"read_note", `{"key":"a"}`, `{"key":"a","text":"bc"}`},
			{"delete_note", `{"key":"a"}`, `{"key":"a"}`},
			{"delete_note", `{"key":"a"}`, `{"code":"note_not_found","category":"not_found","message":"no note has the key \"a\"; list_notes lists them","retryable":false}`},
			{"write_note", `{"key":"../x","text":""}`, `{"code":"invalid_arguments","category":"validation","message":"key: must match ^[a-z0-9][a-z0-9-]{0,63}$","retryable":false}`},
			{"write_note", `{"key":"q","texxt":""}`, `{"code":"invalid_arguments","category":"validation","message":"unknown field \"texxt\"","retryable":false}`},
			{"snapshot", `{}`, `{"notes":{"z":"1\n1\n"}}`},
		} {
			c.send(tool(step.tool, step.arguments))
			var got struct {
				Result struct{ StructuredContent json.RawMessage }
			}
			if line := c.next(); json.Unmarshal([]byte(line), &got) != nil || string(got.Result.StructuredContent) != step.want {
				t.Errorf("%s %s: %s", step.tool, step.arguments, line)
			}
		}
		c.end()
		if folder == "" {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(folder, "z.txt")); string(text) != "1\n1\n" {
			t.Error(string(text), err)
		}
	}
}

// What the writers that go wrong have written, and what of it is lost when several
// are called at once.
func TestWriters(t *testing.T) {
	folder := t.TempDir()
	read := func(key string) string {
		text, err := os.ReadFile(filepath.Join(folder, key+".txt"))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	c := start(t, append(faultArgs([]string{"slow-write", "failing-write", "failing-text", "lost-update:300"}), folder)...)
	c.send(tool("slow_write", `{"key":"slow","text":"b","ms":60000}`), tool("failing_write", `{"key":"failed","text":"b"}`))
	line := c.next()
	// Both are at work at once; the other has no answer yet, by which it could be
	// known that it has written.
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(time.Millisecond) {
		if text, _ := os.ReadFile(filepath.Join(folder, "slow.txt")); string(text) == "b" {
			break
		}
	}
	if !strings.Contains(line, "ENOSPC") || read("failed") != "b" || read("slow") != "b" {
		t.Errorf("%s; %q, %q", line, read("failed"), read("slow"))
	}
	c.send(tool("failing_text", `{"key":"text","text":"b"}`))
	c.next()
	if _, err := os.Stat(filepath.Join(folder, "text.txt")); err == nil {
		t.Error("failing_text writes")
	}
	for range 4 {
		c.send(tool("lost_update", `{"key":"together","text":"x"}`))
	}
	for range 4 {
		c.next()
	}
	if text := read("together"); text != "x\n" {
		t.Errorf("no line is lost: %q", text)
	}
	for range 2 {
		c.send(tool("lost_update", `{"key":"in-turn","text":"x"}`))
		c.next()
	}
	if text := read("in-turn"); text != "x\nx\n" {
		t.Errorf("one after the other: %q", text)
	}
	c.end()
}

// What is said of a tool may be something else at the next start, and nothing but
// that.
func TestRetold(t *testing.T) {
	said := func(faults ...string) []definition {
		c := start(t, faultArgs(faults)...)
		c.send(list)
		var page struct{ Result struct{ Tools []definition } }
		if err := json.Unmarshal([]byte(c.next()), &page); err != nil {
			t.Fatal(err)
		}
		return page.Result.Tools
	}
	plain := said()
	for _, test := range []struct {
		fault  string
		change func(d *definition)
	}{
		{"describe:Does as it likes: now", func(d *definition) { d.Description = "Does as it likes: now" }},
		{`input-schema:{"type":"object"}`, func(d *definition) { d.InputSchema = json.RawMessage(`{"type":"object"}`) }},
	} {
		want := slices.Clone(plain)
		test.change(&want[0])
		if diff := cmp.Diff(want, said(test.fault)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.fault, diff)
		}
	}
	if own := said("describe", "input-schema")[0]; own.Description == plain[0].Description || !strings.Contains(string(own.InputSchema), "author") {
		t.Errorf("without an argument: %+v", own)
	}
}

func TestWriteTwice(t *testing.T) {
	folder := t.TempDir()
	c := start(t, "-fault", "write-twice", "-fault", "write-at-eof", folder)
	c.send(write)
	c.next()
	c.send(tool("append_note", `{"key":"l","text":"x"}`))
	c.next()
	c.end()
	got := make(map[string]string)
	for _, name := range []string{"a", "a-again", "l", "at-eof"} {
		text, err := os.ReadFile(filepath.Join(folder, name+".txt"))
		if err != nil {
			t.Error(err)
		}
		got[name] = string(text)
	}
	if diff := cmp.Diff(map[string]string{"a": "b", "a-again": "b", "l": "x\nx\n", "at-eof": "the end"}, got); diff != "" {
		t.Error(diff)
	}
}

// names lists the tools of one page, and the cursor of the next.
func (c *client) names(cursor string) ([]string, string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"` + cursor + `"}}`)
	var page struct {
		Result struct {
			Tools      []definition
			NextCursor string
		}
	}
	if err := json.Unmarshal([]byte(c.next()), &page); err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, d := range page.Result.Tools {
		names = append(names, d.Name)
	}
	return names, page.Result.NextCursor
}

func TestLists(t *testing.T) {
	var all []string
	for _, d := range shipped() {
		all = append(all, d.Name)
	}
	c := start(t, "-fault", "pages:3")
	var paged []string
	var cursors []string
	for cursor := ""; ; {
		names, next := c.names(cursor)
		paged = append(paged, names...)
		if cursor = next; next == "" {
			break
		}
		cursors = append(cursors, next)
	}
	if !slices.Equal(paged, all) || !slices.Equal(cursors, []string{"1", "2"}) {
		t.Error(paged, cursors)
	}
	for _, test := range []struct {
		fault   string
		last    string
		count   int
		cursors []string // of three pages
	}{
		{"repeat-cursor", "tree", len(all), []string{"1", "1", "1"}},
		{"new-cursors", "tree", len(all), []string{"1", "2", "3"}},
		{"many-tools:50", "tool_00049", len(all) + 50, []string{""}},
		{"duplicate-tools", "write_note", len(all) + 1, []string{""}},
		{"bad-schema", "bad_schema", len(all) + 1, []string{""}},
		{"bad-output-schema", "bad_output_schema", len(all) + 1, []string{""}},
		{"remote-ref", "remote_ref", len(all) + 1, []string{""}},
		{"no-schema", "no_schema", len(all) + 1, []string{""}},
		{"slow-write", "slow_write", len(all) + 1, []string{""}},
		{"silent-write", "silent_write", len(all) + 1, []string{""}},
		{"failing-write", "failing_write", len(all) + 1, []string{""}},
		{"failing-text", "failing_text", len(all) + 1, []string{""}},
		{"lost-update", "lost_update", len(all) + 1, []string{""}},
		{"describe", "tree", len(all), []string{""}},
	} {
		c := start(t, "-fault", test.fault)
		cursor := ""
		for _, want := range test.cursors {
			var names []string
			names, cursor = c.names(cursor)
			if len(names) != test.count || names[len(names)-1] != test.last || cursor != want {
				t.Errorf("%s: %d tools, the last %s, cursor %q", test.fault, len(names), names[len(names)-1], cursor)
			}
		}
	}
	c = start(t, "-fault", "lie")
	c.send(list)
	if line := c.next(); strings.Count(line, `{"readOnlyHint":true,"destructiveHint":false}`) != 3 {
		t.Errorf("no lies: %s", line)
	}
}

func TestFloods(t *testing.T) {
	for _, test := range []struct {
		fault string
		least int // bytes until the answer
		note  string
	}{
		{"flood-progress:1", megabyte, "notifications/progress"},
		{"flood-log:1", megabyte, "notifications/message"},
		{"huge:2", 2 * megabyte, "hhhh"},
	} {
		c := start(t, "-fault", test.fault)
		c.send(tool("echo_text", `{"text":"x"}`))
		bytes, noted := 0, false
		for {
			line := c.next()
			bytes += len(line)
			noted = noted || strings.Contains(line, test.note)
			if strings.Contains(line, `"id":3`) {
				break
			}
		}
		if bytes < test.least || bytes > test.least+megabyte || !noted {
			t.Errorf("%s: %d bytes, %v", test.fault, bytes, noted)
		}
	}
	for _, fault := range []string{"flood-stderr:1", "flood-stderr:1@1"} {
		c := start(t, "-fault", fault)
		c.send(tool("echo_text", `{"text":"x"}`))
		c.next()
		if c.end(); c.stderr.Len() < megabyte {
			t.Errorf("%s: %d bytes", fault, c.stderr.Len())
		}
	}
}

// TestEndless reads what never ends for a while, and then goes away.
func TestEndless(t *testing.T) {
	s := New(Options{Faults: Faults("endless")})
	in, write := io.Pipe()
	read, out := io.Pipe()
	done := make(chan int)
	go func() { done <- s.Serve(t.Context(), in, out, io.Discard) }()
	if _, err := io.WriteString(write, tool("echo_text", `{}`)+"\n"); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 3*megabyte)
	if _, err := io.ReadFull(read, head); err != nil || bytes.IndexByte(head, '\n') >= 0 {
		t.Error("it ended", err)
	}
	read.Close()
	write.Close()
	<-done
}

func TestAsk(t *testing.T) {
	c := start(t, "-fault", "ask:roots/list")
	c.send(tool("echo_text", `{}`))
	if got, want := c.next(), `{"jsonrpc":"2.0","id":"ask-1","method":"roots/list"}`+"\n"; got != want {
		t.Fatal(got)
	}
	c.silent()
	c.send(`{"jsonrpc":"2.0","id":"ask-1","error":{"code":-32601,"message":"no"}}`)
	if got := c.next(); !strings.Contains(got, `the client answered roots/list with {\"code\":-32601,\"message\":\"no\"}`) {
		t.Error(got)
	}
}

func TestCloseStdout(t *testing.T) {
	c := start(t, "-fault", "close-stdout@1")
	c.send(write)
	if got := c.next(); got != "" {
		t.Error(got)
	}
	c.send(ping) // it still reads
	if code := c.end(); code != 0 {
		t.Error(code)
	}
}

// TestProcesses starts children, ignores the end of stdin and SIGTERM, and is
// killed in the end.
func TestProcesses(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	c := start(t, "-pids", pids, "-fault", "child", "-fault", "daemon", "-fault", "ignore-eof", "-fault", "ignore-sigterm")
	c.send(ping)
	c.next()
	c.stdin.Close()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.silent()
	if err := c.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("it ended: %v", err)
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	own, _ := syscall.Getpgid(c.cmd.Process.Pid)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		kind, number, _ := strings.Cut(line, " ")
		kinds = append(kinds, kind)
		if kind != "child" {
			continue
		}
		pid := 0
		if err := json.Unmarshal([]byte(number), &pid); err != nil || pid < 2 {
			t.Fatal(line, err)
		}
		group, err := syscall.Getpgid(pid)
		if err != nil {
			t.Error(err)
		}
		kinds[len(kinds)-1] = map[bool]string{true: "child", false: "daemon"}[group == own]
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"server", "child", "daemon"}, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestTicking(t *testing.T) {
	folder := t.TempDir()
	c := start(t, "-fault", "ticking:1", folder)
	clock := func() string {
		text, _ := os.ReadFile(filepath.Join(folder, "clock.txt"))
		return string(text)
	}
	deadline := time.Now().Add(10 * time.Second)
	for first := clock(); first == "" || clock() == first; first = clock() {
		if time.Now().After(deadline) {
			t.Fatal("the clock stands still")
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.end()
}

func TestParseFault(t *testing.T) {
	for text, want := range map[string]Fault{
		"hang":                      {Name: "hang"},
		"hang@3":                    {Name: "hang", Call: 3},
		"hang:after@3+":             {Name: "hang", Arg: "after", Call: 3, Onward: true},
		"redirect:http://h:1/a@b":   {Name: "redirect", Arg: "http://h:1/a@b"},
		"exit-at-call:after:x: y@2": {Name: "exit-at-call", Arg: "after:x: y", Call: 2},
	} {
		if got, err := ParseFault(text); got != want || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "hung", ":x", "hang@"} {
		if got, err := ParseFault(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
	third := Fault{Name: "hang", Call: 3}
	onward := Fault{Name: "hang", Call: 3, Onward: true}
	for number, want := range map[int][2]bool{0: {false, false}, 2: {false, false}, 3: {true, true}, 4: {false, true}} {
		if third.at(number) != want[0] || onward.at(number) != want[1] {
			t.Errorf("call %d", number)
		}
	}
}

// TestEveryFaultIsAsked fails where a name in the list switches nothing.
func TestEveryFaultIsAsked(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		if file == "fault.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, k := range Known {
		if !strings.Contains(source.String(), `"`+k.Name+`"`) {
			t.Errorf("%s does nothing", k.Name)
		}
	}
}
