package receipt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// foreign makes a database that is not ours.
func foreign(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	write := func(content string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	with := func(statements ...string) func(*testing.T, string) {
		return func(t *testing.T, path string) { foreign(t, path, statements...) }
	}
	const ours = "PRAGMA application_id = 1818321522"
	for _, test := range []struct {
		name string
		make func(*testing.T, string)
		says string
	}{
		{"text", write("hello\n"), "not an SQLite database"},
		{"one byte", write("S"), "not an SQLite database"},
		{"a long text", write(strings.Repeat("hello\n", 5000)), "not an SQLite database"},
		{"zeroes", write(strings.Repeat("\x00", 8192)), "not an SQLite database"},
		{"only the first words of a database", write("SQLite format 3\x00"), "not an SQLite database"},
		{"another program's database", with("CREATE TABLE receipts (tool)"), "another program"},
		{"another program's empty database", with("PRAGMA application_id = 7"), "application id 7"},
		{"another program's versioned database", with("PRAGMA user_version = 3"), "another program"},
		{"another program's database with a log", with("PRAGMA journal_mode = WAL", "CREATE TABLE t (a)"), "another program"},
		{"another program's database with a log to recover", func(t *testing.T, path string) {
			abandoned := path + "-abandoned"
			db, err := sql.Open("sqlite", abandoned)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a)"); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"", "-wal"} { // as its death would leave it
				content, err := os.ReadFile(abandoned + file)
				if err == nil {
					err = os.WriteFile(path+file, content, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}, "another program"},
		{"a newer schema", with(ours, "PRAGMA user_version = 2"), "version 2, and this program knows versions up to 1"},
		{"a schema that never was", with(ours, "CREATE TABLE receipts (tool)"), "version 0"},
		{"a folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "r.db")
			test.make(t, path)
			before := folderContent(t, folder)
			s, err := OpenSQLite(t.Context(), path)
			if s != nil {
				t.Error("a store came with the error")
			}
			wantError(t, err, "open receipts "+path, test.says)
			if diff := cmp.Diff(before, folderContent(t, folder)); diff != "" {
				t.Errorf("the folder was changed (-before +after):\n%s", diff)
			}
		})
	}
	t.Run("a missing folder", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "missing", "r.db")
		_, err := OpenSQLite(t.Context(), path)
		wantError(t, err, path, "the folder "+filepath.Dir(path)+" does not exist")
	})
	t.Run("a file for a folder", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		write("x")(t, file)
		_, err := OpenSQLite(t.Context(), filepath.Join(file, "r.db"))
		wantError(t, err, file)
	})
	t.Run("the end of a context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := OpenSQLite(ctx, filepath.Join(t.TempDir(), "r.db")); !errors.Is(err, context.Canceled) {
			t.Errorf("OpenSQLite = %v", err)
		}
	})
}

// folderContent returns what the files of a folder hold. The shared memory of
// SQLite is left out: it says nothing that lasts.
func folderContent(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "-shm") {
			content, _ := os.ReadFile(filepath.Join(folder, entry.Name()))
			files[entry.Name()] = string(content)
		}
	}
	return files
}

func TestOpenTakes(t *testing.T) {
	for _, name := range []string{"a b.db", "a?mode=memory.db", "a#b.db", "100%.db", "a%20b.db", ":memory:", "file:x", "é&_pragma=x.db"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, name)
			s := openAt(t, path)
			keep(t, s, key, applied)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if entries, _ := os.ReadDir(folder); len(entries) != 1 || entries[0].Name() != name {
				t.Errorf("the folder holds %v", entries)
			}
			wantKnown(t, openAt(t, path), key, applied)
		})
	}
	t.Run("an empty file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "r.db")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		keep(t, openAt(t, path), key, applied)
	})
	t.Run("what a creation left that got no further", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "r.db")
		foreign(t, path, "PRAGMA journal_mode = WAL")
		keep(t, openAt(t, path), key, applied)
	})
	t.Run("a file that many create at once", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "r.db")
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				s, err := OpenSQLite(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				c, _, err := s.Claim(t.Context(), Key{Value: fmt.Sprint(i)}, noon)
				if err != nil {
					t.Error(err)
				} else if err := c.Keep(applied); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		entries, err := openAt(t, path).List(t.Context())
		if len(entries) != 8 || err != nil {
			t.Errorf("List = %v, %v; want 8 receipts", entries, err)
		}
	})
	t.Run("a file that is claimed from", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "r.db")
		c := claim(t, openAt(t, path), key)
		defer free(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		s, err := OpenSQLite(ctx, path)
		if err != nil {
			t.Fatalf("opening waited for a claim: %v", err)
		}
		wantPeek(t, s, key, nil)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	s := openAt(t, path)
	for i := range 300 {
		keep(t, s, Key{"record", "a", fmt.Sprint(i)}, applied)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for _, test := range []struct {
		name   string
		damage func([]byte) []byte
	}{
		{"the first page", func(b []byte) []byte { return spoil(b, 100, page) }},
		{"all but the first page", func(b []byte) []byte { return spoil(b, page, len(b)) }},
		{"cut short", func(b []byte) []byte { return b[:page+page/2] }},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.db")
			if err := os.WriteFile(path, test.damage(append([]byte(nil), whole...)), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := OpenSQLite(t.Context(), path)
			if err == nil {
				_, _, err = s.Claim(t.Context(), key, noon)
				if closed := s.Close(); closed != nil {
					t.Error(closed)
				}
			}
			wantError(t, err, path, "damaged")
		})
	}
}

func spoil(b []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		b[i] = 0xa5
	}
	return b
}
