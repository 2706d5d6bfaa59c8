package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"agentlab/lab/mcp"
	"agentlab/lab/tool"
	"agentlab/tests/faultserver"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(faultserver.New(faultserver.Options{}))
	web.Config.ErrorLog = discard
	web.StartTLS()
	defer web.Close()
	plain := httptest.NewServer(faultserver.New(faultserver.Options{}))
	defer plain.Close()
	for address, reason := range map[string]string{
		web.URL: "the server's TLS certificate is not trusted",
		strings.Replace(plain.URL, "http:", "https:", 1): "the server does not speak TLS",
		strings.Replace(web.URL, "https:", "http:", 1):   "the server answered with HTTP status 400",
	} {
		_, err := mcp.Connect(t.Context(), &mcp.Server{Name: "before", URL: address, Timeout: ample})
		if got, _ := told(err); got != reason {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Headers are for the host that they were given for, and no error shows them.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const secret, password, key = "open-sesame-4711", "pass-word-4711", "key-value-4711"
	var mu sync.Mutex
	var strangers []string
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		strangers = append(strangers, r.Method)
	}))
	defer stranger.Close()
	for _, fault := range []string{
		"", "token:" + secret, "token:other", "status:500", "status:500@1", "redirect:" + stranger.URL + "/?k=" + key, "redirect:" + stranger.URL + "@1",
		"redirect-loop", "html@1", "garble@1", "cut@1", "exit-at-call@1", "never-initialize", "hang@1", "sse-endless@1", "redirect-same",
	} {
		t.Run(fault, func(t *testing.T) {
			var faults []string
			if fault != "" {
				faults = []string{fault}
			}
			inner := faultserver.New(faultserver.Options{Faults: faultserver.Faults(faults...)})
			bare, dressed := 0, 0
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				if r.Header.Get("Authorization") == "Bearer "+secret && r.Header.Get("X-Other") == "other-4711" {
					dressed++
				} else {
					bare++
				}
				mu.Unlock()
				inner.ServeHTTP(w, r)
			}))
			defer web.Close()
			u, _ := url.Parse(web.URL)
			u.User, u.Path, u.RawQuery = url.UserPassword("me", password), "/mcp", "k="+key
			s := &mcp.Server{Name: "before", URL: u.String(), Timeout: ample, MaxMessage: message,
				Headers: map[string]string{"Authorization": "Bearer " + secret, "X-Other": "other-4711"}}
			if fault == "never-initialize" {
				s.Timeout = brief
			}
			saw := look(t, s, brief, addition)
			if text := fmt.Sprintf("%+v", saw); strings.Contains(text, "-4711") {
				t.Errorf("a secret is shown: %s", text)
			}
			web.Close()
			mu.Lock()
			defer mu.Unlock()
			if bare > 0 || dressed == 0 {
				t.Errorf("%d requests without the headers, %d with them", bare, dressed)
			}
			if fault == "token:"+secret && (saw.Connect != "" || saw.First != `{"sum":3}`) {
				t.Errorf("%+v", saw)
			}
		})
	}
	if len(strangers) > 0 {
		t.Errorf("another host was asked: %v", strangers)
	}
}

// What a server says back of a secret is not shown either.
func TestEchoedSecret(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := r.BasicAuth()
		http.Error(w, strings.Repeat("-", 172)+r.URL.RawQuery+name+" "+r.Header.Get("Authorization")+" is wrong", http.StatusForbidden)
	}))
	defer web.Close()
	for _, query := range []string{"?key=abcdefgh", "?abcdefgh", "?k=abcd%20efgh", ""} {
		s := &mcp.Server{Name: "before", URL: web.URL + "/" + query, Timeout: ample, Headers: map[string]string{"Authorization": "Bearer sesame"}}
		if query == "" {
			s.URL, s.Headers = strings.Replace(web.URL, "://", "://abcdefgh@", 1), nil
		}
		_, err := mcp.Connect(t.Context(), s)
		if err == nil || strings.Contains(err.Error(), "ses") || strings.Contains(err.Error(), "abcd") || strings.Contains(err.Error(), "YWJj") || !strings.Contains(err.Error(), "[hid") {
			t.Error(query, err)
		}
	}
}

