package boundary

import (
	"encoding/json"
	"strings"
	"testing"

	"agentlab/lab/tool"
)

// A flag that a tool would drop unseen becomes a question, and never a case that
// says by itself what is right.
func TestMisspeltFlagsAreAsked(t *testing.T) {
	definition := func(rest string) tool.Definition {
		return tool.Definition{Name: "edit", InputSchema: json.RawMessage(
			`{"type":"object","properties":{"path":{"type":"string"},"dryRun":{"type":"boolean","default":false},"limit":{"type":"integer"}},"required":["path"]` + rest + `}`)}
	}
	text, err := Cases([]tool.Definition{definition("")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `"case_id":"edit-misspelt-dryRun"`
	found := 0
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, want) {
			continue
		}
		found++
		for _, part := range []string{`"todo":"The schema lets this pass`, `"dry_run":true`, `"expected":{"ok":false,"side_effect_count":0}`, `misspelt as dry_run`} {
			if !strings.Contains(line, part) {
				t.Errorf("%s is not in %s", part, line)
			}
		}
		if strings.Contains(line, `"dryRun"`) {
			t.Errorf("the flag itself is set in %s", line)
		}
	}
	if found != 1 {
		t.Errorf("%d cases, want 1:\n%s", found, text)
	}
	if strings.Contains(string(text), "misspelt-limit") {
		t.Error("what is no flag is misspelt too")
	}

	// A schema that forbids it makes a case of its own.
	text, err = Cases([]tool.Definition{definition(`,"additionalProperties":false`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, want) && strings.Contains(line, "todo") {
			t.Errorf("what the schema forbids is asked: %s", line)
		}
	}
	if strings.Count(string(text), want) != 1 {
		t.Errorf("want one case in\n%s", text)
	}
}

// What a tool changes is guessed by what its server says, so that a case whose
// todo is taken away unread fails rather than passes.
func TestPlainCasesExpectAnEffect(t *testing.T) {
	for annotations, want := range map[string]string{
		"":                       `"side_effect_count":1`,
		`{"readOnlyHint":false}`: `"side_effect_count":1`,
		`{"readOnlyHint":true}`:  `"side_effect_count":0`,
		`{"readOnlyHint":"yes"}`: `"side_effect_count":1`,
	} {
		text, err := Cases([]tool.Definition{{Name: "do", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: json.RawMessage(annotations)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		if !strings.Contains(first, want) {
			t.Errorf("%s: %s is not in %s", annotations, want, first)
		}
	}
}
