package github

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"agentlab/lab/eval"
	"agentlab/lab/report/reporttest"
)

func TestGolden(t *testing.T) {
	for _, name := range reporttest.Streams {
		reporttest.Golden(t, name+".txt", reporttest.Feed(t, name, func(w io.Writer, c *eval.Comparison) reporttest.Sink {
			return NewAnnotations(w, c, Options{Locate: func(file string) string { return "data/" + file }})
		}))
		reporttest.Golden(t, name+".md", reporttest.Feed(t, name, func(w io.Writer, c *eval.Comparison) reporttest.Sink {
			return NewSummary(w, c)
		}))
	}
}

// command is a workflow command, in which everything is escaped that must be.
var command = regexp.MustCompile(`^::(error|warning|notice) (?:file=[^:,\r\n]*,line=\d+,)?title=[^:,\r\n]*::[^\r\n]*$`)

func TestHostileAnnotations(t *testing.T) {
	for _, s := range reporttest.Hostile {
		pairs := []*eval.Pair{reporttest.HostilePair(s), reporttest.Lost(s), reporttest.Todo(s)}
		var out bytes.Buffer
		reporttest.Render(t, NewAnnotations(&out, reporttest.Compared(t, s, pairs...), Options{}), pairs...)
		var kinds []string
		for line := range strings.Lines(out.String()) {
			found := command.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if found == nil {
				t.Fatalf("%q: %q is no command", s, line)
			}
			kinds = append(kinds, found[1])
			if bad := regexp.MustCompile(`%(?:$|[^23]|2[^5C]|0[^AD]|3[^A])`).FindString(strings.NewReplacer("%0A", "", "%0D", "").Replace(line)); bad != "" {
				t.Errorf("%q: %q is no escape in %q", s, bad, line)
			}
			if strings.ContainsAny(line, "\x00\x07\x1b\u202e") {
				t.Errorf("%q: a terminal would obey %q", s, line)
			}
		}
		if diff := cmp.Diff([]string{"error", "warning", "warning", "notice"}, kinds); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
	}
}

func TestNoMoreAnnotationsThanAreShown(t *testing.T) {
	failed, lost := reporttest.HostilePair("x"), reporttest.Lost("x")
	var pairs []*eval.Pair
	for range 12 {
		pairs = append(pairs, failed, lost)
	}
	var out bytes.Buffer
	reporttest.Render(t, NewAnnotations(&out, reporttest.Compared(t, "s", pairs...), Options{Locate: func(string) string { return "" }}), pairs...)
	if n, m := strings.Count(out.String(), "::error title="), strings.Count(out.String(), "::warning title="); n != 10 || m != 10 {
		t.Errorf("%d errors and %d warnings", n, m)
	}
	if want := " 2 more runs failed. 14 more runs could not run.\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("it does not end in %q:\n%s", want, &out)
	}
}

// markup counts what a summary has beside plain text and code.
func markup(source []byte) map[string]int {
	counts := map[string]int{}
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if kind := n.Kind().String(); entering && kind != "Text" && kind != "CodeSpan" && kind != "String" {
			counts[kind]++
		}
		return ast.WalkContinue, nil
	})
	return counts
}

func TestHostileSummaries(t *testing.T) {
	summary := func(s string) []byte {
		pairs := []*eval.Pair{reporttest.HostilePair(s), reporttest.Lost(s), reporttest.Todo(s)}
		var out bytes.Buffer
		reporttest.Render(t, NewSummary(&out, reporttest.Compared(t, s, pairs...)), pairs...)
		return out.Bytes()
	}
	want := markup(summary("plain"))
	for _, s := range reporttest.Hostile {
		if len(s) > 1000 {
			// Of why it failed, less is shown.
			if text := string(summary(s)); !strings.HasSuffix(text, "\n\n…\n") {
				t.Errorf("not cut between lines:\n%s", text)
			}
			continue
		}
		if diff := cmp.Diff(want, markup(summary(s))); diff != "" && strings.TrimSpace(s) != "" {
			t.Errorf("%q (-want +got):\n%s\n%s", s, diff, summary(s))
		}
	}
}

func TestSummariesAreCutBetweenPieces(t *testing.T) {
	pair := reporttest.HostilePair("x")
	var pairs []*eval.Pair
	for range 12 {
		pairs = append(pairs, pair)
	}
	c := reporttest.Compared(t, "s", pairs...)
	var whole bytes.Buffer
	reporttest.Render(t, NewSummary(&whole, c), pairs...)
	if !strings.HasSuffix(whole.String(), "\nAnd 2 more runs failed.\n") || strings.Count(whole.String(), "\n#### ") != 10 {
		t.Errorf("not the first ten of twelve in\n%s", &whole)
	}
	for limit := len(cut); limit < whole.Len(); limit += 97 {
		var out bytes.Buffer
		s := &Summary{w: &out, comparison: c, limit: limit}
		s.begin()
		reporttest.Render(t, s, pairs...)
		kept, ok := strings.CutSuffix(out.String(), cut)
		if !ok || out.Len() > limit || !strings.HasPrefix(whole.String(), kept) || kept != "" && !strings.HasSuffix(kept, "\n") {
			t.Fatalf("at %d: %q", limit, &out)
		}
	}
}

func TestEscapes(t *testing.T) {
	const text = "a%0A\r\n::b,c"
	if got, want := data(text), "a%250A%0D%0A::b,c"; got != want {
		t.Errorf("data is %s, want %s", got, want)
	}
	if got, want := property(text), "a%250A%0D%0A%3A%3Ab%2Cc"; got != want {
		t.Errorf("a property is %s, want %s", got, want)
	}
}
