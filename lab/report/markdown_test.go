package report

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"agentlab/lab/eval"
)

// markdown reads as GitHub does: tables, strikethrough, task lists, and bare
// addresses made links.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))

// kinds counts the elements of a document by their kind.
func kinds(source []byte) map[string]int {
	counts := make(map[string]int)
	document := markdown.Parser().Parse(text.NewReader(source))
	ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			counts[n.Kind().String()]++
		}
		return ast.WalkContinue, nil
	})
	// Text is cut into nodes in any number.
	delete(counts, "Text")
	delete(counts, "String")
	return counts
}

// shown returns the texts that a browser shows for each of the elements with
// this tag.
func shown(t *testing.T, source []byte, tag string) []string {
	t.Helper()
	var page bytes.Buffer
	if err := markdown.Convert(source, &page); err != nil {
		t.Fatal(err)
	}
	var texts []string
	element := regexp.MustCompile(`(?s)<` + tag + `(?: [^>]*)?>(.*?)</` + tag + `>`)
	for _, m := range element.FindAllStringSubmatch(page.String(), -1) {
		inner := regexp.MustCompile(`</?code>`).ReplaceAllString(m[1], "")
		// What the escapes put in to keep addresses from becoming links.
		inner = strings.ReplaceAll(html.UnescapeString(inner), "\u200b", "")
		texts = append(texts, inner)
	}
	return texts
}

// inCode is what is shown of s in a code span.
func inCode(s string) string {
	if s == "" {
		return `""`
	}
	return Visible(s)
}

// cutShort is what is shown of a long document.
func cutShort(document []byte) string {
	if len(document) <= maxShown {
		return Visible(string(document))
	}
	return Visible(strings.ToValidUTF8(string(document[:maxShown]), "")) + " …"
}

