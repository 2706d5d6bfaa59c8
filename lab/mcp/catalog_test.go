package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/mcp"
	"agentlab/lab/tool"
)

func names(definitions []tool.Definition) (all []string) {
	for _, d := range definitions {
		all = append(all, d.Name)
	}
	return all
}

func TestTools(t *testing.T) {
	t.Parallel()
	const list = `{"tools":[
		{"name":"plain","inputSchema":{"type":"object"}},
		{"name":"full","title":"T","description":"D","inputSchema":{"type":"object","maximum":9007199254740993,"x":1,"x":2},
		 "outputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}},
		{"Name":"x","name":"null","inputSchema":{"type":"object"},"outputSchema":null,"annotations":null},
		{"name":"full","inputSchema":{"type":"object"}},
		{"name":"odd","inputSchema":true}]}`
	s := scripted(t, list, "")
	n := listen(s)
	got, err := connect(t, s).Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []tool.Definition{
		{Name: "plain", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "full", Description: "D", InputSchema: json.RawMessage(`{"type":"object","maximum":9007199254740993,"x":1,"x":2}`),
			OutputSchema: json.RawMessage(`{"type":"object"}`), Annotations: json.RawMessage(`{"readOnlyHint":false}`)},
		{Name: "null", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "odd", InputSchema: json.RawMessage(`{}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	told := []string{
		`before breaks the protocol: it lists two tools of the name "full"; the first is taken`,
		`before breaks the protocol: its tool "odd" has no inputSchema that is an object`,
	}
	if diff := cmp.Diff(told, n.all()); diff != "" {
		t.Error(diff)
	}
}

func TestListsThatAreNone(t *testing.T) {
	t.Parallel()
	const none = "the server's list of tools is not one"
	for _, tt := range []struct{ list, reason, detail string }{
		{`{}`, none, "it has no member tools"},
		{`{"tools":null}`, "", ""},
		{`{"tools":{}}`, none, "?"},
		{`{"tools":[{"name":7}]}`, none, "?"},
		{`{"tools":[{"description":"a"}]}`, none, "a tool has no name"},
		{`{"tools":[],"nextCursor":7}`, none, "?"},
		{`[]`, none, "?"},
		{`null`, none, "it has no member tools"},
		{`{"tools":[],"nextCursor":""}`, "", ""},
	} {
		c := connect(t, scripted(t, tt.list, ""))
		definitions, err := c.Tools(t.Context())
		reason, detail := told(err)
		detail, _, _ = strings.Cut(detail, "\nat http")
		if reason != tt.reason || len(definitions) > 0 || tt.detail != "?" && detail != tt.detail || tt.detail == "?" && detail == "" {
			t.Errorf("%s: %v, %q, %q", tt.list, definitions, reason, detail)
		}
		if c.Lost() != nil {
			t.Errorf("%s: %v", tt.list, c.Lost())
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	whole, err := connect(t, stdioServer(t)).Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for carrier, start := range map[string]func(testing.TB, ...string) *mcp.Server{"stdio": stdioServer, "http": httpServer} {
		for _, faults := range [][]string{{"pages:7"}, {"pages:7", "modern"}} {
			paged, err := connect(t, start(t, faults...)).Tools(t.Context())
			if diff := cmp.Diff(whole, paged); diff != "" || err != nil {
				t.Error(carrier, faults, err, diff)
			}
		}
	}
	many, err := connect(t, stdioServer(t, "many-tools:2000", "pages:3")).Tools(t.Context())
	if err != nil || !slices.Equal(names(many[:20]), names(whole)) || len(many) != 2020 {
		t.Error(len(many), err)
	}
}

func TestTooManyTools(t *testing.T) {
	t.Parallel()
	var tools []string
	for i := range 20001 {
		tools = append(tools, fmt.Sprintf(`{"name":"%d","inputSchema":{}}`, i))
	}
	s := scripted(t, `{"tools":[`+strings.Join(tools, ",")+`]}`, "")
	_, err := connect(t, s).Tools(t.Context())
	if reason, _ := told(err); reason != "the server lists too many tools" {
		t.Error(err)
	}
	// Few, and too large.
	page := 0
	s = proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, `"tools/list"`) {
			return false
		}
		page++
		_, after, _ := strings.Cut(body, `"id":`)
		id, _, _ := strings.Cut(after, ",")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"%d%s","inputSchema":{}}],"nextCursor":"%d"}}`, id, page, strings.Repeat("x", 32<<10), page)
		return true
	})
	s.MaxMessage = 64 << 10
	_, err = connect(t, s).Tools(t.Context())
	if reason, detail := told(err); reason != "the server lists too many tools" || !strings.HasPrefix(detail, "more than 20000, or than 262144 bytes") || page != 8 {
		t.Error(err, page)
	}
}

