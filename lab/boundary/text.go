package boundary

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// bounds are what a place asks of a text.
type bounds struct {
	least, most int // characters
	patterns    []string
	formats     []string
}

func (d *demand) bounds() bounds {
	w := bounds{most: maxText}
	w.least, _ = d.strictest("minLength", 1)
	if most, ok := d.strictest("maxLength", -1); ok {
		w.most = min(most, maxText)
	}
	for _, part := range d.parts {
		if pattern, ok := part["pattern"].(string); ok && !slices.Contains(w.patterns, pattern) {
			w.patterns = append(w.patterns, pattern)
		}
		if format, ok := part["format"].(string); ok && !slices.Contains(w.formats, format) {
			w.formats = append(w.formats, format)
		}
	}
	return w
}

// maxTexts is how many different texts are tried at one place.
const maxTexts = 6

func (b *builder) text(at site, d *demand) (string, error) {
	w := d.bounds()
	switch {
	case w.least > maxText:
		return "", unmet(at.place, "the shortest text has more than %d characters", maxText)
	case w.least > w.most:
		return "", unmet(at.place, "minLength is more than maxLength")
	}
	var texts []string
	var failed string
	for salt := b.salt; salt < b.salt+3 && len(texts) < maxTexts; salt++ {
		drafts, reason := b.drafts(at.name, w, salt)
		if failed == "" {
			failed = reason
		}
		for _, draft := range drafts {
			if len(texts) < maxTexts && !slices.Contains(texts, draft) && b.fits(draft, w) {
				texts = append(texts, draft)
			}
		}
	}
	if len(texts) == 0 {
		if failed == "" {
			failed = w.wording()
		}
		return "", unmet(at.place, "%s", failed)
	}
	return texts[b.choices.choose(at.place, "text", len(texts))], nil
}

// wording says what of a text could not be had at once.
func (w bounds) wording() string {
	var wanted []string
	for _, pattern := range w.patterns {
		wanted = append(wanted, "the pattern "+clip(quote(pattern), 200))
	}
	for _, format := range w.formats {
		wanted = append(wanted, "the format "+clip(quote(format), 50))
	}
	if w.least > 0 {
		wanted = append(wanted, fmt.Sprintf("at least %d characters", w.least))
	}
	if w.most < maxText {
		wanted = append(wanted, fmt.Sprintf("at most %d characters", w.most))
	}
	return "no text was found for " + strings.Join(wanted, " and ")
}

// drafts are texts that may do, the best first, and why a pattern gave none. A
// text that has to look like a path is one of the sandbox's where that can be,
// else a name without a folder.
func (b *builder) drafts(name string, w bounds, salt int) (drafts []string, failed string) {
	add := func(text string) { drafts = append(drafts, w.lengthen(text)...) }
	hinted := hint(name)
	var made []string
	for _, pattern := range w.patterns {
		texts, err := matching(pattern, w.least, salt)
		if err != nil {
			failed = fmt.Sprintf("the pattern %s cannot be met: %s", clip(quote(pattern), 200), err)
		}
		made = append(made, texts...)
	}
	for _, format := range w.formats {
		if strings.HasSuffix(format, "path") && hinted == "" {
			hinted = file
		}
	}
	if hinted == "" && slices.ContainsFunc(made, leaves) {
		hinted = file
	}
	if hinted != "" {
		add(numbered(hinted, salt))
	}
	if strings.HasPrefix(hinted, sandbox) {
		add(numbered(sandbox+"/a", salt))
		add(numbered(sandbox, salt))
	}
	for _, format := range w.formats {
		if samples := formats[format].good; len(samples) > 0 {
			add(samples[salt%len(samples)])
		}
	}
	drafts = append(drafts, made...)
	add(numbered(word, salt))
	return drafts, failed
}

// lengthen returns a text within the lengths, in the ways that often keep what
// it is: as it is, longer at either end, or cut.
func (w bounds) lengthen(s string) []string {
	n := utf8.RuneCountInString(s)
	switch {
	case n < w.least:
		more := strings.Repeat("x", w.least-n)
		return []string{s + more, more + s}
	case n > w.most && strings.HasPrefix(s, sandbox):
		return nil // half of it would be another place
	case n > w.most:
		return []string{string([]rune(s)[:w.most])}
	}
	return []string{s}
}

// fits is a first look at a draft; the check of the whole has the last word.
func (b *builder) fits(draft string, w bounds) bool {
	if n := utf8.RuneCountInString(draft); n < w.least || n > w.most {
		return false
	}
	seen := strings.ReplaceAll(draft, sandbox, standIn)
	for _, pattern := range w.patterns {
		if re := b.doc.pattern(pattern); re != nil && !re.MatchString(seen) {
			return false
		}
	}
	return true
}
