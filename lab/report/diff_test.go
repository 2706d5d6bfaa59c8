package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFirstDifference(t *testing.T) {
	const missing = "(there is no such file)"
	long := strings.Repeat("x", 1<<20)
	tests := []struct {
		name, fresh, stored string
		want                *Difference
	}{
		{"the same", "a\nb\n", "a\nb\n", nil},
		{"both empty", "", "", nil},
		{"the same without an end of line", "a\nb", "a\nb", nil},
		{"the first line", "a\nb\n", "x\nb\n", &Difference{Line: 1, Fresh: "a\n", Stored: "x\n"}},
		{"the last line", "a\nb\n", "a\nx\n", &Difference{Line: 2, Fresh: "b\n", Stored: "x\n"}},
		{"only the first of several", "a\nb\nc\n", "a\nx\ny\n", &Difference{Line: 2, Fresh: "b\n", Stored: "x\n"}},
		{"the stored one is shorter", "a\nb\n", "a\n", &Difference{Line: 2, Fresh: "b\n", Stored: endOfFile}},
		{"the stored one is longer", "a\n", "a\nb\n", &Difference{Line: 2, Fresh: endOfFile, Stored: "b\n"}},
		{"the stored one is empty", "a\n", "", &Difference{Line: 1, Fresh: "a\n", Stored: endOfFile}},
		{"the fresh one is empty", "", "a\n", &Difference{Line: 1, Fresh: endOfFile, Stored: "a\n"}},
		{"the stored one has no last end of line", "a\nb\n", "a\nb", &Difference{Line: 2, Fresh: "b\n", Stored: "b" + noNewline}},
		{"the fresh one has no last end of line", "a\nb", "a\nb\n", &Difference{Line: 2, Fresh: "b" + noNewline, Stored: "b\n"}},
		{"an empty line more", "a\n", "a\n\n", &Difference{Line: 2, Fresh: endOfFile, Stored: "\n"}},
		{"other ends of lines", "a\n", "a\r\n", &Difference{Line: 1, Fresh: "a\n", Stored: "a\r\n"}},
		{"a line longer than any buffer", long + "a\n", long + "b\n", &Difference{Line: 1, Fresh: long + "a\n", Stored: long + "b\n"}},
		{"no stored file", "a\n", missing, &Difference{Line: 1, Stored: missing}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			fresh, stored := filepath.Join(dir, "fresh"), filepath.Join(dir, "stored")
			for path, text := range map[string]string{fresh: test.fresh, stored: test.stored} {
				if text == missing {
					continue
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := firstDifference(fresh, stored)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFirstDifferenceOfWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][2]string{{filepath.Join(dir, "missing"), file}, {file, dir}, {dir, file}} {
		if d, err := firstDifference(paths[0], paths[1]); err == nil {
			t.Errorf("firstDifference(%q) = %v and no error", paths, d)
		}
	}
}

func TestCheck(t *testing.T) {
	fresh, stored := t.TempDir(), t.TempDir()
	published(t, fresh, "one")
	published(t, stored, "one")
	if err := Check(fresh, stored); err != nil {
		t.Fatalf("the same reports: %v", err)
	}
	published(t, stored, "another")
	os.Remove(filepath.Join(stored, MarkdownFile))
	before := written(t, stored)
	err := Check(fresh, stored)
	var stale *Stale
	if !errors.As(err, &stale) {
		t.Fatalf("the error is %v, want a *Stale", err)
	}
	var files []string
	for _, d := range stale.Differences {
		files = append(files, d.File)
	}
	var want []string
	for _, name := range Files() {
		want = append(want, filepath.Join(stored, name))
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, written(t, stored)); diff != "" {
		t.Errorf("the check changed what is stored (-before +after):\n%s", diff)
	}
	os.Remove(filepath.Join(fresh, RunsFile))
	if err := Check(fresh, stored); err == nil || errors.As(err, &stale) {
		t.Errorf("without a fresh report the error is %v", err)
	}
}

func TestStaleShowsWhereLinesDiffer(t *testing.T) {
	tests := []struct{ name, stored, fresh, want string }{
		{"short", "a x b\n", "a y b\n", "f:7:\n  stored: a x b\n  fresh:  a y b"},
		{"far into a line", strings.Repeat("s", 200) + "x\n", strings.Repeat("s", 200) + "y\n",
			"f:7:\n  stored: …" + strings.Repeat("s", 60) + "x\n  fresh:  …" + strings.Repeat("s", 60) + "y"},
		{"a long rest", "x" + strings.Repeat("r", 200) + "\n", "y" + strings.Repeat("r", 200) + "\n",
			"f:7:\n  stored: x" + strings.Repeat("r", 159) + "…\n  fresh:  y" + strings.Repeat("r", 159) + "…"},
		{"in the middle of a character", strings.Repeat("é", 50) + "x\n", strings.Repeat("é", 50) + "y\n",
			"f:7:\n  stored: …" + strings.Repeat("é", 30) + "x\n  fresh:  …" + strings.Repeat("é", 30) + "y"},
		{"what cannot be seen", "a\x1b[2J\n", "a\xff\n", "f:7:\n  stored: a\\u001b[2J\n  fresh:  a\\xff"},
		{"where the excerpt would cut a character", "ü" + strings.Repeat("s", 60) + "x\n", "ü" + strings.Repeat("s", 60) + "y\n",
			"f:7:\n  stored: …" + strings.Repeat("s", 60) + "x\n  fresh:  …" + strings.Repeat("s", 60) + "y"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			stale := &Stale{[]Difference{{File: "f", Line: 7, Stored: test.stored, Fresh: test.fresh}}}
			if diff := cmp.Diff("the stored reports are stale\n"+test.want, stale.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
