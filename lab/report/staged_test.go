package report_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/stream"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

func production(t *testing.T) tool.Surface {
	t.Helper()
	for _, s := range ticket.Surfaces() {
		if s.Name() == ticket.ProductionName {
			return s
		}
	}
	t.Fatalf("no surface %s", ticket.ProductionName)
	return nil
}

// replayedCases replays cases into dir, and returns what was written there by
// name, and the text for a terminal under "text".
func replayedCases(t *testing.T, dir, cases string, baseline, candidate tool.Surface) map[string]string {
	t.Helper()
	set, err := report.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Discard()
	plan := eval.Plan{
		Cases: dataset.Open(dataset.Source{Name: "staged.jsonl", Path: "staged.jsonl",
			Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(cases)), nil }}),
		Baseline: baseline, Candidate: candidate, Started: set.Start,
	}
	comparison, err := eval.Replay(t.Context(), plan, set.NewPage, (*report.Page).Add, set.Deliver)
	if err != nil {
		t.Fatal(err)
	}
	written := published(t, set, dir, comparison)

	// The stream alone makes the same of it.
	again := t.TempDir()
	second, err := report.Create(again)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Discard()
	reader, err := stream.NewReader(strings.NewReader(written[report.RunsFile]))
	if err != nil {
		t.Fatal(err)
	}
	if comparison, err = second.Restore(reader); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written, published(t, second, again, comparison)); diff != "" {
		t.Errorf("the reports that are made of the stream (-written +made):\n%s", diff)
	}
	return written
}

// published is what a set writes into dir, by name, and the text for a terminal
// under "text".
func published(t *testing.T, set *report.Set, dir string, comparison *eval.Comparison) map[string]string {
	t.Helper()
	if err := set.Publish(comparison); err != nil {
		t.Fatal(err)
	}
	written := make(map[string]string)
	for _, name := range report.Files() {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		written[name] = string(text)
	}
	var text bytes.Buffer
	if err := report.Text(&text, comparison, set.Rows()); err != nil {
		t.Fatal(err)
	}
	written["text"] = text.String()
	return written
}

// stagedCases read a ticket whose backend hands out a secret, and write, while
// everything goes wrong that a case can ask for.
func stagedCases() string {
	var cases strings.Builder
	for _, fault := range []string{"", `"panic":true`, `"error":"unavailable"`, `"error":"no such word"`, `"bad_output":true`, `"lost_response":true`, `"crash":true`, `"latency_ms":700`} {
		// Each is expected to fail in a grader, so that the failures tell all there is.
		cases.WriteString(`{"case_id":"read ` + strings.ReplaceAll(fault, `"`, `'`) + `","intent":"Read.","caller":{"id":"agent","permissions":["ticket:read"]},"recovery":"auto",` +
			`"proposals":[{"name":"get_ticket","arguments":{"ticket_id":"T-102"},"faults":{` + fault + `}},{"raw":"I would call get_ticket."}],` +
			`"expected":{"ok":true,"side_effect_count":0,"state":{"x":1},"steps":[{"output":{"x":1},"details":{"x":1},"refused_by":"lookup"},null]}}` + "\n")
		cases.WriteString(`{"case_id":"write ` + strings.ReplaceAll(fault, `"`, `'`) + `","intent":"Write.","caller":{"id":"agent","permissions":["ticket:read","ticket:write"]},"recovery":"auto",` +
			`"approvals":[{"proposal":0,"approver":{"id":"lead","permissions":["ticket:approve"]},"expires_at_ms":9000}],` +
			`"proposals":[{"name":"record_ticket_followup","arguments":{"ticket_id":"T-102","note":"Call.","action_id":"action-1"},"faults":{` + fault + `}}],` +
			`"expected":{"ok":true,"side_effect_count":1,"steps":[{"output":{"x":1},"details":{"x":1}}]}}` + "\n")
	}
	return cases.String()
}