// A server may say in an HTTP status what is wrong with one message.
func TestStatusWithAnError(t *testing.T) {
	t.Parallel()
	const lost = "lost: the server answered with HTTP status "
	for _, tt := range []struct {
		status  int
		session bool
		body    string
		want    string
	}{
		{400, true, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no"}}`, "protocol_error/protocol/unknown: no"},
		{400, true, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no"}}`, "protocol_error/protocol/unknown: no"},
		{404, false, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`, "protocol_error/protocol/unknown: no"},
		{404, true, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, "lost: the server closed the session (HTTP status 404)"},
		{404, false, `nothing here`, lost + "404"},
		{400, true, `{"jsonrpc":"2.0","id":77,"error":{"code":-32602,"message":"no"}}`, lost + "400"},
		{400, true, `{"jsonrpc":"2.0","id":ID,"result":{}}`, lost + "400"},
		{401, true, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"no"}}`, lost + "401"},
		{429, true, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"no"}}`, lost + "429"},
		{500, true, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"no"}}`, lost + "500"},
		{202, true, ``, "lost: the server answered a request with HTTP status 202 and no message"},
		{200, true, `[{"jsonrpc":"2.0","id":ID,"result":{}}]`, "lost: the server answered with something that is no JSON-RPC message"},
		{200, true, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, "protocol_error/protocol/unknown: no"},
		{200, true, `{"jsonrpc":"2.0","id":ID,"method":"ping"}`, "lost: the server answered with something that is no JSON-RPC message"},
	} {
		faults := faultserver.Faults("no-get")
		if !tt.session {
			faults = append(faults, faultserver.Faults("no-session")...)
		}
		inner := faultserver.New(faultserver.Options{Faults: faults})
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			_, after, _ := strings.Cut(string(body), `"id":`)
			id, _, _ := strings.Cut(after, ",")
			if strings.Contains(string(body), `"tools/call"`) && strings.Contains(string(body), `"odd"`) {
				w.Header().Set("Content-Type", "application/json")
				if tt.status == 202 {
					w.Header().Del("Content-Type")
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, strings.Replace(tt.body, "ID", id, 1))
				return
			}
			inner.ServeHTTP(w, r)
		}))
		c := connect(t, &mcp.Server{Name: "before", URL: web.URL, Timeout: ample})
		if got := outcome(c, c.Call(t.Context(), call("odd", `{}`))); got != tt.want {
			t.Errorf("%d %s: %s", tt.status, tt.body, got)
		}
		if !strings.HasPrefix(tt.want, "lost") {
			if got := outcome(c, c.Call(t.Context(), addition)); got != `{"sum":3}` {
				t.Errorf("after %d %s: %s", tt.status, tt.body, got)
			}
		}
		c.Close()
		web.Close()
	}
}

