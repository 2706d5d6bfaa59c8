package process

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	maxLines = 10
	maxLine  = 500 // bytes
)

// words keeps the last lines of what is written to it, however much that is.
// Blank lines are left out, and of a long line its end is.
type words struct {
	mutex sync.Mutex
	lines []string
	line  []byte // which has not ended yet
}

func (w *words) Write(text []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	written := len(text)
	for {
		head, tail, ended := bytes.Cut(text, []byte("\n"))
		// One byte more than a line shows whether a rune was cut.
		w.line = append(w.line, head[:min(len(head), maxLine+utf8.UTFMax-len(w.line))]...)
		if !ended {
			return written, nil
		}
		w.lines = appendLine(w.lines, w.line)
		w.line = w.line[:0]
		text = tail
	}
}

func appendLine(lines []string, line []byte) []string {
	if len(line) > maxLine {
		cut := maxLine
		for cut > maxLine-utf8.UTFMax && !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = line[:cut]
	}
	text := strings.TrimRight(string(line), " \t\r")
	if text == "" {
		return lines
	}
	if len(lines) == maxLines {
		lines = slices.Delete(lines, 0, 1)
	}
	return append(lines, text)
}

func (w *words) last() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return appendLine(slices.Clone(w.lines), w.line)
}
