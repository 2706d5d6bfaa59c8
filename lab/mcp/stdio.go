package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"agentlab/lab/process"
)

// stdio carries a connection over the standard input and output of a process,
// a message a line. The SDK's own carrier ends for good at the first line that
// is no message, and does not tell what it was.
type stdio struct {
	*link
	process *process.Process
	lines   chan []byte
	ended   atomic.Bool // there is no more output
	closed  chan struct{}
	once    sync.Once

	mu      sync.Mutex
	waiting map[jsonrpc.ID]*request
	settled []jsonrpc.ID      // of those that are answered, the latest
	early   []jsonrpc.Message // answers in place of the server
	ready   chan struct{}     // something is early
	queue   []jsonrpc.Message // the rest of a batch; Read alone uses it

	writing chan struct{} // a token: one message at a time
}

// request is one that was sent. What was answered stays for a while, so that a
// second answer is told from one that nobody asked for.
type request struct {
	method   string
	exchange *exchange
	answered bool
	late     bool // nobody waits for the answer any more
	timer    *time.Timer
}

// maxSettled is how many requests are remembered after their answer.
const maxSettled = 1000

func newStdio(l *link, p *process.Process) *stdio {
	c := &stdio{
		link:    l,
		process: p,
		lines:   make(chan []byte),
		closed:  make(chan struct{}),
		waiting: make(map[jsonrpc.ID]*request),
		ready:   make(chan struct{}, 1),
		writing: make(chan struct{}, 1),
	}
	go c.scan()
	return c
}

// Connect implements [sdk.Transport].
func (c *stdio) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements [sdk.Connection].
func (*stdio) SessionID() string { return "" }

// scan cuts the output of the process into lines.
func (c *stdio) scan() {
	defer close(c.lines)
	defer c.ended.Store(true)
	in := bufio.NewReaderSize(c.process.Stdout(), 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > c.server.MaxMessage+1 {
			c.fail("the server floods: a message of more than "+size(c.server.MaxMessage), "")
			return
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			select {
			case c.lines <- bytes.Clone(trimmed):
			case <-c.closed:
				return
			}
		}
		line = line[:0]
		if err != nil {
			return
		}
	}
}

// over reports whether the process has no more output, or takes no more input.
func (c *stdio) over(err error) bool {
	return c.ended.Load() || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

// Read implements [sdk.Connection].
func (c *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			message := c.queue[0]
			c.queue = c.queue[1:]
			return message, nil
		}
		if message := c.takeEarly(); message != nil {
			return message, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case <-c.ready:
		case line, ok := <-c.lines:
			if !ok {
				return nil, io.EOF
			}
			messages, err := c.decode(line)
			if err != nil {
				return nil, err
			}
			c.queue = messages
		}
	}
}

func (c *stdio) takeEarly() jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.early) == 0 {
		return nil
	}
	message := c.early[0]
	c.early = c.early[1:]
	return message
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// decode reads a line: a message, a batch of them, or what is neither.
func (c *stdio) decode(line []byte) ([]jsonrpc.Message, error) {
	if bytes.HasPrefix(line, byteOrderMark) {
		c.server.notice("bom", c.server.Name+" breaks the protocol: a line of its standard output starts with a byte-order mark, which was skipped")
		line = line[len(byteOrderMark):]
	}
	documents := [][]byte{line}
	if line[0] == '[' {
		var batch []json.RawMessage
		if json.Unmarshal(line, &batch) != nil {
			return nil, c.text(line)
		}
		documents = documents[:0]
		for _, document := range batch {
			documents = append(documents, document)
		}
	}
	var messages []jsonrpc.Message
	for _, document := range documents {
		message, err := c.message(document)
		if err != nil {
			return nil, err
		}
		if message != nil {
			messages = append(messages, message)
		}
	}
	return messages, nil
}

