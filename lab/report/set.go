package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"agentlab/lab/eval"
)

// The files of a set, in the order in which they are put in place: what a
// reader opens first comes last, so that it never speaks of older details.
const (
	RunsFile       = "tool-runs.jsonl"
	FailuresFile   = "tool-failures.md"
	MarkdownFile   = "tool-comparison.md"
	ComparisonFile = "tool-comparison.json"
)

// Files lists the files of a set in the order in which a reader wants them.
func Files() []string {
	return []string{MarkdownFile, FailuresFile, RunsFile, ComparisonFile}
}

// partial is what a report's name ends in while it is being written.
const partial = ".partial"

// Set writes the four reports of a run into a directory. The reports that
// stand there stay as they are until Publish, and where anything goes wrong.
//
// A set belongs to one goroutine, but for NewPage and its pages.
type Set struct {
	dir       string
	made      bool // the directory is the set's own
	lock      *FileLock
	runs      *os.File
	failures  *os.File
	details   *os.File // moves under the table of failures at the end
	failed    bool     // some run failed
	rows      []Row
	tableFull atomic.Bool
}

// Create makes the directory where it is missing and opens a set in it. Only
// one set is open in a directory at a time; a second one is an error.
func Create(dir string) (*Set, error) {
	_, err := os.Stat(dir)
	made := errors.Is(err, os.ErrNotExist)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, writeError(err)
	}
	lock, err := Lock(dir)
	if err != nil {
		return nil, writeError(err)
	}
	s := &Set{dir: dir, made: made, lock: lock}
	if err := s.replaceable(); err != nil {
		s.Discard()
		return nil, err
	}
	for _, f := range []struct {
		file **os.File
		name string
	}{{&s.runs, RunsFile}, {&s.failures, FailuresFile}, {&s.details, "tool-failures-details"}} {
		if *f.file, err = s.create(f.name); err != nil {
			s.Discard()
			return nil, err
		}
	}
	if _, err := s.failures.WriteString(failuresHead); err != nil {
		s.Discard()
		return nil, writeError(err)
	}
	return s, nil
}

// replaceable finds, before any report is put in place, what would stop one of
// them half-way through the set.
func (s *Set) replaceable() error {
	for _, name := range Files() {
		path := filepath.Join(s.dir, name)
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			return writeError(fmt.Errorf("%s is a directory", path))
		}
	}
	return nil
}

// create opens a file under its partial name, in place of what a killed run
// may have left there.
func (s *Set) create(name string) (*os.File, error) {
	return createPartial(filepath.Join(s.dir, name))
}

func createPartial(path string) (*os.File, error) {
	path += partial
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, writeError(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, writeError(err)
	}
	return file, nil
}

func writeError(err error) error { return fmt.Errorf("write reports: %w", err) }

// NewPage returns an empty page of the set.
func (s *Set) NewPage() *Page { return &Page{set: s} }

// Deliver writes a page and empties it. Pages come in dataset order.
func (s *Set) Deliver(p *Page) error {
	defer p.reset()
	if room := MaxRows - len(s.rows); room > 0 {
		s.rows = append(s.rows, p.table[:min(room, len(p.table))]...)
		s.tableFull.Store(len(s.rows) == MaxRows)
	}
	if len(p.rows) > 0 && !s.failed {
		s.failed = true
		if _, err := s.failures.WriteString(failuresTable); err != nil {
			return writeError(err)
		}
	}
	for _, part := range []struct {
		file  *os.File
		bytes []byte
	}{{s.runs, p.runs}, {s.failures, p.rows}, {s.details, p.details}} {
		if len(part.bytes) == 0 {
			continue
		}
		if _, err := part.file.Write(part.bytes); err != nil {
			return writeError(err)
		}
	}
	return nil
}

// Rows returns the first MaxRows cases that were delivered.
func (s *Set) Rows() []Row { return s.rows }

// Publish completes the set and puts it in place of the one that stands in the
// directory. After an error the set is still to be discarded.
func (s *Set) Publish(c *eval.Comparison) error {
	if err := s.complete(c); err != nil {
		return err
	}
	if err := s.replaceable(); err != nil {
		return err
	}
	var placed []func() error // what takes each report away again
	for _, name := range []string{RunsFile, FailuresFile, MarkdownFile, ComparisonFile} {
		undo, err := place(filepath.Join(s.dir, name))
		if err != nil {
			return writeError(undone(err, placed))
		}
		placed = append(placed, undo)
	}
	s.Discard()
	return nil
}

// undone takes away again what was put in place before something went wrong.
func undone(err error, placed []func() error) error {
	for _, undo := range slices.Backward(placed) {
		err = errors.Join(err, undo())
	}
	return err
}

// place puts a report where the one of the set before stands, which then has
// the partial name until all of the new set is in place.
func place(path string) (undo func() error, err error) {
	err = swap(path+partial, path)
	if err == nil {
		return func() error { return swap(path+partial, path) }, nil
	}
	// There is none of the set before, or the system cannot swap. Any other
	// reason will stop the rename as well.
	if err := os.Rename(path+partial, path); err != nil {
		return nil, err
	}
	return func() error { return os.Rename(path, path+partial) }, nil
}

func (s *Set) complete(c *eval.Comparison) error {
	if s.failed {
		if _, err := s.details.Seek(0, io.SeekStart); err != nil {
			return writeError(err)
		}
		if _, err := io.Copy(s.failures, s.details); err != nil {
			return writeError(err)
		}
	} else if _, err := s.failures.WriteString(noFailures); err != nil {
		return writeError(err)
	}
	if c.CouldNotRun() > 0 {
		if _, err := s.failures.Write(appendNotRun([]byte(notRunHead), c)); err != nil {
			return writeError(err)
		}
	}
	for _, r := range []struct {
		name   string
		render func(io.Writer, *eval.Comparison) error
	}{{MarkdownFile, ComparisonMarkdown}, {ComparisonFile, ComparisonJSON}} {
		file, err := s.create(r.name)
		if err != nil {
			return err
		}
		if err := errors.Join(r.render(file, c), file.Close()); err != nil {
			return writeError(err)
		}
	}
	if err := errors.Join(s.runs.Close(), s.failures.Close()); err != nil {
		return writeError(err)
	}
	return nil
}

// Discard removes what was not published. It may be called more than once.
func (s *Set) Discard() {
	if s.lock == nil {
		return
	}
	for _, file := range []*os.File{s.runs, s.failures, s.details} {
		if file != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}
	os.Remove(filepath.Join(s.dir, MarkdownFile+partial))
	os.Remove(filepath.Join(s.dir, ComparisonFile+partial))
	if s.made {
		os.Remove(s.dir) // which holds nothing where nothing was published
	}
	s.lock.Release()
	s.lock = nil
}
