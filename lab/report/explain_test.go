package report

import (
	"strings"
	"testing"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
)

func TestDueControl(t *testing.T) {
	yes, no := true, false
	approval, unknown := "approval_required", "no_such_code"
	for _, test := range []struct {
		e    dataset.Expectation
		want string
	}{
		{dataset.Expectation{OK: &yes}, ""},
		{dataset.Expectation{OK: &no}, ""},
		{dataset.Expectation{OK: &yes, Replayed: &yes}, "idempotency"},
		{dataset.Expectation{OK: &no, ErrorCode: &approval}, "approval"},
		{dataset.Expectation{OK: &no, ErrorCode: &unknown}, ""},
	} {
		run := hostileRun("x")
		run.Case.Expected = test.e
		if got := DueControl(run); got != test.want {
			t.Errorf("%+v: %q, want %q", test.e, got, test.want)
		}
		// Of a server outside it is not known.
		outside := outsideRun("x")
		outside.Case.Expected = test.e
		if got := DueControl(outside); got != "" {
			t.Errorf("%+v outside: %q", test.e, got)
		}
	}
}

// Each run is told with the proposals that were its own.
func TestExplain(t *testing.T) {
	baseline, candidate := hostileRun("x"), hostileRun("x")
	c := &dataset.Case{ID: "x", Baseline: []dataset.Proposal{{Name: "before", Arguments: []byte("{}")}}, Candidate: []dataset.Proposal{{Name: "after", Arguments: []byte("{}")}}}
	pair := &eval.Pair{Case: c, Baseline: baseline, Candidate: *candidate}
	for want, run := range map[string]*eval.Run{"before": baseline, "after": &pair.Candidate} {
		if got := Explain(pair, run); !strings.HasPrefix(got, "- error_code: expected ") || !strings.Contains(got, "- proposed: `"+want+"` `{}`\n") || strings.Count(got, "- proposed") != 1 {
			t.Errorf("%s: %s", want, got)
		}
	}
}
