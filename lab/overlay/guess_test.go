package overlay

import (
	"encoding/json"
	"testing"

	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

func TestGuessEffect(t *testing.T) {
	tests := []struct {
		name, annotations string
		effect            contract.Effect
		reason            string
	}{
		{"read_text_file", ``, contract.Read, `from the verb "read"`},
		{"writeFile", ``, contract.Write, `from the verb "write"`},
		{"HTTPGet", ``, contract.Write, "nothing tells"},
		{"repo.delete-branch", ``, contract.Destructive, `from the verb "delete"`},
		{"directory_tree", ``, contract.Write, "nothing tells"},
		{"get_and_delete", ``, contract.Read, `from the verb "get"`},
		{"", ``, contract.Write, "nothing tells"},
		{"directory_tree", `{"readOnlyHint":true}`, contract.Read, "annotated readOnlyHint: true"},
		{"delete_all", `{"readOnlyHint":true}`, contract.Destructive, `annotated readOnlyHint: true, but the verb is "delete"`},
		{"edit_file", `{"readOnlyHint":false,"destructiveHint":true}`, contract.Destructive, "annotated destructiveHint: true"},
		{"create_directory", `{"readOnlyHint":false,"destructiveHint":false}`, contract.Write, "annotated destructiveHint: false"},
		{"read_file", `{"destructiveHint":false}`, contract.Write, "annotated destructiveHint: false"},
		{"read_file", `{"readOnlyHint":false}`, contract.Write, "annotated readOnlyHint: false"},
		{"drop_table", `{"destructiveHint":false}`, contract.Destructive, `annotated destructiveHint: false, but the verb is "drop"`},
		{"read_file", `{"readOnlyHint":"yes"}`, contract.Write, "annotated readOnlyHint: false"}, // nothing that could be trusted
	}
	for _, tt := range tests {
		got := GuessEffect(tool.Definition{Name: tt.name, Annotations: json.RawMessage(tt.annotations)})
		if want := (Guess{tt.effect, tt.reason}); got != want {
			t.Errorf("%s %s: %+v, want %+v", tt.name, tt.annotations, got, want)
		}
	}
}
