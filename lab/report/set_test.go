package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/eval"
)

// written returns the entries of a directory: a file with its text, a
// directory as such.
func written(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for _, entry := range entries {
		found[entry.Name()] = "(a directory)"
		if entry.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = string(text)
	}
	return found
}

// begun opens a set and delivers a page of one case with this id.
func begun(t *testing.T, dir, id string) *Set {
	t.Helper()
	set, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Discard)
	page := set.NewPage()
	run := hostileRun(id)
	page.Add(&eval.Pair{Case: run.Case, Baseline: run, Candidate: *run})
	if err := set.Deliver(page); err != nil {
		t.Fatal(err)
	}
	return set
}

// published puts a set in place and returns what then is in the directory.
func published(t *testing.T, dir, id string) map[string]string {
	t.Helper()
	if err := begun(t, dir, id).Publish(comparisonOf(id)); err != nil {
		t.Fatal(err)
	}
	return written(t, dir)
}

func TestPublish(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "down")
	first := published(t, dir, "first")
	if len(first) != 4 {
		t.Fatalf("the directory holds %d files, want 4", len(first))
	}
	for _, name := range Files() {
		if !strings.Contains(first[name], "first") {
			t.Errorf("%s says nothing of the case: %q", name, first[name])
		}
	}
	second := published(t, dir, "second")
	for _, name := range Files() {
		if strings.Contains(second[name], "first") || !strings.Contains(second[name], "second") {
			t.Errorf("%s is not of the second run: %q", name, second[name])
		}
	}
	if len(second) != 4 {
		t.Errorf("the directory holds %d files, want 4", len(second))
	}
}

func TestPublishOfRunsThatAllPassed(t *testing.T) {
	dir := t.TempDir()
	set, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Discard()
	run := hostileRun("fine")
	run.Passed = true
	page := set.NewPage()
	page.Add(&eval.Pair{Case: run.Case, Baseline: run, Candidate: *run})
	if err := set.Deliver(page); err != nil {
		t.Fatal(err)
	}
	if err := set.Publish(comparisonOf("fine")); err != nil {
		t.Fatal(err)
	}
	if text := written(t, dir)[FailuresFile]; text != failuresHead+noFailures {
		t.Errorf("%s is %q", FailuresFile, text)
	}
}

func TestDiscardLeavesTheOldSet(t *testing.T) {
	dir := t.TempDir()
	old := published(t, dir, "old")
	set := begun(t, dir, "new")
	if len(written(t, dir)) != 4+3 {
		t.Errorf("beside the old set stand %d files, want three partial ones", len(written(t, dir))-4)
	}
	for range 2 { // twice is as good as once
		set.Discard()
		if diff := cmp.Diff(old, written(t, dir)); diff != "" {
			t.Errorf("(-old +now):\n%s", diff)
		}
	}
}

