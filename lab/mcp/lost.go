package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"agentlab/lab/tool"
)

var (
	errGone   = errors.New("the connection ended")
	errClosed = errors.New("the connection was closed")
)

// gone reports whether the connection has ended, as far as is known.
func (c *Client) gone() bool {
	if fault, _ := c.link.failure(); fault != "" {
		return true
	}
	return c.stdio != nil && c.stdio.process.Status() != ""
}

// exitWait is how long a process that closed its output is given to end, so that
// it can be told how.
const exitWait = time.Second

// unavailable says why the server could not be used for something. It is asked
// before the process is ended, so that what it did by itself comes first.
func (c *Client) unavailable(ctx context.Context, err error, doing string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	u := &tool.Unavailable{Surface: c.server.Name}
	late := errors.Is(err, context.DeadlineExceeded)
	if fault, detail := c.link.failure(); fault != "" && !late {
		u.Reason, u.Detail = fault, detail
		return u
	}
	over := c.stdio != nil && !late && c.stdio.over(err)
	if over {
		timer := time.NewTimer(exitWait)
		defer timer.Stop()
		select {
		case <-c.stdio.process.Exited():
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var refusal *jsonrpc.Error
	switch {
	case late:
		u.Reason = fmt.Sprintf("the server did not answer %s within %s", doing, c.server.Timeout)
	case errors.Is(err, errClosed):
		u.Reason = errClosed.Error()
	case errors.As(err, &refusal):
		u.Reason, u.Detail = "the server refused to "+doing, c.server.excerpt([]byte(refusal.Message))
	case c.stdio != nil && c.stdio.process.Status() != "":
		u.Reason = "the server ended " + during(doing) + " (" + c.stdio.process.Status() + ")"
	case strings.Contains(err.Error(), "unsupported protocol version"):
		u.Reason, u.Detail = "the server speaks a revision of the protocol that is not known here", err.Error()
	case over:
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
	} else if address, err := url.Parse(c.server.URL); err == nil {
		lines = append(lines, "at "+redacted(address))
	}
	u.Detail = c.server.scrub(strings.Join(lines, "\n"))
	return u
}
