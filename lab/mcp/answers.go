package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

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
	asked.timer = time.AfterFunc(c.server.discoverWait(), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if asked.answered {
			return
		}
		response := &jsonrpc.Response{ID: r.ID, Error: unknownMethod()}
		c.settle(r.ID, asked, response)
		asked.late = true
		c.early = append(c.early, response)
		select {
		case c.ready <- struct{}{}:
		default:
		}
	})
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
	if asked := c.waiting[id]; asked != nil && !asked.late {
		asked.late = true
		if !asked.answered {
			asked.exchange = nil
			c.forgetLater(id)
		}
	}
}

// settle marks a request as answered. The caller holds the lock.
func (c *stdio) settle(id jsonrpc.ID, asked *request, response *jsonrpc.Response) {
	asked.answered = true
	asked.exchange.answer(response, c.changes.Load())
	asked.exchange = nil
	if asked.timer != nil {
		asked.timer.Stop()
	}
	c.answered()
	c.forgetLater(id)
}

// forgetLater bounds how many requests are remembered. The caller holds the lock.
func (c *stdio) forgetLater(id jsonrpc.ID) {
	if c.settled = append(c.settled, id); len(c.settled) > maxSettled {
		delete(c.waiting, c.settled[0])
		c.settled = c.settled[1:]
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// decode reads a line: a message, a batch of them, or what is neither.
func (c *stdio) decode(line []byte) ([]jsonrpc.Message, error) {
	if bytes.HasPrefix(line, byteOrderMark) {
		c.server.notice("bom", c.server.Name+" breaks the protocol: a line of its standard output starts with a byte-order mark, which was skipped")
		line = bytes.TrimSpace(line[len(byteOrderMark):])
	}
	if len(line) == 0 {
		return nil, nil
	}
	documents := [][]byte{line}
	if line[0] == '[' {
		var err error
		if documents, err = batch(line); errors.Is(err, errManyInside) {
			c.fail(err.Error(), "")
			return nil, io.ErrUnexpectedEOF
		} else if err != nil {
			return nil, c.text(line)
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
	if document[0] != '{' {
		return nil, c.text(document)
	}
	message, err := decodeMessage(document)
	if err != nil {
		if err == errNoMessage && !likeMessage(document) {
			// A line of a log is often JSON too.
			return nil, c.text(document)
		}
		c.fail(err.Error(), c.server.excerpt(document))
		return nil, io.ErrUnexpectedEOF
	}
	switch message := message.(type) {
	case *jsonrpc.Request:
		if c.heard(message, len(document)) {
			return message, nil
		}
	case *jsonrpc.Response:
		if response := c.response(message, document); response != nil {
			return response, nil
		}
	}
	return nil, c.broken()
}

// broken is an error where what was read ended the connection.
func (c *stdio) broken() error {
	if fault, _ := c.failure(); fault != "" {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// text takes a line that is no message.
func (c *stdio) text(line []byte) error {
	if c.server.StrictStdio {
		c.fail("the server wrote text to its standard output", c.server.excerpt(line))
	} else if c.unasked(len(line), "text on its standard output") {
		c.server.notice("text", fmt.Sprintf("%s breaks the protocol: its standard output has text that is no message (logs belong on standard error), which was skipped: %s", c.server.Name, c.server.excerpt(line)))
	}
	return c.broken()
}

// response gives an answer to whoever asked, and returns what the SDK is told.
func (c *stdio) response(response *jsonrpc.Response, document []byte) *jsonrpc.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.waiting[response.ID]
	if asked == nil && !response.ID.IsValid() && response.Error != nil {
		// A server that could not read a request does not know its id. Where one
		// alone is waited for, it is about that one.
		var about int
		if response.ID, asked, about = c.unanswered(); about > 1 {
			c.fail("the server answered one of several requests with an error that does not say which", c.server.excerpt(document))
			return nil
		}
	}
	switch {
	case asked == nil:
		c.fail("the server answered with the wrong id", c.server.excerpt(document))
		return nil
	case asked.late && !asked.answered:
		asked.answered = true // it was asked for, if nobody waits for it any more
		return nil
	case asked.late:
		c.unasked(len(document), "late answers")
		return nil
	case asked.answered:
		if c.unasked(len(document), "second answers") {
			c.server.notice("twice", c.server.Name+" breaks the protocol: it answered a request twice; the second answer was skipped")
		}
		return nil
	}
	c.settle(response.ID, asked, response)
	if asked.method == "tools/call" && response.Error == nil {
		return &jsonrpc.Response{ID: response.ID, Result: brief}
	}
	return response
}

// unanswered is one of the requests whose answer is waited for, and how many there
// are, but for one that listens. The caller holds the lock.
func (c *stdio) unanswered() (id jsonrpc.ID, asked *request, count int) {
	for each, r := range c.waiting {
		if !r.answered && !r.late && r.method != "subscriptions/listen" {
			id, asked = each, r
			count++
		}
	}
	return id, asked, count
}
