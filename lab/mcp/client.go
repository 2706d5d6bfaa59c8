package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlab/lab/process"
	"agentlab/lab/tool"
)

// Client is a connection to a server. Its methods are safe for concurrent use:
// calls are under way at the same time, and where one of them loses the
// connection all of them end, for its reason.
type Client struct {
	server  *Server
	hidden  [][]byte // what of an answer only the server is to see
	link    *link
	session *sdk.ClientSession
	stdio   *stdio // of a server that was started; else nil
	wire    *wire  // of a server at a URL; else nil
	took    time.Duration

	outputs atomic.Pointer[outputs]
	pages   map[string]json.RawMessage // of tools/list, those that the SDK answers from memory

	listing chan struct{} // a token: one list at a time
	closing context.Context
	stop    context.CancelFunc
	hung    atomic.Bool // it did not answer in time, and is given none to say goodbye
	losing  sync.Mutex  // held by the one call that loses the connection
	mu      sync.Mutex
	lost    *tool.Unavailable
	once    sync.Once
}

// The last revision of the protocol that starts with initialize. A server that
// ended at the question for a newer one is started again and asked for this.
const lastWithHandshake = "2025-11-25"

// Connect starts or reaches a server and agrees with it on a revision of the
// protocol. Every error is a [*tool.Unavailable], or that of ctx.
func Connect(ctx context.Context, server *Server) (*Client, error) {
	if server.learned == nil {
		learning := server.Learning()
		server = &learning
	}
	started := time.Now()
	// Another connection may learn the same meanwhile.
	known, patient := server.learned.protocol.Load(), server.learned.newest.Load()
	c, next, err := connect(ctx, server)
	switch {
	case err == nil || ctx.Err() != nil:
	case next == older && known == nil:
		revision := lastWithHandshake
		server.learned.protocol.CompareAndSwap(nil, &revision)
		if c, _, err = connect(ctx, server); err != nil {
			server.learned.protocol.CompareAndSwap(&revision, nil)
		}
	case next == patiently && !patient:
		server.learned.newest.Store(true)
		c, _, err = connect(ctx, server)
	}
	if err != nil {
		return nil, err
	}
	c.took = time.Since(started)
	return c, nil
}

// attempt is what may come of another attempt to connect.
type attempt int

const (
	hopeless  attempt = iota
	older             // it ended by itself, perhaps at a question that it does not know
	patiently         // it knows only the newest revision, and was slow to say so
)

// codeUnsupported is the JSON-RPC error of a server that does not speak the
// revision that it is asked for (SEP-2575).
const codeUnsupported = -32022

// connect makes one attempt, and says what may come of the next.
func connect(ctx context.Context, server *Server) (client *Client, next attempt, err error) {
	c := &Client{server: server, hidden: server.inAnswers(), link: &link{server: server}, listing: make(chan struct{}, 1)}
	c.closing, c.stop = context.WithCancel(context.Background())
	transport, err := c.transport()
	if err != nil {
		c.stop()
		return nil, hopeless, err
	}
	limited, cancel := context.WithTimeout(ctx, server.Timeout)
	defer cancel()
	speaker := sdk.NewClient(&sdk.Implementation{Name: "lab", Version: server.Version}, &sdk.ClientOptions{
		// Nothing is offered: no roots, no sampling, nobody to be asked.
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		Logger:         slog.New(slog.DiscardHandler),
		// A server of the newest revision says what nobody listens for to nobody. What
		// it says is heard on the wire, before the answer that it belongs to.
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {},
	})
	options := &sdk.ClientSessionOptions{}
	if revision := server.learned.protocol.Load(); revision != nil {
		options.ProtocolVersion = *revision
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.session, err = speaker.Connect(limited, transport, options)
	}()
	// The SDK waits in places that the end of its context does not reach.
	select {
	case <-done:
		if err != nil && limited.Err() != nil && !c.gone() {
			err = limited.Err()
		}
	case <-limited.Done():
		late := limited.Err()
		if c.gone() {
			late = errGone
		}
		c.hung.Store(true)
		c.cut()
		<-done
		err = late
	}
	if err != nil {
		var refusal *jsonrpc.Error
		if errors.As(err, &refusal) && refusal.Code == codeUnsupported {
			next = patiently
		}
		err = c.unavailable(ctx, err, "initialize")
		if c.stdio != nil && !c.hung.Load() && c.stdio.process.Status() != "" {
			next = older
		}
		c.Close()
		return nil, next, c.withWords(err)
	}
	if revision := c.Protocol(); revision != "" {
		server.learned.protocol.CompareAndSwap(nil, &revision)
	}
	return c, hopeless, nil
}

