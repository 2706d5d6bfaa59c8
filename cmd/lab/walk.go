package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// maxRemembered is how many texts a walk can go back.
const maxRemembered = 200

// walk shows one text at a time, as a person asks for the next or the one before.
// next returns io.EOF after the last. It ends with what is typed, or with ctx.
func walk(ctx context.Context, next func() ([]byte, error), typed io.Reader, w io.Writer) error {
	lines := make(chan string)
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(typed); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-done:
				return
			}
		}
	}()
	var seen [][]byte
	forgotten, at, ended := 0, -1, false
	show := func() {
		fmt.Fprintf(w, "%s\n-- %d -- Enter or n: next, p: previous, q: quit -- ", seen[at], forgotten+at+1)
	}
	forward := func() error {
		if at+1 < len(seen) {
			at++
			show()
			return nil
		}
		text, err := next()
		if err == io.EOF {
			ended = true
			return nil
		}
		if err != nil {
			return err
		}
		if len(seen) == maxRemembered {
			seen = seen[1:]
			forgotten++
		}
		seen = append(seen, text)
		at = len(seen) - 1
		show()
		return nil
	}
	if err := forward(); err != nil {
		return err
	}
	for !ended {
		var line string
		select {
		case <-ctx.Done():
			return ctx.Err()
		case typed, more := <-lines:
			if !more {
				return nil
			}
			line = strings.ToLower(strings.TrimSpace(typed))
		}
		switch line {
		case "", "n":
			if err := forward(); err != nil {
				return err
			}
		case "p":
			at = max(at-1, 0)
			show()
		case "q":
			return nil
		default:
			fmt.Fprint(w, "Enter or n, p, q -- ")
		}
	}
	if len(seen) > 0 {
		fmt.Fprintln(w, "that was the last")
	}
	return nil
}
