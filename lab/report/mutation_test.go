package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/mutation"
	"agentlab/lab/schema"
)

// matrixOf is a matrix in which every text that can come from a dataset, a contract
// or a waiver is s.
func matrixOf(s string, full bool) *mutation.Matrix {
	outcome := func(id, control string, status mutation.Status, kills ...mutation.Kill) mutation.Outcome {
		return mutation.Outcome{
			Mutant: mutation.Mutant{ID: id + s, Operator: id, Control: control, Tool: s, Place: s, Does: s, Unchecked: s},
			Status: status, Kills: kills, Reached: len(kills),
		}
	}
	m := &mutation.Matrix{
		Surface: s, Cases: []string{s, "plain"}, LeftOut: []string{s}, Full: full,
		Outcomes: []mutation.Outcome{
			outcome("a", s, mutation.Killed, mutation.Kill{Case: s, Graders: []string{s}}, mutation.Kill{Case: "plain"}),
			outcome("b", s, mutation.Survived),
			outcome("c", s, mutation.NoCoverage),
			outcome("d", s, mutation.Equivalent),
		},
		Controls: []mutation.Score{{Control: s, Mutants: 4, Noticed: 1, Survived: 1, NoCoverage: 1, Equivalent: 1}},
		Total:    mutation.Score{Mutants: 4, Noticed: 1, Survived: 1, NoCoverage: 1, Equivalent: 1},
		Stale:    []mutation.Waiver{{Mutant: s, Reason: s, Why: s, Line: 3}},
	}
	m.Outcomes[1].Suggested, m.Outcomes[3].Reason = s, s
	if full {
		m.Idle, m.Selection = []string{s}, []string{s}
	}
	return m
}

func TestMutationJSONOfHostileTexts(t *testing.T) {
	compiled, err := schema.Compile(MutationSchema)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range hostile {
		var text bytes.Buffer
		full := i%2 == 0
		if err := MutationJSON(&text, matrixOf(s, full)); err != nil {
			t.Fatal(err)
		}
		d := decodedText(s)
		mutant := func(id, status string, kills ...any) map[string]any {
			return map[string]any{
				"id": id + d, "operator": id, "does": d, "unchecked": d, "status": status, "kills": append([]any{}, kills...), "reached": number(len(kills)),
				"control": d,
			}
		}
		mutants := []any{
			mutant("a", "killed", map[string]any{"case": d, "graders": []any{d}}, map[string]any{"case": "plain", "graders": []any{}}),
			with(mutant("b", "survived"), "suggested_case", d),
			mutant("c", "no_coverage"),
			with(mutant("d", "equivalent"), "reason", d),
		}
		for _, m := range mutants {
			with(with(m.(map[string]any), "tool", d), "place", d)
		}
		score := func() map[string]any {
			return map[string]any{"mutants": number(4), "noticed": number(1), "survived": number(1), "no_coverage": number(1), "equivalent": number(1), "score": json.Number("0.3333333333333333")}
		}
		want := map[string]any{
			"schema_version": number(1), "version": eval.Version, "scope": MutationScope, "surface": d, "full": full,
			"total": score(), "controls": []any{with(score(), "control", d)}, "mutants": mutants,
			"cases": []any{d, "plain"}, "left_out": []any{d},
			"stale_waivers": []any{map[string]any{"mutant": d, "reason": d, "why_stale": d}},
		}
		if full {
			want["idle_cases"], want["selection"] = []any{d}, []any{d}
		}
		value, err := jsonvalue.Decode(text.Bytes())
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if s == "" { // what is empty may be left out
			for _, m := range mutants {
				delete(m.(map[string]any), "tool")
				delete(m.(map[string]any), "place")
				delete(m.(map[string]any), "suggested_case")
				delete(m.(map[string]any), "reason")
			}
			delete(want["controls"].([]any)[0].(map[string]any), "control")
			delete(want["stale_waivers"].([]any)[0].(map[string]any), "why_stale")
		} else if found := compiled.Validate(value); found != nil {
			t.Errorf("%q: violations of the schema: %v", s, found)
		}
		if diff := cmp.Diff(want, tree(t, text.Bytes())); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
	}
}

func TestMutationMarkdownShowsHostileTextsAsTexts(t *testing.T) {
	rendered := func(s string) []byte {
		var text bytes.Buffer
		if err := MutationMarkdown(&text, matrixOf(s, true)); err != nil {
			t.Fatal(err)
		}
		return text.Bytes()
	}
	plain := kinds(rendered("plain"))
	for _, s := range hostile {
		got := kinds(rendered(s))
		for _, kind := range append([]string{"Heading", "List", "ListItem", "Table", "TableRow", "TableCell"}, markup...) {
			if got[kind] != plain[kind] {
				t.Errorf("%q: %d elements %s, and %d with plain texts", s, got[kind], kind, plain[kind])
			}
		}
	}
	// What is shown is what was written, also where it is dangerous.
	s := "<script>alert(1)</script>|\x1b[31m"
	for _, tag := range []string{"td", "li", "h1", "h3"} {
		if !slices.ContainsFunc(shown(t, rendered(s), tag), func(text string) bool { return strings.Contains(text, Visible(s)) }) {
			t.Errorf("no %s shows %q", tag, s)
		}
	}
}

