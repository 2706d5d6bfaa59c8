package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

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
	settled []jsonrpc.ID      // of those that wait no more, the latest
	early   []jsonrpc.Message // answers in place of the server
	ready   chan struct{}     // something is early
	queue   []jsonrpc.Message // the rest of a batch; Read alone uses it

	writing chan struct{} // a token: one message at a time
	calling atomic.Bool   // what is being written is a request, which has an end of its own
}

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

const notRead = "the server does not read its standard input"

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
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && !c.calling.Load() {
			// An answer to a question of its own is what it does not read.
			c.fail(notRead, "")
		}
		return ctx.Err()
	case <-c.closed:
		return io.ErrClosedPipe
	}
	r, ok := message.(*jsonrpc.Request)
	c.calling.Store(ok && r.IsCall())
	if ok {
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
		c.fail(notRead, "")
		return ctx.Err()
	case <-c.closed:
		return io.ErrClosedPipe
	}
}

// Close implements [sdk.Connection].
func (c *stdio) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, asked := range c.waiting {
			if asked.timer != nil {
				asked.timer.Stop()
			}
		}
	})
	return nil
}
