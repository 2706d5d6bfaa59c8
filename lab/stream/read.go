package stream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
)

// MaxLine is the longest line that is read, in bytes.
const MaxLine = 256 << 20

// MaxTime is the longest time that a call may have taken or waited: so many of them
// can be added up.
const MaxTime = 1_000_000 * time.Second

// ErrCut is the error of a stream that ends before its last line: whatever wrote it
// did not come to an end.
var ErrCut = errors.New("the stream has no last line; what wrote it did not come to an end")

// Invalid is a line that is none of this version.
type Invalid struct {
	Line   int // counted from 1
	Reason string
}

func (e *Invalid) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Reader reads a stream.
type Reader struct {
	lines      *bufio.Reader
	number     int
	comparison *eval.Comparison
	version    string
	end        *endLine
}

// NewReader reads the first line of a stream.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{lines: bufio.NewReaderSize(from, 64<<10)}
	line, err := r.line()
	if err == io.EOF {
		return nil, r.invalid("the stream is empty")
	}
	if err != nil {
		return nil, err
	}
	var head headLine
	if err := r.decode(line, eventEval, &head); err != nil {
		return nil, err
	}
	r.version = head.Version
	if head.Repeat < 0 {
		return nil, r.invalid(fmt.Sprintf("repeat is %d", head.Repeat))
	}
	r.comparison = &eval.Comparison{
		Dataset:   eval.Dataset{Name: head.Dataset.Name, Selection: head.Dataset.Selection, Files: head.Dataset.Files},
		Candidate: head.Candidate.summary(),
		Repeat:    head.Repeat,
	}
	if head.Shard != nil {
		shard := eval.Shard{Index: head.Shard.Index, Of: head.Shard.Of}
		if !shard.Valid() {
			return nil, r.invalid(fmt.Sprintf("there is no %v", shard))
		}
		r.comparison.Dataset.Shard = &shard
	}
	if head.Baseline != nil {
		baseline := head.Baseline.summary()
		r.comparison.Baseline = &baseline
	}
	return r, nil
}

// Comparison is what was compared: before the first pair what is known then, and
// what all pairs came to once Next has returned io.EOF.
func (r *Reader) Comparison() *eval.Comparison { return r.comparison }

// Version is that of the lab that wrote the stream.
func (r *Reader) Version() string { return r.version }

// Next returns the next case, or io.EOF itself after the last line.
//
// Errors: an [*Invalid] for what is no line of this version or contradicts the lines
// before it, [ErrCut], or that of reading.
func (r *Reader) Next() (*eval.Pair, error) {
	if r.end != nil {
		return nil, io.EOF
	}
	line, err := r.line()
	if err == io.EOF {
		return nil, ErrCut
	}
	if err != nil {
		return nil, err
	}
	var event struct {
		Event string `json:"event"`
	}
	if err := jsonv2.Unmarshal(line, &event); err != nil {
		return nil, r.invalid(err.Error())
	}
	if event.Event == eventEnd {
		return nil, r.finish(line)
	}
	pair := new(eval.Pair)
	if r.comparison.Baseline != nil {
		run, err := r.run(line, r.comparison.Baseline, pair)
		if err != nil {
			return nil, err
		}
		pair.Baseline = run
		if line, err = r.line(); err == io.EOF {
			return nil, ErrCut
		} else if err != nil {
			return nil, err
		}
	}
	run, err := r.run(line, &r.comparison.Candidate, pair)
	if err != nil {
		return nil, err
	}
	pair.Candidate = *run
	r.comparison.Count(pair)
	return pair, nil
}

// finish reads the last line.
func (r *Reader) finish(line []byte) error {
	end := new(endLine)
	if err := r.decode(line, eventEnd, end); err != nil {
		return err
	}
	if d := r.comparison.Dataset; d.Cases != end.Cases || d.Todo != end.Todo {
		return r.invalid(fmt.Sprintf("it tells of %d cases and %d to do, and there are %d and %d", end.Cases, end.Todo, d.Cases, d.Todo))
	}
	if _, err := r.line(); err != io.EOF {
		return r.invalid("a line after the last")
	}
	r.end = end
	if err := r.comparison.Finish(end.SHA256); err != nil {
		return r.invalid(err.Error())
	}
	if r.comparison.GatePassed() != end.GatePassed {
		return r.invalid("the gate does not follow from the runs")
	}
	return io.EOF
}

// line reads a line without its end.
func (r *Reader) line() ([]byte, error) {
	r.number++
	var whole []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(whole)+len(part) > MaxLine {
			return nil, r.invalid(fmt.Sprintf("it is longer than %d bytes", MaxLine))
		}
		whole = append(whole, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(whole, []byte("\n")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(whole) > 0:
			return nil, ErrCut // the end of the line was never written
		default:
			return nil, err
		}
	}
}

func (r *Reader) invalid(reason string) error { return &Invalid{r.number, reason} }

// decode reads a line that has to be of an event.
func (r *Reader) decode(line []byte, event string, into started) error {
	if err := jsonv2.Unmarshal(line, into, jsonv2.RejectUnknownMembers(true)); err != nil {
		// A line of another version may have other members, and is to say so.
		var of start
		if jsonv2.Unmarshal(line, &of) == nil && of.SchemaVersion != Version {
			return r.invalid(fmt.Sprintf("schema_version is %d, not %d", of.SchemaVersion, Version))
		}
		return r.invalid(reasonOf(err))
	}
	switch version, is := into.of(); {
	case version != Version:
		return r.invalid(fmt.Sprintf("schema_version is %d, not %d", version, Version))
	case is != event:
		return r.invalid(fmt.Sprintf("event is %q, not %q", is, event))
	}
	return nil
}

func reasonOf(err error) string {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return jsonvalue.Syntax(err).Error()
	}
	return err.Error()
}

// run reads the run of one surface.
func (r *Reader) run(line []byte, surface *eval.Summary, pair *eval.Pair) (*eval.Run, error) {
	var read runLine
	if err := r.decode(line, eventRun, &read); err != nil {
		return nil, err
	}
	if read.Strategy != surface.Strategy {
		return nil, r.invalid(fmt.Sprintf("it is of surface %q, and %q comes next", read.Strategy, surface.Strategy))
	}
	if pair.Case != nil && pair.Case.ID != read.CaseID {
		return nil, r.invalid(fmt.Sprintf("it is of case %q, and %q comes next", read.CaseID, pair.Case.ID))
	}
	if read.Source != 0 && (read.Source < 0 || read.Source >= len(r.comparison.Dataset.Files)) {
		return nil, r.invalid(fmt.Sprintf("it is of source %d, and the first line lists %d files", read.Source, len(r.comparison.Dataset.Files)))
	}
	if len(read.Proposals) == 0 {
		return nil, r.invalid("it has no proposal")
	}
	if !read.timed() {
		return nil, r.invalid(fmt.Sprintf("a time is not from 0 to %d ms", MaxTime.Milliseconds()))
	}
	return read.run(surface, pair), nil
}

// rawOrNil is a copy of a value that is there, as it stands.
func rawOrNil(value jsontext.Value) json.RawMessage {
	if value == nil {
		return nil
	}
	return json.RawMessage(slices.Clone(value))
}
