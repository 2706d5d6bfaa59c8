package mcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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
	conns    *conns
	endpoint *url.URL
}

func newWire(l *link) (*wire, error) {
	endpoint, err := url.Parse(l.server.URL)
	if err != nil {
		return nil, err
	}
	conns := &conns{dialer: net.Dialer{Timeout: l.server.Timeout}}
	return &wire{l, &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         conns.dial,
		TLSHandshakeTimeout: l.server.Timeout,
		ForceAttemptHTTP2:   true,
		// Calls at the same time have a connection each, which the next ones use again.
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 1 << 20,
	}, conns, endpoint}, nil
}

func (w *wire) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{
		Endpoint:     w.server.URL,
		HTTPClient:   &http.Client{Transport: w, CheckRedirect: w.redirect},
		MaxRetries:   1, // a stream that a server breaks off on purpose is taken up once
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
	w.fail(refused, "to "+redacted(next.URL))
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
	case sent.method == "subscriptions/listen":
		return w.subscribe(r, sent)
	case sent.method == "server/discover":
		return w.discover(r, sent)
	case sent.method == "notifications/cancelled":
		return w.cancelled(r)
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
	if isRedirect(response) {
		return response, nil // and on to redirect
	}
	return w.check(response, r, sent, asked)
}

func isRedirect(response *http.Response) bool {
	return 300 <= response.StatusCode && response.StatusCode < 400
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

// cancelled tells the server that nobody waits for an answer any more. What it
// says to that, and whether it takes it at all, ends nothing.
func (w *wire) cancelled(r *http.Request) (*http.Response, error) {
	if response, err := w.base.RoundTrip(r); err == nil {
		response.Body.Close()
	}
	return answerless(r, http.StatusAccepted), nil
}

// answerless is a response of ours in place of the server's, without a body.
func answerless(r *http.Request, status int) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: r,
	}
}

// unreachable notes why a request got no response. The end of a call's time, or
// of the connection from here, is nothing that the server did.
func (w *wire) unreachable(ctx context.Context, err error) {
	if ctx.Err() != nil || w.conns.ended() {
		return
	}
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var operation *net.OpError
	switch {
	case errors.As(err, &certificate):
		w.fail("the server's TLS certificate is not trusted", certificate.Err.Error())
	case errors.As(err, &record) || strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		w.fail("the server does not speak TLS", err.Error())
	case errors.As(err, &operation) && operation.Op == "dial":
		w.fail("the server could not be reached", err.Error())
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &operation):
		w.fail("the server closed the connection without an answer", err.Error())
	default:
		w.fail("the server could not be spoken to over HTTP", err.Error())
	}
}
