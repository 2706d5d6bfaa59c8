package schema

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Limits of patterns: Go's matcher takes up to text × program steps.
const (
	maxPattern  = 1024 // bytes
	maxPrograms = 20000
)

// White space of ECMA 262 (\s) and all else (\S), as the inside of a class.
// RE2's own \s is ASCII only.
const (
	ecmaSpace    = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	ecmaNonSpace = `\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}` +
		`\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	// RE2's dot also matches the other line ends.
	ecmaDot = `[^\n\r\x{2028}\x{2029}]`
)

// patternError says why a pattern is refused.
type patternError struct {
	reason      string
	unsupported bool
}

func (e *patternError) Error() string { return e.reason }

func unlike(format string, args ...any) error {
	return &patternError{fmt.Sprintf(format, args...), true}
}

// translate turns a pattern of ECMA 262 into one of RE2 that matches the same
// texts, code point by code point, and says how long RE2's program is.
// What has no equal in RE2, or means something else there, is an error.
func translate(pattern string) (re2 string, size int, err error) {
	if len(pattern) > maxPattern {
		return "", 0, unlike("the pattern is longer than %d bytes", maxPattern)
	}
	t := translation{rest: pattern}
	for t.rest != "" && err == nil {
		if t.class {
			err = t.inClass()
		} else {
			err = t.outside()
		}
	}
	if err != nil {
		return "", 0, err
	}
	re2 = t.out.String()
	parsed, err := syntax.Parse(re2, syntax.Perl)
	if err != nil {
		return "", 0, broken(err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return "", 0, broken(err)
	}
	return re2, len(program.Inst), nil
}

func broken(err error) error {
	var fault *syntax.Error
	if errors.As(err, &fault) {
		switch fault.Code {
		case syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingBracket,
			syntax.ErrTrailingBackslash, syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp:
			return &patternError{reason: "not a regular expression: " + string(fault.Code)}
		}
		return unlike("the pattern cannot be matched here: %s", string(fault.Code))
	}
	return unlike("the pattern cannot be matched here")
}

type translation struct {
	rest  string
	out   strings.Builder
	class bool
	dash  bool // inside a class: the last character was a dash that may begin a range
	first bool // inside a class: nothing stands in it yet
}

func (t *translation) take(n int) string {
	head := t.rest[:n]
	t.rest = t.rest[n:]
	return head
}

func (t *translation) outside() error {
	switch t.rest[0] {
	case '\\':
		return t.escape()
	case '.':
		t.take(1)
		t.out.WriteString(ecmaDot)
	case '[':
		if strings.HasPrefix(t.rest, "[]") || strings.HasPrefix(t.rest, "[^]") {
			return unlike("an empty class ([] or [^]) means something else in RE2")
		}
		t.class, t.first, t.dash = true, true, false
		if strings.HasPrefix(t.rest, "[^") {
			t.out.WriteString(t.take(2))
		} else {
			t.out.WriteString(t.take(1))
		}
	case '(':
		if group := t.rest; strings.HasPrefix(group, "(?") && !strings.HasPrefix(group, "(?:") {
			for _, around := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
				if strings.HasPrefix(group, around) {
					return unlike("look-around %s…) is not supported by RE2", around)
				}
			}
			if !strings.HasPrefix(group, "(?<") {
				return unlike("inline flags and (?P…) are not part of ECMA 262")
			}
		}
		t.out.WriteString(t.take(1))
	default:
		t.out.WriteString(t.take(1))
	}
	return nil
}

func (t *translation) inClass() error {
	first := t.first
	t.first = false
	switch c := t.rest[0]; {
	case c == '\\':
		return t.escape()
	case c == ']':
		t.class = false
	case strings.HasPrefix(t.rest, "[:"):
		return unlike("a POSIX class [:…:] is not part of ECMA 262")
	case c == '-':
		t.dash = !first
		t.out.WriteString(t.take(1))
		return nil
	}
	t.dash = false
	t.out.WriteString(t.take(1))
	return nil
}

// set writes a class escape, given as the inside of a class.
func (t *translation) set(inside string) error {
	if t.class {
		// Where one side of a range is a set, engines differ.
		if t.dash || strings.HasPrefix(t.rest, "-") && !strings.HasPrefix(t.rest, "-]") {
			return unlike("a dash beside a class escape has no one meaning")
		}
		t.out.WriteString(inside)
		return nil
	}
	t.out.WriteString("[" + inside + "]")
	return nil
}

func (t *translation) literal(r rune) {
	t.dash = false
	fmt.Fprintf(&t.out, `\x{%x}`, r)
}

func (t *translation) escape() error {
	if len(t.rest) == 1 {
		return &patternError{reason: "not a regular expression: it ends in a backslash"}
	}
	whole := t.rest
	t.take(1)
	c := t.rest[0]
	if c >= 0x80 {
		return nil // an escaped letter beyond ASCII is that letter
	}
	t.take(1)
	switch {
	case strings.IndexByte("dDwW", c) >= 0:
		return t.set(`\` + string(c))
	case c == 's':
		return t.set(ecmaSpace)
	case c == 'S':
		return t.set(ecmaNonSpace)
	case c == 'b' && t.class:
		t.literal('\b')
	case (c == 'b' || c == 'B') && !t.class:
		t.out.WriteString(whole[:2])
	case strings.IndexByte("fnrtv", c) >= 0:
		t.dash = false
		t.out.WriteString(whole[:2])
	case c == '0' && (t.rest == "" || t.rest[0] < '0' || t.rest[0] > '9'):
		t.literal(0)
	case c >= '1' && c <= '9' || c == 'k':
		return unlike(`back-reference \%c is not supported by RE2`, c)
	case c == 'x':
		r, ok := t.hex(2)
		if !ok {
			return unlike(`\x without two hex digits is not part of ECMA 262`)
		}
		t.literal(r)
	case c == 'u':
		r, ok := t.hex(4)
		if ok && utf16.IsSurrogate(r) {
			low, paired := rune(0), strings.HasPrefix(t.rest, `\u`)
			if paired {
				t.take(2)
				low, paired = t.hex(4)
			}
			if r = utf16.DecodeRune(r, low); !paired || r == '\uFFFD' {
				return unlike(`half a surrogate pair (\u) is not supported by RE2`)
			}
		}
		if !ok {
			return unlike(`\u without four hex digits is not supported`)
		}
		t.literal(r)
	case c == 'c' && t.rest != "" && isLetter(t.rest[0]):
		t.literal(rune(t.take(1)[0] % 32))
	case isLetter(c) || c >= '0' && c <= '9':
		return unlike(`escape \%c has another meaning, or none, in ECMA 262`, c)
	default:
		t.dash = false
		t.out.WriteString(whole[:2])
	}
	return nil
}

func (t *translation) hex(digits int) (rune, bool) {
	if len(t.rest) < digits {
		return 0, false
	}
	n, err := strconv.ParseUint(t.rest[:digits], 16, 32)
	if err != nil {
		return 0, false
	}
	t.take(digits)
	return rune(n), true
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
