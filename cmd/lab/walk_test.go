package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// numbered gives the texts 1 to n.
func numbered(n int) func() ([]byte, error) {
	given := 0
	return func() ([]byte, error) {
		if given == n {
			return nil, io.EOF
		}
		given++
		return fmt.Appendf(nil, "<%d>", given), nil
	}
}

// shown are the texts that were shown, in their order.
func shown(out string) string {
	var all []string
	for part := range strings.SplitSeq(out, "<") {
		if number, _, found := strings.Cut(part, ">"); found {
			all = append(all, number)
		}
	}
	return strings.Join(all, " ")
}

func TestWalk(t *testing.T) {
	for _, test := range []struct {
		name, typed string
		texts       int
		want        string
		last        bool
	}{
		{"forward to the end", "\nn\n\n", 3, "1 2 3", true},
		{"back and on", "\np\n\n\nq\n", 9, "1 2 1 2 3", false},
		{"no further back than the first", "p\np\n\nq\n", 9, "1 1 1 2", false},
		{"quit", "q\n\n\n", 9, "1", false},
		{"nothing more is typed", "\n", 9, "1 2", false},
		{"what is not known", "what\nN\nQ\n", 9, "1 2", false},
		{"nothing to show", "\n\n", 0, "", false},
		{"only so much is remembered", strings.Repeat("\n", maxRemembered) + strings.Repeat("p\n", maxRemembered+5), maxRemembered + 1, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			var out bytes.Buffer
			if err := walk(t.Context(), numbered(test.texts), strings.NewReader(test.typed), &out); err != nil {
				t.Fatal(err)
			}
			got := shown(out.String())
			if test.texts > maxRemembered {
				if !strings.HasSuffix(got, " 3 2 2 2 2 2 2 2") { // the first is forgotten
					t.Errorf("at the end it shows %q", got[len(got)-30:])
				}
				if !strings.HasSuffix(out.String(), "-- 2 -- Enter or n: next, p: previous, q: quit -- ") {
					t.Errorf("it miscounts: %q", out.String()[out.Len()-60:])
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if last := strings.HasSuffix(out.String(), "that was the last\n"); last != test.last {
				t.Errorf("says that it is the end: %t, want %t", last, test.last)
			}
		})
	}
}

func TestWalkEndsWithTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	typed, typing := io.Pipe()
	defer typing.Close()
	cancel()
	if err := walk(ctx, numbered(3), typed, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestWalkTellsWhatItCannotRead(t *testing.T) {
	broken := errors.New("broken")
	err := walk(t.Context(), func() ([]byte, error) { return nil, broken }, strings.NewReader("\n"), io.Discard)
	if err != broken {
		t.Errorf("the error is %v", err)
	}
}
