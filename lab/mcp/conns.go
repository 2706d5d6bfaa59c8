package mcp

import (
	"context"
	"net"
	"sync"
)

// conns are the network connections to a server. To close them is what ends
// every request that is under way, whatever context it has.
type conns struct {
	dialer net.Dialer

	mu     sync.Mutex
	open   map[*conn]struct{}
	closed bool
}

// conn is a network connection that is known.
type conn struct {
	net.Conn
	all *conns
}

func (c *conns) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, net.ErrClosed
	}
	dialled, err := c.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	known := &conn{dialled, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		dialled.Close()
		return nil, net.ErrClosed
	}
	if c.open == nil {
		c.open = make(map[*conn]struct{})
	}
	c.open[known] = struct{}{}
	return known, nil
}

// close closes all connections, and lets there be no more.
func (c *conns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for known := range c.open {
		known.Conn.Close()
	}
	c.open = nil
}

func (c *conns) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}
