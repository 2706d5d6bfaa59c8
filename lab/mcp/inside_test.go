package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What is remembered of requests does not grow with them.
func TestRequestsAreForgotten(t *testing.T) {
	c, _ := pending(t, 1<<20)
	for i := range 10 * maxSettled {
		id, _ := jsonrpc.MakeID(float64(i + 2))
		c.sent(t.Context(), &jsonrpc.Request{ID: id, Method: "tools/call"})
		raw, _ := json.Marshal(id.Raw())
		switch i % 3 {
		case 0: // answered
			c.decode([]byte(`{"jsonrpc":"2.0","id":` + string(raw) + `,"result":{}}`))
		case 1: // given up
			c.sent(t.Context(), &jsonrpc.Request{Method: "notifications/cancelled", Params: json.RawMessage(`{"requestId":` + string(raw) + `}`)})
		default: // both
			c.sent(t.Context(), &jsonrpc.Request{Method: "notifications/cancelled", Params: json.RawMessage(`{"requestId":` + string(raw) + `}`)})
			c.decode([]byte(`{"jsonrpc":"2.0","id":` + string(raw) + `,"result":{}}`))
			c.decode([]byte(`{"jsonrpc":"2.0","id":` + string(raw) + `,"result":{}}`))
		}
	}
	if fault, detail := c.failure(); fault != "" {
		t.Error(fault, detail)
	}
	if len(c.waiting) > maxSettled+1 || len(c.settled) > maxSettled {
		t.Errorf("%d waiting, %d settled", len(c.waiting), len(c.settled))
	}
}

// An error without an id is about the request that is waited for.
func TestNamelessError(t *testing.T) {
	c, first := pending(t, 1<<20)
	ctx, second := c.exchange(t.Context())
	for i := range 30 {
		id, _ := jsonrpc.MakeID(float64(i + 2))
		c.sent(t.Context(), &jsonrpc.Request{ID: id, Method: "tools/call"})
	}
	for i := range 31 {
		c.sent(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: fmt.Appendf(nil, `{"requestId":%d}`, i+1)})
	}
	for i, method := range []string{"tools/call", "subscriptions/listen"} {
		id, _ := jsonrpc.MakeID(float64(i + 100))
		c.sent(ctx, &jsonrpc.Request{ID: id, Method: method})
		ctx = t.Context()
	}
	messages, err := c.decode([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`))
	if len(messages) != 1 || err != nil {
		t.Fatal(messages, err)
	}
	if _, ok := first.taken(); ok {
		t.Error("the request that was given up has it")
	}
	if got, ok := second.taken(); !ok || got.fault == nil || got.fault.Code != -32700 {
		t.Error("the request has not got it", got.fault)
	}
}

// An error without an id is about nobody where several requests are waited for.
func TestNamelessErrorAmongSeveral(t *testing.T) {
	c, first := pending(t, 1<<20)
	ctx, second := c.exchange(t.Context())
	id, _ := jsonrpc.MakeID(float64(2))
	c.sent(ctx, &jsonrpc.Request{ID: id, Method: "tools/call"})
	messages, err := c.decode([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`))
	if len(messages) != 0 || err == nil {
		t.Fatal(messages, err)
	}
	for i, x := range []*exchange{first, second} {
		if got, ok := x.taken(); ok {
			t.Errorf("request %d has it: %v", i+1, got.fault)
		}
	}
	if fault, _ := c.failure(); fault != "the server answered one of several requests with an error that does not say which" {
		t.Error(fault)
	}
}