// failures returns tool-failures.md for one failed run after the other.
func failures(t *testing.T, texts []string) []byte {
	t.Helper()
	dir := t.TempDir()
	set, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Discard()
	page := set.NewPage()
	for _, s := range texts {
		run := hostileRun(s)
		passed := *run
		passed.Passed = true
		page.Add(&eval.Pair{Case: run.Case, Baseline: run, Candidate: passed})
	}
	if err := set.Deliver(page); err != nil {
		t.Fatal(err)
	}
	if err := set.Publish(comparisonOf(texts...)); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(dir, FailuresFile))
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func TestFailuresMarkdownShowsHostileTextsAsTexts(t *testing.T) {
	n := len(hostile)
	source := failures(t, hostile)
	want := map[string]int{
		"Document":  1,
		"Heading":   1 + n,
		"Paragraph": 1 + 2*n, // the first line; the intent and where it had to stop
		"Table":     1, "TableHeader": 1, "TableRow": n, "TableCell": 5 * (1 + n),
		"List": n, "ListItem": 2 * n, "TextBlock": 2 * n,
	}
	got := kinds(source)
	spans := got["CodeSpan"]
	delete(got, "CodeSpan")
	for _, s := range hostile {
		if strings.TrimSpace(s) == "" {
			want["Paragraph"]-- // an intent of which nothing is to be seen
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("elements (-want +got):\n%s", diff)
	}
	// A row has three, a heading two, a grade two, a proposal two and the last
	// line three; not in code are empty texts and those in cells that code
	// cannot hold.
	if spans > 12*n || spans < 12*n-8-3*4 {
		t.Errorf("there are %d code spans for %d runs", spans, n)
	}

	cells, headings, items := shown(t, source, "td"), shown(t, source, "h2"), shown(t, source, "li")
	paragraphs := shown(t, source, "p")
	if len(cells) != 5*n || len(headings) != n || len(items) != 2*n {
		t.Fatalf("%d cells, %d headings and %d items for %d runs", len(cells), len(headings), len(items), n)
	}
	paragraphs = paragraphs[1:]
	for i, s := range hostile {
		code := inCode(s)
		row := []string{code, code, "error_code", "2", code}
		for j := range row {
			// The spaces around a cell's text belong to nobody.
			row[j], cells[5*i+j] = strings.Trim(row[j], " "), strings.Trim(cells[5*i+j], " ")
		}
		if diff := cmp.Diff(row, cells[5*i:5*i+5]); diff != "" {
			t.Errorf("row of %q (-want +got):\n%s", s, diff)
		}
		if diff := cmp.Diff(code+" on "+code, headings[i]); diff != "" {
			t.Errorf("heading of %q (-want +got):\n%s", s, diff)
		}
		graded := fmt.Sprintf("error_code: expected %s, actual %s", Visible(jsonText("not "+s)), Visible(jsonText(s)))
		if diff := cmp.Diff(graded, items[2*i]); diff != "" {
			t.Errorf("grade of %q (-want +got):\n%s", s, diff)
		}
		if diff := cmp.Diff("proposed: "+code+" "+cutShort(hostileObject(s)), items[2*i+1]); diff != "" {
			t.Errorf("proposal of %q (-want +got):\n%s", s, diff)
		}
		if strings.TrimSpace(s) != "" {
			if diff := cmp.Diff(strings.ReplaceAll(strings.TrimSpace(Visible(s)), "\u200b", ""), paragraphs[0]); diff != "" {
				t.Errorf("intent of %q (-want +got):\n%s", s, diff)
			}
			paragraphs = paragraphs[1:]
		}
		if diff := cmp.Diff("What had to come of it: a refusal with a code that no control of the lab has, "+code+
			". What came: the lookup control refused with "+code+", "+cutShort(hostileObject(s))+".", paragraphs[0]); diff != "" {
			t.Errorf("last line of %q (-want +got):\n%s", s, diff)
		}
		paragraphs = paragraphs[1:]
	}
}

// What follows a hostile text is not affected by it either: each stands alone.
func TestFailuresMarkdownOfOneHostileText(t *testing.T) {
	for _, s := range hostile {
		source := failures(t, []string{s})
		got := kinds(source)
		for _, kind := range []string{
			"Link", "AutoLink", "Image", "RawHTML", "HTMLBlock", "Emphasis", "Strikethrough", "TaskCheckBox",
			"CodeBlock", "FencedCodeBlock", "Blockquote", "ThematicBreak", "FootnoteLink", "FootnoteList",
		} {
			if got[kind] > 0 {
				t.Errorf("%q became a %s in:\n%s", s, kind, source)
			}
		}
		if got["Table"] != 1 || got["TableCell"] != 10 || got["Heading"] != 2 {
			t.Errorf("%q: %v in:\n%s", s, got, source)
		}
	}
}

// comparisonOf is a comparison in which these are the names of everything.
func comparisonOf(texts ...string) *eval.Comparison {
	c := &eval.Comparison{
		Dataset:   eval.Dataset{Name: texts[0], SHA256: strings.Repeat("0a", 32), Cases: 2 * len(texts), Selection: texts},
		Baseline:  &eval.Summary{Strategy: texts[0], TotalCases: 2 * len(texts), PassedCases: len(texts)},
		Candidate: eval.Summary{Strategy: texts[len(texts)-1], TotalCases: 2 * len(texts), PassedCases: len(texts), ModelSchemaBytes: 1},
		Checks:    []eval.Check{{Name: "candidate_passes_all_cases", Passed: false}, {Name: "no_case_regressions", Passed: true}},
	}
	for _, s := range texts {
		c.Improvements.Add(s)
		c.Regressions.Add(s)
	}
	return c
}

func TestComparisonMarkdownShowsHostileTextsAsTexts(t *testing.T) {
	for _, s := range hostile {
		var source bytes.Buffer
		if err := ComparisonMarkdown(&source, comparisonOf(s, "plain")); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{
			"Document": 1, "Heading": 4, "Paragraph": 7, "Emphasis": 1,
			"Table": 1, "TableHeader": 1, "TableRow": 5, "TableCell": 3 * 6,
			"List": 4, "ListItem": 8, "TextBlock": 8, "TaskCheckBox": 2,
		}
		got := kinds(source.Bytes())
		delete(got, "CodeSpan")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: elements (-want +got):\n%s", s, diff)
		}
		code := inCode(s)
		if got := shown(t, source.Bytes(), "h1"); !cmp.Equal(got, []string{code + " against plain"}) {
			t.Errorf("heading of %q is %q", s, got)
		}
		heads := shown(t, source.Bytes(), "th")
		if len(heads) != 3 || strings.Trim(heads[1], " ") != strings.Trim(code, " ") || heads[2] != "plain" {
			t.Errorf("columns of %q are %q", s, heads)
		}
		items := shown(t, source.Bytes(), "li")
		if want := []string{code, "plain", code, "plain", code, "plain"}; !cmp.Equal(items[:6], want) {
			t.Errorf("lists of %q are %q, want %q", s, items[:6], want)
		}
	}
}