func (c *Client) transport() (sdk.Transport, error) {
	if c.server.URL != "" {
		wire, err := newWire(c.link)
		if err != nil {
			// The error would show the URL, which may hold a secret.
			return nil, &tool.Unavailable{Surface: c.server.Name, Reason: "the URL is none"}
		}
		c.wire = wire
		return wire.transport(), nil
	}
	p, err := process.Start(process.Command{
		Args: c.server.Command,
		Dir:  c.server.Dir,
		Env:  process.Environment(c.server.Home, c.server.Env),
	})
	if err != nil {
		return nil, &tool.Unavailable{Surface: c.server.Name, Reason: "the server could not be started", Detail: c.server.scrub(err.Error())}
	}
	c.stdio = newStdio(c.link, p)
	return c.stdio, nil
}

// Protocol is the revision that was agreed on.
func (c *Client) Protocol() string {
	if result := c.session.InitializeResult(); result != nil {
		return result.ProtocolVersion
	}
	return ""
}

// StartTook is how long it took to connect, the start of a process included.
func (c *Client) StartTook() time.Duration { return c.took }

// Lost returns why the connection takes no more calls, as a
// [*tool.Unavailable], or nil.
func (c *Client) Lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost == nil {
		return nil
	}
	return c.lost
}

// errRemembered is the error of a question that the SDK answered from memory.
var errRemembered = errors.New("the question was not sent")

// reply is what came of a request: a result or a JSON-RPC error, and whether the
// server said meanwhile that its tools are others now.
type reply struct {
	result  json.RawMessage
	fault   *jsonrpc.Error
	changed bool
}

// call sends one request and returns its answer as it stood on the wire, or the
// error of ctx, of the server's time, or a [*tool.Unavailable].
func (c *Client) call(ctx context.Context, doing string, send func(context.Context) error) (got reply, err error) {
	switch {
	case ctx.Err() != nil:
		return got, ctx.Err()
	case c.Lost() != nil:
		return got, c.Lost()
	case c.closing.Err() != nil:
		return got, c.lose(ctx, errClosed, doing)
	case c.gone():
		return got, c.lose(ctx, errGone, doing)
	}
	limited, cancel := context.WithTimeout(ctx, c.server.Timeout)
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()
	asking, x := c.link.exchange(limited)
	err = send(asking)
	// First of all: what ends this is to be found below.
	late := limited.Err()
	var answered bool
	if got, answered = x.taken(); answered {
		return got, nil
	}
	got.changed = c.link.changes.Load() != x.since
	switch {
	case ctx.Err() != nil:
		return got, ctx.Err()
	case c.closing.Err() != nil:
		return got, c.lose(ctx, errClosed, doing)
	case late != nil && !c.gone():
		if c.link.messages.Load() > maxUnaskedHung {
			// On a machine with more to do the time is over before the flood is full.
			c.link.fail("the server floods: messages, and no answer in time", "")
			return got, c.lose(ctx, errGone, doing)
		}
		c.hung.Store(true)
		return got, late
	case late != nil:
		err = errGone
	case err == nil:
		return got, errRemembered
	}
	return got, c.lose(ctx, err, doing)
}

// lose ends the connection for a reason that is not the end of ctx. The first
// reason is that of every call that ends with it.
func (c *Client) lose(ctx context.Context, err error, doing string) error {
	lost := c.unavailable(ctx, err, doing)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.losing.Lock()
	defer c.losing.Unlock()
	if earlier := c.Lost(); earlier != nil {
		return earlier
	}
	c.hung.Store(true)
	c.Close()
	unavailable, ok := c.withWords(lost).(*tool.Unavailable)
	if !ok {
		return lost
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = unavailable
	return unavailable
}

// Grace that a server is given to end with its input, and then with SIGTERM. One
// that did not use it does not get it again.
const (
	endGrace   = 2 * time.Second
	shortGrace = 100 * time.Millisecond
)

// closeWait is how long the SDK is given to say goodbye.
const closeWait = time.Second

// Close ends the connection, and the server with everything it started where it
// was started for this connection. It returns when all of that is gone. A call
// that is under way ends.
func (c *Client) Close() error {
	c.once.Do(func() {
		c.stop()
		said := make(chan struct{})
		go func() {
			defer close(said)
			if c.session != nil {
				c.session.Close()
			}
		}()
		if c.stdio == nil {
			timer := time.NewTimer(closeWait)
			defer timer.Stop()
			select {
			case <-said:
			case <-timer.C:
			}
		}
		c.cut()
		<-said
	})
	return nil
}

// cut ends what carries the connection.
func (c *Client) cut() {
	if c.stdio != nil {
		grace := endGrace
		if c.hung.Load() || c.server.learned.stubborn.Load() {
			grace = shortGrace
		}
		c.stdio.Close()
		started := time.Now()
		c.stdio.process.End(grace)
		if time.Since(started) >= endGrace {
			c.server.learned.stubborn.Store(true)
		}
	}
	if c.wire != nil {
		c.wire.conns.close()
	}
}
