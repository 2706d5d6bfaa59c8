package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// pending is a carrier that waits for the answer to the call with the id 1.
func pending(t testing.TB, limit int) (*stdio, *exchange) {
	s := Server{Name: "s", MaxMessage: limit}.Learning()
	c := &stdio{link: &link{server: &s}, waiting: make(map[jsonrpc.ID]*request)}
	ctx, x := c.exchange(t.Context())
	id, err := jsonrpc.MakeID(float64(1))
	if err != nil {
		t.Fatal(err)
	}
	c.sent(ctx, &jsonrpc.Request{ID: id, Method: "tools/call"})
	return c, x
}

// FuzzDecode reads any line: it does not panic, and either the line is dealt
// with or the connection has a reason to end. An answer is taken as it stood.
func FuzzDecode(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"x"}]`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`, "\xef\xbb\xbf{}", "\xef\xbb\xbf", "[", "[1,2]", "[]", "hello", `{"a":1}`,
		`{"jsonrpc":"2.0","id":"1","result":{}}`, `{"jsonrpc":"2.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, strings.Repeat("[", 3000), `{"jsonrpc":"2.0"} {}`, `{"id":1,"result":1}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		c, x := pending(t, 1<<20)
		messages, err := c.decode(bytes.Clone(line))
		fault, _ := c.failure()
		if (err != nil) != (fault != "") {
			t.Fatalf("error %v, and the connection: %q", err, fault)
		}
		if err != nil && messages != nil {
			t.Fatal("messages beside an error")
		}
		answers := 0
		for _, m := range messages {
			if r, ok := m.(*jsonrpc.Response); ok {
				answers++
				if r.Error == nil && string(r.Result) != string(brief) {
					t.Fatalf("the SDK is to decode %s", r.Result)
				}
			}
		}
		got, ok := x.taken()
		result, failed := got.result, got.fault
		if answers > 1 || err == nil && ok != (answers == 1) {
			t.Fatalf("%d answers, taken: %v", answers, ok)
		}
		if ok && failed == nil && result != nil && !bytes.Contains(line, result) {
			t.Fatalf("%q is not in the line", result)
		}
	})
}

// FuzzEvents cuts a stream anywhere: the events are the same.
func FuzzEvents(f *testing.F) {
	for _, text := range []string{
		"data: a\n\n", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", "event: x\ndata: a\n\ndata: b\n\n", "id: 1\ndata:\n\n", ": x\ndata: a\ndata: b\n\n",
		"data: " + strings.Repeat("x", 100) + "\n\n", "data\n\ndata:  a\n\nevent:message\ndata:b\n\n\r", "\r\n\r\n",
	} {
		f.Add(text, uint16(3), uint16(5))
	}
	f.Fuzz(func(t *testing.T, text string, a, b uint16) {
		read := func(parts ...string) (got []string, fault string, err error) {
			e := &events{limit: 64, total: 4096, flood: func(f string) { fault = f }}
			e.each = func(data []byte) error {
				if len(data) > 64+len("data: ") {
					t.Fatalf("an event of %d bytes", len(data))
				}
				if string(data) == "stop" {
					return io.ErrUnexpectedEOF
				}
				got = append(got, string(data))
				return nil
			}
			for _, part := range parts {
				if len(e.line)+len(e.data) > 2*64 {
					t.Fatalf("%d bytes are held", len(e.line)+len(e.data))
				}
				if _, err = e.Write([]byte(part)); err != nil {
					break
				}
			}
			return got, fault, err
		}
		i := min(int(a), len(text))
		j := i + min(int(b), len(text)-i)
		whole, fault, err := read(text)
		parts, faultOfParts, errOfParts := read(text[:i], text[i:j], text[j:])
		if len(text) > 4096 {
			return // the whole is refused before it is read
		}
		if !slices.Equal(whole, parts) || fault != faultOfParts || !errors.Is(err, errOfParts) {
			t.Fatalf("%q at %d and %d: %q %q %v, in parts %q %q %v", text, i, j, whole, fault, err, parts, faultOfParts, errOfParts)
		}
		if err != nil {
			return
		}
		bytewise, _, _ := read(strings.Split(text, "")...)
		if utf8.ValidString(text) && !slices.Equal(whole, bytewise) {
			t.Fatalf("%q: %q, byte by byte %q", text, whole, bytewise)
		}
	})
}

// FuzzResult maps any result: it is an output or an error, and either is JSON
// with one reading.
func FuzzResult(f *testing.F) {
	for _, text := range []string{
		`{"content":[]}`, `{"content":[{"type":"text","text":"{\"a\":1}"}]}`, `{"structuredContent":{"a":9007199254740993}}`, `null`, `{}`, ` {}`,
		`{"content":[{"type":"text","text":"x"}],"isError":true}`, `{"structuredContent":{"error":{"code":"x","details":{}}},"isError":true}`,
		`{"content":[{"type":"text","text":"\u0000\ud800"}],"isError":true}`, `{"content":[{"type":"text","text":"{\"code\":\"x\",\"outcome\":\"applied\"}"}],"isError":true}`,
		`{"content":[{}]}`, `{"content":[null]}`, `{"resultType":"input_required"}`,
	} {
		f.Add([]byte(text))
	}
	s := Server{Name: "s"}.Learning()
	c := &Client{server: &s}
	c.expect([]tool.Definition{{Name: "checked", OutputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}})
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, name := range []string{"free", "checked"} {
			got := c.result(name, raw)
			switch {
			case (got.Output == nil) == (got.Error == nil):
				t.Fatalf("%s: output %q and error %v", raw, got.Output, got.Error)
			case got.Error != nil:
				if got.Error.Code == "" || got.Error.Category == "" || got.Error.Outcome == "" || !utf8.ValidString(got.Error.Message) || len(got.Error.Message) > tool.MaxWords+len("…") {
					t.Fatalf("%s: %+v", raw, got.Error)
				}
				if _, err := json.Marshal(got.Error); err != nil {
					t.Fatalf("%s: %v", raw, err)
				}
			default:
				if _, err := jsonvalue.Decode(got.Output); err != nil || got.Reply == nil || got.Reply.IsError {
					t.Fatalf("%s: %q, %v", raw, got.Output, err)
				}
			}
			if got.Reply != nil && got.Reply.Bytes > len(raw) {
				t.Fatalf("%s: %d bytes", raw, got.Reply.Bytes)
			}
			if diff := cmp.Diff(got, c.result(name, raw)); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
