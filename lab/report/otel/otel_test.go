package otel

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report/reporttest"
	"agentlab/lab/tool"
)

var identifier = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([0-9a-f]*)"`)

// read decodes lines with the official types, which refuse what they do not know. In
// OTLP the ids are hex, where proto3 JSON has base64.
func read(t *testing.T, text []byte) (spans []*tracepb.Span) {
	t.Helper()
	for line := range bytes.Lines(text) {
		if len(line) >= 1<<20 || !bytes.HasSuffix(line, []byte("\n")) {
			t.Errorf("a line of %d bytes: %.80s", len(line), line)
		}
		line = identifier.ReplaceAllFunc(line, func(member []byte) []byte {
			parts := identifier.FindSubmatch(member)
			id, err := hex.DecodeString(string(parts[2]))
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Appendf(nil, `"%s":"%s"`, parts[1], base64.StdEncoding.EncodeToString(id))
		})
		var request tracepb.TracesData // has the form of an ExportTraceServiceRequest
		if err := protojson.Unmarshal(line, &request); err != nil {
			t.Fatalf("%v in %.2000s", err, line)
		}
		if len(request.ResourceSpans) != 1 || len(request.ResourceSpans[0].ScopeSpans) != 1 || request.ResourceSpans[0].ScopeSpans[0].SchemaUrl == "" {
			t.Fatalf("%.200s", line)
		}
		spans = append(spans, request.ResourceSpans[0].ScopeSpans[0].Spans...)
	}
	check(t, spans)
	return spans
}

// check looks at what every trace has to be: one root, parents before their children,
// within whose times they are, and ids that differ.
func check(t *testing.T, spans []*tracepb.Span) {
	t.Helper()
	known := map[string]*tracepb.Span{}
	roots := map[string]bool{}
	for _, s := range spans {
		if len(s.TraceId) != 16 || len(s.SpanId) != 8 || known[string(s.SpanId)] != nil {
			t.Errorf("ids %x %x", s.TraceId, s.SpanId)
		}
		known[string(s.SpanId)] = s
		if s.EndTimeUnixNano < s.StartTimeUnixNano || s.StartTimeUnixNano < uint64(Epoch.UnixNano()) || s.Kind != tracepb.Span_SPAN_KIND_INTERNAL {
			t.Errorf("%v", s)
		}
		if len(s.ParentSpanId) == 0 {
			if roots[string(s.TraceId)] || s.Name != "lab.run" {
				t.Errorf("%s is another root", s.Name)
			}
			roots[string(s.TraceId)] = true
			continue
		}
		parent := known[string(s.ParentSpanId)]
		if parent == nil || !bytes.Equal(parent.TraceId, s.TraceId) || s.StartTimeUnixNano < parent.StartTimeUnixNano || s.EndTimeUnixNano > parent.EndTimeUnixNano {
			t.Errorf("%v\nbelow %v", s, parent)
		}
		if (attribute(s, "error.type") != "") != (s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR) {
			t.Errorf("error.type and the status: %v", s)
		}
	}
}

func attribute(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			text, _ := protojson.Marshal(a.Value)
			var value map[string]any
			_ = json.Unmarshal(text, &value)
			for _, v := range value {
				return fmt.Sprint(v)
			}
		}
	}
	return ""
}

func TestGolden(t *testing.T) {
	for _, name := range reporttest.Streams {
		for suffix, o := range map[string]Options{"": {}, ".arguments": {Arguments: true, Secret: secret}} {
			if suffix != "" && name != "foreign/governed" {
				continue
			}
			document := reporttest.Feed(t, name, func(w io.Writer, c *eval.Comparison) reporttest.Sink { return New(w, c, o) })
			read(t, document)
			reporttest.Golden(t, name+suffix+".otlp.jsonl", document)
		}
	}
}

func secret(name string) bool { return strings.Contains(name, "token") }

func render(t *testing.T, o Options, pairs ...*eval.Pair) []byte {
	t.Helper()
	var out bytes.Buffer
	reporttest.Render(t, New(&out, reporttest.Compared(t, "s", pairs...), o), pairs...)
	return out.Bytes()
}

func TestHostileTexts(t *testing.T) {
	for _, s := range reporttest.Hostile {
		for _, arguments := range []bool{false, true} {
			pair, lost := reporttest.HostilePair(s), reporttest.Lost(s+"!")
			text := render(t, Options{Arguments: arguments}, pair, lost, reporttest.Todo(s+"?"))
			spans := read(t, text)
			if len(spans) != 2*3+2 {
				t.Fatalf("%q: %d spans", s, len(spans))
			}
			for _, span := range spans {
				if told := span.String(); strings.ContainsFunc(span.Name, unicode.IsControl) || len(told) > 100<<10 {
					t.Errorf("%q: %q", s, span.Name)
				}
			}
			if got := attribute(spans[6], "error.type"); got != "could_not_run" || attribute(spans[6], "lab.run.passed") != "" {
				t.Errorf("%q: %v", s, spans[6])
			}
		}
	}
}

// call is a case of one proposal with these arguments.
func call(arguments string, steps ...eval.Step) *eval.Pair {
	c := &dataset.Case{ID: "c", Tags: []string{"a", "b"}, Clause: "4.2", Candidate: []dataset.Proposal{{Name: "x", Arguments: json.RawMessage(arguments)}}}
	return &eval.Pair{Case: c, Candidate: eval.Run{Strategy: "s", Case: c, Passed: true, Steps: steps}, File: "f", Line: 3}
}