// A cursor that was there before is seen at once.
func TestRepeatedCursor(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if strings.Contains(body, `"tools/list"`) {
			asked.Add(1)
		}
		return false
	}, "repeat-cursor")
	_, err := connect(t, s).Tools(t.Context())
	if reason, _ := told(err); reason != "the server pages for ever: tools/list does not come to an end" || asked.Load() != 2 {
		t.Error(err, asked.Load())
	}
}

// The SDK remembers a list for as long as the server lets it, and answers from
// memory; what it answers is still what stood on the wire.
func TestRememberedLists(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, `"tools/list"`) {
			return false
		}
		asked.Add(1)
		_, after, _ := strings.Cut(body, `"id":`)
		id, _, _ := strings.Cut(after, ",")
		page := `"tools":[{"name":"a","inputSchema":{"type":"object","maximum":9007199254740993}}],"nextCursor":"2"`
		if strings.Contains(body, `"cursor":"2"`) {
			page = `"tools":[{"name":"b","inputSchema":{"type":"object"}}]`
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","ttlMs":60000,"cacheScope":"private",` + page + `}}`))
		return true
	}, "modern")
	c := connect(t, s)
	want, err := c.Tools(t.Context())
	if err != nil || !slices.Equal(names(want), []string{"a", "b"}) {
		t.Fatal(want, err)
	}
	for range 2 {
		got, err := c.Tools(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("%d questions", asked.Load())
	}
}

// The schemas that one connection has read count for the next.
func TestShareSchemas(t *testing.T) {
	t.Parallel()
	s := stdioServer(t, "break-output-schema")
	first, second := connect(t, s), connect(t, s)
	if r := first.Call(t.Context(), addition); r.Error != nil || r.Reply.SchemaValid != nil {
		t.Errorf("before the list: %+v", r)
	}
	if _, err := first.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	second.ShareSchemas(first)
	r := second.Call(t.Context(), addition)
	want := `{"violations":[{"pointer":"","keyword":"additionalProperties","message":"property \"extra\" is not allowed"},{"pointer":"/sum","keyword":"type","message":"must be integer"}]}`
	if r.Error == nil || r.Error.Code != tool.InvalidToolOutput || string(r.Error.Details) != want {
		t.Errorf("%+v", r.Error)
	}
	r = second.Call(t.Context(), call("tree", `{"root":{"name":"a","children":[{"name":"b"},{"name":"c"}]}}`))
	if string(r.Output) != `{"leaves":2}` || r.Reply.SchemaValid == nil || !*r.Reply.SchemaValid {
		t.Errorf("%s, %v", r.Output, r.Error)
	}
}

// Calls, lists and the end of the connection at once are no race.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	for _, start := range []func(testing.TB, ...string) *mcp.Server{stdioServer, httpServer} {
		c := connect(t, start(t, "list-changed"))
		done := make(chan struct{})
		for _, do := range []func(){
			func() { c.Call(t.Context(), addition) },
			func() { c.Tools(t.Context()) },
			func() { c.Lost(); c.Protocol(); c.StartTook() },
		} {
			go func() {
				defer func() { done <- struct{}{} }()
				for range 10 {
					do()
				}
			}()
		}
		time.Sleep(20 * time.Millisecond)
		c.Close()
		for range 3 {
			<-done
		}
	}
}

func TestNoticesAreBounded(t *testing.T) {
	t.Parallel()
	var tools []string
	for i := range 100 {
		tools = append(tools, `{"name":"t`+string(rune('a'+i%26))+strings.Repeat("x", i)+`","inputSchema":{},"outputSchema":{"type":"objekt"}}`)
	}
	s := scripted(t, `{"tools":[`+strings.Join(tools, ",")+`]}`, "")
	n := listen(s)
	if _, err := connect(t, s).Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := n.all(); len(all) != 21 || !slices.Contains(all, "before: there is more of this kind, which is not shown") {
		t.Errorf("%d notices: %q", len(all), all)
	}
}
