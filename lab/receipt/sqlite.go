package receipt

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// SQLite keeps receipts in a file, across restarts and for several processes
// at once. See [OpenSQLite].
//
// A claim is the file's one write transaction: a receipt, and what the backend
// wrote with [Claim.Context], are on the disk together once Keep has returned,
// or not at all; the death of the process frees the claim. The price is that
// claims on different keys wait for each other too, so work that hangs within a
// claim holds up every other claim. A repeat of what has a receipt waits for
// nobody.
//
// Where the disk fails in the very moment that makes a receipt durable, and the
// process is killed right after, the next opening may find the receipt that Keep
// said was not kept; the work is then there with it.
//
// A claim is seen in progress by Peek and List of the same SQLite only. Another
// process finds no receipt, and would wait where it claims.
type SQLite struct {
	path   string
	table  string  // of the receipts
	shared bool    // the database is somebody else's, see [OnDB]
	writes *sql.DB // one connection: what writes in this process waits for it
	reads  *sql.DB
	open   atomic.Pointer[Key] // what is claimed
}

// Close closes the file. A claim that is open can still be ended.
func (s *SQLite) Close() error {
	var err error
	for _, db := range []*sql.DB{s.reads, s.writes} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return fault(err, "close receipts %s", s.path)
}

// Claim implements [Store]. A claim within a claim is an error: it would wait
// for itself.
func (s *SQLite) Claim(ctx context.Context, key Key, now time.Time) (Claim, *Receipt, error) {
	if s.joined(ctx) != nil {
		return nil, nil, fmt.Errorf("claim in receipts %s: a claim within a claim would wait for itself", s.path)
	}
	// What has a receipt needs no lock.
	known, err := s.find(ctx, key, now)
	if err != nil || known != nil {
		return nil, known, err
	}
	t, err := s.begin(ctx)
	if err != nil {
		return nil, nil, fault(err, "claim in receipts %s", s.path)
	}
	err = t.run(func(tx *sql.Tx) (err error) {
		if known, err = s.lookUp(context.Background(), tx, key, now); err == nil && known == nil && s.shared {
			err = s.mark(tx, key)
		}
		return err
	})
	if err != nil || known != nil {
		_ = t.rollback()
		return nil, known, err
	}
	claim := &sqliteClaim{t, &key}
	s.open.Store(claim.key)
	return claim, nil, nil
}

// Peek implements [Store].
func (s *SQLite) Peek(ctx context.Context, key Key, now time.Time) (*Receipt, error) {
	if open := s.open.Load(); open != nil && *open == key {
		return &Receipt{State: InProgress}, nil
	}
	return s.find(ctx, key, now)
}

func (s *SQLite) find(ctx context.Context, key Key, now time.Time) (known *Receipt, err error) {
	err = patiently(ctx, func() (err error) {
		known, err = s.lookUp(ctx, s.reads, key, now)
		return err
	})
	return known, fault(err, "look into receipts %s", s.path)
}

// Resolve implements [Store]. With a context of a claim it is part of it.
func (s *SQLite) Resolve(ctx context.Context, key Key, seen Receipt, found *Receipt) error {
	settled, err := nanoseconds(seen.SettledAt)
	if err != nil {
		return fault(err, "resolve a receipt")
	}
	err = s.Update(ctx, func(records Records) error {
		return records.(*transaction).run(func(tx *sql.Tx) error {
			if found == nil {
				_, err := tx.Exec(`DELETE FROM `+s.table+`
					WHERE tool = ? AND caller = ? AND key = ? AND state = 'unknown' AND fingerprint = ? AND settled_at IS ?`,
					key.Tool, key.Caller, key.Value, seen.Fingerprint, settled)
				return err
			}
			row, err := encode(*found)
			if err != nil {
				return err
			}
			_, err = tx.Exec(`UPDATE `+s.table+`
				SET state = ?4, fingerprint = ?5, output = ?6, error = ?7, settled_at = ?8, expires_at = ?9
				WHERE tool = ?1 AND caller = ?2 AND key = ?3 AND state = 'unknown' AND fingerprint = ?10 AND settled_at IS ?11`,
				append(row.arguments(key), seen.Fingerprint, settled)...)
			return err
		})
	})
	return fault(err, "resolve a receipt")
}

// List implements [Store].
func (s *SQLite) List(ctx context.Context) (entries []Entry, err error) {
	open := s.open.Load()
	err = patiently(ctx, func() error {
		entries = []Entry{}
		rows, err := s.reads.QueryContext(ctx, `SELECT `+columns+`, tool, caller, key FROM `+s.table+`
			ORDER BY tool, caller, key`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r row
			var key Key
			if err := rows.Scan(append(r.fields(), &key.Tool, &key.Caller, &key.Value)...); err != nil {
				return err
			}
			receipt, err := r.decode()
			if err != nil {
				return err
			}
			entries = append(entries, Entry{key, *receipt})
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fault(err, "list receipts %s", s.path)
	}
	if open != nil {
		at, replaced := slices.BinarySearchFunc(entries, *open, func(e Entry, k Key) int { return e.compare(k) })
		if replaced {
			entries[at].Receipt = Receipt{State: InProgress}
		} else {
			entries = slices.Insert(entries, at, Entry{*open, Receipt{State: InProgress}})
		}
	}
	return entries, nil
}

// sqliteClaim is an open write transaction.
type sqliteClaim struct {
	transaction *transaction
	key         *Key
}

// Context implements [Claim]; see [RecordsFrom] and [SQLite.Update].
func (c *sqliteClaim) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, carried{}, c.transaction)
}

