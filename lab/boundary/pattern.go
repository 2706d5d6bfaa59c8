package boundary

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// unicodeEscape is how ECMA 262 writes what RE2 writes \x{…}.
var unicodeEscape = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)

// maxPattern bounds what is compiled, in bytes. lab/schema takes no longer ones
// either.
const maxPattern = 1024

func read(pattern string) string { return unicodeEscape.ReplaceAllString(pattern, `\x{$1}`) }

// pattern compiles one of the document's patterns, or returns nil. It is near
// enough to tell drafts apart: \s and the dot are not those of ECMA 262.
func (d *document) pattern(source string) *regexp.Regexp {
	re, known := d.patterns[source]
	if !known {
		if len(source) <= maxPattern {
			re, _ = regexp.Compile(read(source))
		}
		d.patterns[source] = re
	}
	return re
}

// steps is how large a pattern's program is.
func steps(pattern string) int {
	if len(pattern) > maxPattern {
		return 0
	}
	parsed, err := syntax.Parse(read(pattern), syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

var (
	errLong    = errors.New("the texts that match it are too long")
	errNothing = errors.New("nothing matches it")
)

// matching makes texts that match a pattern, of at least so many characters
// where its repetitions allow: the shortest, and one that goes on where the
// pattern leaves its end open.
func matching(pattern string, least, salt int) ([]string, error) {
	if len(pattern) > maxPattern {
		return nil, errors.New("it is too long")
	}
	parsed, err := syntax.Parse(read(pattern), syntax.Perl)
	if err != nil {
		var fault *syntax.Error
		if errors.As(err, &fault) {
			return nil, errors.New(fault.Code.String())
		}
		return nil, err
	}
	short := writer{salt: salt}
	if err := short.write(parsed); err != nil {
		return nil, err
	}
	made := []string{string(short.out)}
	if lacking := least - len(short.out); lacking > 0 {
		long := writer{salt: salt, spare: lacking}
		if err := long.write(parsed); err != nil {
			return nil, err
		}
		made = append(made, string(long.out))
		if lacking = least - len(long.out); lacking > 0 {
			made = append(made, string(long.out)+strings.Repeat("x", lacking))
		}
	} else {
		// A pattern without an end is met by more than its shortest match, which
		// says little: "^/" by a single slash.
		long := string(short.out) + numbered(word, salt)
		if re, err := regexp.Compile(read(pattern)); err == nil && re.MatchString(long) && !re.MatchString("") && !strings.HasSuffix(pattern, "$") {
			made = append([]string{long}, made...)
		}
	}
	return made, nil
}

// writer writes one text that an expression matches.
type writer struct {
	out   []rune
	salt  int // which of several equal choices
	spare int // how many characters repetitions should add
	steps int
}

// maxSteps bounds the expressions that are visited for one text.
const maxSteps = 1 << 18

func (w *writer) write(re *syntax.Regexp) error {
	if w.steps++; len(w.out) > maxText || w.steps > maxSteps {
		return errLong
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return errNothing
	case syntax.OpLiteral:
		w.out = append(w.out, re.Rune...)
	case syntax.OpCharClass:
		r, ok := member(re.Rune, w.salt)
		if !ok {
			return errNothing
		}
		w.out = append(w.out, r)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		r, _ := member([]rune{' ', '~'}, w.salt)
		w.out = append(w.out, r)
	case syntax.OpCapture:
		return w.write(re.Sub[0])
	case syntax.OpStar:
		return w.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		return w.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		return w.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		return w.repeat(re.Sub[0], re.Min, re.Max)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if err := w.write(sub); err != nil {
				return err
			}
		}
	case syntax.OpAlternate:
		return w.write(re.Sub[w.salt%len(re.Sub)])
	}
	return nil // an empty match, or a place
}

func (w *writer) repeat(re *syntax.Regexp, least, most int) error {
	for n := 0; most < 0 || n < most; n++ {
		if n >= least && w.spare <= 0 {
			return nil
		}
		before := len(w.out)
		if err := w.write(re); err != nil {
			return err
		}
		if n >= least {
			if len(w.out) == before {
				return nil
			}
			w.spare -= len(w.out) - before
		}
	}
	return nil
}

// likely are the characters that a text is made of where it may.
const likely = "abcdefghijklmnopqrstuvwxyz1234567890ABCDEFGHIJKLMNOPQRSTUVWXYZ_-. "

// member picks a character of a class, given as pairs of first and last.
func member(class []rune, nth int) (rune, bool) {
	var found []rune
	for _, r := range likely {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				found = append(found, r)
				break
			}
		}
	}
	if len(found) > 0 {
		return found[nth%len(found)], true
	}
	for i := 0; i+1 < len(class); i += 2 {
		size := int(class[i+1]-class[i]) + 1
		if r := class[i] + rune(nth%size); r < 0xD800 || r > 0xDFFF {
			return r, true
		}
	}
	return 0, false
}
