package shrink_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/dataset"
	"agentlab/lab/shrink"
)

const head = `{"case_id":"c","intent":"i",`

var replayed = dataset.Settings{Baseline: "b", Candidate: "c"}

// fails says of a case whether it fails.
type fails func(c *dataset.Case) bool

func (f fails) ask(_ context.Context, c *dataset.Case) (bool, error) { return f(c), nil }

func always(*dataset.Case) bool { return true }

// holds fails while some proposal of the candidate has all texts in its arguments.
func holds(texts ...string) fails {
	return func(c *dataset.Case) bool {
		for _, p := range c.Candidate {
			all := true
			for _, text := range texts {
				all = all && strings.Contains(string(p.Arguments), text)
			}
			if all {
				return true
			}
		}
		return false
	}
}

func TestCase(t *testing.T) {
	tests := []struct {
		name, line string
		fails      fails
		want       string
	}{
		{"nothing can go", head + `"proposals":[{"name":"n","arguments":{}}],"expected":{"ok":true,"side_effect_count":0}}`, always,
			head + `"proposals":[{"name":"n","arguments":{}}],"expected":{"ok":true,"side_effect_count":0}}`},
		{"what surrounds it", head + `"caller":{"id":"a","permissions":["p","q"],"task":"t"},"approved":true,"parallel":true,"recovery":"auto","budget":{"proposals":3},"tags":["t"],"clause":"x y","proposals":[{"name":"n","arguments":{}}],"expected":{"ok":true,"side_effect_count":0,"error_code":"e","output_keys":["a","b"]}}`, always,
			head + `"proposals":[{"name":"n","arguments":{}}],"expected":{"ok":true,"side_effect_count":0}}`},
		{"white space and the order of members", " " + head + ` "expected" : {"side_effect_count":0,"ok":true}, "proposals":[{"arguments":{},"name":"n"}]}`, always,
			head + `"expected":{"side_effect_count":0,"ok":true},"proposals":[{"arguments":{},"name":"n"}]}`},
		{"proposals before and after", head + `"proposals":[{"name":"n","arguments":{"a":1}},{"name":"n","arguments":{"b":22}},{"name":"n","arguments":{"c":3}}],"expected":{"ok":true,"side_effect_count":0}}`, holds(`"b"`),
			head + `"proposals":[{"name":"n","arguments":{"b":0}}],"expected":{"ok":true,"side_effect_count":0}}`},
		{"a text", head + `"proposals":[{"name":"n","arguments":{"a":"before the needle and after","deep":[1,{"x":null}]}}],"expected":{"ok":true,"side_effect_count":0}}`, holds("needle"),
			head + `"proposals":[{"name":"n","arguments":{"a":"needle"}}],"expected":{"ok":true,"side_effect_count":0}}`},
		{"items of an array", head + `"proposals":[{"name":"n","arguments":{"a":["x","y","needle","z"]}}],"expected":{"ok":true,"side_effect_count":0}}`, holds("needle"),
			head + `"proposals":[{"name":"n","arguments":{"a":["needle"]}}],"expected":{"ok":true,"side_effect_count":0}}`},
		{"a number", head + `"proposals":[{"name":"n","arguments":{"a":1234.5}}],"expected":{"ok":true,"side_effect_count":0}}`, holds(`"a"`),
			head + `"proposals":[{"name":"n","arguments":{"a":0}}],"expected":{"ok":true,"side_effect_count":0}}`},
		{"a text with escapes", head + `"proposals":[{"name":"n","arguments":{"a":"\u00e9\u0000"}}],"expected":{"ok":true,"side_effect_count":0}}`, holds(`"a"`),
			head + `"proposals":[{"name":"n","arguments":{"a":""}}],"expected":{"ok":true,"side_effect_count":0}}`},
		{"the output of a model", head + `"proposals":[{"raw":"a needle in hay","format":"fenced"}],"expected":{"ok":true,"side_effect_count":0}}`,
			func(c *dataset.Case) bool {
				return c.Candidate[0].Raw != nil && strings.Contains(*c.Candidate[0].Raw, "needle")
			},
			head + `"proposals":[{"raw":"needle"}],"expected":{"ok":true,"side_effect_count":0}}`},
		{"steps go with their proposals, and approvals point where they did",
			head + `"approvals":[{"proposal":0,"approver":{"id":"x","permissions":[]},"expires_at_ms":1},{"proposal":2,"approver":{"id":"y","permissions":[]},"expires_at_ms":1}],` +
				`"proposals":[{"name":"n","arguments":{"a":1}},{"name":"n","arguments":{"b":1}},{"name":"n","arguments":{"needle":1}}],` +
				`"expected":{"ok":true,"side_effect_count":0,"steps":[{"ok":true},{"ok":false},{"error_code":"e"}]}}`,
			func(c *dataset.Case) bool {
				last := len(c.Candidate) - 1
				return c.Stage != nil && len(c.Stage.Approvals) > 0 && c.Stage.Approvals[len(c.Stage.Approvals)-1].Proposal == last && c.Stage.Approvals[len(c.Stage.Approvals)-1].Approver.ID == "y" &&
					strings.Contains(string(c.Candidate[last].Arguments), "needle") && len(c.Expected.Steps) > last && c.Expected.Steps[last] != nil && c.Expected.Steps[last].ErrorCode != nil
			},
			head + `"approvals":[{"proposal":0,"approver":{"id":"y","permissions":[]},"expires_at_ms":1}],` +
				`"proposals":[{"name":"n","arguments":{"needle":0}}],"expected":{"ok":true,"side_effect_count":0,"steps":[{"error_code":"e"}]}}`},
		{"the place of a step stays", head + `"proposals":[{"name":"n","arguments":{}},{"name":"m","arguments":{}}],"expected":{"ok":true,"side_effect_count":0,"steps":[{"ok":true},{"ok":true}]}}`,
			func(c *dataset.Case) bool {
				return len(c.Candidate) == 2 && len(c.Expected.Steps) == 2 && c.Expected.Steps[1] != nil
			},
			head + `"proposals":[{"name":"n","arguments":{}},{"name":"m","arguments":{}}],"expected":{"ok":true,"side_effect_count":0,"steps":[{},{}]}}`},
		{"parts of an output are dropped, and not changed", head + `"proposals":[{"name":"n","arguments":{}}],"expected":{"ok":true,"side_effect_count":0,"steps":[{"output":{"a":"long text","b":[1,2],"c":{"d":7,"e":8}}}]}}`,
			func(c *dataset.Case) bool {
				return c.Expected.Steps != nil && c.Expected.Steps[0] != nil && strings.Contains(string(c.Expected.Steps[0].Output), `"b"`) && strings.Contains(string(c.Expected.Steps[0].Output), `"d"`)
			},
			head + `"proposals":[{"name":"n","arguments":{}}],"expected":{"ok":true,"side_effect_count":0,"steps":[{"output":{"b":[1,2],"c":{"d":7}}}]}}`},
		{"what is expected stays", head + `"proposals":[{"name":"n","arguments":{}}],"expected":{"ok":true,"side_effect_count":17,"output_keys":["a","b"]}}`,
			func(c *dataset.Case) bool { return c.Expected.OutputKeys != nil },
			head + `"proposals":[{"name":"n","arguments":{}}],"expected":{"ok":true,"side_effect_count":17,"output_keys":["a","b"]}}`},
		{"lists of two surfaces", head + `"actor_permissions":["p"],"approved":false,"baseline_calls":[{"name":"n","arguments":{"a":1}},{"name":"n","arguments":{}}],"candidate_calls":[{"name":"n","arguments":{}},{"name":"n","arguments":{"needle":1}}],"expected":{"ok":true,"side_effect_count":0}}`, holds("needle"),
			head + `"actor_permissions":[],"approved":false,"baseline_calls":[{"name":"n","arguments":{}}],"candidate_calls":[{"name":"n","arguments":{"needle":0}}],"expected":{"ok":true,"side_effect_count":0}}`},
		{"calls by surface", head + `"calls":{"b":[{"name":"n","arguments":{"a":1}}],"c":[{"name":"n","arguments":{}},{"name":"n","arguments":{"needle":1}}],"d":[{"name":"n","arguments":{}}]},"expected":{"ok":true,"side_effect_count":0}}`, holds("needle"),
			head + `"calls":{"b":[{"name":"n","arguments":{}}],"c":[{"name":"n","arguments":{"needle":0}}]},"expected":{"ok":true,"side_effect_count":0}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := shrink.Case(t.Context(), []byte(tt.line), replayed, 10_000, tt.fails.ask)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got.Line)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !got.Done || got.Runs < 1 {
				t.Errorf("done %t after %d runs", got.Done, got.Runs)
			}
		})
	}
}

func TestCaseRefuses(t *testing.T) {
	whole := head + `"proposals":[{"name":"n","arguments":{"a":"text"}}],"expected":{"ok":true,"side_effect_count":0}}`
	broken := errors.New("broken")
	tests := []struct {
		name, line string
		fails      func(context.Context, *dataset.Case) (bool, error)
		want       string
	}{
		{"one that passes", whole, func(context.Context, *dataset.Case) (bool, error) { return false, nil }, shrink.ErrPasses.Error()},
		{"no JSON", `{"case_id":`, fails(always).ask, "the line is no case: the document ends too early"},
		{"text after it", whole + " x", fails(always).ask, "the line is no case: there is text after it"},
		{"no case", `{"case_id":"c"}`, fails(always).ask, "intent: missing"},
		{"a duplicate key", `{"case_id":"c","case_id":"c"}`, fails(always).ask, "the line is no case: "},
		{"nested too deep", strings.Repeat("[", 2000) + strings.Repeat("]", 2000), fails(always).ask, "the line is no case: "},
		{"an error at a later run", whole, func() func(context.Context, *dataset.Case) (bool, error) {
			runs := 0
			return func(context.Context, *dataset.Case) (bool, error) {
				if runs++; runs > 1 {
					return false, broken
				}
				return true, nil
			}
		}(), "broken"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := shrink.Case(t.Context(), []byte(tt.line), replayed, 100, tt.fails)
			if err == nil || !strings.Contains(err.Error(), tt.want) || got.Line != nil {
				t.Errorf("%s, %v, want the error %q", got.Line, err, tt.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shrink.Case(ctx, []byte(whole), replayed, 100, fails(always).ask); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that of the context", err)
	}
}

// TestCaseCountsRuns: no more than were allowed, and what was found until then is
// not lost.
func TestCaseCountsRuns(t *testing.T) {
	line := head + `"tags":["t"],"proposals":[{"name":"n","arguments":{"a":"a needle in a lot of hay","b":"more"}}],"expected":{"ok":true,"side_effect_count":0}}`
	for _, most := range []int{1, 2, 5} {
		asked := 0
		got, err := shrink.Case(t.Context(), []byte(line), replayed, most, func(_ context.Context, c *dataset.Case) (bool, error) {
			asked++
			return holds("needle")(c), nil
		})
		if err != nil || got.Done || got.Runs != most || asked != most || len(got.Line) > len(line) || !strings.Contains(string(got.Line), "needle") {
			t.Errorf("%d runs: %d asked, %+v, %v", most, asked, got, err)
		}
	}
}

// TestCaseHalves: what is long is not taken apart one by one.
func TestCaseHalves(t *testing.T) {
	items := strings.Repeat("1,", 120) + "17," + strings.Repeat("2,", 119) + "3"
	line := head + `"proposals":[` + strings.Repeat(`{"name":"n","arguments":{}},`, 100) + `{"name":"n","arguments":{"a":[` + items + `],"b":"` + strings.Repeat("long ", 400) + `"}}],"expected":{"ok":true,"side_effect_count":0}}`
	got, err := shrink.Case(t.Context(), []byte(line), replayed, 10_000, holds("17").ask)
	if err != nil {
		t.Fatal(err)
	}
	if want := head + `"proposals":[{"name":"n","arguments":{"a":[17]}}],"expected":{"ok":true,"side_effect_count":0}}`; string(got.Line) != want || got.Runs > 100 {
		t.Errorf("%s after %d runs", got.Line, got.Runs)
	}
}

// TestCaseProperties: whatever fails, the result fails too, is no longer, is the
// same again, and cannot be shrunk once more.
func TestCaseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		needles := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"alpha", "beta", "17", `"k1"`, "null"}), 1, 3, rapid.ID).Draw(t, "needles")
		var proposals []string
		for i := range rapid.IntRange(1, 4).Draw(t, "proposals") {
			proposals = append(proposals, fmt.Sprintf(`{"name":"n%d","arguments":{"k%d":%s,"rest":[%s,17,null,"alpha beta"],"k1":true}}`, i, i+2,
				rapid.SampledFrom([]string{`"xxalphayy"`, `-17`, `"\u00e9beta"`, `{"a":{"b":[]}}`}).Draw(t, "value"), rapid.SampledFrom([]string{`1.50`, `"q"`}).Draw(t, "item")))
		}
		line := head + `"budget":{"proposals":9},"proposals":[` + strings.Join(proposals, ",") + `],"expected":{"ok":true,"side_effect_count":0,"error_code":"e"}}`
		stage := rapid.Bool().Draw(t, "needs its budget")
		failing := func(c *dataset.Case) bool {
			return holds(needles...)(c) && (!stage || c.Stage != nil && c.Stage.Budget.Proposals > 0)
		}
		first, err := shrink.Case(context.Background(), []byte(line), replayed, 5000, fails(failing).ask)
		if err != nil {
			if errors.Is(err, shrink.ErrPasses) {
				t.Skip("it passes")
			}
			t.Fatal(err)
		}
		if !first.Done || len(first.Line) > len(line) {
			t.Fatalf("%+v", first)
		}
		again, err := shrink.Case(context.Background(), []byte(line), replayed, 5000, fails(failing).ask)
		if err != nil || string(again.Line) != string(first.Line) || again.Runs != first.Runs {
			t.Fatalf("%s and then %s, %v", first.Line, again.Line, err)
		}
		once, err := shrink.Case(context.Background(), first.Line, replayed, 5000, fails(failing).ask)
		if err != nil || string(once.Line) != string(first.Line) {
			t.Fatalf("%s shrinks to %s, %v", first.Line, once.Line, err)
		}
	})
}

func FuzzCase(f *testing.F) {
	f.Add([]byte(head+`"proposals":[{"name":"n","arguments":{"a":"text","b":[1,2,{"c":null}]}}],"expected":{"ok":true,"side_effect_count":0}}`), uint8(3))
	f.Add([]byte(`{"case_id":"\ud800"}`), uint8(1))
	f.Add([]byte(`[[[[`), uint8(0))
	f.Fuzz(func(t *testing.T, line []byte, every uint8) {
		// It fails where its length is a multiple, which is as good as chance.
		failing := func(_ context.Context, c *dataset.Case) (bool, error) {
			return len(c.Candidate) > 0 && len(c.Candidate[0].Arguments)%(int(every%7)+1) == 0, nil
		}
		got, err := shrink.Case(t.Context(), line, dataset.Settings{}, 200, failing)
		if err != nil {
			return
		}
		if len(got.Line) > len(line)+5*strings.Count(string(line), "\\") || got.Runs > 200 {
			t.Errorf("%d runs: %s becomes %s", got.Runs, line, got.Line)
		}
		if _, err := shrink.Case(t.Context(), got.Line, dataset.Settings{}, 1, failing); err != nil {
			t.Errorf("%s, of %s: %v", got.Line, line, err)
		}
	})
}
