package report

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", ""},
		{"plain", "T-102, é, 日本, 🎫", "T-102, é, 日本, 🎫"},
		{"escape sequence", "\x1b[31mred\x1b[0m", `\u001b[31mred\u001b[0m`},
		{"C1 control", "\u009b31m", `\u009b31m`},
		{"line ends", "a\r\nb\tc\x00", `a\u000d\u000ab\u0009c\u0000`},
		{"delete", "a\x7fb", `a\u007fb`},
		{"separators", "\u2028\u2029\u0085", `\u2028\u2029\u0085`},
		{"direction", "\u202ea\u2066b\u200f", `\u202ea\u2066b\u200f`},
		{"zero width", "a\u200bb\u200dc\ufeff", `a\u200bb\u200dc\ufeff`},
		{"beyond the first plane", "\U000e0041", `\U000e0041`},
		{"no UTF-8", "a\xffb\xc3\x28", `a\xffb\xc3(`},
		{"a C1 control as a byte", "\x9b31m", `\x9b31m`},
		{"the replacement character", "\ufffd", "\ufffd"},
		{"a backslash", `\u0041`, `\u0041`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Visible(test.text); got != test.want {
				t.Errorf("Visible(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func TestVisibleLeavesNothingToObey(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) || unicode.In(r, unicode.Co, unicode.Cs) {
			continue
		}
		got := Visible(string(r))
		for _, c := range got {
			if unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("Visible(%U) = %q", r, got)
			}
		}
	}
	for _, s := range hostile {
		if got := Visible(s); !utf8.ValidString(got) || Visible(got) != got {
			t.Errorf("Visible(%q) = %q, which is not yet visible", s, got)
		}
	}
}

func TestPercent(t *testing.T) {
	tests := []struct {
		name  string
		part  int
		whole int
		want  string
	}{
		{"none of none", 0, 0, "n/a"},
		{"one in eleven", 1, 11, "9.1%"},
		{"none", 0, 11, "0.0%"},
		{"all", 11, 11, "100.0%"},
		{"half", 1, 2, "50.0%"},
		{"two thirds", 2, 3, "66.7%"},
		{"all but one of very many", 999_999, 1_000_000, "99.9%"},
		{"one of very many", 1, 1_000_000, "0.1%"},
		{"just below what rounds to all", 9994, 10_000, "99.9%"},
		{"what rounds to all", 9996, 10_000, "99.9%"},
		{"just above what rounds to none", 6, 10_000, "0.1%"},
		{"what rounds to none", 4, 10_000, "0.1%"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rate := 0.0
			if test.whole > 0 {
				rate = float64(test.part) / float64(test.whole)
			}
			if got := percent(rate, test.whole > 0); got != test.want {
				t.Errorf("percent of %d / %d is %s, want %s", test.part, test.whole, got, test.want)
			}
		})
	}
	for whole := 1; whole <= 3000; whole += 7 {
		for part := range whole + 1 {
			got := percent(float64(part)/float64(whole), true)
			if (got == "100.0%") != (part == whole) || (got == "0.0%") != (part == 0) {
				t.Fatalf("percent of %d / %d is %s", part, whole, got)
			}
		}
	}
}

// The fence of a code span is found in one pass: a text of backticks does not
// hold a report up.
func TestAppendCodeOfVeryManyBackticks(t *testing.T) {
	text := strings.Repeat("`", 1<<20)
	started := time.Now()
	got := appendCode(nil, text, true)
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if want := 3*len(text) + 4; len(got) != want {
		t.Errorf("the code span has %d bytes, want %d", len(got), want)
	}
}

func TestAppendCode(t *testing.T) {
	tests := []struct {
		name, text string
		inCell     bool
		want       string
	}{
		{name: "plain", text: "read-ticket", want: "`read-ticket`"},
		{name: "empty", text: "", want: `""`},
		{name: "a backtick", text: "a`b", want: "`` a`b ``"},
		{name: "backticks at the ends", text: "``a`", want: "``` ``a` ```"},
		{name: "spaces at both ends", text: " a ", want: "`  a  `"},
		{name: "nothing but spaces", text: "  ", want: "`  `"},
		{name: "a pipe", text: "a|b", want: "`a|b`"},
		{name: "a pipe in a cell", text: "a|b", inCell: true, want: "`a\\|b`"},
		{name: "a backslash and a pipe in a cell", text: `a\|b`, inCell: true, want: `a\\\|b`},
		{name: "a line end", text: "a\nb", want: "`a\\u000ab`"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(appendCode(nil, test.text, test.inCell)); got != test.want {
				t.Errorf("appendCode(%q) = %s, want %s", test.text, got, test.want)
			}
		})
	}
}
