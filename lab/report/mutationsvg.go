package report

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"agentlab/lab/mutation"
)

// The measures of a heat map, in pixels.
const (
	heatMargin  = 16
	heatLabels  = 250 // of rows
	heatBar     = 120 // how the mutants of a row came out
	heatCell    = 12
	heatLine    = 13
	heatHead    = 96 // title, scope and legend
	heatLongest = 44 // characters of a label that are shown; all are where a person points
	heatLetter  = 5  // how wide one is
)

// heatStates are the parts of a bar in their order, with the class of their colour.
var heatStates = []struct {
	status mutation.Status
	class  string
}{
	{mutation.Killed, "k"}, {mutation.TimedOut, "t"}, {mutation.Refused, "r"},
	{mutation.Survived, "s"}, {mutation.NoCoverage, "n"}, {mutation.Equivalent, "e"},
}

// heatSteps are the shades of a cell, by the share of the mutants of its row that
// its case noticed.
const heatSteps = 4

// Colours are classes, as not everything that draws an SVG knows variables.
const heatStyle = `
text{font:9px ui-sans-serif,system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}
.title{font-size:15px;font-weight:600}.group{font-weight:600;font-size:10px}.said{fill:#59636e}.end{text-anchor:end}
.ground{fill:#fff}.row{fill:#f3f5f7}
.c1{fill:#b6d8f7}.c2{fill:#6cb0ee}.c3{fill:#2f7fd1}.c4{fill:#0b4a94}
.k{fill:#2f7fd1}.t{fill:#4d9f8f}.r{fill:#7d6fc4}.s{fill:#d1242f}.n{fill:#e08600}.e{fill:#aab2bb}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.said{fill:#9198a1}
.ground{fill:#0d1117}.row{fill:#1a2028}
.c1{fill:#123a66}.c2{fill:#1f62ab}.c3{fill:#4a97e8}.c4{fill:#a8d3ff}
.k{fill:#4a97e8}.t{fill:#58b8a5}.r{fill:#a497ea}.s{fill:#ff6a69}.n{fill:#f0a330}.e{fill:#6a727c}
}
`

