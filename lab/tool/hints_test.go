package tool_test

import (
	"strings"
	"testing"

	"agentlab/lab/tool"
)

func TestHints(t *testing.T) {
	for annotations, want := range map[string]struct{ told, readsOnly, changes bool }{
		``:                         {},
		`null`:                     {},
		`{}`:                       {},
		`{"readOnlyHint":true}`:    {told: true, readsOnly: true},
		`{"readOnlyHint":false}`:   {told: true, changes: true},
		`{"readOnlyHint":null}`:    {},
		`{"readOnlyHint":"yes"}`:   {told: true, changes: true}, // nothing that could be trusted
		`{"destructiveHint":true}`: {changes: true},
		`{"readOnlyHint":true,"destructiveHint":true}`: {told: true, readsOnly: true},
		`{"destructiveHint":false}`:                    {},
		// On its word a tool is called, so it has to be there by its own name, and once.
		`{"readonlyhint":true}`:                            {},
		`{"readOnlyHint":false,"READONLYHINT":true}`:       {told: true, changes: true},
		`{"readOnlyHint":true,"readOnlyHint":false}`:       {told: true, changes: true},
		`{"readOnlyHint":false,"readOnlyHint":true}`:       {told: true, changes: true},
		`{"readOnlyHint":true,"readOnlyHint":null}`:        {told: true, readsOnly: true},
		`{"readOnlyHint":true`:                             {},
		`["readOnlyHint",true]`:                            {},
		`{"x":{"readOnlyHint":true}}`:                      {},
		`{"read\u004fnlyHint":true}`:                       {told: true, readsOnly: true},
		`{"destructiveHint":true,"destructiveHint":false}`: {changes: true},
		`{"destructiveHint":false,"destructiveHint":true}`: {changes: true},
	} {
		hints := tool.Definition{Annotations: raw(annotations)}.Hints()
		if told := hints.ReadOnly != nil; told != want.told || hints.ReadsOnly() != want.readsOnly || hints.Changes() != want.changes {
			t.Errorf("%s: told %t, reads only %t, changes %t", annotations, told, hints.ReadsOnly(), hints.Changes())
		}
		if destructive := hints.Destructive != nil && *hints.Destructive; destructive != strings.Contains(annotations, `"destructiveHint":true`) {
			t.Errorf("%s: destructive %t", annotations, destructive)
		}
	}
}
