package probe

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHTTP(t *testing.T) {
	mux := http.NewServeMux()
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, text) }
	}
	other := httptest.NewServer(answer(`1`))
	defer other.Close()
	mux.HandleFunc("/state", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer x" || r.Host != "name" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, `{"a":1}`)
	})
	mux.Handle("/here", http.RedirectHandler("/number", http.StatusFound))
	mux.HandleFunc("/number", answer(`1`))
	mux.Handle("/there", http.RedirectHandler(other.URL, http.StatusFound))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	mux.HandleFunc("/text", answer(`hello`))
	mux.HandleFunc("/long", answer(`"`+strings.Repeat("x", MaxDocument)+`"`))
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"a":`)
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := httptest.NewServer(mux)
	defer server.Close()
	secure := httptest.NewUnstartedServer(mux)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()

	look := func(address string) Probe {
		p, err := HTTP(address, map[string]string{"Authorization": "Bearer x", "host": "name"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // which nobody asks
	if seen := mustLook(t, look(server.URL+"/state")); len(seen) != 1 || seen["/a"].Size != 1 {
		t.Error(seen)
	}
	// To the environment's proxy this is no address of this machine.
	if seen := mustLook(t, look(strings.Replace(server.URL, "127.0.0.1", "0.0.0.0", 1)+"/number")); len(seen) != 1 {
		t.Error(seen)
	}
	if seen := mustLook(t, look(server.URL+"/here")); len(seen) != 1 {
		t.Error(seen)
	}
	wantFault(t, look(server.URL+"/there"), "it redirects to another host")
	wantFault(t, look(server.URL+"/round"), "it redirects more than five times")
	wantFault(t, look(server.URL+"/none"), "the answer has the status 404")
	wantFault(t, look(server.URL+"/text"), "it is not one JSON document")
	wantFault(t, look(server.URL+"/long"), "the document is longer than 16777216 bytes")
	wantFault(t, look(server.URL+"/broken"), "the answer breaks off")
	wantFault(t, look(secure.URL+"/state"), "its TLS certificate is not trusted")
	wantFault(t, look("https"+strings.TrimPrefix(server.URL, "http")), "it does not speak TLS")
	e := wantFault(t, look("http://user:secret@127.0.0.1:1/x?key=secret"), "it cannot be reached")
	if strings.Contains(e.Error(), "secret") || e.Target != "http://127.0.0.1:1/x" {
		t.Error(e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := look(server.URL + "/hang").Look(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "http probe: the look took too long\n") {
		t.Error(err)
	}
	for _, address := range []string{"", "/path", "ftp://host", "http://", "http://%zz:secret"} {
		if p, err := HTTP(address, nil); p != nil || err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
