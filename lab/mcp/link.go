package mcp

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// exchange is one request and what came back for it, as it stood on the wire.
// It travels with the context of the call to whatever sends and receives.
type exchange struct {
	mu     sync.Mutex
	id     jsonrpc.ID // of the request, where the carrier needs it
	since  int64      // how often the tools had become others before it
	got    reply
	unread bool // nothing has come yet
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

func (x *exchange) ask(id jsonrpc.ID) {
	if x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.id = id
	}
}

func (x *exchange) asks() (id jsonrpc.ID) {
	if x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		id = x.id
	}
	return id
}

// answer keeps what came, and whether the tools had become others by then. The
// first answer is the answer.
func (x *exchange) answer(response *jsonrpc.Response, changes int64) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.unread {
		return
	}
	x.unread = false
	x.got.result = response.Result
	x.got.changed = changes != x.since
	if response.Error != nil {
		x.got.fault = wireError(response.Error)
	}
}

func (x *exchange) taken() (got reply, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.got, !x.unread
}

func wireError(err error) *jsonrpc.Error {
	if wire, ok := err.(*jsonrpc.Error); ok {
		return wire
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// link is what is known of one connection, whatever carries it.
type link struct {
	server *Server
	mu     sync.Mutex
	fault  string // what the server did that ended the connection; the first counts
	detail string // of the fault, for a person
	// How often the server said that its tools are others now. That belongs to
	// every call under way.
	changes atomic.Int64

	// What nobody asked for since the last answer, whichever call it is of.
	spoken   atomic.Int64 // bytes
	messages atomic.Int64
	requests atomic.Int64
}

// exchange is that of a request which is about to be sent.
func (l *link) exchange(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{unread: true, since: l.changes.Load()}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// fail notes what ended the connection.
func (l *link) fail(fault, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == "" {
		l.fault, l.detail = fault, detail
	}
}

func (l *link) failure() (fault, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault, l.detail
}

// answered begins a new count of what nobody asked for.
func (l *link) answered() {
	l.spoken.Store(0)
	l.messages.Store(0)
	l.requests.Store(0)
}

// unasked counts something that nobody asked for. It reports whether it can be
// borne; too much ends the connection.
func (l *link) unasked(bytes int, what string) bool {
	if l.spoken.Add(int64(bytes)) > int64(l.server.MaxMessage) {
		l.fail("the server floods: more than "+size(l.server.MaxMessage)+" of "+what+" without an answer", "")
		return false
	}
	if l.messages.Add(1) > maxUnasked {
		l.fail(fmt.Sprintf("the server floods: more than %d messages without an answer", maxUnasked), "")
		return false
	}
	return true
}

// heard takes a message that answers nothing. It reports whether the SDK has to
// deal with it.
func (l *link) heard(request *jsonrpc.Request, bytes int) (pass bool) {
	switch {
	case !l.unasked(bytes, "notifications"):
		return false
	case request.IsCall() && l.requests.Add(1) > maxRequests:
		l.fail(fmt.Sprintf("the server floods: more than %d requests of its own without an answer", maxRequests), "")
		return false
	case request.IsCall():
		return true
	case request.Method == "notifications/tools/list_changed":
		l.changes.Add(1)
	}
	return request.Method == "notifications/cancelled"
}
