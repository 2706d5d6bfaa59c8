package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// Percentiles are those of the sorted values while there are few different ones, and
// never more than the resolution above them.
func TestPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int64{0, 9, 3000, 1 << 40, maxValue}).Draw(t, "limit")
		values := rapid.SliceOfN(rapid.Int64Range(0, limit), 1, 300).Draw(t, "values")
		if rapid.Bool().Draw(t, "spread") {
			for i := range int64(2 * MaxValues) {
				values = append(values, i*7%limitOf(limit))
			}
		}
		var h, other Histogram
		for _, v := range values {
			h.Add(v)
		}
		for _, v := range slices.Backward(values) {
			other.Add(v)
		}
		if !reflect.DeepEqual(h, other) {
			t.Fatal("the order tells")
		}
		slices.Sort(values)
		distinct := len(slices.Compact(slices.Clone(values)))
		if len(h.of) > MaxValues || (h.Resolution() == 1) != (distinct <= MaxValues) {
			t.Fatalf("%d values are held of %d, by %d", len(h.of), distinct, h.Resolution())
		}
		if h.N() != len(values) || h.Max() != values[len(values)-1] {
			t.Fatalf("%d values up to %d", h.N(), h.Max())
		}
		for _, p := range []int{1, 50, 90, 99, 100} {
			want := values[max((len(values)*p+99)/100, 1)-1]
			if got := h.Percentile(p); got < want || got-want >= h.Resolution() {
				t.Fatalf("p%d is %d, want %d", p, got, want)
			}
		}
	})
}

func limitOf(limit int64) int64 { return max(limit, 1) }

func TestEmptyAndNegative(t *testing.T) {
	var h Histogram
	if h.N() != 0 || h.Percentile(99) != 0 || h.Max() != 0 || h.Resolution() != 1 {
		t.Errorf("%+v", h)
	}
	if h.Add(-5); h.Percentile(50) != 0 || h.N() != 1 {
		t.Errorf("%+v", h)
	}
	if h.Add(math.MaxInt64); h.Percentile(99) != maxValue || h.Max() != maxValue {
		t.Errorf("%+v", h)
	}
}

func TestCounts(t *testing.T) {
	var c Counts
	for i := range MaxNames + 10 {
		c.add(fmt.Sprint(i))
	}
	c.add("7")
	c.add(strings.Repeat("x", 10*maxName))
	list := c.List()
	if len(list) != MaxNames+1 || list[0] != (Count{Others, 11}) || list[1] != (Count{"7", 2}) || list[2] != (Count{"0", 1}) || c.Total() != MaxNames+12 {
		t.Errorf("%d names, %v, %d in all", len(list), list[:3], c.Total())
	}
}

func TestProperties(t *testing.T) {
	for _, test := range []struct {
		details string
		want    []string
	}{
		{`{"violations":[{"pointer":"","keyword":"required","message":"property \"note\" is required"},{"pointer":"/a/0","keyword":"type","message":"must be a string"}]}`,
			[]string{"/a/0 type", "/note required"}},
		{`{"violations":[{"pointer":"/a","keyword":"additionalProperties","message":"property \"x/y~\" is unknown"}]}`, []string{"/a/x~1y~0 additionalProperties"}},
		{`{"violations":[{"pointer":"/a","keyword":"type","message":"property \"x\""},{"pointer":"/a","keyword":"type","message":"again"}]}`, []string{"/a type"}},
		{`{"violations":[{"pointer":"/a","keyword":"required","message":"property \"x"}]}`, []string{"/a required"}},
		{`{"violations":"none"}`, nil}, {`[]`, nil}, {``, nil}, {`{}`, nil},
	} {
		if diff := cmp.Diff(test.want, properties(json.RawMessage(test.details))); diff != "" {
			t.Errorf("%s: %s", test.details, diff)
		}
	}
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte(`{"violations":[{"pointer":"","keyword":"required","message":"property \"note\" is required"}]}`))
	f.Fuzz(func(t *testing.T, details []byte) {
		if all := properties(details); len(all) > MaxNames || !slices.IsSorted(all) {
			t.Errorf("%q", all)
		}
	})
}

// pair is a case with one run of these steps, each of a proposal.
func pair(proposals []dataset.Proposal, staged bool, steps ...eval.Step) *eval.Pair {
	c := &dataset.Case{ID: "c", Candidate: proposals}
	if staged {
		c.Stage = new(dataset.Stage)
	}
	return &eval.Pair{Case: c, Candidate: eval.Run{Strategy: "s", Case: c, Steps: steps}}
}