// What nobody waits for any more was asked for once: late answers to many calls
// are no flood, but a second one of any is a part of one.
func TestLateAnswersAreNoFlood(t *testing.T) {
	const limit = 1 << 16
	c, _ := pending(t, limit)
	text := strings.Repeat("x", limit/4)
	answer := func(id int) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"x":"%s"}}`, id, text)
	}
	for i := range 20 {
		id, _ := jsonrpc.MakeID(float64(i + 2))
		c.sent(t.Context(), &jsonrpc.Request{ID: id, Method: "tools/call"})
		c.sent(t.Context(), &jsonrpc.Request{Method: "notifications/cancelled", Params: fmt.Appendf(nil, `{"requestId":%d}`, i+2)})
	}
	for i := range 20 {
		if messages, err := c.decode(answer(i + 2)); len(messages) != 0 || err != nil {
			t.Fatal(i, messages, err)
		}
	}
	for range 3 {
		if _, err := c.decode(answer(2)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.decode(answer(2)); err == nil {
		t.Error("late answers without end are borne")
	}
	if fault, _ := c.failure(); fault != "the server floods: more than 65536 bytes of late answers without an answer" {
		t.Error(fault)
	}
}

// Nobody can send without end what nobody asked for, be it small; an answer
// begins a new count.
func TestUnasked(t *testing.T) {
	note := &jsonrpc.Request{Method: "notifications/x"}
	id, _ := jsonrpc.MakeID("a")
	ping := &jsonrpc.Request{Method: "ping", ID: id}
	const limit = 16 << 20
	for _, tt := range []struct {
		request *jsonrpc.Request
		bytes   int
		most    int
		fault   string
	}{
		{note, 10, 50000, "the server floods: more than 50000 messages without an answer"},
		{ping, 10, 1000, "the server floods: more than 1000 requests of its own without an answer"},
		{note, limit / 4, 4, "the server floods: more than 16 MiB of notifications without an answer"},
		{ping, limit / 4, 4, "the server floods: more than 16 MiB of notifications without an answer"},
	} {
		l := &link{server: &Server{MaxMessage: limit}}
		for range 2 {
			for range tt.most {
				if pass := l.heard(tt.request, tt.bytes); pass != tt.request.IsCall() {
					t.Fatalf("%s is passed on: %v", tt.request.Method, pass)
				}
			}
			if fault, _ := l.failure(); fault != "" {
				t.Error(fault)
			}
			l.answered()
		}
		for range tt.most + 1 {
			l.heard(tt.request, tt.bytes)
		}
		if fault, _ := l.failure(); fault != tt.fault {
			t.Errorf("%q, not %q", fault, tt.fault)
		}
	}
}

// The first answer is the answer.
func TestFirstAnswer(t *testing.T) {
	l := &link{server: &Server{MaxMessage: 1 << 20}}
	_, x := l.exchange(t.Context())
	x.answer(&jsonrpc.Response{Result: json.RawMessage(`1`)}, l.changes.Load())
	l.heard(&jsonrpc.Request{Method: "notifications/tools/list_changed"}, 10)
	x.answer(&jsonrpc.Response{Result: json.RawMessage(`2`)}, l.changes.Load())
	x.answer(&jsonrpc.Response{Error: errors.New("no")}, l.changes.Load())
	if got, ok := x.taken(); string(got.result) != "1" || got.fault != nil || got.changed || !ok {
		t.Errorf("%s, %v, %v, %v", got.result, got.fault, got.changed, ok)
	}
}

// A stream that only listens lasts for the SDK until that gives it up: it would
// end the session with it, or ask for it again and again.
func TestEndOfListening(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
	}))
	defer web.Close()
	s := Server{Name: "s", URL: web.URL}.Learning()
	w, err := newWire(&link{server: &s})
	if err != nil {
		t.Fatal(err)
	}
	defer w.conns.close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := w.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, response.Body)
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Errorf("it has ended: %v", err)
	case <-time.After(100 * time.Millisecond):
		cancel()
		<-ended
	}
}

func TestEvents(t *testing.T) {
	for text, want := range map[string][]string{
		"data: a\n\ndata:b\n\n":                                           {"a", "b"},
		"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n":                       {"a\nb", "c"},
		"data: a\rdata: b\r\rdata: c\r\r":                                 {"a\nb", "c"},
		"data:  a \n\n":                                                   {" a "},
		"event: message\ndata: a\n\nevent: other\ndata: b\n\ndata: c\n\n": {"a", "c"},
		"id: 1\nretry: 5\ndata:\n\n: data: x\ndata\n\n":                   nil,
		"data: a\n": nil,
	} {
		var got []string
		e := &events{limit: 100, each: func(data []byte) error { got = append(got, string(data)); return nil }}
		if _, err := e.Write([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestExcerpt(t *testing.T) {
	s := &Server{}
	for _, tt := range []struct{ text, want string }{
		{"", ""}, {"a", "a"}, {strings.Repeat("a", 200), strings.Repeat("a", 200)}, {strings.Repeat("a", 201), strings.Repeat("a", 200) + "…"},
		{strings.Repeat("é", 101), strings.Repeat("é", 100) + "…"}, {"a" + strings.Repeat("é", 100), "a" + strings.Repeat("é", 99) + "…"},
		{strings.Repeat("\xbf", 300), strings.Repeat("\xbf", 196) + "…"},
	} {
		if got := s.excerpt([]byte(tt.text)); got != tt.want {
			t.Errorf("%q is cut to %q", tt.text, got)
		}
	}
}
