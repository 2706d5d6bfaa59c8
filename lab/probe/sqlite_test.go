//go:build unix

package probe

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/process"
)

// The writer is another process, as a server is.
func init() {
	roles["sql"] = func(file string) error { return serve(file) }
	// Writes rows for as long as it lives, and ends in an error where it is kept
	// from it: it does not wait for a lock.
	roles["write on"] = func(argument string) error {
		mode, file, _ := strings.Cut(argument, " ")
		db, err := openSQL(file)
		if err != nil {
			return err
		}
		if _, err := db.Exec("PRAGMA journal_mode=" + mode + "; CREATE TABLE t(a INTEGER PRIMARY KEY, b); CREATE TABLE n(c); INSERT INTO n VALUES (0)"); err != nil {
			return err
		}
		for i := 1; ; i++ {
			_, err := db.Exec(`BEGIN IMMEDIATE; INSERT INTO t VALUES (NULL, 'x'); UPDATE n SET c = c + 1; COMMIT`)
			if err != nil {
				return err
			}
			if i == 10 {
				fmt.Println("ready")
			}
			if mode != "wal" {
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
}

func openSQL(file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(0)")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// serve runs each line of its input, and says what came of it.
func serve(file string) error {
	db, err := openSQL(file)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if _, err := db.Exec(lines.Text()); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("ok")
		}
	}
	return db.Close()
}

type server struct {
	t *testing.T
	*process.Process
	out *bufio.Reader
}

func serveSQL(t *testing.T, file string) server {
	t.Helper()
	p, err := process.Start(act("sql", file))
	must(t, err)
	t.Cleanup(func() { p.End(0) })
	return server{t, p, bufio.NewReader(p.Stdout())}
}

func (s server) exec(statements ...string) {
	s.t.Helper()
	for _, text := range statements {
		if _, err := fmt.Fprintln(s.Stdin(), text); err != nil {
			s.t.Fatal(err)
		}
		if line, err := s.out.ReadString('\n'); line != "ok\n" {
			s.t.Fatalf("%s: %s, %v", text, line, err)
		}
	}
}

// names lists a folder.
func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSQLiteEffects(t *testing.T) {
	setup := []string{
		`CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, born DATE, picture BLOB)`,
		`INSERT INTO users VALUES (1, 'Ann', '2000-01-02', x'00ff'), (2, 'Bob', NULL, x''), (3, '', 1.5, NULL)`,
		`CREATE TABLE log(line)`, `INSERT INTO log VALUES ('a'), ('b')`,
		`CREATE TABLE "odd ""name"(b TEXT, "a'" INT, c, PRIMARY KEY ("a'", b)) WITHOUT ROWID`,
		`INSERT INTO "odd ""name" VALUES ('x', 1, 1), ('y]', 1, 1)`,
		`CREATE TABLE loose(k PRIMARY KEY, v)`, `INSERT INTO loose VALUES (NULL, 1), (NULL, 2), (x'00', 3), (1.5, 4), ('1', 5), (1, 6)`,
		`CREATE TABLE hides(rowid, _rowid_, oid)`, `INSERT INTO hides VALUES (1, 2, 3), (1, 2, 3)`,
		`CREATE TABLE made(a INTEGER PRIMARY KEY AUTOINCREMENT, b AS (a + 1), c AS (a + 2) STORED)`, `INSERT INTO made VALUES (1)`,
		`CREATE VIRTUAL TABLE search USING fts5(text)`, `INSERT INTO search VALUES ('one two')`,
		`CREATE VIEW seen AS SELECT * FROM users`,
	}
	tests := []struct {
		do   string
		want []string
	}{
		{`SELECT * FROM users`, nil},
		{`UPDATE users SET name = name`, nil},
		{`UPDATE users SET name = 'Eve' WHERE id = 1`, []string{"changed users[1] 23 23"}},
		{`UPDATE users SET picture = NULL WHERE id = 2`, []string{"changed users[2] 11 11"}},
		{`UPDATE users SET name = x'' WHERE id = 3`, []string{"changed users[3] 16 16"}},
		{`UPDATE users SET born = '2000-01-02 00:00:00' WHERE id = 1`, []string{"changed users[1] 23 32"}},
		{`DELETE FROM users WHERE id < 3`, []string{"removed users[1] 32 0", "removed users[2] 11 0"}},
		{`INSERT INTO log VALUES (NULL)`, []string{`added log[{"rowid":3}] 0 0`}},
		{`DELETE FROM log WHERE line = 'b'`, []string{`removed log[{"rowid":2}] 1 0`}},
		{`UPDATE log SET line = 1 WHERE line = 'a'`, []string{`changed log[{"rowid":1}] 1 8`}},
		{`UPDATE "odd ""name" SET c = 1.25 WHERE b = 'y]'`, []string{`changed "odd \"name"[1,"y]"] 18 18`}},
		{`UPDATE loose SET v = 0`, []string{`changed loose["1"] 9 9`, `changed loose[1.5] 16 16`, `changed loose[1] 16 16`,
			`changed loose[{"blob":"00"}] 9 9`, `changed loose[{"rowid":1}] 8 8`, `changed loose[{"rowid":2}] 8 8`}},
		{`DELETE FROM hides`, []string{"removed hides[sha256:DIGEST#1] 24 0", "removed hides[sha256:DIGEST#2] 24 0"}},
		{`INSERT INTO made VALUES (9)`, []string{"added made[9] 0 24"}},
		{`INSERT INTO search VALUES ('three')`, []string{`added search[{"rowid":2}] 0 5`}},
		{`CREATE TABLE t(a)`, []string{"added t 0 17"}},
		{`DROP VIEW seen`, []string{"removed view seen 39 0"}},
		{`CREATE INDEX i ON log(line)`, []string{"added index i 0 27"}},
		{`CREATE TRIGGER g AFTER INSERT ON log BEGIN SELECT 1; END`, []string{"added trigger g 0 56"}},
		{`ALTER TABLE log ADD COLUMN n`, []string{"changed log 22 25", `changed log[{"rowid":1}] 8 8`, `changed log[{"rowid":3}] 0 0`}},
		{`DROP TABLE log`, []string{"removed index i 27 0", "removed log 25 0", `removed log[{"rowid":1}] 8 0`, `removed log[{"rowid":3}] 0 0`, "removed trigger g 56 0"}},
		{`VACUUM`, nil},
		{`ANALYZE`, nil},
	}
	for _, mode := range []string{"wal", "delete", "persist", "truncate"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "a b%?#.db")
			escaped := filepath.Join(dir, "a b%25%3f%23.db")
			p := SQLite(file)
			if seen := mustLook(t, p); len(seen) != 0 || names(t, dir) != nil {
				t.Error(seen, names(t, dir))
			}
			s := serveSQL(t, escaped)
			s.exec("PRAGMA journal_mode=" + mode)
			s.exec(setup...)
			beside := names(t, dir)
			for _, tt := range tests {
				before := mustLook(t, p)
				if tt.do == "VACUUM" || tt.do == "ANALYZE" {
					s.exec(tt.do)
				} else {
					s.exec("BEGIN", tt.do)
					wantEffects(t, before, mustLook(t, p)) // not committed
					s.exec("COMMIT")
				}
				after := mustLook(t, p)
				got := told(Diff(before, after))
				for i := range got {
					if at := strings.Index(got[i], "sha256:"); at >= 0 {
						got[i] = got[i][:at+7] + "DIGEST" + got[i][at+23:]
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s:\n%s", tt.do, diff)
				}
			}
			if diff := cmp.Diff(beside, names(t, dir)); diff != "" {
				t.Error(diff)
			}
			// A server that dies leaves its log.
			before := mustLook(t, p)
			s.exec(`INSERT INTO made VALUES (20)`)
			s.End(0)
			wantEffects(t, before, mustLook(t, p), "added made[20] 0 24")
		})
	}
}

