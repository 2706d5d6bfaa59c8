package report_test

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"agentlab/lab/mutation"
	"agentlab/lab/report"
)

// matrix is a small matrix in which every status occurs.
func matrix(full bool) *mutation.Matrix {
	kill := func(id string, graders ...string) mutation.Kill { return mutation.Kill{Case: id, Graders: graders} }
	outcome := func(operator, control, tool, place string, status mutation.Status, does, unchecked string, kills ...mutation.Kill) mutation.Outcome {
		id := operator
		for _, part := range []string{tool, place} {
			if part != "" {
				id += "/" + part
			}
		}
		return mutation.Outcome{Status: status, Kills: kills, Reached: 3, Mutant: mutation.Mutant{
			ID: id, Operator: operator, Control: control, Tool: tool, Place: place, Does: does, Unchecked: unchecked}}
	}
	m := &mutation.Matrix{
		Surface: "typed-registry-v3", Full: full,
		Cases:   []string{"read-ticket", "lookup-other-case", "approval-expired", "output-too-large", "approval-none"},
		LeftOut: []string{"todo-case"},
		Outcomes: []mutation.Outcome{
			outcome("name-case-folded", "lookup", "", "", mutation.Killed, "A tool is found whatever the case of its letters is.", "Nobody checks that names are exact.", kill("lookup-other-case", "error_code", "step 1 refused_by")),
			outcome("resource-by-prefix", "permission", "get_ticket", "ticket_id", mutation.NoCoverage, "A resource is allowed where its beginning is.", "Nobody checks which resources a caller may read."),
			outcome("removed", "approval", "", "", mutation.Killed, "The approval control is not asked.", "Nobody checks approvals.", kill("approval-expired", "ok"), kill("approval-none", "ok", "side_effect_count")),
			outcome("expiry-late", "approval", "", "", mutation.Survived, "A grant holds for a millisecond too long.", "Nobody checks a grant at the very moment of its expiry."),
			outcome("required-dropped", "idempotency", "record", "/properties/action_id", mutation.Refused, "The key is not required.", "Nobody checks that a write has a key."),
			outcome("no-wait", "idempotency", "record", "", mutation.TimedOut, "A call in progress is not waited for.", "Nobody checks a repeat at the same time."),
			outcome("size-bound-raised", "output", "list_tickets", "", mutation.Killed, "The output may be a byte larger.", "Nobody checks the bound of the output.", kill("output-too-large", "ok")),
			outcome("keyword-dropped", "output", "list_tickets", "/items/type", mutation.Equivalent, "The output schema lacks a type.", "Nobody checks this type."),
		},
		Controls: []mutation.Score{
			{Control: "lookup", Mutants: 1, Noticed: 1}, {Control: "permission", Mutants: 1, NoCoverage: 1}, {Control: "approval", Mutants: 2, Noticed: 1, Survived: 1},
			{Control: "idempotency", Mutants: 2, Noticed: 2}, {Control: "output", Mutants: 2, Noticed: 1, Equivalent: 1},
		},
		Total: mutation.Score{Mutants: 8, Noticed: 5, Survived: 1, NoCoverage: 1, Equivalent: 1},
		Stale: []mutation.Waiver{{Mutant: "removed", Reason: "It was thought so.", Line: 7, Why: "A case notices it."}},
	}
	m.Outcomes[3].Suggested = "record approval expires_at on"
	m.Outcomes[7].Reason = "The backend has nothing else."
	if full {
		m.Idle = []string{"approval-none", "read-ticket"}
	} else {
		m.Outcomes[2].Kills = m.Outcomes[2].Kills[:1]
	}
	return m
}

func TestGoldenMutationReports(t *testing.T) {
	clean := &mutation.Matrix{
		Surface: "nothing-left", Cases: []string{"a"}, Total: mutation.Score{Mutants: 1, Noticed: 1}, Controls: []mutation.Score{{Control: "lookup", Mutants: 1, Noticed: 1}},
		Outcomes: []mutation.Outcome{{Mutant: mutation.Mutant{ID: "removed", Operator: "removed", Control: "lookup", Does: "It is not asked."}, Status: mutation.Killed, Kills: []mutation.Kill{{Case: "a", Graders: []string{"ok"}}}}},
	}
	s := compiled(t, report.MutationSchema)
	for name, m := range map[string]*mutation.Matrix{"first": matrix(false), "full": matrix(true), "clean": clean, "empty": {Surface: "empty"}} {
		for file, render := range map[string]func(io.Writer, *mutation.Matrix) error{
			report.MutationJSONFile: report.MutationJSON, report.MutationMarkdownFile: report.MutationMarkdown,
			report.MutationSVGFile: report.MutationSVG, "text.txt": report.MutationText,
		} {
			var text bytes.Buffer
			if err := render(&text, m); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("mutation", name, file), text.Bytes())
			if file != report.MutationJSONFile {
				continue
			}
			if found := violations(t, s, text.Bytes()); found != nil {
				t.Errorf("%s: %v", name, found)
			}
		}
	}
}

func TestOperatorsAreListed(t *testing.T) {
	operators := []mutation.Operator{
		{Name: "removed", Does: "The CONTROL control is not asked.", Unchecked: "Nobody checks CONTROL."},
		{Name: "expiry-late", Control: "approval", Does: "A grant | of TOOL is late.", Unchecked: "Nobody checks it.", Needs: "a bound approval"},
	}
	for _, test := range []struct {
		render func(io.Writer, []mutation.Operator) error
		want   string
	}{
		{report.OperatorsText, "removed (each)\n  The CONTROL control is not asked.\n\nexpiry-late (approval)\n  A grant | of TOOL is late.\n  Needs a bound approval.\n"},
		{report.OperatorsMarkdown, "| operator | control | what it does | what it needs |\n| --- | --- | --- | --- |\n" +
			"| `removed` | each | The CONTROL control is not asked. |  |\n| `expiry-late` | approval | A grant \\| of TOOL is late. | a bound approval |\n"},
		{report.OperatorsJSON, "[\n" +
			`  {"name":"removed","control":"each","does":"The CONTROL control is not asked.","unchecked":"Nobody checks CONTROL."},` + "\n" +
			`  {"name":"expiry-late","control":"approval","does":"A grant | of TOOL is late.","unchecked":"Nobody checks it.","needs":"a bound approval"}` + "\n]\n"},
	} {
		var text bytes.Buffer
		if err := test.render(&text, operators); err != nil {
			t.Fatal(err)
		}
		if got := text.String(); got != test.want {
			t.Errorf("got %s\nwant %s", got, test.want)
		}
	}
}
