package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"agentlab/lab/process"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// Client is a connection to a server. It takes one call at a time.
type Client struct {
	server  *Server
	link    *link
	session *sdk.ClientSession
	stdio   *stdio // of a server that was started; else nil
	wire    *wire  // of a server at a URL; else nil
	took    time.Duration

	outputs map[string]*schema.Schema // compiled output schemas, by tool; see SetDefinitions

	turn chan struct{} // a token: whose turn it is to call
	mu   sync.Mutex
	lost *tool.Unavailable
	hung bool // it did not answer in time, and is given none to say goodbye
	died bool // it ended by itself at its start
	once sync.Once
}

// The last revision of the protocol that starts with initialize. A server that
// ended at the question for a newer one is started again and asked for this.
const lastWithHandshake = "2025-11-25"

// Connect starts or reaches a server and agrees with it on a revision of the
// protocol. Every error is a [*tool.Unavailable], or that of ctx.
func Connect(ctx context.Context, server *Server) (*Client, error) {
	started := time.Now()
	c, err := connect(ctx, server)
	if err != nil && ctx.Err() == nil && server.learned.protocol.Load() == nil && c != nil && c.died {
		revision := lastWithHandshake
		server.learned.protocol.Store(&revision)
		if c, err = connect(ctx, server); err != nil {
			server.learned.protocol.CompareAndSwap(&revision, nil)
		}
	}
	if err != nil {
		return nil, err
	}
	c.took = time.Since(started)
	return c, nil
}

