package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// outsideRun is a hostile run on a server outside, of a case that stages
// something, of which such a server knows nothing.
func outsideRun(s string) *eval.Run {
	run := governedRun(s)
	for i := range run.Steps {
		run.Steps[i].Trace.Decisions, run.Steps[i].Attempts = nil, nil
	}
	run.Steps[0].ReplacedBy, run.Steps[0].Took = "", 0
	return run
}

// governedRun is the same with the lab's own controls before the server.
func governedRun(s string) *eval.Run {
	run := stagedRun(s)
	run.State, run.Receipts = nil, nil
	valid := len(s)%2 == 0
	for i := range run.Steps {
		step := &run.Steps[i]
		step.Effects = []tool.Effect{}
		step.Reply = &tool.Reply{IsError: !step.OK(), Texts: []string{s}, Bytes: len(s)}
		step.Trace.ListChanged = i == 1
	}
	run.Steps[0].Reply.SchemaValid = &valid
	run.Steps[1].Effects = []tool.Effect{{Resource: s, Change: s}, {Resource: s, Change: tool.Changed, Before: 1, After: 2}, {Change: tool.Removed, Before: -3}}
	return run
}

// markup are the kinds of elements that no text may become.
var markup = []string{
	"Link", "AutoLink", "Image", "RawHTML", "HTMLBlock", "Emphasis", "Strikethrough", "CodeBlock", "FencedCodeBlock",
	"Blockquote", "ThematicBreak", "FootnoteLink", "FootnoteList",
}

func TestFailuresMarkdownOfServersShowsHostileTextsAsTexts(t *testing.T) {
	for i, s := range append(slices.Clone(hostile), hostile...) {
		dir := t.TempDir()
		set, err := Create(dir)
		if err != nil {
			t.Fatal(err)
		}
		page := set.NewPage()
		failed := outsideRun(s)
		lost := &eval.Run{Strategy: s, Case: failed.Case, Unavailable: &tool.Unavailable{Surface: s, Reason: s, Detail: "a detail"}}
		if i >= len(hostile) {
			failed = governedRun(s)
		}
		page.Add(&eval.Pair{Case: failed.Case, Baseline: failed, Candidate: *lost})
		if err := set.Deliver(page); err != nil {
			t.Fatal(err)
		}
		c := foreignComparison(s)
		if err := set.Publish(c); err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(filepath.Join(dir, FailuresFile))
		if err != nil {
			t.Fatal(err)
		}
		got := kinds(source)
		for _, kind := range markup {
			if got[kind] > 0 {
				t.Errorf("%q became a %s in:\n%s", s, kind, source)
			}
		}
		// A failed run and one that could not run; a grade, a proposal and what changed.
		if got["Table"] != 2 || got["TableRow"] != 2 || got["TableCell"] != 10+6 || got["Heading"] != 3 || got["ListItem"] != 3 {
			t.Errorf("%q: %v in:\n%s", s, got, source)
		}
		if strings.Contains(string(source), "a detail") {
			t.Errorf("%q: a detail is told", s)
		}
	}
}

// foreignComparison is a comparison with servers in which everything is called s.
func foreignComparison(s string) *eval.Comparison {
	c := comparisonOf(s, "plain")
	c.Baseline.Foreign, c.Baseline.CouldNotRun, c.Baseline.CatalogUnknown = true, 2, true
	c.Dataset.Todo = 2
	c.NotRun = []eval.NotRun{{CaseID: s, Strategy: s, Unavailable: &tool.Unavailable{Reason: s, Detail: "a detail"}}}
	c.Todo = []eval.Todo{{CaseID: s, Reason: s}}
	return c
}

func TestComparisonMarkdownOfServersShowsHostileTextsAsTexts(t *testing.T) {
	for _, s := range hostile {
		var source bytes.Buffer
		if err := ComparisonMarkdown(&source, foreignComparison(s)); err != nil {
			t.Fatal(err)
		}
		got := kinds(source.Bytes())
		for _, kind := range markup {
			if allowed := map[string]int{"Emphasis": 1}[kind]; got[kind] > allowed {
				t.Errorf("%q became a %s in:\n%s", s, kind, &source)
			}
		}
		if got["Heading"] != 6 || got["Table"] != 2 || got["TableRow"] != 7 || got["List"] != 5 || got["ListItem"] != 10 {
			t.Errorf("%q: %v in:\n%s", s, got, &source)
		}
		text := textOf(t, foreignComparison(s), nil)
		for line := range strings.Lines(text) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), invisible) {
				t.Errorf("a terminal would obey %q", line)
			}
		}
		want := "\n2 runs could not run:\n  " + Visible(s) + " on " + Visible(s) + ": " + Visible(tool.Cut(s, maxShown)) + "\n  and 1 more, all of them in tool-runs.jsonl\n" +
			"\n2 cases still to do:\n  " + Visible(s) + ": " + Visible(s) + "\n  and 1 more, all of them in tool-runs.jsonl\n"
		if !strings.Contains(text, want) {
			t.Errorf("%q: no %q in\n%s", s, want, text)
		}
	}
}

func TestUnknownCatalog(t *testing.T) {
	c := foreignComparison("a server")
	if got, want := catalogCost(c), "What a model is sent by `a server` is not known, as it could not be asked."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var text bytes.Buffer
	if err := ComparisonJSON(&text, c); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), `"model_schema_bytes": null`) || !strings.Contains(text.String(), `"could_not_run": 2,`) {
		t.Errorf("not null in\n%s", &text)
	}
}