// A server that does not wait for a lock is never kept from writing, and each
// look is of one moment.
func TestSQLiteWhileItIsWrittenTo(t *testing.T) {
	for _, mode := range []string{"wal", "delete"} {
		t.Run(mode, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.db")
			s, err := process.Start(act("write on", mode+" "+file))
			must(t, err)
			defer s.End(0)
			if line, err := bufio.NewReader(s.Stdout()).ReadString('\n'); line != "ready\n" {
				t.Fatal(line, err, s.LastWords())
			}
			p := SQLite(file)
			last := 0
			for range 20 {
				seen := mustLook(t, p)
				rows := 0
				for resource := range seen {
					if strings.HasPrefix(resource, "t[") {
						rows++
					}
				}
				number := new(reader).entry([]any{int64(rows)})
				if got := seen[`n[{"rowid":1}]`]; got.Digest != number.Digest || rows < last {
					t.Errorf("%d rows after %d, and another number", rows, last)
				}
				last = rows
			}
			if s.Status() != "" {
				t.Error(s.Status(), s.LastWords())
			}
		})
	}
}

func TestSQLiteFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "text", strings.Repeat("no database ", 100))
	write(t, dir, "empty", "")
	if seen := mustLook(t, SQLite(dir+"/empty")); len(seen) != 0 {
		t.Error(seen)
	}
	if e := wantFault(t, SQLite(dir+"/text"), "it is not an SQLite database"); e.Target != dir+"/text" {
		t.Error(e)
	}
	wantFault(t, SQLite(dir), "it is a folder")
	s := serveSQL(t, dir+"/a.db")
	s.exec("CREATE TABLE t(a)", "INSERT INTO t SELECT hex(randomblob(100)) FROM (VALUES (1),(2),(3)) AS a, (VALUES (1),(2),(3)) AS b, (VALUES (1),(2),(3)) AS c, (VALUES (1),(2),(3)) AS d")
	must(t, s.Stdin().Close())
	<-s.Exited()
	text, err := os.ReadFile(dir + "/a.db")
	must(t, err)
	for i := 4096; i < 4096+100; i++ {
		text[i] = 0xa5
	}
	write(t, dir, "a.db", string(text))
	wantFault(t, SQLite(dir+"/a.db"), "the database is damaged")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := SQLite(dir + "/a.db").Look(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// The log is beside the file that a link names.
	must(t, os.Symlink("b.db", dir+"/link"))
	b := serveSQL(t, dir+"/b.db")
	b.exec("PRAGMA journal_mode=wal", "CREATE TABLE t(a)")
	if got := slices.Collect(maps.Keys(mustLook(t, SQLite(dir+"/link")))); !slices.Equal(got, []string{"t"}) {
		t.Error(got)
	}
}

func BenchmarkSQLite(b *testing.B) {
	file := filepath.Join(b.TempDir(), "a.db")
	db, err := openSQL(file)
	must(b, err)
	_, err = db.Exec(`CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, note TEXT, n REAL);
		WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 100000)
		INSERT INTO t SELECT i, 'name ' || i, 'a note that is some words long', i * 1.5 FROM c`)
	must(b, errors.Join(err, db.Close()))
	p := SQLite(file)
	for b.Loop() {
		if seen, err := p.Look(b.Context()); err != nil || len(seen) != 100_001 {
			b.Fatal(len(seen), err)
		}
	}
}