// MutationSVG writes mutation.svg: which cases notice which mutants, as one image
// that needs nothing beside it.
func MutationSVG(w io.Writer, m *mutation.Matrix) error {
	out := bufio.NewWriter(w)
	h := heatOf(m)
	left := heatMargin + heatLabels + heatBar + 2*heatMargin
	longest := 0
	for _, column := range h.columns {
		longest = max(longest, utf8.RuneCountInString(cutRunes(column.label)))
	}
	names := 3*heatMargin/2 + longest*heatLetter // leaning, they are not quite as high as they are long
	top := heatMargin + heatHead + names
	lines := 0
	for _, g := range h.groups {
		lines += 1 + len(g.rows)
	}
	// The names of the last columns lean over the edge of the last cells.
	width := max(left+len(h.columns)*heatCell+names*2/3, 760)
	height := top + lines*heatLine + 2*heatMargin

	title := fmt.Sprintf("Mutants of %s", m.Surface)
	said := fmt.Sprintf("%d of %s noticed, score %s", m.Total.Noticed, Counted(m.Total.Mutants-m.Total.Equivalent, "mutant"), Share(m.Total.Share()))
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="t d">`+"\n", width, height, width, height)
	fmt.Fprintf(out, `<title id="t">%s</title><desc id="d">%s</desc>`+"\n<style>%s</style>\n", escaped(title), escaped(said), heatStyle)
	fmt.Fprintf(out, `<rect class="ground" width="%d" height="%d"/>`+"\n", width, height)
	label(out, heatMargin, heatMargin+14, "title", cut(title, 100))
	label(out, heatMargin, heatMargin+30, "", said)
	until := "each case on each mutant"
	if !m.Full {
		until = "on each mutant the first case that noticed, and no further one"
	}
	label(out, heatMargin, heatMargin+44, "said", "A row is "+h.of+", a column a case: "+until+".")
	legend(out, heatMargin, heatMargin+58)

	for i, column := range h.columns {
		x, y := left+i*heatCell+heatCell-2, top-6
		fmt.Fprintf(out, `<text transform="translate(%d %d) rotate(-60)">%s<title>%s</title></text>`+"\n", x, y, escaped(cutRunes(column.label)), escaped(column.title))
	}
	y := top
	for _, g := range h.groups {
		label(out, heatMargin, y+heatLine-3, "group", cutRunes(g.score.Control))
		label(out, heatMargin+heatLabels+heatBar+heatMargin, y+heatLine-3, "end said", Share(g.score.Share()))
		y += heatLine
		for _, row := range g.rows {
			h.row(out, row, left, y)
			y += heatLine
		}
	}
	out.WriteString("</svg>\n")
	return out.Flush()
}

// row draws the name of a row, its bar, and a cell for each case that notices.
func (h *heat) row(out *bufio.Writer, row *heatRow, left, y int) {
	said := row.label
	if row.title != "" {
		said += ": " + row.title
	}
	var parts []string
	for _, s := range heatStates {
		if n := row.states[s.status]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+statusName(s.status))
		}
	}
	said += " (" + strings.Join(parts, ", ") + ")"
	fmt.Fprintf(out, `<text x="%d" y="%d">%s<title>%s</title></text>`+"\n", heatMargin+8, y+heatLine-4, escaped(cutRunes(row.label)), escaped(said))
	start := heatMargin + heatLabels
	label(out, start-6, y+heatLine-4, "end said", strconv.Itoa(row.mutants))
	for x, done, i := start, 0, 0; i < len(heatStates); i++ {
		done += row.states[heatStates[i].status]
		end := start + done*heatBar/max(row.mutants, 1)
		if end > x {
			fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="%d" height="%d"><title>%s</title></rect>`+"\n",
				heatStates[i].class, x, y+2, end-x, heatLine-4, escaped(said))
		}
		x = end
	}
	fmt.Fprintf(out, `<rect class="row" x="%d" y="%d" width="%d" height="%d"/>`+"\n", left, y+1, len(h.columns)*heatCell, heatLine-2)
	for i, n := range row.kills {
		if n == 0 {
			continue
		}
		step := (n*heatSteps + row.mutants - 1) / row.mutants
		fmt.Fprintf(out, `<rect class="c%d" x="%d" y="%d" width="%d" height="%d"><title>%s</title></rect>`+"\n",
			step, left+i*heatCell, y+1, heatCell-1, heatLine-2,
			escaped(fmt.Sprintf("%s notices %d of %s: %s", h.columns[i].label, n, Counted(row.mutants, "mutant"), row.label)))
	}
}

// legend draws what the colours stand for.
func legend(out *bufio.Writer, x, y int) {
	said := func(class, text string) {
		fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="9" height="9"/>`+"\n", class, x, y)
		label(out, x+13, y+8, "", text)
		x += 13 + (utf8.RuneCountInString(text)+3)*heatLetter
	}
	label(out, x, y+8, "said", "mutants:")
	x += 48
	for _, s := range heatStates {
		said(s.class, statusName(s.status))
	}
	x, y = heatMargin, y+16
	label(out, x, y+8, "said", "a case notices, of the mutants of a row:")
	x += 200
	for step := 1; step <= heatSteps; step++ {
		said("c"+strconv.Itoa(step), "up to "+strconv.Itoa(100*step/heatSteps)+"%")
	}
}

func label(out *bufio.Writer, x, y int, class, text string) {
	attribute := ""
	if class != "" {
		attribute = ` class="` + class + `"`
	}
	fmt.Fprintf(out, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, attribute, escaped(text))
}

// escaped is text in XML, in which nothing of it is markup.
func escaped(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(Visible(s))); err != nil {
		panic(err) // a builder takes everything
	}
	return b.String()
}

// cutRunes shortens a label to what there is room for.
func cutRunes(s string) string {
	s = Visible(s)
	if utf8.RuneCountInString(s) <= heatLongest {
		return s
	}
	return string([]rune(s)[:heatLongest-1]) + "…"
}