func TestMutationMarkdownKeepsItsCells(t *testing.T) {
	for _, s := range []string{"a|b", "|", `a\|b`, "a`b|c", "x"} {
		var text bytes.Buffer
		if err := MutationMarkdown(&text, matrixOf(s, false)); err != nil {
			t.Fatal(err)
		}
		row := []string{"a" + s, s, "killed", s + " (" + s + "), plain"}
		if !strings.Contains(strings.Join(shown(t, text.Bytes(), "td"), "\n"), strings.Join(row, "\n")) {
			t.Errorf("no row shows %q in\n%s", row, &text)
		}
	}
}

func TestMutationTextObeysNothing(t *testing.T) {
	for _, s := range hostile {
		var text bytes.Buffer
		if err := MutationText(&text, matrixOf(s, true)); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if line = strings.TrimSuffix(line, "\n"); Visible(line) != line {
				t.Errorf("%q: a terminal would obey %q", s, line)
			}
		}
	}
}

// svgElements reads an SVG as XML and returns its elements and its texts.
func svgElements(t *testing.T, source []byte) (elements map[string]int, texts []string) {
	t.Helper()
	elements = make(map[string]int)
	decoder := xml.NewDecoder(bytes.NewReader(source))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return elements, texts
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, source)
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					t.Errorf("an element %s has %s", token.Name.Local, a.Name.Local)
				}
			}
		case xml.CharData:
			texts = append(texts, string(token))
		}
	}
}

func TestMutationSVGShowsHostileTextsAsTexts(t *testing.T) {
	drawn := func(s string) []byte {
		var text bytes.Buffer
		if err := MutationSVG(&text, matrixOf(s, true)); err != nil {
			t.Fatal(err)
		}
		return text.Bytes()
	}
	plain, _ := svgElements(t, drawn("other"))
	for _, s := range hostile {
		if s == "plain" {
			continue // which is the other case as well
		}
		got, texts := svgElements(t, drawn(s))
		if diff := cmp.Diff(plain, got); diff != "" {
			t.Errorf("%q (-plain +got):\n%s", s, diff)
		}
		if want := strings.ToValidUTF8(Visible(s), "\uFFFD"); !strings.Contains(strings.Join(texts, "\n"), want) {
			t.Errorf("no text shows %q", want)
		}
	}
	for _, asset := range []string{"<script", "<image", "<use", "url(", "@import", "<foreignObject"} {
		if bytes.Contains(drawn("<script>"), []byte(asset)) {
			t.Errorf("the image has %s", asset)
		}
	}
}

// grown is a matrix of so many mutants of each of three operators of two controls.
func grown(mutants, cases int) *mutation.Matrix {
	m := &mutation.Matrix{Surface: "grown", Full: true}
	for i := range cases {
		m.Cases = append(m.Cases, fmt.Sprintf("case-%03d", i))
	}
	for _, of := range []struct{ operator, control string }{{"one", "input"}, {"two", "input"}, {"three", "output"}} {
		for i := range mutants {
			o := mutation.Outcome{Mutant: mutation.Mutant{ID: fmt.Sprintf("%s/tool/%d", of.operator, i), Operator: of.operator, Control: of.control, Does: "It does."}, Status: mutation.Survived}
			for j, id := range m.Cases {
				if of.operator != "two" && (j == i || j == cases-1) {
					o.Status, o.Kills = mutation.Killed, append(o.Kills, mutation.Kill{Case: id, Graders: []string{"ok"}})
				}
			}
			m.Outcomes = append(m.Outcomes, o)
		}
	}
	m.Controls = []mutation.Score{{Control: "input", Mutants: 2 * mutants, Noticed: mutants, Survived: mutants}, {Control: "output", Mutants: mutants, Noticed: mutants}}
	m.Total = mutation.Score{Mutants: 3 * mutants, Noticed: 2 * mutants, Survived: mutants}
	return m
}