// No secret that a backend hands out, or says while it breaks, is in a report.
func TestNoSecretReachesAReport(t *testing.T) {
	written := replayedCases(t, t.TempDir(), stagedCases(), ticket.Wide{}, production(t))
	for name, text := range written {
		if strings.Contains(text, ticket.PlantedSecret) {
			t.Errorf("%s holds %q", name, ticket.PlantedSecret)
		}
	}
	// The secrets were there to be told.
	for _, trace := range []string{`"fault":"[redacted `, `"fault":"[redacted `, `"access_token":"[redacted `} {
		if !strings.Contains(written[report.RunsFile], trace) {
			t.Errorf("%s does not hold %s", report.RunsFile, trace)
		}
	}
}

func TestReportsOfStagedCasesHoldToTheirSchemas(t *testing.T) {
	written := replayedCases(t, t.TempDir(), stagedCases(), ticket.Wide{}, production(t))
	if found := violations(t, compiled(t, report.ComparisonSchema), []byte(written[report.ComparisonFile])); found != nil {
		t.Errorf("%s: %v", report.ComparisonFile, found)
	}
	runs := compiled(t, stream.Schema)
	for line := range strings.Lines(written[report.RunsFile]) {
		if found := violations(t, runs, []byte(line)); found != nil {
			t.Errorf("%v in %s", found, line)
		}
	}
	for _, member := range []string{`"attempts":[{"ok":false,"code":"outcome_unknown","category":"dependency","decisions":[{"control":"budget"`, `"action":"look_up_receipt","wait_ms":0,"reason":"`, `"took_ms":500`,
		`"state":{"followups":{"T-102":["Call."]},"effects":1}`, `"receipts":[{`} {
		if !strings.Contains(written[report.RunsFile], member) {
			t.Errorf("%s does not hold %s", report.RunsFile, member)
		}
	}
	again := replayedCases(t, t.TempDir(), stagedCases(), ticket.Wide{}, production(t))
	for name, text := range written {
		if again[name] != text {
			t.Errorf("%s has other bytes the second time", name)
		}
	}
}

// What a surface answers with is told as it is, and nothing of it is told of
// cases that stage nothing.
func TestReportsOfPlainCasesStayAsTheyAre(t *testing.T) {
	const plain = `{"case_id":"a","intent":"Read.","actor_permissions":["ticket:read"],"approved":false,"tags":["t"],` +
		`"baseline_calls":[{"name":"x","arguments":{}}],"candidate_calls":[{"name":"get_ticket","arguments":{"ticket_id":"T-102"}}],"expected":{"ok":true,"side_effect_count":0}}` + "\n"
	const staged = `{"case_id":"b","intent":"Read.","caller":{"id":"a","permissions":["ticket:read"]},` +
		`"proposals":[{"name":"slow_ticket_lookup","arguments":{"ticket_id":"T-102","simulated_latency_ms":10},"caller":{"id":"a","permissions":["ticket:read"],"task":"diagnosis"}}],` +
		`"expected":{"ok":true,"side_effect_count":0}}` + "\n"
	alone := replayedCases(t, t.TempDir(), plain, ticket.Wide{}, production(t))
	for name, text := range alone {
		for _, word := range []string{"operations", "took_ms", "attempts", `"state"`, "receipts", "Replays", "median"} {
			if strings.Contains(text, word) {
				t.Errorf("%s holds %s", name, word)
			}
		}
	}
	both := replayedCases(t, t.TempDir(), plain+staged, ticket.Wide{}, production(t))
	withoutEnd := alone[report.RunsFile][:strings.Index(alone[report.RunsFile], `{"schema_version":2,"event":"end"`)]
	if !strings.HasPrefix(both[report.RunsFile], withoutEnd) {
		t.Errorf("the runs of the plain case are\n%s\nbeside a staged one, and alone\n%s", both[report.RunsFile], alone[report.RunsFile])
	}
	if want := `"replayed":false,"replaced_by":"get_ticket","took_ms":10}`; !strings.Contains(both[report.RunsFile], want) {
		t.Errorf("no %s in\n%s", want, both[report.RunsFile])
	}
	for name, want := range map[string]string{
		report.ComparisonFile: `"calls": 2,`,
		report.MarkdownFile:   "| Calls | 2 | 2 |",
		"text":                "│ Calls                  │            2 │                 2 │",
	} {
		if !strings.Contains(both[name], want) {
			t.Errorf("%s does not hold %s:\n%s", name, want, both[name])
		}
	}
}
