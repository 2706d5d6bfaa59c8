package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/stream"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

func sourceOf(name string, text []byte) dataset.Source {
	return dataset.Source{Name: name, Path: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }}
}

// splitting is a replay that is to be split.
type splitting struct {
	name                string
	sources             []dataset.Source
	baseline, candidate tool.Surface
	selects             func(id string) bool
	repeat              int
}

// plan is of all cases where there is no shard.
func (s *splitting) plan(shard *eval.Shard) eval.Plan {
	plan := eval.Plan{Cases: dataset.Open(s.sources...), Baseline: s.baseline, Candidate: s.candidate, Select: s.selects, Shard: shard, Repeat: s.repeat}
	if s.selects != nil {
		plan.Selection = []string{"some"}
	}
	return plan
}

// written replays, and returns the four reports and the text by name.
func (s *splitting) written(t *testing.T, shard *eval.Shard) map[string]string {
	t.Helper()
	dir := t.TempDir()
	set, err := report.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Discard()
	plan := s.plan(shard)
	plan.Started = set.Start
	comparison, err := eval.Replay(t.Context(), plan, set.NewPage, (*report.Page).Add, set.Deliver)
	if err != nil {
		t.Fatal(err)
	}
	return published(t, set, dir, comparison)
}

// made are the four reports and the text that a stream makes.
func made(t *testing.T, text string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	set, err := report.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Discard()
	comparison, err := set.Restore(readerOf(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return published(t, set, dir, comparison)
}

func readerOf(t *testing.T, text string) *stream.Reader {
	t.Helper()
	reader, err := stream.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

func parts(t *testing.T, streams ...string) (list []stream.Part) {
	t.Helper()
	for i, text := range streams {
		list = append(list, stream.Part{Name: fmt.Sprintf("file-%d", i+1), Reader: readerOf(t, text)})
	}
	return list
}

func splittings(t *testing.T) []*splitting {
	t.Helper()
	tools, controls := sourceOf("tools.jsonl", datasets.ToolCases), sourceOf("controls.jsonl", datasets.ControlCases)
	const call = `"actor_permissions":["ticket:read"],"approved":false,"baseline_calls":[{"name":"run_ticket_operation","arguments":{}}],"candidate_calls":[{"name":"get_ticket","arguments":{"ticket_id":"T-102"}}],"expected":{"ok":true,"side_effect_count":0}}` + "\n"
	few := []byte(`{"case_id":"one","intent":"Read.",` + call + "\n" + `{"case_id":"two","intent":"Read.","todo":"What?",` + call + `{"case_id":"three","intent":"Read.",` + call)
	more := []byte(`{"case_id":"four","intent":"Read.",` + call)
	return []*splitting{
		{name: "tools", sources: []dataset.Source{tools}, baseline: ticket.Wide{}, candidate: ticket.Typed{}},
		{name: "tools that fail", sources: []dataset.Source{tools}, baseline: ticket.Typed{}, candidate: ticket.Wide{}, repeat: 2},
		{name: "controls", sources: []dataset.Source{controls}, baseline: ticket.Wide{}, candidate: production(t)},
		{name: "alone", sources: []dataset.Source{controls}, candidate: production(t)},
		{name: "of one name", sources: []dataset.Source{sourceOf("x.jsonl", few), sourceOf("x.jsonl", more), sourceOf("y.jsonl", datasets.ToolCases)}, baseline: ticket.Wide{}, candidate: ticket.Typed{}},
		{name: "few", sources: []dataset.Source{sourceOf("x.jsonl", few)}, baseline: ticket.Wide{}, candidate: ticket.Typed{}},
		{name: "selected", sources: []dataset.Source{tools}, baseline: ticket.Wide{}, candidate: ticket.Typed{}, selects: func(id string) bool { return strings.HasPrefix(id, "r") }},
	}
}

// The streams of all shards, in whatever order, make the reports of one replay of all
// cases, to the byte.
func TestMergedShardsAreTheWhole(t *testing.T) {
	lines, comparisons := compiled(t, stream.Schema), compiled(t, report.ComparisonSchema)
	for _, s := range splittings(t) {
		t.Run(s.name, func(t *testing.T) {
			whole := s.written(t, nil)
			for of := 1; of <= 7; of++ {
				var shards []string
				for index := of; index >= 1; index-- {
					written := s.written(t, &eval.Shard{Index: index, Of: of})
					for line := range strings.Lines(written[report.RunsFile]) {
						if found := violations(t, lines, []byte(line)); found != nil {
							t.Fatalf("%v in %s", found, line)
						}
					}
					if found := violations(t, comparisons, []byte(written[report.ComparisonFile])); found != nil {
						t.Fatalf("%v in %s", found, written[report.ComparisonFile])
					}
					if diff := cmp.Diff(written, made(t, written[report.RunsFile])); diff != "" {
						t.Fatalf("what the stream of a shard makes (-written +made):\n%s", diff)
					}
					said := fmt.Sprintf("hard %d of %d: ", index, of)
					if !strings.Contains(written["text"], said) || !strings.Contains(written[report.MarkdownFile], said) {
						t.Fatalf("no %q in\n%s\n%s", said, written["text"], written[report.MarkdownFile])
					}
					shards = append(shards, written[report.RunsFile])
				}
				var merged bytes.Buffer
				comparison, err := stream.Merge(&merged, parts(t, shards...))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(whole[report.RunsFile], merged.String()); diff != "" {
					t.Fatalf("%d shards (-whole +merged):\n%s", of, diff)
				}
				if diff := cmp.Diff(whole, made(t, merged.String())); diff != "" {
					t.Fatalf("%d shards (-whole +merged):\n%s", of, diff)
				}
				var again bytes.Buffer
				if err := report.ComparisonJSON(&again, comparison); err != nil || again.String() != whole[report.ComparisonFile] {
					t.Fatalf("what the merging came to: %v\n%s", err, &again)
				}
			}
		})
	}
}

// What is not all shards of one replay is never merged, and the error says why.
func TestMergeRefuses(t *testing.T) {
	all := splittings(t)
	tools, swapped, few, selected := all[0], all[1], all[5], all[6]
	shard := func(s *splitting, index, of int) string {
		return s.written(t, &eval.Shard{Index: index, Of: of})[report.RunsFile]
	}
	one, two := shard(tools, 1, 2), shard(tools, 2, 2)
	names := []string{shard(all[4], 1, 2), shard(all[4], 2, 2)}
	edited := *tools
	edited.sources = []dataset.Source{sourceOf("tools.jsonl", append(slices.Clone(datasets.ToolCases), '\n'))}
	repeated := *tools
	repeated.repeat = 3
	alone := *tools
	alone.baseline = nil
	other := *tools
	other.candidate = ticket.Wide{}
	cut := func(text string, lines int) string {
		kept := strings.SplitAfter(text, "\n")
		return strings.Join(kept[:len(kept)-1-lines], "")
	}
	swappedLines := func(text string) string {
		l := strings.SplitAfter(text, "\n")
		l[1], l[2], l[3], l[4] = l[3], l[4], l[1], l[2]
		return strings.Join(l, "")
	}
	tests := []struct {
		name    string
		streams []string
		want    string
	}{
		{"none", nil, "there is none"},
		{"one that is missing", []string{one}, "shard 2 of 2 is missing"},
		{"two that are missing", []string{shard(tools, 2, 3)}, "shard 1 of 3 is missing, shard 3 of 3 is missing"},
		{"one twice", []string{one, two, one}, "shard 1 of 2 comes twice, as file-1 and as file-3"},
		{"no shard", []string{one, tools.written(t, nil)[report.RunsFile]}, "file-2 is no shard, but of all cases"},
		{"another number", []string{one, shard(tools, 2, 3)}, "file-1 and file-2 have not the same number of shards"},
		{"another dataset", []string{one, shard(few, 2, 2)}, "file-1 and file-2 have not the same dataset"},
		{"other files of one name", []string{names[0], strings.Replace(names[1], `"files":["x.jsonl","x.jsonl","y.jsonl"]`, `"files":["x.jsonl + x.jsonl","y.jsonl"]`, 1)}, "file-1 and file-2 have not the same dataset"},
		{"other bytes of it", []string{one, shard(&edited, 2, 2)}, "the dataset of file-1 has SHA-256 "},
		{"another selection", []string{one, shard(selected, 2, 2)}, "have not the same selection of cases"},
		{"other repetitions", []string{one, shard(&repeated, 2, 2)}, "have not the same number of repetitions"},
		{"no baseline", []string{one, shard(&alone, 2, 2)}, "have not the same baseline"},
		{"another candidate", []string{one, shard(&other, 2, 2)}, "have not the same candidate"},
		{"surfaces the other way round", []string{shard(&splitting{sources: tools.sources, baseline: swapped.baseline, candidate: swapped.candidate}, 1, 2), two}, "have not the same baseline"},
		{"another catalog", []string{one, strings.Replace(two, `"bytes":`, `"bytes":1`, 1)}, "have not the same baseline"},
		{"another lab", []string{one, strings.Replace(two, `"version":"`, `"version":"9`, 1)}, "lab 9" + eval.Version + " wrote file-2, and this is " + eval.Version},
		{"no last line", []string{one, cut(two, 1)}, "file-2: " + stream.ErrCut.Error()},
		{"half a case", []string{cut(one, 2), two}, "file-1: "},
		{"another order", []string{swappedLines(one), two}, "stands before the case that comes first"},
		{"the case of another shard", []string{strings.Replace(two, `"shard":{"index":2`, `"shard":{"index":1`, 1), two}, "does not fall to shard 1 of 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := stream.Merge(io.Discard, parts(t, test.streams...))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error is %v, want %q", err, test.want)
			}
			var unreadable *stream.Unreadable
			if errors.Is(err, stream.ErrMismatch) == errors.As(err, &unreadable) {
				t.Errorf("%v is neither a mismatch nor unreadable, or both", err)
			}
		})
	}
	full := errors.New("no room")
	if _, err := stream.Merge(failing{full}, parts(t, one, two)); !errors.Is(err, full) || errors.Is(err, stream.ErrMismatch) {
		t.Errorf("error is %v, want %v", err, full)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A first line that tells of no shard, and a run of no file, are refused.
func TestStreamsOfNoShard(t *testing.T) {
	several := splittings(t)[4]
	text := several.written(t, &eval.Shard{Index: 1, Of: 2})[report.RunsFile]
	for _, change := range []struct{ old, new string }{
		{`"shard":{"index":1,"of":2}`, `"shard":{"index":3,"of":2}`},
		{`"shard":{"index":1,"of":2}`, `"shard":{"index":1,"of":257}`},
		{`"shard":{"index":1,"of":2}`, `"shard":{"index":1,"of":2},"repeat":-1`},
		{`"source":2`, `"source":3`},
		{`"source":2`, `"source":-2`},
	} {
		reader, err := stream.NewReader(strings.NewReader(strings.Replace(text, change.old, change.new, 1)))
		if err == nil {
			err = report.Feed(reader)
		}
		var invalid *stream.Invalid
		if !errors.As(err, &invalid) || strings.Contains(invalid.Reason, "unknown") {
			t.Errorf("%s: error is %v", change.new, err)
		}
	}
}

// A selection that no case satisfies is an error in every shard, and one that falls
// to another shard is none.
func TestShardsWithoutACase(t *testing.T) {
	few := *splittings(t)[5]
	replay := func(selects func(string) bool, shard eval.Shard) (*eval.Comparison, error) {
		few.selects = selects
		return eval.Replay(t.Context(), few.plan(&shard), func() struct{} { return struct{}{} }, func(struct{}, *eval.Pair) {}, func(struct{}) error { return nil })
	}
	cases, todo := 0, 0
	for index := 1; index <= 7; index++ {
		shard := eval.Shard{Index: index, Of: 7}
		if _, err := replay(func(string) bool { return false }, shard); !errors.Is(err, eval.ErrNoCase) {
			t.Errorf("%v of nothing: %v", shard, err)
		}
		if _, err := replay(func(id string) bool { return id == "two" }, shard); !errors.Is(err, eval.ErrOnlyTodo) {
			t.Errorf("%v of what is to do: %v", shard, err)
		}
		c, err := replay(nil, shard)
		if err != nil {
			t.Fatal(err)
		}
		cases, todo = cases+c.Dataset.Cases, todo+c.Dataset.Todo
		if c.Dataset.Cases == 0 && !c.GatePassed() {
			t.Errorf("the gate of no case failed: %v", c.Checks)
		}
	}
	if cases != 2 || todo != 1 {
		t.Errorf("%d cases and %d to do in all shards, want 2 and 1", cases, todo)
	}
}
