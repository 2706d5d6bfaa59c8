//go:build unix

package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func series(from, to int) string {
	return fmt.Sprintf("WITH RECURSIVE c(n) AS (VALUES (%d) UNION ALL SELECT n + 1 FROM c WHERE n < %d) SELECT n FROM c", from, to)
}

// A transaction may have written to the file before it is committed.
func TestSQLiteWithinATransaction(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	s := serveSQL(t, file)
	s.exec("PRAGMA journal_mode=delete", "PRAGMA cache_size=2", "CREATE TABLE t(a INTEGER PRIMARY KEY, b)",
		"INSERT INTO t SELECT n, 'x' FROM ("+series(1, 100)+")")
	p := SQLite(file)
	before := mustLook(t, p)
	size := func() int64 {
		info, err := os.Stat(file)
		must(t, err)
		return info.Size()
	}
	was := size()
	s.exec("BEGIN", "INSERT INTO t SELECT n, hex(zeroblob(2000)) FROM ("+series(1000, 1099)+")", "UPDATE t SET b = 'y'",
		"CREATE TABLE u(a)", "INSERT INTO u SELECT hex(zeroblob(2000)) FROM ("+series(1, 200)+")", "DROP TABLE u")
	if size() == was {
		t.Error("nothing was written yet")
	}
	wantEffects(t, before, mustLook(t, p))
	s.exec("COMMIT")
	if n := len(Diff(before, mustLook(t, p))); n != 200 {
		t.Errorf("%d effects", n)
	}
}

// A copy that is made again has nothing of the one before.
func TestSQLiteCopiesAgain(t *testing.T) {
	dir := t.TempDir()
	from, to := dir+"/from", dir+"/to"
	write(t, from, "longer")
	write(t, from+"-wal", "log")
	write(t, from+"-journal", "journal")
	must(t, copyAll(t.Context(), from, to))
	write(t, from, "short")
	must(t, errors.Join(os.Remove(from+"-wal"), os.Remove(from+"-journal"), copyAll(t.Context(), from, to)))
	text, err := os.ReadFile(to)
	if diff := cmp.Diff([]string{"from", "to"}, names(t, dir)); diff != "" || string(text) != "short" || err != nil {
		t.Errorf("%q, %v, %s", text, err, diff)
	}
}

// meddling does something while files are copied, which asks for Err at the start
// and before every piece.
type meddling struct {
	context.Context
	asked int
	do    func(asked int)
}

func (m *meddling) Err() error {
	m.asked++
	m.do(m.asked)
	return m.Context.Err()
}

// What is written to between two pieces is copied again, and not before the
// clock that files are stamped with has gone on.
func TestSQLiteCopiesWhatIsWhole(t *testing.T) {
	dir := t.TempDir()
	from, to := dir+"/from", dir+"/to"
	write(t, from, "first")
	write(t, from+"-journal", "journal")
	must(t, os.Chtimes(from, time.Unix(5, 0), time.Unix(5, 0)))
	must(t, os.Chtimes(from+"-journal", time.Unix(5, 0), time.Unix(5, 0)))
	ctx := &meddling{Context: t.Context(), do: func(asked int) {
		if asked == 3 { // the journal is next
			write(t, from, "later")
		}
	}}
	empty, err := snapshot(ctx, from, to)
	must(t, err)
	info, err := os.Stat(from)
	must(t, err)
	text, err := os.ReadFile(to)
	if since := time.Since(info.ModTime()); empty || string(text) != "later" || err != nil || since < quiet {
		t.Errorf("%t, %q, %v, %v", empty, text, err, since)
	}

	write(t, from, "just now")
	info, err = os.Stat(from)
	must(t, err)
	if _, err := snapshot(t.Context(), from, to); err != nil || time.Since(info.ModTime()) < quiet {
		t.Error(err, time.Since(info.ModTime()))
	}
}

// A look that finds no pause in which a copy could be made ends with its
// context. Where the writer itself is held up, it finds one.
func TestSQLiteThatIsNeverQuiet(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.db", "x")
	f, err := os.OpenFile(dir+"/a.db", os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	defer func() { close(stop); <-stopped }()
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = f.WriteAt([]byte("x"), 0)
			}
		}
	}()
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := SQLite(dir + "/a.db").Look(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("every look took what was being written to for a whole")
}

func TestSQLiteState(t *testing.T) {
	tests := []struct {
		name string
		do   func(file string) error
		same bool
	}{
		{"nothing", func(string) error { return nil }, true},
		{"the database grows", func(f string) error { return os.WriteFile(f, []byte("longer than it was"), 0) }, false},
		{"it is touched", func(f string) error { return os.Chtimes(f, time.Unix(9, 0), time.Unix(9, 0)) }, false},
		{"it is another file", func(f string) error {
			return errors.Join(os.Link(f, f+"2"), os.Remove(f), os.WriteFile(f, []byte("database"), 0o600),
				os.Chtimes(f, time.Unix(5, 0), time.Unix(5, 0)))
		}, false},
		{"it vanishes", os.Remove, false},
		{"the journal grows", func(f string) error { return os.WriteFile(f+"-journal", []byte("longer than it was"), 0) }, false},
		{"the journal vanishes", func(f string) error { return os.Remove(f + "-journal") }, false},
		{"the log grows", func(f string) error {
			return os.WriteFile(f+"-wal", []byte(strings.Repeat("h", 32)+"frames, more"), 0)
		}, true},
		{"the log begins anew", func(f string) error { return os.WriteFile(f+"-wal", []byte(strings.Repeat("H", 32)+"frames"), 0) }, false},
		{"the log is emptied", func(f string) error { return os.Truncate(f+"-wal", 0) }, false},
		{"the log vanishes", func(f string) error { return os.Remove(f + "-wal") }, false},
		{"the index of the log", func(f string) error { return os.WriteFile(f+"-shm", []byte("x"), 0o600) }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := dir + "/a.db"
			write(t, file, "database")
			write(t, file+"-journal", "journal")
			write(t, file+"-wal", strings.Repeat("h", 32)+"frames")
			must(t, os.Chtimes(file, time.Unix(5, 0), time.Unix(5, 0)))
			must(t, os.Chtimes(file+"-journal", time.Unix(7, 0), time.Unix(7, 0)))
			before, err := state(file)
			must(t, err)
			if !before.written.Equal(time.Unix(7, 0)) {
				t.Error(before.written)
			}
			must(t, tt.do(file))
			after, err := state(file)
			if got := before.same(after); got != tt.same || err != nil {
				t.Errorf("same: %t, %v", got, err)
			}
		})
	}
}
