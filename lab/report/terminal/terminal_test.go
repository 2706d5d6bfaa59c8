package terminal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report/terminal"
	"agentlab/lab/stream"
	"agentlab/lab/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// explained explains every run of a stream that lab/report has for its golden files,
// each after the line that it is on.
func explained(t *testing.T, name string, style terminal.Style) string {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "testdata", filepath.FromSlash(name), "tool-runs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := stream.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for {
		pair, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range pair.Runs() {
			out.WriteString("==== " + terminal.Line(run, style) + "\n")
			if err := terminal.Explain(&out, pair, run, style); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestGoldenExplanations(t *testing.T) {
	for _, test := range []struct {
		file, stream string
		style        terminal.Style
	}{
		{"failed", "failed", terminal.Style{}},
		{"narrow", "failed", terminal.Style{Width: 40}},
		{"coloured", "failed", terminal.Style{Width: 100, Colour: true}},
		{"servers", "foreign/servers", terminal.Style{Width: 80}},
		{"down", "foreign/down", terminal.Style{Width: 80}},
		{"governed", "foreign/governed", terminal.Style{Width: 80}},
	} {
		t.Run(test.file, func(t *testing.T) {
			got := explained(t, test.stream, test.style)
			path := filepath.Join("testdata", test.file+".txt")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-golden +got); if this is what it should be, run make golden:\n%s", path, diff)
			}
		})
	}
}

// Colour adds to the text and takes nothing away.
func TestColourIsNotTheMessage(t *testing.T) {
	escape := regexp.MustCompile("\x1b\\[[0-9;]*m")
	coloured := explained(t, "failed", terminal.Style{Width: 60, Colour: true})
	if !escape.MatchString(coloured) {
		t.Fatal("nothing is coloured")
	}
	if diff := cmp.Diff(explained(t, "failed", terminal.Style{Width: 60}), escape.ReplaceAllString(coloured, "")); diff != "" {
		t.Errorf("without its colours the text is another (-plain +stripped):\n%s", diff)
	}
}

// everywhere is a run of which every text is s, and its pair.
func everywhere(s string) (*eval.Pair, *eval.Run) {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	object := json.RawMessage(`{"k":` + string(text) + `,` + string(text) + `:[` + string(text) + `]}`)
	c := &dataset.Case{
		ID: s, Intent: s, Tags: []string{s, s}, Clause: s,
		Candidate: []dataset.Proposal{{Name: s, Arguments: object}, {Name: s, Setting: &dataset.Setting{Raw: &s, Caller: &tool.Caller{ID: s}}}},
	}
	run := eval.Run{
		Strategy: s, Case: c, SideEffects: 1,
		Steps: []eval.Step{
			{SideEffects: 1, Result: tool.Result{Output: object, ReplacedBy: s, Trace: tool.Trace{HandlerRan: true, Fault: s}}},
			{
				Effects: []tool.Effect{{Resource: s, Change: s}},
				Result: tool.Result{
					Error: &tool.Error{Code: tool.Code(s), Category: tool.Category(s), Message: s, Details: object, NextAction: s, Outcome: tool.Outcome(s)},
					Trace: tool.Trace{Decisions: []tool.Decision{{Control: s, Verdict: tool.Pass}, {Control: s, Verdict: tool.Refuse, Code: tool.Code(s)}, {Control: s, Verdict: tool.Verdict(s)}}},
				},
				Attempts: []eval.Attempt{{Result: tool.Result{Error: &tool.Error{Code: tool.Code(s)}}, Next: tool.NextStep{Action: tool.Action(s), Reason: s}}},
			},
		},
		Grades:  []eval.Grade{{Name: s, Expected: object, Actual: text}, {Name: s, Passed: true, Expected: text, Actual: text}},
		Unshown: []eval.Unshown{{Error: &tool.Error{Code: tool.Code(s), Message: s}}},
	}
	pair := &eval.Pair{Case: c, Candidate: run, File: s, Line: 1}
	return pair, &pair.Candidate
}