// A row says of each run what became of it.
func TestRowsOfServers(t *testing.T) {
	failed := outsideRun("code \x1b")
	passed := outsideRun("x")
	passed.Passed, passed.Steps = true, passed.Steps[:1]
	lost := &eval.Run{Case: failed.Case, Unavailable: new(tool.Unavailable)}
	long := outsideRun(strings.Repeat("é", 100))
	refused, late := governedRun("code \x1b"), governedRun("code \x1b")
	late.Last().Trace.HandlerRan = true
	malformed := governedRun("code \x1b")
	malformed.Last().Trace.Decisions = nil
	replayed := governedRun("x")
	replayed.Passed, replayed.Steps = true, replayed.Steps[:1]
	replayed.Last().Trace.Decisions[1] = tool.Decision{Control: "idempotency", Verdict: tool.Replay}
	for _, test := range []struct {
		run           *eval.Run
		verdict, stop string
	}{
		{failed, "FAIL: error_code", "code \x1b"},
		{passed, "pass", "-"},
		{lost, "could not run", "-"},
		{long, "FAIL: error_code", strings.Repeat("é", 30) + "…"},
		{refused, "FAIL: error_code", "lookup"},
		{late, "FAIL: error_code", "lookup (code \x1b)"},
		{malformed, "FAIL: error_code", "code \x1b"},
		{replayed, "pass", "idempotency (replay)"},
	} {
		row := newRow(&eval.Pair{Case: test.run.Case, Candidate: *test.run})
		if diff := cmp.Diff(Row{Case: test.run.Case.ID, Candidate: test.verdict, CandidateRefusedBy: test.stop}, row); diff != "" {
			t.Errorf("alone (-want +got):\n%s", diff)
		}
		row = newRow(&eval.Pair{Case: test.run.Case, Baseline: test.run, Candidate: *test.run})
		if row.Baseline != test.verdict || row.BaselineRefusedBy != test.stop {
			t.Errorf("both: %+v", row)
		}
	}
	c := foreignComparison("s")
	text := textOf(t, c, []Row{{"c", "FAIL", "pass", "code \x1b", "\x1b"}})
	if !strings.Contains(text, `│ c    │ FAIL │ code \u001b │ pass  │ \u001b     │`) || !strings.Contains(text, "│ case │ s    │ last error  │ plain │ refused by │") {
		t.Errorf("the row is not in\n%s", text)
	}
	if c.Baseline.Governed = true; !strings.Contains(textOf(t, c, nil), "│ case │ s │ refused by │ plain │ refused by │") {
		t.Errorf("no control is told of in\n%s", textOf(t, c, nil))
	}
}

// What had to come of a case names no control of the lab's where a server
// answers.
func TestDueOutside(t *testing.T) {
	code := "not_found"
	yes, no := true, false
	for _, test := range []struct {
		e    dataset.Expectation
		want string
	}{
		{dataset.Expectation{OK: &yes}, "a success"},
		{dataset.Expectation{OK: &yes, Replayed: &yes}, "a success"},
		{dataset.Expectation{OK: &no}, "a failure"},
		{dataset.Expectation{Accepted: &yes}, "an answer to the arguments"},
		{dataset.Expectation{ErrorCode: &code}, "a failure with `not_found`"},
	} {
		if got := string(appendDueOutside(nil, &test.e)); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
	run := outsideRun("word")
	run.Case.Expected = dataset.Expectation{OK: &yes}
	run.Steps[1].Error.Details, run.Steps[1].Trace.Decisions = []byte("{}"), nil
	detail := string(appendFailureDetail(nil, run, nil))
	if want := "What had to come of it: a success. What came: a failure with `word`, `word`.\n"; !strings.HasSuffix(detail, want) {
		t.Errorf("no %q in\n%s", want, detail)
	}
}

func TestScope(t *testing.T) {
	own, server := eval.Summary{}, eval.Summary{Foreign: true}
	for _, test := range []struct {
		c    eval.Comparison
		want string
	}{
		{eval.Comparison{Baseline: &own, Candidate: own}, Scope},
		{eval.Comparison{Baseline: &server, Candidate: own}, "Fixed proposals are called on two tool surfaces, which need not share a backend;"},
		{eval.Comparison{Baseline: &own, Candidate: server}, "Fixed proposals are called on two tool surfaces, which need not share a backend;"},
		{eval.Comparison{Candidate: server}, "Fixed proposals are called on one tool surface;"},
		{eval.Comparison{Candidate: own}, "Fixed proposals are called on one tool surface;"},
	} {
		if got := scope(&test.c); !strings.HasPrefix(got, test.want) || !strings.HasSuffix(got, "no model is called, and this measures none.") {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestChangesAreShownInPart(t *testing.T) {
	var effects []tool.Effect
	for range maxChanges {
		effects = append(effects, tool.Effect{Resource: "f", Change: tool.Added})
	}
	whole := "- seen after a call: `f` added" + strings.Repeat(", `f` added", maxChanges-1)
	for n, want := range map[int]string{0: "", 1: "- seen after a call: `f` added\n", maxChanges: whole + "\n", maxChanges + 2: whole + ", and 2 more\n"} {
		list := append(effects, effects...)[:n]
		if got := string(appendChanges(nil, &eval.Step{Effects: list})); got != want {
			t.Errorf("%d changes: %q, want %q", n, got, want)
		}
	}
}
