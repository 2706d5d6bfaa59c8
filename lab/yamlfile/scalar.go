package yamlfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Version reads the version of a format, of which there is one so far.
func (r *Reader) Version(p Place) {
	if !r.Plain(p) {
		return
	}
	var version float64
	if p.Kind() != Number || p.node.Decode(&version) != nil || version != 1 {
		r.Fault(p, "must be 1, the version of the format, as a number")
	}
}

// Duration reads a duration within bounds. The words name these, as in "from 1ms
// to 10m, such as 10s".
func (r *Reader) Duration(p Place, least, most time.Duration, words string) (time.Duration, bool) {
	want := "must be a duration with its unit, " + words
	if p.Kind() == Number {
		r.Fault(p, want)
		return 0, false
	}
	text, ok := r.Text(p, WithoutSandbox)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		r.Fault(p, want)
		return 0, false
	}
	return d, true
}

// Count reads a whole number within bounds.
func (r *Reader) Count(p Place, least, most int) (int, bool) {
	if !r.Plain(p) {
		return 0, false
	}
	n, err := strconv.Atoi(p.Written())
	if p.Kind() != Number || !jsonNumber().MatchString(p.Written()) || err != nil || n < least || n > most {
		r.Fault(p, fmt.Sprintf("must be a whole number from %d to %d", least, most))
		return 0, false
	}
	return n, true
}

// Flag reads true or false.
func (r *Reader) Flag(p Place) (on, ok bool) {
	if !r.expect(p, Boolean, "true or false") {
		return false, false
	}
	return strings.EqualFold(p.Written(), "true"), true
}

// Choice reads one of a few words.
func Choice[T ~string](r *Reader, p Place, words ...T) (T, bool) {
	text, ok := r.Text(p, WithoutSandbox)
	if !ok {
		return "", false
	}
	for _, word := range words {
		if string(word) == text {
			return word, true
		}
	}
	if len(words) == 1 {
		r.Fault(p, "must be "+string(words[0]))
	} else {
		r.Fault(p, "must be one of "+Words(words...))
	}
	return "", false
}

// Words are a few words in a row, as a fault lists them.
func Words[T ~string](words ...T) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = string(word)
	}
	return strings.Join(all, ", ")
}

// Names reads a list of strings none of which is empty, each of which is what
// the words call it. It returns their places too.
func (r *Reader) Names(p Place, words string) (names []string, places []Place) {
	items, _ := r.Items(p, "a list of strings")
	for _, item := range items {
		if name, ok := r.Filled(item, words); ok {
			names, places = append(names, name), append(places, item)
		}
	}
	return names, places
}
