package mcp

import (
	"bytes"
	"io"
)

// events cuts an event stream into the data of its events, as far as this
// package needs them (WHATWG HTML, 9.2.6): it looks on while the SDK reads the
// same bytes.
type events struct {
	limit int                // bytes of one event
	total int                // bytes of the stream; 0 for no limit
	flood func(fault string) // told of what is too much; may be nil
	each  func(data []byte) error

	line  []byte
	data  []byte
	named bool // the event has a name other than message
	seen  int
	bare  bool // the last byte was a carriage return
}

// Write takes the next bytes of the stream. Its error is that of each, or
// io.ErrShortBuffer for a flood.
func (e *events) Write(p []byte) (int, error) {
	if e.seen += len(p); e.total > 0 && e.seen > e.total {
		return 0, e.tooMuch("the server floods: more than " + size(e.total) + " in one stream")
	}
	rest := p
	for len(rest) > 0 {
		if e.bare && rest[0] == '\n' {
			rest = rest[1:]
		}
		e.bare = false
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			e.line = append(e.line, rest...)
			rest = nil
		} else {
			e.line = append(e.line, rest[:end]...)
			e.bare = rest[end] == '\r'
			rest = rest[end+1:]
		}
		if len(e.line)+len(e.data) > e.limit+len("data: ") {
			return 0, e.tooMuch("the server floods: a message of more than " + size(e.limit))
		}
		if end >= 0 {
			if err := e.endLine(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (e *events) tooMuch(fault string) error {
	if e.flood != nil {
		e.flood(fault)
	}
	return io.ErrShortBuffer
}

func (e *events) endLine() error {
	line := e.line
	e.line = e.line[:0]
	if len(line) == 0 {
		data, named := bytes.TrimSuffix(e.data, []byte("\n")), e.named
		e.data, e.named = e.data[:0], false
		if len(data) == 0 || named {
			// Without data an event only tells its id, for a stream to be taken up again.
			return nil
		}
		return e.each(data)
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.data = append(append(e.data, value...), '\n')
	case "event":
		e.named = len(value) > 0 && string(value) != "message"
	}
	return nil
}

// watched is the body of an event stream whose events are looked at.
type watched struct {
	events
	body   io.ReadCloser
	over   bool
	closed func()
	// Of the stream that only listens, the end is kept from the SDK until this is
	// closed: it would end the session with it, and a server may end that stream.
	until <-chan struct{}
}

func (s *watched) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if n > 0 {
		if _, fault := s.events.Write(p[:n]); fault != nil {
			return 0, fault
		}
	}
	if err == io.EOF && !s.over {
		// The SDK takes the last event without the empty line that should end it.
		s.over = true
		if _, fault := s.events.Write([]byte("\n\n")); fault != nil {
			return 0, fault
		}
	}
	if err != nil && s.until != nil {
		if n > 0 {
			return n, nil // the end comes again
		}
		<-s.until
	}
	return n, err
}

func (s *watched) Close() error {
	s.closed()
	return s.body.Close()
}
