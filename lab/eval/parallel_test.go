package eval_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// parallelCase expects so many effects of proposals that start together.
func parallelCase(effects int) *dataset.Case {
	return &dataset.Case{ID: "c", Stage: &dataset.Stage{Parallel: true}, Expected: dataset.Expectation{OK: ptr(true), SideEffectCount: &effects}}
}

// Proposals that are to start together do so on a server outside: each is answered
// only when all are under way. The results have the order of the proposals, and what
// changed is looked at once.
func TestParallelOutside(t *testing.T) {
	defer goleak.VerifyNone(t)
	const calls = 8
	var orders []string
	var want []string
	for i := range calls {
		orders = append(orders, fmt.Sprintf(`{"together":%d,"write":1,"late":1,"answer":"%d"}`, calls, i))
		want = append(want, fmt.Sprintf(`{"answer":"%d"}: 0 effects`, i))
	}
	want[calls-1] = fmt.Sprintf(`{"answer":"%d"}: %d effects`, calls-1, calls+calls)
	s := &server{name: "after"}
	run, err := eval.Play(t.Context(), s, parallelCase(2*calls), ordered(orders...))
	if err != nil || s.apart.Load() {
		t.Fatal(err, "apart:", s.apart.Load())
	}
	var got []string
	for i := range run.Steps {
		step := &run.Steps[i]
		got = append(got, fmt.Sprintf("%s: %d effects", step.Output, step.SideEffects))
		if !step.Observed() || step.SideEffects != len(step.Effects) {
			t.Errorf("step %d: %d effects, %v", i+1, step.SideEffects, step.Effects)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if run.SideEffects != 2*calls || !run.Passed || s.observed.Load() != 1 || s.closed.Load() != 1 {
		t.Errorf("%d effects, passed: %v, looked %d times, closed %d times", run.SideEffects, run.Passed, s.observed.Load(), s.closed.Load())
	}
}

// Without it one call is made after the other.
func TestOneAfterTheOtherOutside(t *testing.T) {
	s := &server{name: "after"}
	c := parallelCase(3)
	c.Stage.Parallel = false
	run, err := eval.Play(t.Context(), s, c, ordered(`{"together":1,"write":1}`, `{"write":2}`))
	if err != nil || run.Steps[0].SideEffects != 1 || run.Steps[1].SideEffects != 2 || s.observed.Load() != 2 {
		t.Errorf("run = %+v, %v, looked %d times", run, err, s.observed.Load())
	}
}

// A proposal that could not be read holds up none; where it is the last one, what
// changed is counted to it all the same.
func TestMalformedInParallel(t *testing.T) {
	s := &server{name: "after"}
	run, err := eval.Play(t.Context(), s, parallelCase(2), ordered(`{"together":2,"write":1}`, "raw", `{"together":2,"write":1}`, "raw"))
	if err != nil || s.apart.Load() {
		t.Fatal(err, s.apart.Load())
	}
	var got []string
	for _, step := range run.Steps {
		got = append(got, fmt.Sprint(step.Malformed, " ", step.SideEffects, " ", step.Observed()))
	}
	if diff := cmp.Diff([]string{"false 0 true", "true 0 true", "false 0 true", "true 2 true"}, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if run.SideEffects != 2 || s.called.Load() != 2 {
		t.Errorf("%d effects, %d calls", run.SideEffects, s.called.Load())
	}
}

// A session that is lost in one of the calls, or that cannot be looked at, ends the
// case without a grade; anything else ends the replay.
func TestParallelCouldNotRun(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := &server{name: "after"}
	for _, test := range []struct{ order, reason string }{
		{`{"together":3,"die":true}`, "the server ended in the middle of a call"},
		{`{"together":3,"blind":true}`, "the probe could not read the folder"},
	} {
		run, err := eval.Play(t.Context(), s, parallelCase(0), ordered(`{"together":3}`, test.order, `{"together":3,"write":1}`))
		if err != nil || run.Unavailable == nil || run.Unavailable.Reason != test.reason || run.Ran() || len(run.Steps) != 0 {
			t.Errorf("%s: run = %+v, %v", test.order, run, err)
		}
	}
	s.fail = map[string]error{"lost": errBoom}
	if _, err := eval.Play(t.Context(), s, parallelCase(0), ordered(`{}`, `{}`)); !errors.Is(err, errBoom) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s = &server{name: "after", before: func(phase string) {
		if phase == "call" {
			cancel()
		}
	}}
	if _, err := eval.Play(ctx, s, parallelCase(0), ordered(`{"together":2}`, `{"together":2}`)); err != context.Canceled || s.observed.Load() != 0 {
		t.Error(err, s.observed.Load())
	}
	if s.opened.Load() != s.closed.Load() {
		t.Errorf("opened %d and closed %d times", s.opened.Load(), s.closed.Load())
	}
}

// A panic in one of the calls is one of the case.
func TestPanicInParallel(t *testing.T) {
	defer goleak.VerifyNone(t)
	text := strings.Replace(foreignLine("c", "", map[string]string{"after": `{} {"panic":true}`}), `"calls"`, `"parallel":true,"calls"`, 1)
	_, err := eval.Replay(t.Context(), eval.Plan{Cases: reader([]byte(text)), Candidate: &server{name: "after"}},
		func() struct{} { return struct{}{} }, func(struct{}, *eval.Pair) {}, func(struct{}) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "panic: a bug\n") || !strings.Contains(err.Error(), "connection).Call") {
		t.Errorf("error = %v", err)
	}
}

var _ tool.Observed = (*connection)(nil)
