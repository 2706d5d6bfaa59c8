// Package otel renders runs as OpenTelemetry traces: OTLP JSON lines, each an
// ExportTraceServiceRequest, as the OTLP JSON file receiver of a collector reads them.
//
// Start with [New].
//
// A run is a trace. Its root span, "lab.run", says what the run came to. Below it
// stands a span for every call that was made, an attempt each, by the conventions for
// tool execution of OpenTelemetry's GenAI semantic conventions ("execute_tool NAME"),
// and below that a span for every control that was asked. What no convention names
// has an attribute that begins with "lab.". A case that is still to do was not run and
// has no trace.
//
// One invariant: the same stream gives the same bytes. The ids are digests of the
// dataset, the surface, the case and the place in the run. The times are not those of
// a clock, which the stream does not have: every run starts at [Epoch], and a call
// takes as long as it did on the simulated clock of its case, or no time at all.
//
// No text that a tool answered is told, and no argument, nor the digest of any,
// unless it is asked for; then without what [Options.Secret] names. The package dials
// nobody, and no library that does is linked in.
package otel

import (
	"bufio"
	"io"
	"time"

	"agentlab/lab/eval"
)

// Epoch is when every run starts.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

const (
	// maxLine is how long a line may get before another is begun. The receiver of a
	// collector splits one of more than 1 MiB, which no span here comes near to.
	maxLine = 512 << 10
	// maxText is how many bytes of a text are told, and maxArguments of arguments.
	maxText      = 1 << 10
	maxArguments = 16 << 10
)

// Options say what is told besides.
type Options struct {
	// Arguments tells the arguments of every call.
	Arguments bool
	// Secret says of the name of a field whether its value never is told. Nil names
	// none.
	Secret func(name string) bool
}

// Report is a file that is being written. It holds one line of it.
type Report struct {
	out     *bufio.Writer
	options Options
	dataset string // its digest
	head    []byte // of every line, up to its first span
	line    []byte
}

// New starts the traces of a comparison, to which its pairs are added in order.
func New(w io.Writer, c *eval.Comparison, o Options) *Report {
	r := &Report{out: bufio.NewWriterSize(w, 64<<10), options: o, dataset: c.Dataset.SHA256}
	r.head = append(r.head, `{"resourceSpans":[{"resource":{"attributes":[`...)
	list := attributes{dst: r.head}
	list.text("service.name", "agentlab")
	list.text("service.version", eval.Version)
	list.text("lab.dataset.name", c.Dataset.Name)
	list.text("lab.dataset.sha256", c.Dataset.SHA256)
	r.head = append(list.dst, `]},"scopeSpans":[{"scope":{"name":"agentlab/lab/report/otel","version":"`+eval.Version+`"},"spans":[`...)
	return r
}

// lineEnd ends what head begins. The conventions are those of this version.
const lineEnd = `],"schemaUrl":"https://opentelemetry.io/schemas/1.38.0"}]}]}` + "\n"

// Add adds the runs of a case.
func (r *Report) Add(pair *eval.Pair) error {
	for _, run := range pair.Runs() {
		if run.Case.Todo != "" {
			continue
		}
		r.line = append(r.line[:0], r.head...)
		t := newTrace(r, pair, run)
		t.run()
		r.line = append(r.line, lineEnd...)
		if _, err := r.out.Write(r.line); err != nil {
			return err
		}
	}
	return nil
}

// next makes room for a span: behind the last one, or on another line.
func (r *Report) next() {
	switch {
	case len(r.line) == len(r.head):
	case len(r.line) < maxLine:
		r.line = append(r.line, ',')
	default:
		r.line = append(r.line, lineEnd...)
		r.out.Write(r.line) // a writer of bufio keeps its first error
		r.line = append(r.line[:0], r.head...)
	}
}

// Close ends the file.
func (r *Report) Close() error { return r.out.Flush() }
