package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// discover asks a server whether it speaks the newest revision. One that does
// not say so in time and in order is told from here not to know the question,
// and is then asked in the older way.
func (w *wire) discover(r *http.Request, sent message) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), w.server.discoverWait())
	defer cancel()
	if response, err := w.base.RoundTrip(r.WithContext(ctx)); err == nil {
		if isRedirect(response) {
			return response, nil // and on to redirect
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusOK {
			if text, ok := w.whole(response, sent.id); ok {
				return instead(r, response.Header, text), nil
			}
		} else if text, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)); err == nil {
			// Which revisions it knows, perhaps.
			if answer, err := decodeAnswer(text); err == nil && answer.Error != nil {
				answer.ID = sent.id
				if text, err := jsonrpc.EncodeMessage(answer); err == nil {
					return instead(r, nil, text), nil
				}
			}
		}
	}
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	text, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: sent.id, Error: unknownMethod()})
	if err != nil {
		return nil, err
	}
	return instead(r, nil, text), nil
}

// whole reads the one answer that a response holds, as JSON or as an event.
func (w *wire) whole(response *http.Response, id jsonrpc.ID) (text []byte, ok bool) {
	switch mediaType(response) {
	case "application/json":
		text, err := io.ReadAll(io.LimitReader(response.Body, int64(w.server.MaxMessage)))
		if err != nil {
			return nil, false
		}
		return text, isAnswer(text, id)
	case "text/event-stream":
		var found []byte
		events := &events{limit: w.server.MaxMessage, total: 2 * w.server.MaxMessage, each: func(data []byte) error {
			if isAnswer(data, id) {
				found = bytes.Clone(data)
				return io.EOF
			}
			return nil
		}}
		io.Copy(events, response.Body)
		return found, found != nil
	}
	return nil, false
}

func isAnswer(text []byte, id jsonrpc.ID) bool {
	answer, err := decodeAnswer(text)
	return err == nil && answer.ID == id
}

// instead is a response of ours in place of the server's.
func instead(r *http.Request, header http.Header, text []byte) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	if id := header.Get("Mcp-Session-Id"); id != "" {
		h.Set("Mcp-Session-Id", id)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: r,
	}
}

// listen opens the stream of what the server says unasked. It need not offer
// one, and one that it does not offer properly is none.
func (w *wire) listen(r *http.Request) (*http.Response, error) {
	return w.subscribe(r, message{})
}

// subscribe is listen for a stream that is asked for by a message.
func (w *wire) subscribe(r *http.Request, sent message) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	late := time.AfterFunc(w.server.discoverWait(), cancel)
	response, err := w.base.RoundTrip(r.WithContext(ctx))
	if err == nil && late.Stop() && response.StatusCode == http.StatusOK && mediaType(response) == "text/event-stream" {
		body := w.stream(response.Body, sent, nil, cancel)
		body.until, body.events.total = ctx.Done(), 0 // heard bounds what matters
		response.Body = body
		return response, nil
	}
	if err == nil {
		response.Body.Close()
	}
	late.Stop()
	cancel()
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	return answerless(r, http.StatusMethodNotAllowed), nil
}