// RollsBack implements [Claim].
func (c *sqliteClaim) RollsBack() bool { return true }

// Keep implements [Claim].
func (c *sqliteClaim) Keep(receipt Receipt) error {
	err := c.transaction.run(func(tx *sql.Tx) error {
		row, err := encode(receipt)
		if err != nil {
			return err
		}
		if c.transaction.store.shared {
			if err := c.transaction.store.unmark(tx, *c.key); err != nil {
				return err
			}
		}
		_, err = tx.Exec(`INSERT OR REPLACE INTO `+c.transaction.store.table+`
			(tool, caller, key, state, fingerprint, output, error, settled_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, row.arguments(*c.key)...)
		return err
	})
	if err == nil || !errors.Is(err, errEnded) {
		// A transaction that has met an error is rolled back by its commit.
		err = c.transaction.commit()
	}
	return fault(c.ended(err), "keep the receipt of %s %q: nothing was applied", c.key.Tool, c.key.Value)
}

// Free implements [Claim].
func (c *sqliteClaim) Free() error { return c.ended(c.transaction.rollback()) }

// ended passes on what the end of the claim came to.
func (c *sqliteClaim) ended(err error) error {
	if errors.Is(err, errEnded) {
		panic("receipt: a claim was ended twice")
	}
	// Only where it is still this claim: the next one may be open by now.
	c.transaction.store.open.CompareAndSwap(c.key, nil)
	return err
}

// columns are those of a receipt, in the order of [row.fields].
const columns = `state, fingerprint, output, error, settled_at, expires_at`

// lookUp returns the receipt of an action that has not expired, or nil.
func (s *SQLite) lookUp(ctx context.Context, db queryer, key Key, now time.Time) (*Receipt, error) {
	var r row
	err := db.QueryRowContext(ctx, `SELECT `+columns+` FROM `+s.table+` WHERE tool = ? AND caller = ? AND key = ?`,
		key.Tool, key.Caller, key.Value).Scan(r.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	receipt, err := r.decode()
	if err != nil || receipt.expired(now) {
		return nil, err
	}
	return receipt, nil
}

// row is a receipt as the file holds it.
type row struct {
	state, fingerprint string
	output, failure    sql.NullString // JSON
	settled, expires   sql.NullInt64
}

func (r *row) fields() []any {
	return []any{&r.state, &r.fingerprint, &r.output, &r.failure, &r.settled, &r.expires}
}

func (r *row) arguments(k Key) []any {
	return []any{k.Tool, k.Caller, k.Value, r.state, r.fingerprint, r.output, r.failure, r.settled, r.expires}
}

func encode(receipt Receipt) (r row, err error) {
	r.state, r.fingerprint = string(receipt.State), receipt.Fingerprint
	if receipt.State != Applied && receipt.State != Unknown {
		return r, fmt.Errorf("receipt: %q is not a state to keep", receipt.State)
	}
	if len(receipt.Output) > 0 {
		r.output = sql.NullString{String: string(receipt.Output), Valid: true}
	}
	if receipt.Error != nil {
		// The answer to a repeat is the answer that was given: no character of
		// its details is escaped on the way.
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(receipt.Error); err != nil {
			return r, fmt.Errorf("receipt: its error cannot be encoded: %w", err)
		}
		r.failure = sql.NullString{String: text.String(), Valid: true}
	}
	if r.settled, err = nanoseconds(receipt.SettledAt); err == nil {
		r.expires, err = nanoseconds(receipt.ExpiresAt)
	}
	return r, err
}

func (r *row) decode() (*Receipt, error) {
	receipt := &Receipt{
		State:       State(r.state),
		Fingerprint: r.fingerprint,
		SettledAt:   moment(r.settled),
		ExpiresAt:   moment(r.expires),
	}
	if r.output.Valid {
		receipt.Output = json.RawMessage(r.output.String)
	}
	if r.failure.Valid {
		if err := json.Unmarshal([]byte(r.failure.String), &receipt.Error); err != nil {
			return nil, fmt.Errorf("receipt: the error it holds cannot be read: %w", err)
		}
		if string(receipt.Error.Details) == "null" {
			receipt.Error.Details = nil
		}
	}
	return receipt, nil
}

// nanoseconds counts from 1970, in UTC; the zero time is NULL.
func nanoseconds(t time.Time) (sql.NullInt64, error) {
	if t.IsZero() {
		return sql.NullInt64{}, nil
	}
	n := t.UnixNano()
	if !time.Unix(0, n).Equal(t) {
		return sql.NullInt64{}, fmt.Errorf("receipt: %s cannot be kept: it is not between 1678 and 2262", t.Format(time.RFC3339))
	}
	return sql.NullInt64{Int64: n, Valid: true}, nil
}

func moment(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(0, n.Int64).UTC()
}