func TestArgumentsAreToldWhenAskedFor(t *testing.T) {
	step := eval.Step{Result: tool.Result{Output: json.RawMessage(`{"planted":"answer"}`), Trace: tool.Trace{Fingerprint: "sha256:planted"}}}
	failed := eval.Step{Result: tool.Result{Error: &tool.Error{Code: "c", Message: "planted", Details: json.RawMessage(`{"a":"planted"}`)}}}
	for _, test := range []struct{ given, want string }{
		{`{"b":1,"a":"planted"}`, `{"a":"planted","b":1}`},
		{`{"token":"planted","deep":[{"my_token":{"x":"planted"},"y":null,"token":null}]}`, `{"deep":[{"my_token":"[redacted]","token":null,"y":null}],"token":"[redacted]"}`},
		{`{"token":"planted"`, `[unreadable]`},
		{`"` + strings.Repeat("x", maxArguments) + `"`, `"` + strings.Repeat("x", maxArguments-1) + "…"},
	} {
		for _, s := range []eval.Step{step, failed} {
			pair := call(test.given, s)
			if text := render(t, Options{}, pair); bytes.Contains(text, []byte("planted")) || bytes.Contains(text, []byte("gen_ai.tool.call.arguments")) {
				t.Errorf("%s", text)
			}
			spans := read(t, render(t, Options{Arguments: true, Secret: secret}, pair))
			if got := attribute(spans[1], "gen_ai.tool.call.arguments"); got != test.want {
				t.Errorf("%.100s, want %.100s", got, test.want)
			}
		}
	}
}

func TestAttempts(t *testing.T) {
	first := eval.Attempt{Next: tool.NextStep{Action: "retry", Wait: 2 * time.Second}}
	first.Error = &tool.Error{Code: "rate_limited", Category: tool.Dependency, Retryable: true, Outcome: tool.NotApplied}
	first.Trace.Decisions = []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: "rate", Verdict: tool.Refuse, Code: "rate_limited"}}
	last := eval.Attempt{Result: tool.Result{Output: json.RawMessage(`{}`), Took: 30 * time.Millisecond}}
	step := eval.Step{Result: last.Result, SideEffects: 1, Attempts: []eval.Attempt{first, last}}
	step.Trace.HandlerRan = true
	step.Attempts[1].Result = step.Result
	malformed := eval.Step{Malformed: true}
	malformed.Error = &tool.Error{Code: tool.MalformedProposal}
	var got []string
	for _, s := range read(t, render(t, Options{}, call(`{}`, step, malformed))) {
		got = append(got, fmt.Sprint(s.Name, " +", (s.StartTimeUnixNano-uint64(Epoch.UnixNano()))/1e6, " ", (s.EndTimeUnixNano-s.StartTimeUnixNano)/1e6,
			" ", attribute(s, "lab.step"), attribute(s, "lab.attempt"), " ", attribute(s, "error.type"), attribute(s, "lab.control.decision"), attribute(s, "lab.refused_by")))
	}
	want := []string{"lab.run +0 2030  ", "execute_tool x +0 0 11 rate_limitedrate", "lab.control lookup +0 0  pass", "lab.control rate +0 0  refuse",
		"execute_tool x +2000 30 12 ", "lab.proposal +2030 0 2 malformed_proposal"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A run with more calls than a line has room for goes on in the next.
func TestLongRunsAreSeveralLines(t *testing.T) {
	steps := make([]eval.Step, 5000)
	for i := range steps {
		steps[i].Output = json.RawMessage(`{}`)
	}
	text := render(t, Options{}, call(`{}`, steps...))
	if spans := read(t, text); len(spans) != 5001 || bytes.Count(text, []byte("\n")) < 5 {
		t.Errorf("%d spans on %d lines", len(spans), bytes.Count(text, []byte("\n")))
	}
}

func TestIDsAreOfThePlace(t *testing.T) {
	id := func(change func(*eval.Pair)) string {
		pair := call(`{}`, eval.Step{})
		change(pair)
		return fmt.Sprintf("%x", read(t, render(t, Options{}, pair))[0].TraceId)
	}
	same := id(func(*eval.Pair) {})
	if id(func(p *eval.Pair) { p.Candidate.Passed, p.Line = false, 9 }) != same {
		t.Error("the id is of what came of the run")
	}
	if id(func(p *eval.Pair) { p.Case.ID = "d" }) == same || id(func(p *eval.Pair) { p.Candidate.Strategy = "t" }) == same {
		t.Error("two runs have one id")
	}
}

func TestWhatIsToldOfACall(t *testing.T) {
	pair := call(`{}`, eval.Step{Result: tool.Result{Error: &tool.Error{}, Trace: tool.Trace{Fingerprint: "sha256:0a"}}})
	pair.Case.Candidate[0].Setting = &dataset.Setting{Caller: &tool.Caller{ID: "other"}}
	pair.Case.Tags = slices.Repeat([]string{strings.Repeat("x", 10*maxText)}, 500)
	spans := read(t, render(t, Options{Arguments: true}, pair))
	for key, want := range map[string]string{"lab.arguments.digest": "sha256:0a", "error.type": "_OTHER", "lab.caller": "other", "gen_ai.tool.name": "x", "lab.step": "1"} {
		if got := attribute(spans[1], key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if size := len(spans[0].String()); size < maxTexts*maxText || size > 2*maxTexts*maxText {
		t.Errorf("the root has %d bytes", size)
	}
}

// The calls of a run are those that were proposed to its surface.
func TestEachSurfaceHasItsProposals(t *testing.T) {
	pair := call(`{}`, eval.Step{})
	pair.Case.Baseline = []dataset.Proposal{{Name: "wide"}}
	baseline := pair.Candidate
	baseline.Strategy, pair.Baseline = "t", &baseline
	spans := read(t, render(t, Options{}, pair))
	if len(spans) != 4 || spans[1].Name != "execute_tool wide" || spans[3].Name != "execute_tool x" {
		t.Errorf("%v", spans)
	}
}
