package mcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// wire is what the SDK's HTTP carrier sends its requests through: it adds the
// user's headers, bounds and checks what comes back, and keeps each answer as it
// stood. The SDK bounds no JSON body and follows every redirect.
type wire struct {
	*link
	base     *http.Transport
	endpoint *url.URL
}

func newWire(l *link) (*wire, error) {
	endpoint, err := url.Parse(l.server.URL)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: l.server.Timeout}
	return &wire{l, &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: l.server.Timeout,
		ForceAttemptHTTP2:   true,
		// A server that is one process behind one address answers one call at a time.
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 1 << 20,
	}, endpoint}, nil
}

func (w *wire) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{
		Endpoint:     w.server.URL,
		HTTPClient:   &http.Client{Transport: w, CheckRedirect: w.redirect},
		MaxRetries:   -1,
		MaxEventSize: w.server.MaxMessage + 1<<10,
	}
}

const maxRedirects = 5

// redirect refuses what would show the user's headers to another host, or turn
// a message into something else.
func (w *wire) redirect(next *http.Request, via []*http.Request) error {
	refused := ""
	switch {
	case next.URL.Host != w.endpoint.Host || next.URL.Scheme != w.endpoint.Scheme:
		refused = "the server redirects to another host, which is not followed"
	case next.Method != via[0].Method:
		refused = "the server redirects in a way that loses the message"
	case len(via) > maxRedirects:
		refused = "the server redirects for ever"
	default:
		return nil
	}
	w.fail(refused, "to "+next.URL.Redacted())
	return errors.New(refused)
}

// maxErrorBody is how much is read of an answer that says that something failed.
const maxErrorBody = 64 << 10

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := message{}
	if r.Method == http.MethodPost {
		var err error
		if sent, err = readMessage(r); err != nil {
			return nil, err
		}
	}
	r = r.Clone(r.Context())
	if r.URL.Host == w.endpoint.Host && r.URL.Scheme == w.endpoint.Scheme {
		for name, value := range w.server.Headers {
			r.Header.Set(name, value)
		}
	}
	switch {
	case r.Method == http.MethodDelete:
		return w.within(r, time.Second)
	case r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "":
		return w.listen(r)
	case sent.method == "server/discover":
		return w.discover(r, sent)
	}
	asked := exchangeOf(r.Context())
	if r.Method == http.MethodGet {
		sent.id = asked.asks() // the rest of a stream that broke off
	} else if sent.id.IsValid() {
		asked.ask(sent.id)
	}
	response, err := w.base.RoundTrip(r)
	if err != nil {
		w.unreachable(r.Context(), err)
		return nil, err
	}
	if 300 <= response.StatusCode && response.StatusCode < 400 {
		return response, nil // and on to redirect
	}
	return w.check(response, r, sent, asked)
}

// message is what matters of a message that is sent.
type message struct {
	id     jsonrpc.ID
	method string
}

func readMessage(r *http.Request) (message, error) {
	body, err := r.GetBody()
	if err != nil {
		return message{}, err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return message{}, err
	}
	decoded, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return message{}, err
	}
	request, ok := decoded.(*jsonrpc.Request)
	if !ok {
		return message{}, nil
	}
	return message{request.ID, request.Method}, nil
}

