package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// check takes the response to a message: it bounds it, keeps the answer that it
// holds, and says what is wrong with it.
func (w *wire) check(response *http.Response, r *http.Request, sent message, asked *exchange) (*http.Response, error) {
	refuse := func(fault, detail string) (*http.Response, error) {
		response.Body.Close()
		w.fail(fault, detail)
		return nil, errors.New(fault)
	}
	if response.StatusCode < 200 || response.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
		response.Body.Close()
		closed := response.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != ""
		if answer, err := decodeAnswer(text); err == nil && answer.Error != nil && sent.id.IsValid() &&
			(answer.ID == sent.id || !answer.ID.IsValid()) && aboutMessage(response.StatusCode) && !closed {
			asked.answer(answer, w.changes.Load())
			answer.ID = sent.id
			if text, err = jsonrpc.EncodeMessage(answer); err != nil {
				return refuse(errNotJSON.Error(), err.Error())
			}
			response.Body = io.NopCloser(bytes.NewReader(text))
			return response, nil
		}
		fault := "the server answered with HTTP status " + strconv.Itoa(response.StatusCode)
		if closed {
			fault = "the server closed the session (HTTP status 404)"
		}
		return refuse(fault, w.server.excerpt(text))
	}
	if !sent.id.IsValid() {
		// Nothing is expected, and nothing that comes is read.
		response.Body.Close()
		response.Body = http.NoBody
		return response, nil
	}
	switch kind := mediaType(response); kind {
	case "application/json":
		text, err := io.ReadAll(io.LimitReader(response.Body, int64(w.server.MaxMessage)+1))
		switch {
		case err != nil && r.Context().Err() != nil:
			response.Body.Close()
			return nil, err
		case err != nil:
			return refuse("the server closed the connection without an answer", err.Error())
		case len(text) > w.server.MaxMessage:
			return refuse("the server floods: a message of more than "+size(w.server.MaxMessage), "")
		}
		response.Body.Close()
		answer, err := decodeAnswer(text)
		switch {
		case err != nil:
			return refuse(err.Error(), w.server.excerpt(text))
		case answer.ID != sent.id && !(answer.Error != nil && !answer.ID.IsValid()):
			return refuse("the server answered with the wrong id", w.server.excerpt(text))
		}
		asked.answer(answer, w.changes.Load())
		w.answered()
		told := &jsonrpc.Response{ID: sent.id, Result: answer.Result, Error: answer.Error}
		if sent.method == "tools/call" && answer.Error == nil {
			told.Result = brief
		}
		if text, err = jsonrpc.EncodeMessage(told); err != nil {
			return refuse(errNotJSON.Error(), err.Error())
		}
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		return response, nil
	case "text/event-stream":
		response.Body = w.stream(response.Body, sent, asked, func() {})
		return response, nil
	default:
		if response.StatusCode != http.StatusOK {
			return refuse(fmt.Sprintf("the server answered a request with HTTP status %d and no message", response.StatusCode), "")
		}
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxExcerpt))
		return refuse("the server answered with something that is neither JSON nor an event stream", strconv.Quote(kind)+": "+w.server.excerpt(text))
	}
}

// aboutMessage reports whether an HTTP status is about the message that was
// sent, and no other: a JSON-RPC error with it is an answer.
func aboutMessage(status int) bool {
	return 400 <= status && status < 500 && status != http.StatusUnauthorized && status != http.StatusForbidden &&
		status != http.StatusTooManyRequests
}

func mediaType(response *http.Response) string {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return response.Header.Get("Content-Type")
	}
	return kind
}

// stream watches an event stream as it passes.
func (w *wire) stream(body io.ReadCloser, sent message, asked *exchange, closed func()) *watched {
	s := &watched{body: body, closed: closed}
	s.events = events{
		limit: w.server.MaxMessage,
		flood: func(fault string) { w.fail(fault, "") },
		each:  func(data []byte) error { return w.event(data, sent, asked) },
	}
	s.events.total = 2 * w.server.MaxMessage
	return s
}

// event reads one event of a stream.
func (w *wire) event(data []byte, sent message, asked *exchange) error {
	decoded, err := decodeMessage(data)
	if err != nil {
		w.fail(err.Error(), w.server.excerpt(data))
		return err
	}
	switch m := decoded.(type) {
	case *jsonrpc.Request:
		w.heard(m, len(data))
	case *jsonrpc.Response:
		if !m.ID.IsValid() || m.ID != sent.id {
			w.fail("the server answered with the wrong id", w.server.excerpt(data))
			break
		}
		asked.answer(m, w.changes.Load())
		w.answered()
	}
	if fault, _ := w.failure(); fault != "" {
		return errors.New(fault)
	}
	return nil
}