// Whatever a text is, nothing reaches the terminal that it would obey, and no line is
// wider than it.
func TestHostileTexts(t *testing.T) {
	texts := rapid.OneOf(
		rapid.String(),
		rapid.StringOfN(rapid.RuneFrom([]rune("日本語👩‍👩‍👧é\u0301 \t\n\r\x1b\u202e\u2028\u0085]0;m[31")), 0, 120, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 60), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := texts.Draw(t, "text")
		width := rapid.IntRange(24, 120).Draw(t, "width")
		pair, run := everywhere(s)
		var out bytes.Buffer
		if err := terminal.Explain(&out, pair, run, terminal.Style{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if got := displaywidth.String(line); got > width {
				t.Fatalf("%d columns of %d: %q", got, width, line)
			}
			obeyed(t, line)
		}
		obeyed(t, terminal.Line(run, terminal.Style{}))
	})
}

func obeyed(t *rapid.T, line string) {
	for _, r := range line {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Fatalf("a terminal would obey %U in %q", r, line)
		}
	}
}

func TestStates(t *testing.T) {
	for _, test := range []struct {
		name string
		of   func(*eval.Run)
		want []string
		not  []string
	}{
		{"could not run", func(r *eval.Run) {
			r.Unavailable = &tool.Unavailable{Reason: "the server did not start"}
			r.Grades = nil
		},
			[]string{"x on x: could not run\n", "could not run: the server did not start", "neither a pass nor a failure"}, []string{"FAIL"}},
		{"to do", func(r *eval.Run) { r.Case.Todo = "say what is right"; r.Steps, r.Grades = nil, nil },
			[]string{"x on x: to do\n", "to do: say what is right"}, []string{"FAIL", "was not called"}},
		{"cut short", func(r *eval.Run) { r.Unavailable = &tool.Unavailable{Reason: "lost"}; r.Steps = r.Steps[:1] },
			[]string{"2. a model's output\n   x\n   by another caller: x\n   was not called"}, nil},
		{"blind", func(r *eval.Run) { r.Blind = true }, []string{"nobody looked for effects"}, []string{"1 effect"}},
		{"replayed", func(r *eval.Run) { r.Steps[0].Replayed = true }, []string{"answered from the receipt of an earlier call"}, nil},
		{"malformed", func(r *eval.Run) { r.Steps[0].Malformed = true }, []string{"no call was made: the output is no proposal"}, nil},
		{"same values", func(r *eval.Run) {
			r.Grades = []eval.Grade{{Name: "part", Expected: []byte("[1]"), Actual: []byte("[1]")}}
		},
			[]string{"✗ part", "  1"}, []string{"-1", "+1"}},
		{"numbers stay as they are", func(r *eval.Run) {
			r.Grades = []eval.Grade{{Name: "part", Expected: []byte("12345678901234567890"), Actual: []byte("12345678901234567891")}}
		}, []string{"-12345678901234567890\n  +12345678901234567891"}, nil},
		{"order of members", func(r *eval.Run) {
			r.Grades = []eval.Grade{{Name: "part", Expected: []byte(`{"b":1,"a":1}`), Actual: []byte(`{"a":1,"b":2}`)}}
		}, []string{"     \"a\": 1,\n  -  \"b\": 1\n  +  \"b\": 2"}, []string{"@@"}},
		{"many lines", func(r *eval.Run) {
			r.Steps[0].Output = json.RawMessage("[" + strings.Repeat("1,", 100) + "1]")
		}, []string{"and 43 more lines"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			pair, run := everywhere("x")
			test.of(run)
			var out bytes.Buffer
			if err := terminal.Explain(&out, pair, run, terminal.Style{}); err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, &out)
				}
			}
			for _, not := range test.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("it says %q:\n%s", not, &out)
				}
			}
		})
	}
}
