package faultserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const sessionHeader = "Mcp-Session-Id"

// ServeHTTP is streamable HTTP: POST, GET and DELETE, at any path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in incoming
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(io.LimitReader(r.Body, 64*megabyte))
		if err != nil {
			return // the client is gone
		}
		in = s.read(body)
	}
	if s.breaks(w, r, in.number) {
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, in)
	case http.MethodGet:
		s.get(w, r)
	case http.MethodDelete:
		if p := s.session(r.Header.Get(sessionHeader)); p != nil {
			s.forget(r.Header.Get(sessionHeader))
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// breaks does what is wrong before MCP begins, and says whether that was all.
func (s *Server) breaks(w http.ResponseWriter, r *http.Request, number int) bool {
	if f, on := s.fault("slow-headers", number); on {
		select {
		case <-time.After(f.wait(500)):
		case <-r.Context().Done():
			return true
		}
	}
	if f, on := s.fault("token", number); on && r.Header.Get("Authorization") != "Bearer "+f.Arg {
		w.Header().Set("WWW-Authenticate", `Bearer realm="notes"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return true
	}
	if f, on := s.fault("status", number); on {
		http.Error(w, "the upstream is not well", f.number(http.StatusInternalServerError))
		return true
	}
	if f, on := s.fault("redirect", number); on {
		http.Redirect(w, r, f.text("http://127.0.0.1:1/mcp"), http.StatusTemporaryRedirect)
		return true
	}
	if s.has("redirect-loop", number) || s.has("redirect-same", number) && !strings.HasSuffix(r.URL.Path, "/moved") {
		http.Redirect(w, r, strings.TrimSuffix(r.URL.Path, "/")+"/moved", http.StatusTemporaryRedirect)
		return true
	}
	if s.has("html", number) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><title>Sign in</title><script>alert(1)</script>")
		return true
	}
	if s.has("drop-session", number) && number > 0 {
		s.forget(r.Header.Get(sessionHeader))
	}
	return false
}

func (s *Server) session(id string) *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.sessions[id]; p != nil {
		p.gone()
		delete(s.sessions, id)
	}
}

func (s *Server) open() (string, *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	id := fmt.Sprintf("session-%d", s.opened)
	s.sessions[id] = newPeer(s)
	return id, s.sessions[id]
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, in incoming) {
	id := r.Header.Get(sessionHeader)
	p := s.session(id)
	switch {
	case in.Method == "initialize" && !s.has("no-session", 0):
		id, p = s.open()
		w.Header().Set(sessionHeader, id)
	case p == nil && id != "":
		http.Error(w, "no such session", http.StatusNotFound)
		return
	case p == nil:
		p = newPeer(s) // no session, and nothing to remember
	}
	if in.parsed && (len(in.ID) == 0 || in.Method == "") {
		p.take(r.Context(), in, nil)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := &response{server: s, w: w, number: in.number, sse: s.has("sse", in.number) || s.has("sse-prime", in.number)}
	if s.has("sse-endless", in.number) && in.number > 0 {
		out.sse = true
		flood(r.Context(), 0, logLine(), out.notify)
		return
	}
	if rest := p.take(r.Context(), in, out); rest != nil {
		rest()
	}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	p := s.session(r.Header.Get(sessionHeader))
	if p == nil || s.has("no-get", 0) {
		http.Error(w, "no stream here", http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s.mu.Lock()
	before := p.gone
	p.gone = func() { before(); cancel() }
	s.mu.Unlock()
	out := &response{server: s, w: w, sse: true}
	out.begin()
	if s.has("get-end", 0) {
		return
	}
	if s.has("get-list-changed", 0) {
		p.mu.Lock()
		p.grown = true
		p.mu.Unlock()
		out.notify(notification("notifications/tools/list_changed", nil))
	}
	if f, on := s.fault("get-flood", 0); on {
		flood(ctx, f.number(1), logLine(), out.notify)
	}
	<-ctx.Done()
}

// response is the outlet of one HTTP answer: a JSON body, or events where that
// is asked for or where something comes before the answer.
type response struct {
	server *Server
	w      http.ResponseWriter
	number int
	sse    bool
	begun  bool
}

func (w *response) begin() {
	if w.begun {
		return
	}
	w.begun = true
	kind := "application/json"
	if w.sse {
		kind = "text/event-stream"
	}
	if f, on := w.server.fault("content-type", w.number); on {
		kind = f.text("text/plain")
	}
	w.w.Header().Set("Content-Type", kind)
	w.w.WriteHeader(http.StatusOK)
	if w.sse && w.server.has("sse-prime", w.number) {
		fmt.Fprint(w.w, "id: first\ndata: \n\n")
	}
	w.flush()
}

func (w *response) flush() { _ = http.NewResponseController(w.w).Flush() }

func (w *response) event(data []byte) bool {
	w.begin()
	_, err := fmt.Fprintf(w.w, "event: message\ndata: %s\n\n", strings.ReplaceAll(string(data), "\n", "\ndata: "))
	w.flush()
	return err == nil
}

func (w *response) notify(data []byte) bool {
	if !w.begun {
		w.sse = true
	}
	return w.event(data)
}

func (w *response) answer(data []byte) {
	if w.server.has("cut", w.number) {
		w.begin()
		_, _ = w.w.Write(data[:len(data)/2]) // gone or not, it ends here
		w.flush()
		panic(http.ErrAbortHandler)
	}
	if w.sse {
		w.event(data)
		return
	}
	w.begin()
	_, _ = w.w.Write(data) // the client may be gone
}

// raw is the body itself, and in a stream of events the data of one.
func (w *response) raw(data []byte) bool {
	if w.sse && !w.begun {
		w.begin()
		if _, err := io.WriteString(w.w, "data: "); err != nil {
			return false
		}
	}
	w.begin()
	if w.sse && strings.HasSuffix(string(data), "\n") {
		data = append(data, '\n') // an event ends with an empty line
	}
	_, err := w.w.Write(data)
	w.flush()
	return err == nil
}

func (w *response) close() { panic(http.ErrAbortHandler) }

func (w *response) die(int, string) { panic(http.ErrAbortHandler) }

func (w *response) complain([]byte) bool { return false }
