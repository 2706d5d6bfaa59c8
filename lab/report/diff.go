package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Difference is the first place where two files are not the same.
type Difference struct {
	File   string
	Line   int    // counted from 1
	Fresh  string // the line as it would be written now
	Stored string // the line as it stands
}

// Stale is the error of a stored set that is not what would be written now.
type Stale struct{ Differences []Difference }

func (e *Stale) Error() string {
	text := "the stored reports are stale"
	for _, d := range e.Differences {
		from := samePrefix(d.Stored, d.Fresh)
		text += fmt.Sprintf("\n%s:%d:\n  stored: %s\n  fresh:  %s", d.File, d.Line, excerpt(d.Stored, from), excerpt(d.Fresh, from))
	}
	return text
}

const (
	endOfFile = "(the file ends here)"
	noNewline = " (without an end of line)"
)

// Check compares the set in stored with the one in fresh. The error is a
// *[Stale] that names every file that differs and its first difference.
func Check(fresh, stored string) error { return check(fresh, stored, Files()) }

func check(fresh, stored string, names []string) error {
	var stale Stale
	for _, name := range names {
		d, err := firstDifference(filepath.Join(fresh, name), filepath.Join(stored, name))
		if err != nil {
			return fmt.Errorf("check reports: %w", err)
		}
		if d != nil {
			d.File = filepath.Join(stored, name)
			stale.Differences = append(stale.Differences, *d)
		}
	}
	if stale.Differences != nil {
		return &stale
	}
	return nil
}

func firstDifference(fresh, stored string) (*Difference, error) {
	freshFile, err := os.Open(fresh)
	if err != nil {
		return nil, err
	}
	defer freshFile.Close()
	// Opening a pipe could take for ever.
	if info, err := os.Stat(stored); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("%s is no regular file", stored)
	}
	storedFile, err := os.Open(stored)
	if errors.Is(err, os.ErrNotExist) {
		return &Difference{Line: 1, Fresh: "", Stored: "(there is no such file)"}, nil
	}
	if err != nil {
		return nil, err
	}
	defer storedFile.Close()
	freshLines, storedLines := bufio.NewReader(freshFile), bufio.NewReader(storedFile)
	for line := 1; ; line++ {
		a, errA := freshLines.ReadString('\n')
		b, errB := storedLines.ReadString('\n')
		for _, err := range []error{errA, errB} {
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
		}
		if a == b && errA == nil {
			continue
		}
		if a == b {
			return nil, nil
		}
		return &Difference{Line: line, Fresh: told(a, b), Stored: told(b, a)}, nil
	}
}

// told is a line as a person is told it, beside the other one.
func told(line, other string) string {
	switch {
	case line == "":
		return endOfFile
	case line == strings.TrimSuffix(other, "\n"):
		return line + noNewline
	}
	return line
}

// samePrefix returns how many bytes two lines share from their start.
func samePrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// excerpt cuts a line for a person to read, so that byte from is in sight.
func excerpt(line string, from int) string {
	const before, most = 60, 160
	line = strings.TrimSuffix(line, "\n")
	start := min(max(0, from-before), len(line))
	for start > 0 && start < len(line) && !utf8.RuneStart(line[start]) {
		start--
	}
	text, left, right := line[start:], "", ""
	if start > 0 {
		left = "…"
	}
	runes := 0
	for i := range text {
		if runes++; runes > most {
			text, right = text[:i], "…"
			break
		}
	}
	return left + Visible(text) + right
}
