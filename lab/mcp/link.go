package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// exchange is one request and what came back for it, as it stood on the wire.
// It travels with the context of the call to whatever sends and receives.
type exchange struct {
	mu     sync.Mutex
	id     jsonrpc.ID // of the request, where the carrier needs it
	result json.RawMessage
	err    *jsonrpc.Error
	unread bool // nothing has come yet
}

type exchangeKey struct{}

func withExchange(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{unread: true}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

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

// answer keeps what came. The first answer is the answer.
func (x *exchange) answer(response *jsonrpc.Response) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.unread {
		return
	}
	x.unread = false
	x.result = response.Result
	if response.Error != nil {
		x.err = wireError(response.Error)
	}
}

func (x *exchange) taken() (result json.RawMessage, err *jsonrpc.Error, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.result, x.err, !x.unread
}

func wireError(err error) *jsonrpc.Error {
	if wire, ok := err.(*jsonrpc.Error); ok {
		return wire
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// link is what is known of one connection, whatever carries it.
type link struct {
	server  *Server
	mu      sync.Mutex
	fault   string // what the server did that ended the connection; the first counts
	detail  string // of the fault, for a person
	changed atomic.Bool
	spoken  atomic.Int64 // bytes that nobody asked for, since the last request
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

// heard takes a message that answers nothing. It reports whether the message is
// to be passed on; too much of it ends the connection.
func (l *link) heard(request *jsonrpc.Request, bytes int) (pass bool) {
	if l.spoken.Add(int64(bytes)) > int64(l.server.MaxMessage) {
		l.fail("the server floods: more than "+size(l.server.MaxMessage)+" of notifications without an answer", "")
		return false
	}
	switch request.Method {
	case "notifications/progress", "notifications/message":
		return false
	case "notifications/tools/list_changed":
		l.changed.Store(true)
	}
	return true
}
