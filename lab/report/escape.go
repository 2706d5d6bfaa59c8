package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Visible replaces what a terminal or a text editor would obey instead of
// show: control characters, line separators, and the marks that turn the
// direction of text around. Each becomes its \u escape.
func Visible(s string) string {
	if strings.IndexFunc(s, invisible) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !invisible(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// invisible reports control (Cc) and format (Cf) characters and the line and
// paragraph separators.
func invisible(r rune) bool {
	if r < 0x7f {
		return r < 0x20
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// appendInline appends text as a line of Markdown in which nothing of it is
// markup.
func appendInline(dst []byte, s string) []byte {
	s = strings.TrimSpace(Visible(s))
	// What makes a list or a heading does so at the start of a line.
	start := len(s) - len(strings.TrimLeft(s, "0123456789"))
	for i := range len(s) {
		switch c := s[i]; c {
		case '-', '+', '=', '.', ')':
			if i == start {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		case '&':
			dst = append(dst, "&amp;"...)
		case '\\', '`', '*', '_', '[', ']', '|', '~', '#', '$', '@':
			dst = append(dst, '\\', c)
		case ':':
			// A scheme in front of // is made a link by some renderers.
			dst = append(dst, c)
			if strings.HasPrefix(s[i:], "://") {
				dst = append(dst, "&#8203;"...)
			}
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendCode appends text as a code span, in which nothing of it is markup.
// In the cell of a table a pipe is escaped as well, which only tables undo.
func appendCode(dst []byte, s string, inCell bool) []byte {
	s = Visible(s)
	if s == "" {
		return append(dst, `""`...)
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	pad := ""
	if len(fence) > 1 || s[0] == ' ' && s[len(s)-1] == ' ' {
		pad = " "
	}
	if inCell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	dst = append(dst, fence...)
	dst = append(dst, pad...)
	dst = append(dst, s...)
	dst = append(dst, pad...)
	return append(dst, fence...)
}

// percent writes a share with one decimal. What is not all never reads as
// 100.0%, and what is not nothing never as 0.0%.
func percent(rate float64, ok bool) string {
	if !ok {
		return "n/a"
	}
	text := strconv.FormatFloat(100*rate, 'f', 1, 64)
	switch {
	case rate < 1 && text == "100.0":
		text = "99.9"
	case rate > 0 && text == "0.0":
		text = "0.1"
	}
	return text + "%"
}