// A late Discard must not touch what another set is writing by then.
func TestDiscardAfterPublishDoesNothing(t *testing.T) {
	dir := t.TempDir()
	set := begun(t, dir, "first")
	if err := set.Publish(comparisonOf("first")); err != nil {
		t.Fatal(err)
	}
	next := begun(t, dir, "next")
	before := written(t, dir)
	set.Discard()
	if diff := cmp.Diff(before, written(t, dir)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if err := next.Publish(comparisonOf("next")); err != nil {
		t.Error(err)
	}
}

func TestPublishThatFailsLeavesTheOldSet(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string, set *Set)
	}{
		{"the runs cannot be written out", func(t *testing.T, _ string, set *Set) { set.runs.Close() }},
		{"the failures cannot be written out", func(t *testing.T, _ string, set *Set) { set.failures.Close() }},
		{"the details cannot be read again", func(t *testing.T, _ string, set *Set) { set.details.Close() }},
		{"the Markdown cannot be created", func(t *testing.T, dir string, _ *Set) {
			mkdir(t, filepath.Join(dir, MarkdownFile+partial, "x"))
		}},
		{"the comparison cannot be created", func(t *testing.T, dir string, _ *Set) {
			mkdir(t, filepath.Join(dir, ComparisonFile+partial, "x"))
		}},
	}
	for _, name := range Files() {
		tests = append(tests, struct {
			name  string
			spoil func(t *testing.T, dir string, set *Set)
		}{"a directory is in the place of " + name, func(t *testing.T, dir string, _ *Set) {
			os.Remove(filepath.Join(dir, name))
			mkdir(t, filepath.Join(dir, name, "x"))
		}})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			published(t, dir, "old")
			set := begun(t, dir, "new")
			test.spoil(t, dir, set)
			before := written(t, dir)
			if err := set.Publish(comparisonOf("new")); err == nil || !strings.HasPrefix(err.Error(), "write reports: ") {
				t.Errorf("the error is %v", err)
			}
			set.Discard()
			for name := range before {
				if strings.HasSuffix(name, partial) && before[name] != "(a directory)" {
					delete(before, name)
				}
			}
			if diff := cmp.Diff(before, written(t, dir)); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestCreateThatFails(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string) (undo string)
	}{
		{"a directory is in the place of a report", func(t *testing.T, dir string) string {
			mkdir(t, filepath.Join(dir, RunsFile))
			return filepath.Join(dir, RunsFile)
		}},
		{"a directory with something in it is in the place of a partial file", func(t *testing.T, dir string) string {
			mkdir(t, filepath.Join(dir, FailuresFile+partial, "x"))
			return filepath.Join(dir, FailuresFile+partial)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			undo := test.spoil(t, dir)
			before := written(t, dir)
			set, err := Create(dir)
			if err == nil {
				set.Discard()
				t.Fatal("no error")
			}
			if diff := cmp.Diff(before, written(t, dir)); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
			// The lock is not kept either.
			if err := os.RemoveAll(undo); err != nil {
				t.Fatal(err)
			}
			if len(published(t, dir, "next")) != 4 {
				t.Error("the next set is not complete")
			}
		})
	}
	t.Run("the directory is a file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "plain")
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if set, err := Create(path); err == nil {
			set.Discard()
			t.Error("no error")
		}
	})
}

func TestDeliverTellsOfAFailedWrite(t *testing.T) {
	for name, file := range map[string]func(*Set) *os.File{
		"runs":     func(s *Set) *os.File { return s.runs },
		"failures": func(s *Set) *os.File { return s.failures },
		"details":  func(s *Set) *os.File { return s.details },
	} {
		set := begun(t, t.TempDir(), "one")
		file(set).Close()
		page := set.NewPage()
		run := hostileRun("two")
		page.Add(&eval.Pair{Case: run.Case, Baseline: run, Candidate: *run})
		if err := set.Deliver(page); err == nil || !strings.HasPrefix(err.Error(), "write reports: ") {
			t.Errorf("%s: the error is %v", name, err)
		}
		if len(page.runs)+len(page.rows)+len(page.details)+len(page.table) > 0 {
			t.Errorf("%s: the page was not emptied", name)
		}
	}
}

// What a killed run left is replaced and never read.
func TestCreateReplacesWhatAKilledRunLeft(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(Files(), "tool-failures-details") {
		if err := os.WriteFile(filepath.Join(dir, name+partial), []byte("left over"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Nor is it followed.
	os.Remove(filepath.Join(dir, RunsFile+partial))
	if err := os.Symlink(elsewhere, filepath.Join(dir, RunsFile+partial)); err != nil {
		t.Fatal(err)
	}
	found := published(t, dir, "next")
	if len(found) != 4 {
		t.Errorf("the directory holds %d files, want 4", len(found))
	}
	for name, text := range found {
		if strings.Contains(text, "left over") {
			t.Errorf("%s holds what was left over", name)
		}
	}
	if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "kept" {
		t.Errorf("a file elsewhere is now %q (%v)", text, err)
	}
}

func TestRowsAreTheFirstCases(t *testing.T) {
	set, err := Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer set.Discard()
	page := set.NewPage()
	for batch := range 5 {
		for i := range 30 {
			run := hostileRun(fmt.Sprintf("case-%d", 30*batch+i))
			page.Add(&eval.Pair{Case: run.Case, Baseline: run, Candidate: *run})
		}
		if err := set.Deliver(page); err != nil {
			t.Fatal(err)
		}
	}
	if len(set.Rows()) != MaxRows {
		t.Fatalf("there are %d rows, want %d", len(set.Rows()), MaxRows)
	}
	for i, row := range set.Rows() {
		if want := fmt.Sprintf("case-%d", i); row.Case != want {
			t.Errorf("row %d is %s, want %s", i, row.Case, want)
		}
	}
}
