package report

import (
	"bufio"
	"errors"
	"io"
	"os"

	"agentlab/lab/eval"
	"agentlab/lab/stream"
)

// Sink is a report that is made of a finished stream: what all cases came to is
// known when it starts. Add is called for every case, in the order of the dataset,
// and then Close, which does not close what is written to.
type Sink interface {
	Add(pair *eval.Pair) error
	Close() error
}

// Feed hands every case of a stream to sinks, and closes them. The stream is read
// once. The error is that of [stream.Reader], or of a sink.
func Feed(from *stream.Reader, sinks ...Sink) error {
	for {
		pair, err := from.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		for _, s := range sinks {
			if err := s.Add(pair); err != nil {
				return err
			}
		}
	}
	var faults []error
	for _, s := range sinks {
		faults = append(faults, s.Close())
	}
	return errors.Join(faults...)
}

// AtEnd is a sink that renders what all cases came to, and the first MaxRows of
// them.
func AtEnd(w io.Writer, c *eval.Comparison, render func(io.Writer, *eval.Comparison, []Row) error) Sink {
	return &atEnd{w: w, c: c, render: render}
}

type atEnd struct {
	w      io.Writer
	c      *eval.Comparison
	render func(io.Writer, *eval.Comparison, []Row) error
	rows   []Row
}

func (s *atEnd) Add(pair *eval.Pair) error {
	if pair.Case.Todo == "" && len(s.rows) < MaxRows {
		s.rows = append(s.rows, newRow(pair))
	}
	return nil
}

func (s *atEnd) Close() error { return s.render(s.w, s.c, s.rows) }

// NewRuns writes the stream itself.
func NewRuns(w io.Writer, c *eval.Comparison) Sink {
	s := &runsSink{out: bufio.NewWriterSize(w, 64<<10), c: c}
	s.out.Write(stream.AppendHead(nil, c)) // a writer of bufio keeps its first error
	return s
}

type runsSink struct {
	out  *bufio.Writer
	c    *eval.Comparison
	line []byte
}

func (s *runsSink) Add(pair *eval.Pair) error {
	s.line = stream.AppendPair(s.line[:0], pair)
	_, err := s.out.Write(s.line)
	return err
}

func (s *runsSink) Close() error {
	s.out.Write(stream.AppendEnd(nil, s.c))
	return s.out.Flush()
}

// NewFailures writes tool-failures.md. The details stand under a table that comes
// before them, and wait in a temporary file.
func NewFailures(w io.Writer, c *eval.Comparison) (Sink, error) {
	details, err := os.CreateTemp("", "lab-failures-")
	if err != nil {
		return nil, writeError(err)
	}
	os.Remove(details.Name()) // where that works, nothing is left whatever happens
	s := &failuresSink{out: bufio.NewWriterSize(w, 64<<10), details: details, c: c}
	s.waiting = bufio.NewWriterSize(details, 64<<10)
	s.out.WriteString(failuresHead)
	return s, nil
}

type failuresSink struct {
	out     *bufio.Writer
	details *os.File
	waiting *bufio.Writer
	c       *eval.Comparison
	page    Page
	failed  bool
}

func (s *failuresSink) Add(pair *eval.Pair) error {
	s.page.addFailures(pair)
	if len(s.page.rows) > 0 && !s.failed {
		s.failed = true
		s.out.WriteString(failuresTable)
	}
	s.out.Write(s.page.rows)
	_, err := s.waiting.Write(s.page.details)
	s.page.reset()
	return err
}

func (s *failuresSink) Close() error {
	defer os.Remove(s.details.Name())
	defer s.details.Close()
	if err := s.waiting.Flush(); err != nil {
		return writeError(err)
	}
	if err := endFailures(s.out, s.details, s.failed, s.c); err != nil {
		return err
	}
	return s.out.Flush()
}