// proxy hands requests on to a faultserver, but for those that odd answers.
func proxy(t *testing.T, odd func(w http.ResponseWriter, r *http.Request, body string) bool, faults ...string) *mcp.Server {
	inner := faultserver.New(faultserver.Options{Faults: faultserver.Faults(faults...)})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if !odd(w, r, string(body)) {
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	return &mcp.Server{Name: "before", URL: web.URL, Timeout: ample, MaxMessage: message}
}

// An event that the end of the stream ends, and not an empty line.
func TestLastEvent(t *testing.T) {
	t.Parallel()
	s := proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, `"tools/call"`) {
			return false
		}
		_, after, _ := strings.Cut(body, `"id":`)
		id, _, _ := strings.Cut(after, ",")
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data:{"jsonrpc":"2.0","id":`+id+`,"result":{"structuredContent":{"n":9007199254740993}}}`)
		return true
	})
	c := connect(t, s)
	for range 2 {
		if got := outcome(c, c.Call(t.Context(), addition)); got != `{"n":9007199254740993}` {
			t.Error(got)
		}
	}
}

// A server may end the stream of an answer, and give the answer to whoever asks
// for the rest of it.
func TestTakenUpAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	id := ""
	s := proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case strings.Contains(body, `"tools/call"`):
			_, after, _ := strings.Cut(body, `"id":`)
			id, _, _ = strings.Cut(after, ",")
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "id: 7\nretry: 10\ndata:\n\n")
			return true
		case r.Header.Get("Last-Event-ID") == "7":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "id: 8\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\ndata: \"result\":{\"structuredContent\":{\"n\":9007199254740993}}}\n\n")
			return true
		}
		return false
	})
	c := connect(t, s)
	for range 2 {
		if got := outcome(c, c.Call(t.Context(), addition)); got != `{"n":9007199254740993}` {
			t.Error(got)
		}
	}
}

// A stream that the server breaks off by accident has no answer.
func TestBrokenStream(t *testing.T) {
	t.Parallel()
	s := proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, `"tools/call"`) {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": hello\n\n")
		return true
	})
	c := connect(t, s)
	if got := outcome(c, c.Call(t.Context(), addition)); got != "lost: the server ended a call without an answer" {
		t.Error(got)
	}
}

// What a server says to the end of a request ends nothing.
func TestCancelledIsRefused(t *testing.T) {
	t.Parallel()
	refused := make(chan struct{}, 10)
	s := proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if strings.Contains(body, "notifications/cancelled") {
			http.Error(w, "what?", http.StatusInternalServerError)
			refused <- struct{}{}
			return true
		}
		return false
	}, "hang@1")
	*s = s.Learning()
	c := connect(t, s)
	s.Timeout = brief
	if r := c.Call(t.Context(), addition); r.Error == nil || r.Error.Code != tool.ToolTimeout {
		t.Error(r.Error)
	}
	<-refused
	for range 2 {
		if got := outcome(c, c.Call(t.Context(), addition)); got != `{"sum":3}` {
			t.Error(got)
		}
	}
}

// A server of the newest revision need not answer to who listens.
func TestSubscriptionIsNotAnswered(t *testing.T) {
	t.Parallel()
	s := proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if strings.Contains(body, "subscriptions/listen") {
			<-r.Context().Done()
			return true
		}
		return false
	}, "modern", "list-changed@2")
	s.Timeout = 3 * time.Second
	c := connect(t, s)
	for _, want := range []string{`{"sum":3}`, `{"sum":3} (list changed)`, `{"sum":3}`} {
		if got := outcome(c, c.Call(t.Context(), addition)); got != want {
			t.Error(got)
		}
	}
}

// A server that does not say whether it can be listened to holds nobody up
// whose context ends.
func TestListenHangs(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	s := proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if r.Method != http.MethodGet {
			return false
		}
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() {
		_, err := mcp.Connect(ctx, s)
		ended <- err
	}()
	<-asked
	cancel()
	select {
	case err := <-ended:
		if err != context.Canceled {
			t.Error(err)
		}
	case <-time.After(1500 * time.Millisecond): // else it is given two seconds
		t.Error("it is waited for")
		<-ended
	}
	if got := outcome(nil, connect(t, s).Call(t.Context(), addition)); got != `{"sum":3}` {
		t.Error(got)
	}
}

// A server that takes no goodbye is left without one.
func TestNoGoodbye(t *testing.T) {
	t.Parallel()
	s := proxy(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if r.Method == http.MethodDelete || strings.Contains(body, "notifications/cancelled") {
			<-r.Context().Done()
			return true
		}
		return false
	}, "hang")
	c := connect(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	c.Call(ctx, addition)
	took(t, 3500*time.Millisecond, "to close", func() { c.Close() }) // the SDK would wait for five seconds
}

// A server that floods whoever listens is lost or is not, and nothing grows.
func TestListenFlood(t *testing.T) {
	t.Parallel()
	s := httpServer(t, "get-flood:0")
	s.MaxMessage = 64 << 10
	c := connect(t, s)
	for range 20 {
		got := outcome(c, c.Call(t.Context(), call("slow", `{"ms":500}`)))
		if strings.HasPrefix(got, "lost: the server floods") {
			return
		}
	}
	t.Error("the flood is not seen")
}
