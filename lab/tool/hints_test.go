package tool_test

import (
	"testing"

	"agentlab/lab/tool"
)

func TestHints(t *testing.T) {
	for annotations, want := range map[string]struct{ told, readsOnly bool }{
		``:                         {},
		`null`:                     {},
		`{}`:                       {},
		`{"readOnlyHint":true}`:    {told: true, readsOnly: true},
		`{"readOnlyHint":false}`:   {told: true},
		`{"readOnlyHint":null}`:    {},
		`{"readOnlyHint":"yes"}`:   {told: true}, // nothing that could be trusted
		`{"destructiveHint":true}`: {},
	} {
		hints := tool.Definition{Annotations: raw(annotations)}.Hints()
		if told := hints.ReadOnly != nil; told != want.told || hints.ReadsOnly() != want.readsOnly {
			t.Errorf("%s: told %t, reads only %t", annotations, told, hints.ReadsOnly())
		}
		if destructive := hints.Destructive != nil && *hints.Destructive; destructive != (annotations == `{"destructiveHint":true}`) {
			t.Errorf("%s: destructive %t", annotations, destructive)
		}
	}
}
