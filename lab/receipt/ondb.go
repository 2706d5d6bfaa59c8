package receipt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// DB keeps receipts in a database of somebody else's, beside the tables that are
// there. See [OnDB].
type DB struct{ store SQLite }

// sharedTable has the version of its columns in its name: the version of the
// database is its owner's.
const sharedTable = "lab_receipts_v1"

// OnDB keeps receipts in an SQLite database that the caller has opened and goes on
// using, in a table lab_receipts_v1 that it makes where there is none. A claim is a
// transaction of that database: what a handler writes with [Tx], and the receipt,
// are there together or not at all.
//
// The database has one writer at a time, so that claims wait for each other and
// for whatever else writes; a handler writes with [Tx] and with nothing else, for
// which it would wait for ever. It must be in WAL mode, where those that look need
// not wait, and its pool must give more than one connection. How much survives a
// power failure is by its own setting of synchronous. With a driver other than
// modernc.org/sqlite, which this is tested with, a database that is locked is told
// by the words of the error.
//
// Closing the database is its owner's to do.
func OnDB(ctx context.Context, db *sql.DB) (*DB, error) {
	d := &DB{SQLite{path: "of the database", table: sharedTable, shared: true, writes: db, reads: db}}
	if n := db.Stats().MaxOpenConnections; n == 1 {
		return nil, errors.New("receipts on a database: its pool has one connection, which a claim would hold for itself")
	}
	var mode string
	err := patiently(ctx, func() error { return db.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode) })
	if err == nil && mode != "wal" {
		err = fmt.Errorf("its journal mode is %q, and must be wal", mode)
	}
	if err == nil {
		err = patiently(ctx, func() error {
			_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+sharedTable+` `+receiptColumns)
			return err
		})
	}
	if err == nil {
		_, err = d.List(ctx) // a table of another form
	}
	if err != nil {
		return nil, fault(err, "receipts on a database")
	}
	return d, nil
}

// Tx returns the transaction of the claim whose [Claim.Context] ctx comes from,
// and whether there is one, which is of a claim of [OnDB] only. It ends with the
// claim: whoever writes in it neither commits it nor rolls it back, and returns the
// first error that it meets, as SQLite may have given up the transaction with it.
func Tx(ctx context.Context) (*sql.Tx, bool) {
	t, _ := ctx.Value(carried{}).(*transaction)
	if t == nil || !t.store.shared {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tx, t.tx != nil
}

// Claim implements [Store]. A claim within a claim is an error.
func (d *DB) Claim(ctx context.Context, key Key, now time.Time) (Claim, *Receipt, error) {
	return d.store.Claim(ctx, key, now)
}

// Peek implements [Store].
func (d *DB) Peek(ctx context.Context, key Key, now time.Time) (*Receipt, error) {
	return d.store.Peek(ctx, key, now)
}

// Resolve implements [Store].
func (d *DB) Resolve(ctx context.Context, key Key, seen Receipt, found *Receipt) error {
	return d.store.Resolve(ctx, key, seen, found)
}

// List implements [Store].
func (d *DB) List(ctx context.Context) ([]Entry, error) { return d.store.List(ctx) }

// mark leaves a mark in the transaction of a claim. Others write in it too, and
// SQLite gives up a transaction at some errors without a word: without the mark the
// receipt would be kept where what it is of was not.
func (s *SQLite) mark(tx *sql.Tx, key Key) error {
	_, err := tx.Exec(`INSERT OR REPLACE INTO `+s.table+` (tool, caller, key, state, fingerprint) VALUES (?, ?, ?, 'unknown', '')`,
		key.Tool, key.Caller, key.Value)
	return err
}

// errGivenUp says that the transaction of a claim is no longer the one that began.
var errGivenUp = errors.New("the transaction was ended by somebody else, or given up by the database")

// unmark takes the mark away, or says that it is gone.
func (s *SQLite) unmark(tx *sql.Tx, key Key) error {
	done, err := tx.Exec(`DELETE FROM `+s.table+` WHERE tool = ? AND caller = ? AND key = ? AND state = 'unknown' AND fingerprint = ''`,
		key.Tool, key.Caller, key.Value)
	if errors.Is(err, sql.ErrTxDone) {
		return errGivenUp
	}
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return errors.Join(errGivenUp, err)
	}
	return nil
}
