package faultserver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func post(t *testing.T, client *http.Client, url, session, body string) (*http.Response, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if session != "" {
		request.Header.Set(sessionHeader, session)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, string(text), err
}

func TestHTTP(t *testing.T) {
	call := tool("echo_text", `{"text":"hi"}`)
	const said = `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"hi"}]}}`
	for _, test := range []struct {
		fault string
		code  int
		kind  string
		body  string // that it begins with; ends with, after ...
		cut   bool
	}{
		{"", 200, "application/json", said, false},
		{"sse", 200, "text/event-stream", "event: message\ndata: " + said + "\n\n", false},
		{"sse-prime", 200, "text/event-stream", "id: first\ndata: \n\nevent: message\ndata: " + said + "\n\n", false},
		{"status:403", 403, "text/plain; charset=utf-8", "the upstream is not well", false},
		{"status:503@1", 503, "text/plain; charset=utf-8", "the upstream", false},
		{"status:503@2", 200, "application/json", said, false},
		{"token:t", 401, "text/plain; charset=utf-8", "who are you?", false},
		{"html", 200, "text/html", "<!DOCTYPE html>", false},
		{"content-type:text/csv", 200, "text/csv", said, false},
		{"redirect-same", 200, "application/json", said, false},
		{"cut", 200, "application/json", said[:len(said)/2], true},
		{"exit-at-call@1", 0, "", "", true},
		{"garble", 200, "application/json", `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"te`, false},
		{"huge:2", 200, "application/json", `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"hhh`, false},
		{"list-changed", 200, "text/event-stream", "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\nevent: message\ndata: " + said + "\n\n", false},
	} {
		t.Run(test.fault, func(t *testing.T) {
			var faults []Fault
			if test.fault != "" {
				faults = Faults(test.fault)
			}
			server := httptest.NewServer(New(Options{Faults: faults}))
			defer server.Close()
			response, body, err := post(t, server.Client(), server.URL, "", call)
			if (err != nil) != test.cut {
				t.Fatal(err)
			}
			if response == nil {
				return
			}
			if response.StatusCode != test.code || response.Header.Get("Content-Type") != test.kind || !strings.HasPrefix(body, test.body) {
				t.Errorf("%d %s %.200s", response.StatusCode, response.Header.Get("Content-Type"), body)
			}
			if strings.HasPrefix(test.fault, "huge") && len(body) < 2*megabyte {
				t.Errorf("%d bytes", len(body))
			}
		})
	}
}

func TestHTTPRedirects(t *testing.T) {
	for _, fault := range []string{"redirect:http://other.invalid/mcp", "redirect-loop"} {
		server := httptest.NewServer(New(Options{Faults: Faults(fault)}))
		client := server.Client()
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		response, _, err := post(t, client, server.URL+"/mcp", "", ping)
		want := map[bool]string{true: "/mcp/moved", false: "http://other.invalid/mcp"}[fault == "redirect-loop"]
		if err != nil || response.StatusCode != 307 || response.Header.Get("Location") != want {
			t.Errorf("%s: %v %+v", fault, err, response)
		}
		server.Close()
	}
}

func TestHTTPSessions(t *testing.T) {
	s := New(Options{Faults: Faults("drop-session@2", "get-list-changed")})
	server := httptest.NewServer(s)
	defer server.Close()
	response, _, err := post(t, server.Client(), server.URL, "", initialize)
	if err != nil {
		t.Fatal(err)
	}
	id := response.Header.Get(sessionHeader)
	if response, _, err := post(t, server.Client(), server.URL, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil || response.StatusCode != 202 {
		t.Errorf("%v %+v", err, response)
	}
	if response, _, err := post(t, server.Client(), server.URL, "other", ping); err != nil || response.StatusCode != 404 {
		t.Errorf("%v %+v", err, response)
	}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(sessionHeader, id)
	stream, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	event := make([]byte, len("event: message\ndata: {"))
	if _, err := io.ReadFull(stream.Body, event); err != nil || string(event) != "event: message\ndata: {" {
		t.Errorf("%v %s", err, event)
	}

	for _, want := range []int{200, 404, 404} {
		response, body, err := post(t, server.Client(), server.URL, id, write)
		if err != nil || response.StatusCode != want {
			t.Errorf("%v %+v %s", err, response, body)
		}
	}
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, stream.Body); close(ended) }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the stream outlives its session")
	}
	if s.Calls() != 3 {
		t.Errorf("%d calls", s.Calls())
	}
}

// TestHTTPStreams are what a GET is answered with.
func TestHTTPStreams(t *testing.T) {
	for _, test := range []struct {
		fault string
		code  int
		least int // bytes, of a stream that ends or is cut off there
		ends  bool
	}{
		{"no-get", 405, 0, true},
		{"get-end", 200, 0, true},
		{"get-flood:0", 200, 2 * megabyte, false},
	} {
		server := httptest.NewServer(New(Options{Faults: Faults(test.fault)}))
		opened, _, err := post(t, server.Client(), server.URL, "", initialize)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(sessionHeader, opened.Header.Get(sessionHeader))
		response, err := server.Client().Do(request)
		if err != nil || response.StatusCode != test.code {
			t.Fatalf("%s: %v %+v", test.fault, err, response)
		}
		if n, err := io.CopyN(io.Discard, response.Body, int64(test.least)); err != nil {
			t.Errorf("%s: %d bytes, %v", test.fault, n, err)
		}
		if test.ends {
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Errorf("%s: %v", test.fault, err)
			}
		}
		response.Body.Close()
		server.CloseClientConnections()
		server.Close()
	}
}