// connect makes one attempt. Beside an error it returns what is left of it.
func connect(ctx context.Context, server *Server) (*Client, error) {
	c := &Client{server: server, link: &link{server: server}, turn: make(chan struct{}, 1)}
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, server.Timeout)
	defer cancel()
	client := sdk.NewClient(&sdk.Implementation{Name: "lab", Version: server.Version}, &sdk.ClientOptions{
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
	type connected struct {
		session *sdk.ClientSession
		err     error
	}
	done := make(chan connected, 1)
	go func() {
		session, err := client.Connect(limited, transport, options)
		done <- connected{session, err}
	}()
	// The SDK waits in places that the end of its context does not reach.
	var got connected
	select {
	case got = <-done:
	case <-limited.Done():
		gone := c.gone()
		c.hung = true
		c.cut()
		got = <-done
		if !gone {
			got.err = limited.Err()
		}
	}
	c.session = got.session
	if got.err != nil {
		// Before the process is ended, so that what it did comes first.
		err := c.unavailable(ctx, got.err, "initialize")
		c.died = c.stdio != nil && !c.hung && c.stdio.process.Status() != ""
		c.Close()
		return c, c.withWords(err)
	}
	if revision := c.Protocol(); server.learned.protocol.Load() == nil && revision != "" {
		server.learned.protocol.Store(&revision)
	}
	return c, nil
}

func (c *Client) transport() (sdk.Transport, error) {
	if c.server.URL != "" {
		wire, err := newWire(c.link)
		if err != nil {
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
		return nil, &tool.Unavailable{Surface: c.server.Name, Reason: "the server could not be started", Detail: err.Error()}
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

// call sends one request and returns its answer as it stood on the wire, or the
// error of ctx, of the server's time, or a [*tool.Unavailable].
func (c *Client) call(ctx context.Context, doing string, send func(context.Context) error) (json.RawMessage, *wireFault, error) {
	if err := c.Lost(); err != nil {
		return nil, nil, err
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	defer func() { <-c.turn }()
	limited, cancel := context.WithTimeout(ctx, c.server.Timeout)
	defer cancel()
	asking, x := withExchange(limited)
	err := send(asking)
	if result, fault, ok := x.taken(); ok {
		if fault != nil {
			return nil, &wireFault{fault.Code, fault.Message, fault.Data}, nil
		}
		return result, nil, nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err == nil:
		err = errors.New("the answer did not pass")
	}
	if limited.Err() != nil {
		if !c.gone() {
			c.hung = true
			return nil, nil, limited.Err()
		}
		err = errGone
	}
	lost := c.unavailable(ctx, err, doing)
	c.hung = true
	c.Close()
	if unavailable, ok := c.withWords(lost).(*tool.Unavailable); ok {
		c.mu.Lock()
		c.lost = unavailable
		c.mu.Unlock()
		return nil, nil, unavailable
	}
	return nil, nil, lost
}

var errGone = errors.New("the connection ended")

// wireFault is a JSON-RPC error.
type wireFault struct {
	Code    int64
	Message string
	Data    json.RawMessage
}

// gone reports whether the connection has ended, as far as is known.
func (c *Client) gone() bool {
	if fault, _ := c.link.failure(); fault != "" {
		return true
	}
	if c.stdio == nil {
		return false
	}
	select {
	case <-c.stdio.process.Exited():
		return true
	default:
		return false
	}
}

// exitWait is how long a process that closed its output is given to end, so that
// it can be told how.
const exitWait = time.Second

// unavailable says why the server could not be used for something.
func (c *Client) unavailable(ctx context.Context, err error, doing string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	u := &tool.Unavailable{Surface: c.server.Name}
	if fault, detail := c.link.failure(); fault != "" {
		u.Reason, u.Detail = fault, detail
		return u
	}
	late := errors.Is(err, context.DeadlineExceeded)
	if c.stdio != nil && !late && c.stdio.over(err) {
		select {
		case <-c.stdio.process.Exited():
			u.Reason = "the server ended " + during(doing) + " (" + c.stdio.process.Status() + ")"
			return u
		case <-time.After(exitWait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var refusal *jsonrpc.Error
	switch {
	case late:
		u.Reason = fmt.Sprintf("the server did not answer %s within %s", doing, c.server.Timeout)
	case errors.As(err, &refusal):
		u.Reason, u.Detail = "the server refused to "+doing, excerpt([]byte(refusal.Message))
	case strings.Contains(err.Error(), "unsupported protocol version"):
		u.Reason, u.Detail = "the server speaks a revision of the protocol that is not known here", err.Error()
	case c.stdio != nil && c.stdio.over(err):
		u.Reason = "the server closed its standard output " + during(doing)
	default:
		u.Reason, u.Detail = "the server ended "+doing+" without an answer", err.Error()
	}
	return u
}

func during(doing string) string {
	if doing == "initialize" {
		return "at its start"
	}
	return "in the middle of " + doing
}

// withWords adds where the server is and what it last said. It is asked after
// the process has ended, when all of it has been read.
func (c *Client) withWords(err error) error {
	u, ok := err.(*tool.Unavailable)
	if !ok {
		return err
	}
	var lines []string
	if u.Detail != "" {
		lines = append(lines, u.Detail)
	}
	if c.stdio != nil {
		if words := c.stdio.process.LastWords(); len(words) > 0 {
			lines = append(lines, "its last words on stderr:")
			for _, word := range words {
				lines = append(lines, "  "+word)
			}
		}
	} else {
		lines = append(lines, "at "+redacted(c.server.URL))
	}
	u.Detail = strings.Join(lines, "\n")
	return u
}

// redacted is a URL without what may be a secret.
func redacted(address string) string {
	if r, err := http.NewRequest(http.MethodGet, address, nil); err == nil {
		r.URL.RawQuery, r.URL.Fragment = "", ""
		return r.URL.Redacted()
	}
	return "its URL"
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
// was started for this connection. It returns when all of that is gone.
func (c *Client) Close() error {
	c.once.Do(func() {
		said := make(chan struct{})
		if c.session != nil {
			go func() {
				defer close(said)
				c.session.Close()
			}()
		} else {
			close(said)
		}
		if c.stdio == nil {
			select {
			case <-said:
			case <-time.After(closeWait):
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
		if c.hung || c.server.learned.stubborn.Load() {
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
		c.wire.base.CloseIdleConnections()
	}
}