func TestHeatStaysReadable(t *testing.T) {
	manyOperators := grown(1, 2)
	for i := range 2 * maxHeatRows {
		manyOperators.Outcomes = append(manyOperators.Outcomes, mutation.Outcome{Mutant: mutation.Mutant{ID: fmt.Sprint(i), Operator: fmt.Sprint(i), Control: "output"}, Status: mutation.Survived})
	}
	tests := []struct {
		name          string
		of            *mutation.Matrix
		rows, columns int
		first         string // row
		last          string // column
		noticed       int    // by the last column, of the first row
	}{
		{"as many rows as there is room for", grown(maxHeatRows/3, 5), maxHeatRows / 3 * 3, 5, "one/tool/0", "case-004", 1},
		{"a mutant more of each operator", grown(maxHeatRows/3+1, 5), 3, 5, "one", "case-004", maxHeatRows/3 + 1},
		{"operators without end", manyOperators, 2, 2, "all", "case-001", 1},
		{"as many cases as there is room for", grown(2, maxHeatColumns), 6, maxHeatColumns, "one/tool/0", "case-239", 1},
		{"a case more", grown(2, maxHeatColumns+1), 6, maxHeatColumns, "one/tool/0", "2 other cases", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := heatOf(test.of)
			rows, mutants := 0, 0
			for _, g := range h.groups {
				rows += len(g.rows)
				for _, r := range g.rows {
					mutants += r.mutants
					if len(r.kills) != len(h.columns) {
						t.Errorf("row %s has %d cells", r.label, len(r.kills))
					}
				}
			}
			if rows != test.rows || len(h.columns) != test.columns || mutants != len(test.of.Outcomes) {
				t.Errorf("%d rows, %d columns and %d mutants, want %d, %d and %d", rows, len(h.columns), mutants, test.rows, test.columns, len(test.of.Outcomes))
			}
			first, last := h.groups[0].rows[0], len(h.columns)-1
			if first.label != test.first || h.columns[last].label != test.last || first.kills[last] != test.noticed {
				t.Errorf("the first row is %s, the last column %s, and it notices %d; want %s, %s and %d",
					first.label, h.columns[last].label, first.kills[last], test.first, test.last, test.noticed)
			}
		})
	}
}

func TestHeatKeepsTheCasesThatNoticeMost(t *testing.T) {
	m := grown(2, maxHeatColumns+50)
	h := heatOf(m)
	for _, id := range []string{"case-000", "case-001", "case-289"} {
		if !slices.ContainsFunc(h.columns, func(c heatColumn) bool { return c.label == id }) {
			t.Errorf("%s notices something, and has no column", id)
		}
	}
}

func TestHeatCountsAMutantOnceAColumn(t *testing.T) {
	m := grown(1, maxHeatColumns+50)
	for _, id := range m.Cases {
		m.Outcomes[1].Kills = append(m.Outcomes[1].Kills, mutation.Kill{Case: id})
	}
	h := heatOf(m)
	if others := h.groups[0].rows[1].kills[len(h.columns)-1]; others != 1 {
		t.Errorf("the other cases notice %d mutants of one", others)
	}
}

func TestHeatShadesWhateverIsNoticed(t *testing.T) {
	var text bytes.Buffer
	if err := MutationSVG(&text, grown(maxHeatRows, 2)); err != nil {
		t.Fatal(err)
	}
	for class, want := range map[string]int{"c0": 0, "c1": 3, "c2": 1, "c4": 3} { // one of many, and all, of two operators; and the legend
		if got := strings.Count(text.String(), `class="`+class+`"`); got != want {
			t.Errorf("%d are %s, want %d in\n%s", got, class, want, &text)
		}
	}
}

func TestShareIsNotRoundedUp(t *testing.T) {
	tests := []struct {
		share float64
		ok    bool
		want  string
	}{
		{0, false, "n/a"}, {0, true, "0.000"}, {1, true, "1.000"}, {0.9999, true, "0.999"}, {2. / 3, true, "0.666"}, {0.25, true, "0.250"},
		{1 - 1e-12, true, "0.999"}, {0.57, true, "0.570"}, {0.0005, true, "0.000"},
	}
	for _, test := range tests {
		if got := Share(test.share, test.ok); got != test.want {
			t.Errorf("Share(%v, %t) is %s, want %s", test.share, test.ok, got, test.want)
		}
	}
}

func TestWriteMutationAndCheckIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	m := grown(2, 3)
	if err := WriteMutation(dir, m); err != nil {
		t.Fatal(err)
	}
	again := t.TempDir()
	if err := WriteMutation(again, m); err != nil {
		t.Fatal(err)
	}
	if err := CheckMutation(dir, again); err != nil {
		t.Errorf("the same matrix has other reports: %v", err)
	}
	if err := WriteMutation(again, grown(2, 4)); err != nil {
		t.Fatal(err)
	}
	var stale *Stale
	if err := CheckMutation(dir, again); !errors.As(err, &stale) || len(stale.Differences) != 3 {
		t.Errorf("the error of other reports is %v", err)
	}
	os.Remove(filepath.Join(again, MutationSVGFile))
	if err := os.Mkdir(filepath.Join(again, MutationSVGFile), 0o755); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(again, MutationJSONFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteMutation(again, m); err == nil {
		t.Error("a directory was written over")
	}
	after, err := os.ReadFile(filepath.Join(again, MutationJSONFile))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("a report was replaced though another could not be: %v", err)
	}
	entries, err := os.ReadDir(again)
	if err != nil || len(entries) != 3 {
		t.Errorf("%d entries are left, %v", len(entries), err)
	}
}

func TestMutationRenderersTellOfAWriterWithoutRoom(t *testing.T) {
	for _, render := range []func(io.Writer, *mutation.Matrix) error{MutationJSON, MutationMarkdown, MutationText, MutationSVG} {
		if err := render(full{}, grown(2, 3)); !errors.Is(err, errFull) {
			t.Errorf("the error is %v", err)
		}
	}
}