// within makes a request for which nobody waits longer.
func (w *wire) within(r *http.Request, limit time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	response, err := w.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// discover asks a server whether it speaks the newest revision. One that does
// not say so in time and in order is told from here not to know the question,
// and is then asked in the older way.
func (w *wire) discover(r *http.Request, sent message) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), min(discoverWait, w.server.Timeout/3))
	defer cancel()
	if response, err := w.base.RoundTrip(r.WithContext(ctx)); err == nil {
		defer response.Body.Close()
		if response.StatusCode == http.StatusOK {
			if text, ok := w.whole(response, sent.id); ok {
				return reply(r, response.Header, text), nil
			}
		} else if text, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)); err == nil {
			// Which revisions it knows, perhaps.
			if answer, err := jsonrpc.DecodeMessage(text); err == nil {
				if answer, ok := answer.(*jsonrpc.Response); ok && answer.Error != nil {
					answer.ID = sent.id
					if text, err := jsonrpc.EncodeMessage(answer); err == nil {
						return reply(r, nil, text), nil
					}
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
	return reply(r, nil, text), nil
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
	decoded, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return false
	}
	answer, ok := decoded.(*jsonrpc.Response)
	return ok && answer.ID == id
}

// reply is a response of ours in place of the server's.
func reply(r *http.Request, header http.Header, text []byte) *http.Response {
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
	ctx, cancel := context.WithCancel(r.Context())
	late := time.AfterFunc(min(discoverWait, w.server.Timeout/3), cancel)
	response, err := w.base.RoundTrip(r.WithContext(ctx))
	if err == nil && late.Stop() && response.StatusCode == http.StatusOK && mediaType(response) == "text/event-stream" {
		body := w.stream(response.Body, message{}, nil, cancel)
		body.until = ctx.Done()
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
	return &http.Response{
		Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: r,
	}, nil
}

// unreachable notes why a request got no response. The end of a call's time is
// nothing that the server did.
func (w *wire) unreachable(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var operation *net.OpError
	switch {
	case errors.As(err, &certificate):
		w.fail("the server's TLS certificate is not trusted", certificate.Err.Error())
	case errors.As(err, &record):
		w.fail("the server does not speak TLS", err.Error())
	case errors.As(err, &operation) && operation.Op == "dial":
		w.fail("the server could not be reached", err.Error())
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &operation):
		w.fail("the server closed the connection in the middle of a call", err.Error())
	default:
		w.fail("the server could not be spoken to over HTTP", err.Error())
	}
}

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
		decoded, err := jsonrpc.DecodeMessage(text)
		if answer, ok := decoded.(*jsonrpc.Response); err == nil && ok && answer.Error != nil && response.StatusCode == http.StatusBadRequest {
			asked.answer(answer)
			response.Body = io.NopCloser(bytes.NewReader(text))
			return response, nil
		}
		fault := "the server answered with HTTP status " + strconv.Itoa(response.StatusCode)
		if response.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != "" {
			fault = "the server closed the session (HTTP status 404)"
		}
		return refuse(fault, excerpt(text))
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
			return refuse("the server closed the connection in the middle of a call", err.Error())
		case len(text) > w.server.MaxMessage:
			return refuse("the server floods: a message of more than "+size(w.server.MaxMessage), "")
		}
		response.Body.Close()
		decoded, err := jsonrpc.DecodeMessage(text)
		answer, ok := decoded.(*jsonrpc.Response)
		switch {
		case err != nil || !ok:
			return refuse("the server answered with invalid JSON", excerpt(text))
		case answer.ID != sent.id && !(answer.Error != nil && !answer.ID.IsValid()):
			return refuse("the server answered with the wrong id", excerpt(text))
		}
		answer.ID = sent.id
		asked.answer(answer)
		w.spoken.Store(0)
		if text, err = jsonrpc.EncodeMessage(answer); err != nil {
			return refuse("the server answered with invalid JSON", err.Error())
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
		return refuse("the server answered with something that is neither JSON nor an event stream", strconv.Quote(kind)+": "+excerpt(text))
	}
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
	if sent.id.IsValid() {
		// Of the stream that only listens, heard bounds what matters.
		s.events.total = 2 * w.server.MaxMessage
	}
	return s
}

// event reads one event of a stream.
func (w *wire) event(data []byte, sent message, asked *exchange) error {
	decoded, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		w.fail("the server answered with invalid JSON", excerpt(data))
		return err
	}
	switch m := decoded.(type) {
	case *jsonrpc.Request:
		w.heard(m, len(data))
		if fault, _ := w.failure(); fault != "" {
			return errors.New(fault)
		}
	case *jsonrpc.Response:
		if m.ID != sent.id {
			w.fail("the server answered with the wrong id", excerpt(data))
			return errors.New("wrong id")
		}
		asked.answer(m)
		w.spoken.Store(0)
	}
	return nil
}