// message reads one message. It is nil where there is nothing to be passed on.
func (c *stdio) message(document []byte) (jsonrpc.Message, error) {
	if len(document) == 0 || document[0] != '{' {
		return nil, c.text(document)
	}
	message, err := jsonrpc.DecodeMessage(document)
	if err != nil {
		switch {
		case !json.Valid(document):
			c.fail("the server answered with invalid JSON", excerpt(document))
		case likeMessage(document):
			c.fail("the server answered with something that is no JSON-RPC message", excerpt(document))
		default:
			// A line of a log is often JSON too.
			return nil, c.text(document)
		}
		return nil, io.ErrUnexpectedEOF
	}
	switch message := message.(type) {
	case *jsonrpc.Request:
		if !c.heard(message, len(document)) {
			if fault, _ := c.failure(); fault != "" {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, nil
		}
	case *jsonrpc.Response:
		return c.response(message, document)
	}
	return message, nil
}

// likeMessage reports whether an object was meant to be a message.
func likeMessage(document []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(document, &members) != nil {
		return false
	}
	_, versioned := members["jsonrpc"]
	_, named := members["id"]
	_, result := members["result"]
	_, failed := members["error"]
	return versioned || named && (result || failed)
}

// text takes a line that is no message.
func (c *stdio) text(line []byte) error {
	if c.server.StrictStdio {
		c.fail("the server wrote text to its standard output", excerpt(line))
		return io.ErrUnexpectedEOF
	}
	c.server.notice("text", fmt.Sprintf("%s breaks the protocol: its standard output has text that is no message, which was skipped: %s", c.server.Name, excerpt(line)))
	return nil
}

// response gives an answer to whoever asked.
func (c *stdio) response(response *jsonrpc.Response, document []byte) (jsonrpc.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.waiting[response.ID]
	if asked == nil && !response.ID.IsValid() && response.Error != nil {
		// A server that could not read a request does not know its id. There is
		// one request at a time, but for one that listens.
		for id, r := range c.waiting {
			if !r.answered && r.method != "subscriptions/listen" {
				asked, response.ID = r, id
			}
		}
	}
	switch {
	case asked == nil:
		c.fail("the server answered with the wrong id", excerpt(document))
		return nil, io.ErrUnexpectedEOF
	case asked.late:
		return nil, nil
	case asked.answered:
		c.server.notice("twice", c.server.Name+" breaks the protocol: it answered a request twice; the second answer was skipped")
		return nil, nil
	}
	c.settle(asked, response)
	return response, nil
}

// settle marks a request as answered. The caller holds the lock.
func (c *stdio) settle(asked *request, response *jsonrpc.Response) {
	asked.answered = true
	asked.exchange.answer(response)
	asked.exchange = nil
	if asked.timer != nil {
		asked.timer.Stop()
	}
	c.spoken.Store(0)
	if c.settled = append(c.settled, response.ID); len(c.settled) > maxSettled {
		delete(c.waiting, c.settled[0])
		c.settled = c.settled[1:]
	}
}

// Write implements [sdk.Connection]. A server that does not read its input
// blocks it no longer than ctx lasts.
func (c *stdio) Write(ctx context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closed:
		return io.ErrClosedPipe
	}
	if r, ok := message.(*jsonrpc.Request); ok {
		c.sent(ctx, r)
	}
	written := make(chan error, 1)
	go func() {
		_, err := c.process.Stdin().Write(append(data, '\n'))
		written <- err
		<-c.writing
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		// Half a message may be on its way: nothing can follow it.
		c.fail("the server does not read its standard input", "")
		return ctx.Err()
	case <-c.closed:
		return io.ErrClosedPipe
	}
}

// sent notes a request before the server can answer it.
func (c *stdio) sent(ctx context.Context, r *jsonrpc.Request) {
	if r.Method == "notifications/cancelled" {
		c.cancelled(r.Params)
		return
	}
	if !r.IsCall() {
		return
	}
	asked := &request{method: r.Method, exchange: exchangeOf(ctx)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[r.ID] = asked
	if r.Method != "server/discover" {
		return
	}
	asked.timer = time.AfterFunc(min(discoverWait, c.server.Timeout/3), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if asked.answered {
			return
		}
		response := &jsonrpc.Response{ID: r.ID, Error: unknownMethod()}
		c.settle(asked, response)
		asked.late = true
		c.early = append(c.early, response)
		select {
		case c.ready <- struct{}{}:
		default:
		}
	})
}

func unknownMethod() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer in time"}
}

// cancelled lets the answer of a request come late.
func (c *stdio) cancelled(params json.RawMessage) {
	var named struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &named) != nil {
		return
	}
	id, err := jsonrpc.MakeID(named.RequestID)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked := c.waiting[id]; asked != nil {
		asked.late, asked.exchange = true, nil
	}
}

// Close implements [sdk.Connection].
func (c *stdio) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.mu.Lock()
		for _, asked := range c.waiting {
			if asked.timer != nil {
				asked.timer.Stop()
			}
		}
		c.mu.Unlock()
	})
	return nil
}

// maxExcerpt is how many bytes are shown of what a server sent.
const maxExcerpt = 200

func excerpt(text []byte) string {
	if len(text) <= maxExcerpt {
		return string(text)
	}
	end := maxExcerpt
	for end > maxExcerpt-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return string(text[:end]) + "…"
}