func failed(code tool.Code, control string) tool.Result {
	result := tool.Result{Error: &tool.Error{Code: code}}
	if control != "" {
		result.Trace.Decisions = []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: control, Verdict: tool.Refuse}}
	}
	return result
}

func TestAdd(t *testing.T) {
	other, raw := &dataset.Setting{Caller: &tool.Caller{ID: "other"}}, "not a call"
	proposals := []dataset.Proposal{{Name: "a"}, {Name: "a", Setting: other}, {Setting: &dataset.Setting{Raw: &raw}}, {Name: "b"}, {Name: "b"}}
	ok := tool.Result{Output: json.RawMessage(`{"x":1}`), Replayed: true, Took: 3 * time.Millisecond}
	wired := tool.Result{Output: json.RawMessage(`{}`), Reply: &tool.Reply{Bytes: 70}}
	steps := []eval.Step{
		{Result: ok, Attempts: []eval.Attempt{{Result: failed(tool.RateLimited, "rate")}, {Result: ok}}},
		{Result: failed(tool.ToolTimeout, "")},
		{Result: failed(tool.MalformedProposal, ""), Malformed: true},
		{Result: failed(tool.BudgetExhausted, "budget")},
		{Result: wired, Effects: []tool.Effect{}},
	}
	s := New(Dimensions())
	s.Begin(&eval.Comparison{Candidate: eval.Summary{Strategy: "s", Tools: []eval.ToolSize{{Name: "a", Version: "3"}, {Name: "b"}}}})
	s.Add(pair(proposals, true, steps...))
	lost, todo := pair(proposals, false, steps[1]), pair(proposals, false)
	lost.Candidate.Unavailable, todo.Case.Todo = new(tool.Unavailable), "think"
	s.Add(lost)
	s.Add(todo)
	var got []string
	for _, g := range s.Groups() {
		got = append(got, fmt.Sprintln(g.Key, g.Calls, g.Succeeded, g.Replayed, g.Unread, g.Timeouts, g.BudgetStops, g.Refusals.List(), g.OutputBytes.Max(), g.LatencyMS.N(), g.LatencyMS.Max()))
	}
	want := []string{
		"{s (unreadable)  case-actor} 0 0 0 1 0 0 [] 0 0 0\n",
		"{s a 3 case-actor} 3 1 1 0 1 0 [{rate 1}] 7 1 3\n",
		"{s a 3 other} 1 0 0 0 1 0 [] 0 1 0\n",
		"{s b  case-actor} 2 1 0 0 0 1 [{budget 1}] 70 1 0\n", // nobody's clock is looked at of a server
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.Streams != 1 || s.Runs != 1 || s.CouldNotRun != 1 || s.Todo != 1 {
		t.Errorf("%+v", s)
	}
}

// What calls are not told apart by makes one group, and over the bound all do.
func TestGroups(t *testing.T) {
	s := New([]Dimension{Tool})
	s.Begin(&eval.Comparison{})
	for i := range MaxGroups + 5 {
		s.Add(pair([]dataset.Proposal{{Name: fmt.Sprint("t", i)}}, false, eval.Step{}))
	}
	groups := s.Groups()
	if len(groups) != MaxGroups+1 || groups[0].Key != (Key{Tool: Others}) || groups[0].Calls != 5 || groups[1].Key != (Key{Tool: "t0"}) {
		t.Errorf("%d groups, %+v", len(groups), groups[0])
	}
	if by := New([]Dimension{Caller, Surface, Caller}).By(); !slices.Equal(by, []Dimension{Surface, Caller}) {
		t.Error(by)
	}
}

// The calls of a run are those that were proposed to its surface.
func TestEachSurfaceHasItsProposals(t *testing.T) {
	both := pair([]dataset.Proposal{{Name: "x"}}, false, eval.Step{})
	both.Case.Baseline = []dataset.Proposal{{Name: "wide"}}
	baseline := both.Candidate
	baseline.Strategy, both.Baseline = "t", &baseline
	s := New([]Dimension{Surface, Tool})
	s.Begin(&eval.Comparison{})
	s.Add(both)
	groups := s.Groups()
	if len(groups) != 2 || groups[0].Key != (Key{Surface: "s", Tool: "x"}) || groups[1].Key != (Key{Surface: "t", Tool: "wide"}) {
		t.Errorf("%+v", groups)
	}
}
