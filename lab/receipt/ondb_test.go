package receipt

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// openTheirs opens a database as a team would that has never heard of receipts.
func openTheirs(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=busy_timeout(20)")
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(`CREATE TABLE IF NOT EXISTS receipts (refund TEXT NOT NULL)`)
	return db, err
}

func theirs(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := openTheirs(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func onTheirs(t testing.TB, db *sql.DB) *DB {
	t.Helper()
	d, err := OnDB(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// refund writes into their table within a claim.
func refund(t testing.TB, c Claim, what string) {
	t.Helper()
	tx, ok := Tx(c.Context(t.Context()))
	if !ok {
		t.Fatal("the claim has no transaction")
	}
	if _, err := tx.Exec(`INSERT INTO receipts (refund) VALUES (?)`, what); err != nil {
		t.Fatal(err)
	}
}

func refunds(t testing.TB, db *sql.DB) (all []string) {
	t.Helper()
	rows, err := db.Query(`SELECT refund FROM receipts ORDER BY refund`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

func TestTheirWriteAndTheReceiptAreOne(t *testing.T) {
	db := theirs(t, filepath.Join(t.TempDir(), "theirs.db"))
	d := onTheirs(t, db)
	kept := Receipt{State: Applied, Fingerprint: "f", Output: []byte(`{}`), SettledAt: noon}

	c := claim(t, d, key)
	refund(t, c, "freed")
	if got := refunds(t, db); got != nil {
		t.Errorf("others see %q before the claim has ended", got)
	}
	free(t, c)
	if entries, err := d.List(t.Context()); err != nil || len(entries) != 0 {
		t.Errorf("a claim that was freed left %v, %v", entries, err)
	}
	c = claim(t, d, key)
	refund(t, c, "kept")
	if err := c.Keep(kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kept"}, refunds(t, db)); diff != "" {
		t.Errorf("refunds (-want +got):\n%s", diff)
	}
	wantKnown(t, onTheirs(t, db), key, kept) // also for another that opens it
	if _, ok := Tx(c.Context(t.Context())); ok {
		t.Error("a claim that has ended has a transaction")
	}
	if _, ok := Tx(t.Context()); ok {
		t.Error("there is a transaction without a claim")
	}
	if !c.RollsBack() {
		t.Error("the claim is said to roll nothing back")
	}
	if _, ok := RecordsFrom(c.Context(t.Context())); ok {
		t.Error("their database is said to keep records")
	}
	own := openAt(t, filepath.Join(t.TempDir(), "r.db"))
	c = claim(t, own, key)
	if _, ok := Tx(c.Context(t.Context())); ok {
		t.Error("the transaction of a file of our own is handed out")
	}
	free(t, c)
}

// However a transaction is ended behind the back of its claim, no receipt says
// that something was applied that was not.
func TestATransactionThatIsNoLongerTheClaims(t *testing.T) {
	for name, test := range map[string]struct {
		end     func(tx *sql.Tx) error
		refunds []string
		known   bool // something is: that nobody knows
	}{
		"rolled back":    {func(tx *sql.Tx) error { return tx.Rollback() }, nil, false},
		"by a statement": {func(tx *sql.Tx) error { _, err := tx.Exec(`ROLLBACK`); return err }, nil, false},
		"by a conflict":  {func(tx *sql.Tx) error { _, _ = tx.Exec(`INSERT OR ROLLBACK INTO receipts VALUES (NULL)`); return nil }, nil, false},
		"committed":      {func(tx *sql.Tx) error { return tx.Commit() }, []string{"one"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			db := theirs(t, filepath.Join(t.TempDir(), "theirs.db"))
			d := onTheirs(t, db)
			c := claim(t, d, key)
			refund(t, c, "one")
			tx, _ := Tx(c.Context(t.Context()))
			if err := test.end(tx); err != nil {
				t.Fatal(err)
			}
			wantError(t, c.Keep(Receipt{State: Applied, Fingerprint: "f", SettledAt: noon}), "ended by somebody else, or given up")
			if diff := cmp.Diff(test.refunds, refunds(t, db)); diff != "" {
				t.Errorf("refunds (-want +got):\n%s", diff)
			}
			known, err := d.Peek(t.Context(), key, noon)
			if err != nil || (known != nil) != test.known || known != nil && known.State != Unknown {
				t.Errorf("Peek = %v, %v", known, err)
			}
			free(t, claim(t, d, Key{Value: "next"})) // the database is not held up
		})
	}
}

func TestDatabasesThatAreRefused(t *testing.T) {
	for want, name := range map[string]string{
		`journal mode is "memory"`: "file::memory:",
		`journal mode is "delete"`: "file:" + filepath.Join(t.TempDir(), "d.db"),
	} {
		db, err := sql.Open("sqlite", name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = OnDB(t.Context(), db)
		wantError(t, err, want)
		_ = db.Close()
	}
	db := theirs(t, filepath.Join(t.TempDir(), "theirs.db"))
	db.SetMaxOpenConns(1)
	_, err := OnDB(t.Context(), db)
	wantError(t, err, "one connection")
	db.SetMaxOpenConns(0)
	if _, err := db.Exec(`CREATE TABLE ` + sharedTable + ` (x)`); err != nil {
		t.Fatal(err)
	}
	_, err = OnDB(t.Context(), db)
	wantError(t, err, "no such column")
}

// A claim waits for whoever writes, and whoever writes waits for the claim.
func TestTheyWriteToo(t *testing.T) {
	db := theirs(t, filepath.Join(t.TempDir(), "theirs.db"))
	d := onTheirs(t, db)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(`INSERT INTO receipts VALUES ('theirs')`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := d.Claim(ctx, key, noon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Claim = %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	c := claim(t, d, key)
	if _, err := db.Exec(`INSERT INTO receipts VALUES ('late')`); err == nil || !isBusy(err) {
		t.Errorf("a write beside the claim: %v", err)
	}
	free(t, c)
	if !isBusy(errors.New("SQLITE_BUSY: database is locked")) || isBusy(nil) || isBusy(errors.New("no such table")) {
		t.Error("the errors of other drivers are not told apart")
	}
}

// actOnTheirs is act on somebody else's database.
func actOnTheirs(path string) error {
	n, _ := strconv.Atoi(os.Getenv(childActions))
	seed, _ := strconv.ParseUint(os.Getenv(childSeed), 10, 64)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := openTheirs(path)
	if err != nil {
		return err
	}
	d, err := OnDB(ctx, db)
	if err != nil {
		return err
	}
	fmt.Println("open")
	random := rand.New(rand.NewPCG(seed, 0))
	for _, i := range random.Perm(n) {
		action := fmt.Sprint(i)
		c, known, err := d.Claim(ctx, Key{"refund", "a", action}, noon)
		if err != nil {
			return err
		}
		if known == nil {
			tx, _ := Tx(c.Context(ctx))
			if _, err := tx.Exec(`INSERT INTO receipts VALUES (?)`, action); err != nil {
				return err
			}
			time.Sleep(time.Duration(random.IntN(300)) * time.Microsecond)
			if err := c.Keep(Receipt{State: Applied, Fingerprint: action, SettledAt: noon}); err != nil {
				return err
			}
		} else if known.Fingerprint != action {
			return fmt.Errorf("action %s has the receipt %v", action, known)
		}
		fmt.Println(action)
	}
	return db.Close()
}

// TestKillOnTheirs kills a process at random moments: whatever it said that it had
// done is there, and each refund has its receipt and no other.
func TestKillOnTheirs(t *testing.T) {
	kills := 60
	if testing.Short() {
		kills = 10
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("%s=%d", childSeed, seed)
	random := rand.New(rand.NewPCG(seed, 1))
	path := filepath.Join(t.TempDir(), "theirs.db")
	told := map[string]bool{}
	for range kills {
		cmd := child(t, "actOnTheirs", path, childActions+"="+fmt.Sprint(10*kills), childSeed+"="+fmt.Sprint(random.Uint64()))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if line, err := lines.ReadString('\n'); line != "open\n" {
			t.Errorf("a process said %q, %v", line, err)
		}
		time.Sleep(time.Duration(random.IntN(15_000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		rest, _ := io.ReadAll(lines)
		_ = cmd.Wait()
		for line := range strings.Lines(string(rest)) {
			if line, whole := strings.CutSuffix(line, "\n"); whole {
				told[line] = true
			}
		}
	}
	db := theirs(t, path)
	d := onTheirs(t, db)
	entries, err := d.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	receipts := map[string]bool{}
	for _, e := range entries {
		if e.State != Applied {
			t.Errorf("the receipt of %s is %s", e.Value, e.State)
		}
		receipts[e.Value] = true
	}
	done := refunds(t, db)
	t.Logf("%d kills, %d refunds, %d told of", kills, len(done), len(told))
	if len(done) == 0 || len(done) != len(receipts) {
		t.Errorf("%d refunds and %d receipts", len(done), len(receipts))
	}
	for i, refund := range done {
		if !receipts[refund] || i > 0 && done[i-1] == refund {
			t.Errorf("the refund %s has no receipt, or was made twice", refund)
		}
	}
	for action := range told {
		if !receipts[action] {
			t.Errorf("%q was told, and has no receipt", action)
		}
	}
}
