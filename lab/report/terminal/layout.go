package terminal

import (
	"bufio"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/diff"

	"agentlab/lab/report"
	"agentlab/lab/tool"
)

// page lays text out. A writer of bufio keeps its first error.
type page struct {
	out   *bufio.Writer
	style Style
	ink   ink
}

// piece is text that is not broken as long as it fits a line, and its colour.
type piece struct {
	text  string // which shows itself
	paint paint
}

func word(text string) piece { return piece{text, nil} }

func (p piece) painted() string {
	if p.paint == nil {
		return p.text
	}
	return p.paint(p.text)
}

// The bounds of what is shown of one value: a person reads no more of it here.
const (
	maxText  = 8 << 10 // bytes
	maxLines = 60
)

func (p *page) blank() { p.out.WriteString("\n") }

// minRoom is how many columns are left for text, however deep it stands.
const minRoom = 8

func (p *page) room(indent string) int {
	if p.style.Width <= 0 {
		return 0
	}
	return max(p.style.Width-displaywidth.String(indent), minRoom)
}

// flow writes pieces after one another with a gap between them, and begins a line
// where the next does not fit.
func (p *page) flow(indent, gap string, pieces ...piece) {
	room := p.room(indent)
	rest := strings.Repeat(" ", displaywidth.String(indent))
	p.out.WriteString(indent)
	used := 0
	for _, piece := range pieces {
		width := displaywidth.String(piece.text)
		switch {
		case used == 0:
		case room > 0 && used+len(gap)+width > room:
			p.out.WriteString("\n" + rest)
			used = 0
		default:
			p.out.WriteString(gap)
			used += len(gap)
		}
		if room > 0 && width > room {
			lines := wrapped(piece.text, room)
			for i, line := range lines {
				if i > 0 {
					p.out.WriteString("\n" + rest)
				}
				p.out.WriteString(painted(piece.paint, line))
			}
			used = displaywidth.String(lines[len(lines)-1])
			continue
		}
		p.out.WriteString(piece.painted())
		used += width
	}
	p.out.WriteString("\n")
}

func painted(paint paint, text string) string { return piece{text, paint}.painted() }

// text writes a text that may be of any kind and length.
func (p *page) text(indent string, paint paint, text string) {
	p.lines(indent, paint, report.Visible(tool.Cut(text, maxText)))
}

// lines writes one line of text, wrapped.
func (p *page) lines(indent string, paint paint, text string) {
	for _, line := range wrapped(text, p.room(indent)) {
		p.out.WriteString(indent + painted(paint, line) + "\n")
	}
}

// document writes JSON, or whatever it is instead. What is short stands on a line.
func (p *page) document(indent string, paint paint, text string) {
	if room := p.room(indent); len(text) <= maxShort && (room == 0 || displaywidth.String(text) <= room) {
		p.text(indent, paint, text)
		return
	}
	all := formatted(text)
	for i, line := range all {
		if i == maxLines {
			p.text(indent, p.ink.faint, "and "+report.Counted(len(all)-i, "more line"))
			return
		}
		p.text(indent, paint, line)
	}
}

// maxShort is how many bytes of JSON stand on a line where the width allows.
const maxShort = 200

// formatted is a value a line, with the members in one order, so that two documents
// differ only where they say something else.
func formatted(text string) []string {
	out, err := jsontext.AppendFormat(nil, []byte(text),
		jsontext.Multiline(true), jsontext.WithIndent("  "), jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return strings.Split(text, "\n")
	}
	return strings.Split(string(out), "\n")
}

// diff writes what is expected (-) against what came (+), line by line.
func (p *page) diff(indent string, expected, actual []byte) {
	lines := strings.Split(strings.TrimSuffix(string(compared(expected, actual)), "\n"), "\n")
	for i, line := range lines {
		if i == maxLines {
			p.text(indent, p.ink.faint, "and "+report.Counted(len(lines)-i, "more line"))
			return
		}
		paint := paint(nil)
		switch {
		case strings.HasPrefix(line, "-"):
			paint = p.ink.bad
		case strings.HasPrefix(line, "+"):
			paint = p.ink.good
		case strings.HasPrefix(line, "@@"):
			paint = p.ink.faint
		}
		p.text(indent, paint, line)
	}
}

// compared is the difference of two documents without its head.
func compared(expected, actual []byte) []byte {
	document := func(text []byte) []byte { return []byte(strings.Join(formatted(string(text)), "\n") + "\n") }
	whole := diff.Diff("expected", document(expected), "actual", document(actual))
	if whole == nil {
		// A grader may judge more than what its values say.
		return []byte(" " + strings.Join(formatted(string(actual)), "\n "))
	}
	// Three lines say what is compared, and a fourth where, which is told only of
	// more than one place.
	for range 3 {
		_, rest, _ := strings.Cut(string(whole), "\n")
		whole = []byte(rest)
	}
	if head, rest, _ := strings.Cut(string(whole), "\n"); strings.HasPrefix(head, "@@") && !strings.Contains(rest, "\n@@") {
		whole = []byte(rest)
	}
	return whole
}

// wrapped breaks a line at its spaces, and where there are none, between characters.
// Nothing is lost but the spaces at which it broke.
func wrapped(text string, room int) []string {
	if room <= 0 || displaywidth.String(text) <= room {
		return []string{text}
	}
	// What is indented stays so.
	deep := len(text) - len(strings.TrimLeft(text, " "))
	if deep > room/2 {
		deep = 0
	}
	indent := text[:deep]
	var lines []string
	line, used := indent, deep
	for i, word := range strings.Split(text[deep:], " ") {
		width := displaywidth.String(word)
		if i > 0 {
			if used+1+width <= room {
				line, used = line+" ", used+1
			} else if used > deep {
				lines = append(lines, line)
				line, used = indent, deep
			}
		}
		if used+width <= room {
			line, used = line+word, used+width
			continue
		}
		for g := displaywidth.StringGraphemes(word); g.Next(); {
			if used+g.Width() > room && used > deep {
				lines = append(lines, line)
				line, used = indent, deep
			}
			line, used = line+g.Value(), used+g.Width()
		}
	}
	return append(lines, line)
}
