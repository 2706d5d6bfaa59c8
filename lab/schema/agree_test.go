package schema

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// TestEnginesAgree runs the suite's schemas that the first engine takes through
// both, and holds that they say the same.
func TestEnginesAgree(t *testing.T) {
	compared := 0
	for _, draft := range []string{"draft4", "draft6", "draft7"} {
		for _, g := range suiteGroups(t, draft) {
			first, second := both(t, string(g.Group.Schema), suites[draft])
			if first == nil {
				continue
			}
			for _, test := range g.Group.Tests {
				agree(t, string(g.Group.Schema), first, second, string(test.Data))
				compared++
			}
		}
	}
	if compared < 1500 {
		t.Errorf("only %d values were compared", compared)
	}
}

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// both compiles for both engines, if the first takes the schema.
func both(tb failer, document string, unstated Dialect) (first, second *Schema) {
	tb.Helper()
	value, err := read([]byte(document))
	if err != nil {
		return nil, nil
	}
	if first, err = (&checker{draft: unstated}).compile(value); err != nil || first.second != nil {
		return nil, nil
	}
	if second, err = (&checker{draft: unstated, second: true}).compile(value); err != nil {
		tb.Errorf("the second engine alone refuses %s: %v", document, err)
		return nil, nil
	}
	return first, second
}

func agree(tb failer, document string, first, second *Schema, text string) {
	tb.Helper()
	value, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	want := first.Validate(value)
	if slices.ContainsFunc(want, func(v tool.Violation) bool { return v.Keyword == refused }) {
		return // the first engine cannot say
	}
	if diff := cmp.Diff(want, second.Validate(value)); diff != "" {
		tb.Errorf("%s on %s (-first +second):\n%s", document, text, diff)
	}
}
