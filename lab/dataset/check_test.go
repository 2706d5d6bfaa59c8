package dataset_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
)

func TestCheck(t *testing.T) {
	text := good + "\n" + edit(named("c2"), `"intent"`, `"todo":"Decide.","intent"`) + "\n" + named("c3")
	r := dataset.Settings{BatchLines: 1}.Open(source("a", text), source("b", named("c4")))
	var seen []string
	checked, err := r.Check(t.Context(), func(c *dataset.Case) { seen = append(seen, c.ID) })
	if err != nil {
		t.Fatal(err)
	}
	got, err := loadFrom(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dataset.Checked{SHA256: got.SHA256, Cases: 3, Todo: 1}, checked); diff != "" {
		t.Errorf("checked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c1", "c2", "c3", "c4"}, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	if len(got.Lines) != 4 {
		t.Errorf("%d lines after the check, want 4", len(got.Lines))
	}
	if _, err := dataset.Open(source("a", text)).Check(t.Context(), nil); err != nil {
		t.Errorf("with nobody to see: %v", err)
	}
}

// A check finds what a replay would find.
func TestCheckFindsFaults(t *testing.T) {
	settings := dataset.Settings{Surfaces: []string{"before", "after"}, Baseline: "before", Candidate: "after"}
	for name, sources := range map[string][]dataset.Source{
		"a line":            {source("a", good+"\n{}\n")},
		"a line before":     {source("a", "{}\n"+good), source("b", named("c2"))},
		"a repeat":          {source("a", good), source("b", good)},
		"an empty file":     {source("a", good), source("b", "")},
		"a surface":         {source("a", edit(foreign, `"after"`, `"affter"`))},
		"a line of a todo":  {source("a", edit(foreign, `"done"`, `""`))},
		"the very last one": {source("a", good), source("b", named("c2")+"\nnull")},
	} {
		t.Run(name, func(t *testing.T) {
			_, want := with(settings, sources...)
			seen := 0
			checked, err := settings.Open(sources...).Check(t.Context(), func(*dataset.Case) { seen++ })
			if name == "a line before" && seen > 0 {
				t.Errorf("%d cases are shown after a fault", seen)
			}
			var invalid *dataset.Invalid
			if !errors.As(err, &invalid) || err.Error() != want.Error() || checked != (dataset.Checked{}) {
				t.Errorf("Check = %+v, %v\nwant the faults\n%v", checked, err, want)
			}
		})
	}
}

func TestCheckOfWhatCannotBeRead(t *testing.T) {
	boom := errors.New("boom")
	broken := opened("a", func() io.Reader {
		return io.MultiReader(strings.NewReader("{}\n"+good+"\n"), iotest.ErrReader(boom))
	})
	_, err := dataset.Open(broken).Check(t.Context(), nil)
	var invalid *dataset.Invalid
	if !errors.Is(err, boom) || !errors.Is(err, dataset.ErrUnreadable) || !errors.As(err, &invalid) {
		t.Errorf("error = %v, want what was read before to be told as well", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	endless := opened("a", func() io.Reader {
		return readerFunc(func(b []byte) (int, error) { cancel(); return copy(b, "\n\n\n\n"), nil })
	})
	if _, err := dataset.Open(endless).Check(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// What gives other bytes than those that were checked is not replayed to its
// end.
func TestCheckHoldsTheReader(t *testing.T) {
	const path = "read cases: in/b: it has changed since it was checked"
	for name, then := range map[string]string{
		"another line":    named("c9"),
		"a line more":     named("c2") + "\n" + named("c3"),
		"nothing":         "",
		"a blank line":    named("c2") + "\n",
		"a fault as well": "[]",
	} {
		t.Run(name, func(t *testing.T) {
			times := 0
			changing := opened("b", func() io.Reader {
				if times++; times == 1 {
					return strings.NewReader(named("c2"))
				}
				return strings.NewReader(then)
			})
			r := dataset.Open(source("a", good), changing, source("c", named("c4")))
			if _, err := r.Check(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			l, err := loadFrom(r)
			if !errors.Is(err, dataset.ErrChanged) || !errors.Is(err, dataset.ErrUnreadable) || err.Error() != path || l.Lines != nil {
				t.Errorf("error = %v", err)
			}
		})
	}
}
