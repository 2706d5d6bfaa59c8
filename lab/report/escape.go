package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible replaces what a terminal or a text editor would obey instead of
// show: control characters, line separators, and the marks that turn the
// direction of text around. Each becomes its \u escape, and a byte that is no
// UTF-8 its \x escape.
func Visible(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
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

// isPlain reports whether all of s shows itself.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			// What is beyond ASCII is rare enough to be looked at rune by rune.
			return strings.IndexFunc(s, func(r rune) bool { return invisible(r) || r == utf8.RuneError }) < 0
		}
	}
	return true
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
		case '\\', '`', '*', '_', '[', ']', '|', '~', '#', '$':
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, c)
			// Some renderers make a link of a bare address, escaped or not.
			if c == '@' || c == ':' && strings.HasPrefix(s[i:], "://") || isWWW(s, i) {
				dst = append(dst, zeroWidthSpace...)
			}
		}
	}
	return dst
}

const zeroWidthSpace = "&#8203;"

// isWWW reports whether byte i of s is the last w of a "www." in any case.
func isWWW(s string, i int) bool {
	return i >= 2 && i+1 < len(s) && s[i+1] == '.' && strings.EqualFold(s[i-2:i+1], "www")
}

// appendCode appends text as a code span, in which nothing of it is markup.
// In the cell of a table a pipe is escaped as well, which only tables undo.
func appendCode(dst []byte, s string, inCell bool) []byte {
	s = Visible(s)
	if s == "" {
		return append(dst, `""`...)
	}
	if inCell && strings.Contains(s, `\|`) {
		// Renderers do not agree on where such a cell ends.
		return appendInline(dst, s)
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	pad := ""
	if len(fence) > 1 || s[0] == ' ' && s[len(s)-1] == ' ' && strings.Trim(s, " ") != "" {
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

// longestRun returns how often c stands in a row in s at the most.
func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
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
