// Package reporttest gives the tests of the formats below lab/report the same
// streams to render: the ones that lab/report has for its golden files, and hostile
// ones.
//
// Start with [Streams] and [Feed].
//
// One invariant: a format is given what it is given in use, a comparison that is
// known to its end and then the pairs in the order of the dataset.
//
// Nothing but tests imports it.
package reporttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/stream"
	"agentlab/lab/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Sink is a format.
type Sink interface {
	Add(*eval.Pair) error
	Close() error
}

// Streams are the names of the streams: how the shipped cases come out, and those of
// servers outside, with runs that could not run and cases that are still to do.
var Streams = []string{"passed", "failed", "foreign/alone", "foreign/servers", "foreign/down", "foreign/governed"}

// Feed renders a stream of [Streams].
func Feed(t *testing.T, name string, open func(io.Writer, *eval.Comparison) Sink) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", filepath.FromSlash(name), "tool-runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	read := func(add func(*eval.Pair) error) *eval.Comparison {
		reader, err := stream.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for {
			pair, err := reader.Next()
			if errors.Is(err, io.EOF) {
				return reader.Comparison()
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := add(pair); err != nil {
				t.Fatal(err)
			}
		}
	}
	comparison := read(func(*eval.Pair) error { return nil })
	var out bytes.Buffer
	sink := open(&out, comparison)
	read(sink.Add)
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Golden compares what a format makes of a stream with its golden file.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-golden +got); if this is what it should be, run make golden:\n%s", path, diff)
	}
}

// Hostile are texts that break out of XML, JSON, Markdown, addresses and workflow
// commands, where nobody escapes them.
var Hostile = []string{
	"plain", "", " ", "two\nlines", "a\r\nb", "\n::error::planted", "::error file=a,line=1::planted", "a%0Ab", "a:b,c=d%",
	"##[error]planted", "<b>&amp;</b>", "]]>", "<![CDATA[x]]>", "</failure></testcase>", `"quoted" 'single'`,
	"nul\x00 bell\a escape\x1b[31m", "\ufffe\uffff", "not \xff UTF-8 \xc3\x28", "line\u2028separator", "turned \u202eround",
	"a|b", "`code`", "</details><script>alert(1)</script>", "[link](https://example.com)", "@someone", "# heading",
	"../../etc/passwd", "/abs/path", `C:\dir\file`, "http://example.com/x", "a b?c#d", "日本語", "😀",
	strings.Repeat("long ", 2000),
}

// HostilePair is a case that failed on both surfaces, in which every text is s.
func HostilePair(s string) *eval.Pair {
	quoted, _ := json.Marshal(s)
	object := json.RawMessage(`{` + string(quoted) + `:` + string(quoted) + `}`)
	code := s
	proposals := []dataset.Proposal{{Name: s, Arguments: object}}
	c := &dataset.Case{ID: s, Intent: s, Expected: dataset.Expectation{ErrorCode: &code}, Baseline: proposals, Candidate: proposals}
	run := func() eval.Run {
		return eval.Run{
			Strategy: s, Case: c, SideEffects: 1,
			Steps: []eval.Step{{
				SideEffects: 1, Effects: []tool.Effect{{Resource: s, Change: s}},
				Result: tool.Result{
					Error: &tool.Error{Code: tool.Code(s), Category: tool.Category(s), Message: s, Details: object},
					Trace: tool.Trace{Decisions: []tool.Decision{{Control: "lookup", Verdict: tool.Refuse, Code: tool.Code(s)}}},
				},
			}},
			Grades: []eval.Grade{
				{Name: "ok", Passed: true, Expected: json.RawMessage("false"), Actual: json.RawMessage("false")},
				{Name: "error_code", Expected: json.RawMessage(quoted), Actual: json.RawMessage(quoted)},
			},
		}
	}
	baseline := run()
	return &eval.Pair{Case: c, Baseline: &baseline, Candidate: run(), File: s, Line: 7}
}

// Lost is the same pair, of which no run came to its end.
func Lost(s string) *eval.Pair {
	pair := HostilePair(s)
	for _, run := range pair.Runs() {
		run.Unavailable, run.Steps, run.Grades = &tool.Unavailable{Surface: s, Reason: s}, nil, nil
	}
	return pair
}

// Todo is the same pair, of a case that is still to do.
func Todo(s string) *eval.Pair {
	pair := HostilePair(s)
	pair.Case.Todo = s + "?"
	for _, run := range pair.Runs() {
		run.Steps, run.Grades = nil, nil
	}
	return pair
}

// Compared is the comparison of pairs on surfaces whose names are s.
func Compared(t testing.TB, s string, pairs ...*eval.Pair) *eval.Comparison {
	t.Helper()
	c := &eval.Comparison{
		Dataset:   eval.Dataset{Name: s},
		Baseline:  &eval.Summary{Strategy: s, Foreign: true, ModelSchemaBytes: 1},
		Candidate: eval.Summary{Strategy: s, Foreign: true, ModelSchemaBytes: 2},
	}
	for _, pair := range pairs {
		c.Count(pair)
	}
	if err := c.Finish(strings.Repeat("0a", 32)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Render renders pairs.
func Render(t testing.TB, sink Sink, pairs ...*eval.Pair) {
	t.Helper()
	for _, pair := range pairs {
		if err := sink.Add(pair); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
}