// The name of a control is a surface's own word.
func TestComparisonMarkdownShowsControlsAsTexts(t *testing.T) {
	for _, s := range hostile {
		if s == "" {
			continue // then no control refused
		}
		c := comparisonOf("plain", "plain")
		c.Baseline.Operations = &eval.Operations{Refusals: []eval.Refusals{{Control: "input", Count: 7}, {Control: s, Count: 1}}}
		c.Candidate.Operations = &eval.Operations{Refusals: []eval.Refusals{{Control: s, Count: 2}}}
		var source bytes.Buffer
		if err := ComparisonMarkdown(&source, c); err != nil {
			t.Fatal(err)
		}
		if got := kinds(source.Bytes()); got["TableRow"] != 5+10 || got["TableCell"] != 3*(1+5+10) {
			t.Errorf("%q: %d rows, %d cells", s, got["TableRow"], got["TableCell"])
		}
		cells := shown(t, source.Bytes(), "td")
		at := slices.Index(cells, "Calls that succeeded") + 3
		want := []string{"Refused by " + inCode(s), "1", "2", "Refused by input", "7", "0"}
		got := cells[at : at+6]
		if got[0] = strings.Join(strings.Fields(got[0]), " "); got[0] != strings.Join(strings.Fields(want[0]), " ") || !slices.Equal(got[1:], want[1:]) {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestComparisonMarkdownListsOneHundredCases(t *testing.T) {
	tests := []struct {
		cases, listed int
		more          string
	}{
		{0, 0, ""},
		{1, 1, ""},
		{100, 100, ""},
		{101, 100, "and 1 more, all of them in tool-comparison.json"},
		{250, 100, "and 150 more, all of them in tool-comparison.json"},
	}
	for _, test := range tests {
		c := &eval.Comparison{Baseline: new(eval.Summary), Dataset: eval.Dataset{Name: "d", Cases: test.cases}}
		for i := range test.cases {
			c.Improvements.Add(fmt.Sprintf("case-%d", i))
		}
		var source bytes.Buffer
		if err := ComparisonMarkdown(&source, c); err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := range test.listed {
			want = append(want, fmt.Sprintf("case-%d", i))
		}
		if test.more != "" {
			want = append(want, test.more)
		}
		if diff := cmp.Diff(want, shown(t, source.Bytes(), "li")); diff != "" {
			t.Errorf("list of %d cases (-want +got):\n%s", test.cases, diff)
		}
		title := fmt.Sprintf("Only the candidate passes (%d):", test.cases)
		if test.cases == 0 {
			title = "Only the candidate passes: none."
		}
		for _, line := range []string{title, "Only the baseline passes: none."} {
			if !strings.Contains(source.String(), "\n"+line+"\n") {
				t.Errorf("no line %q for %d cases", line, test.cases)
			}
		}
	}
}

func TestCatalogCost(t *testing.T) {
	tests := []struct {
		name          string
		before, after int
		want          string
	}{
		{"more", 247, 2505, "A model is sent 2505 bytes of tool definitions by the candidate and 247 bytes by the baseline: 2258 bytes more in every request that carries the whole catalog, 10.1 times the size."},
		{"less", 3, 2, "A model is sent 2 bytes of tool definitions by the candidate and 3 bytes by the baseline: 1 byte less in every request that carries the whole catalog, 0.7 times the size."},
		{"the same", 5, 5, "A model is sent 5 bytes of tool definitions by the candidate and 5 bytes by the baseline: the same, 1.0 times the size."},
		{"no baseline", 0, 1, "A model is sent 1 byte of tool definitions by the candidate and 0 bytes by the baseline: 1 byte more in every request that carries the whole catalog."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &eval.Comparison{Baseline: &eval.Summary{ModelSchemaBytes: test.before}, Candidate: eval.Summary{ModelSchemaBytes: test.after}}
			got, tokens, _ := strings.Cut(catalogCost(c), " Bytes of UTF-8")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tokens == "" {
				t.Error("nothing is said of tokens")
			}
		})
	}
}
