package tool

import (
	"strings"
	"unicode/utf8"
)

// MaxWords is how much an error holds of a backend's own words, in bytes.
const MaxWords = 1000

// Words are a backend's own words as an error holds them: they are UTF-8, and not
// too long.
func Words(text string) string { return Cut(strings.ToValidUTF8(text, "\uFFFD"), MaxWords) }

// Cut shortens a text of more than limit bytes, between two characters where it has
// any, and marks that.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > max(0, limit-utf8.UTFMax) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// maxCode is how long a code is at most, in bytes.
const maxCode = 64

// Plain reports whether a code has the form of those in the table: words of small
// letters and digits in snake_case, the first of which begins with a letter.
func (c Code) Plain() bool {
	if c == "" || len(c) > maxCode || c[0] < 'a' {
		return false
	}
	for word := range strings.SplitSeq(string(c), "_") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}
