package stream

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// A value is whole up to the last byte that there is room for.
func TestValuesUpToTheBound(t *testing.T) {
	value := []byte(`"` + strings.Repeat("x", MaxValue-2) + `"`)
	if got := appendValue(nil, value, true); !bytes.Equal(got, value) {
		t.Errorf("%.100s", got)
	}
	longer := append(value, ' ')
	digest := sha256.Sum256(longer)
	if want, got := fmt.Sprintf(`{"truncated_bytes":%d,"sha256":"%x"}`, MaxValue+1, digest), string(appendValue(nil, longer, true)); got != want {
		t.Errorf("%.100s, want %s", got, want)
	}
	if got := appendValue(nil, longer, false); !bytes.Equal(got, longer) {
		t.Errorf("of the lab's own: %.100s", got)
	}
}

// What a server answered at the first of several times is held within the bound as
// well, and what a case expects is told as the case has it.
func TestRepeatedGradesAreBounded(t *testing.T) {
	long := []byte(`"` + strings.Repeat("x", MaxValue) + `"`)
	run := eval.Run{
		Case:  &dataset.Case{ID: "c"},
		Steps: []eval.Step{{Result: tool.Result{Output: []byte(`{}`)}, Effects: []tool.Effect{}}},
		Grades: []eval.Grade{
			{Name: "state", Expected: long, Actual: []byte(`1`)},
			{Name: eval.Repeated, Expected: long, Actual: long},
		},
	}
	pair := &eval.Pair{Case: &dataset.Case{ID: "c", Candidate: []dataset.Proposal{{Name: "x", Arguments: []byte(`{}`)}}}, Candidate: run}
	line := AppendPair(nil, pair)
	short := Bounded(&run)
	cut := string(appendValue(nil, long, true))
	want := `"grades":[{"name":"state","passed":false,"expected":` + string(long) + `,"actual":1},{"name":"repeat","passed":false,"expected":` + cut + `,"actual":` + cut + `}]`
	if !bytes.Contains(line, []byte(want)) {
		t.Errorf("%d bytes in the line, and not the grades as they should be", len(line))
	}
	pair.Candidate = *short
	if !bytes.Equal(AppendPair(nil, pair), line) || bytes.Equal(run.Grades[1].Expected, short.Grades[1].Expected) {
		t.Error("the bounded run is not what the stream holds")
	}
	run.Steps[0].Effects = nil
	pair.Candidate = run
	if !bytes.Contains(AppendPair(nil, pair), append(append([]byte(`"expected":`), long...), `,"actual":"x`...)) {
		t.Error("a value of the lab's own was cut")
	}
}
