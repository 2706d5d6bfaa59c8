package receipt

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

// Records is a backend's own data, kept in the same file as the receipts of
// what was done to it: buckets of records, each bucket in the order in which
// its records were added. A bucket comes to be with its first record.
//
// Records belong to one transaction, and end with it. They serve one goroutine
// at a time. After an error of Get, Put, Append or All nothing of the
// transaction will be kept: it can only be ended.
type Records interface {
	// Get returns the value of a key, and whether there is one.
	Get(bucket, key string) ([]byte, bool, error)
	// Put sets the value of a key. A key that exists keeps its place.
	Put(bucket, key string, value []byte) error
	// Append adds a value without a key, and returns its sequence number in
	// the bucket, counted from 1.
	Append(bucket string, value []byte) (int64, error)
	// All returns the records of a bucket in order.
	All(bucket string) ([]Record, error)
}

// Record is one record of a bucket.
type Record struct {
	Sequence int64
	Key      string // empty where the record was appended
	Value    []byte
}

var (
	errEnded    = errors.New("receipt: records were used after their transaction had ended")
	errReadOnly = errors.New("receipt: records of a view cannot be written")
)

type carried struct{}

// RecordsFrom returns the records of the claim whose [Claim.Context] ctx
// comes from. What is written there is kept with the receipt or not at all.
// The second value is false where there is no such claim, or where its store
// keeps no records.
func RecordsFrom(ctx context.Context) (Records, bool) {
	t, _ := ctx.Value(carried{}).(*transaction)
	if t == nil || t.store.shared {
		return nil, false
	}
	return t, true
}

// joined returns the transaction of this store that ctx carries, or nil.
func (s *SQLite) joined(ctx context.Context) *transaction {
	t, _ := ctx.Value(carried{}).(*transaction)
	if t == nil || t.store != s {
		return nil
	}
	return t
}

// Update changes records: all that change does, or nothing where it returns an
// error or panics. With a context of a claim it is part of that claim, so that
// the claim has the last word; otherwise it is a transaction of its own, and
// waits for open claims until ctx ends.
func (s *SQLite) Update(ctx context.Context, change func(Records) error) error {
	if t := s.joined(ctx); t != nil {
		return t.nest(change)
	}
	t, err := s.begin(ctx)
	if err != nil {
		return fault(err, "update receipts %s", s.path)
	}
	defer t.rollback()
	if err := change(t); err != nil {
		return err
	}
	return fault(t.commit(), "update: nothing was applied")
}

// View reads records as they are at one moment; with a context of a claim, as
// that claim sees them.
func (s *SQLite) View(ctx context.Context, look func(Records) error) error {
	if t := s.joined(ctx); t != nil {
		return look(t)
	}
	var tx *sql.Tx
	err := patiently(ctx, func() (err error) {
		tx, err = s.reads.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		return err
	})
	if err != nil {
		return fault(err, "view receipts %s", s.path)
	}
	t := &transaction{store: s, tx: tx, readOnly: true}
	defer t.rollback()
	if err := look(t); err != nil {
		return cmp.Or(ctx.Err(), err) // the end of ctx is the end of the view
	}
	return nil
}

// transaction is an open transaction, and the records in it.
//
// Its statements never end with a context: SQLite may give up a whole
// transaction with a statement that is interrupted. For the same reason the
// first error is the end of it: a statement after it could land outside.
type transaction struct {
	store    *SQLite
	readOnly bool

	mu      sync.Mutex
	conn    *sql.Conn // nil for a view
	release context.CancelFunc
	tx      *sql.Tx // nil once ended
	broken  error   // what went wrong first
}

// begin opens a write transaction: the one right to write to the file that
// there is, in all processes. It waits for it until ctx ends; the transaction
// itself outlives ctx.
func (s *SQLite) begin(ctx context.Context) (*transaction, error) {
	conn, err := s.writes.Conn(ctx)
	if err != nil {
		return nil, err
	}
	lasting, release := context.WithCancel(context.WithoutCancel(ctx))
	outlive := context.AfterFunc(ctx, release)
	var tx *sql.Tx
	err = patiently(ctx, func() (err error) {
		tx, err = s.beginWrite(lasting, conn)
		return err
	})
	if err == nil && !outlive() {
		err = ctx.Err()
	}
	if err != nil {
		outlive()
		release()
		discard(conn)
		return nil, err
	}
	return &transaction{store: s, conn: conn, tx: tx, release: release}, nil
}

// beginWrite opens a transaction that holds the right to write. SQLite opens one
// that does not where the file is read-only, and says so at the first write: a
// claim must know before its work is done.
func (s *SQLite) beginWrite(ctx context.Context, conn interface {
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
}) (*sql.Tx, error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(`DELETE FROM ` + s.table + ` WHERE FALSE`); err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// discard closes a connection whose state is in doubt; SQLite rolls back what
// was open on it.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// run does one thing within the transaction.
func (t *transaction) run(do func(*sql.Tx) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.tx == nil:
		return errEnded
	case t.broken != nil:
		return t.broken
	}
	if err := do(t.tx); err != nil {
		t.broken = fault(err, "%s", t.store.path)
	}
	return t.broken
}

// commit returns an error where nothing was kept.
func (t *transaction) commit() error { return t.end((*sql.Tx).Commit) }

// rollback returns no error but errEnded: a connection that fails to roll back
// is closed, which does it too.
func (t *transaction) rollback() error {
	if err := t.end((*sql.Tx).Rollback); errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// end ends the transaction once. One that is broken is rolled back, whatever
// was asked.
func (t *transaction) end(how func(*sql.Tx) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tx == nil {
		return errEnded
	}
	tx := t.tx
	t.tx = nil
	if t.conn == nil {
		return how(tx)
	}
	defer t.release()
	err := t.broken
	if err == nil {
		err = fault(how(tx), "%s", t.store.path)
	}
	if err != nil {
		_ = tx.Rollback()
		discard(t.conn)
		return err
	}
	return t.conn.Close()
}

// nest runs change within the transaction; where it fails, the rest stands.
func (t *transaction) nest(change func(Records) error) error {
	exec := func(statement string) error {
		return t.run(func(tx *sql.Tx) error {
			_, err := tx.Exec(statement)
			return err
		})
	}
	if err := exec(`SAVEPOINT nested`); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			_ = exec(`ROLLBACK TO nested; RELEASE nested`)
		}
	}()
	if err := change(t); err != nil {
		return err
	}
	done = true
	return exec(`RELEASE nested`)
}

// Get implements [Records].
func (t *transaction) Get(bucket, key string) (value []byte, found bool, err error) {
	err = t.run(func(tx *sql.Tx) error {
		err := tx.QueryRow(`SELECT value FROM records WHERE bucket = ? AND key = ?`, bucket, key).Scan(&value)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		found = err == nil
		return err
	})
	return value, found, err
}

// Put implements [Records].
func (t *transaction) Put(bucket, key string, value []byte) error {
	_, err := t.add(bucket, key, value,
		`INSERT INTO records (bucket, sequence, key, value) VALUES (?1, `+next+`, ?2, ?3)
		ON CONFLICT (bucket, key) WHERE key IS NOT NULL DO UPDATE SET value = excluded.value
		RETURNING sequence`)
	return err
}

// Append implements [Records].
func (t *transaction) Append(bucket string, value []byte) (int64, error) {
	return t.add(bucket, "", value,
		`INSERT INTO records (bucket, sequence, value) VALUES (?1, `+next+`, ?3)
		RETURNING sequence`)
}

// next is the number after the last one of a bucket.
const next = `(SELECT coalesce(max(sequence), 0) + 1 FROM records WHERE bucket = ?1)`

func (t *transaction) add(bucket, key string, value []byte, statement string) (sequence int64, err error) {
	if t.readOnly {
		return 0, errReadOnly
	}
	if value == nil {
		value = []byte{} // nil is NULL
	}
	err = t.run(func(tx *sql.Tx) error {
		return tx.QueryRow(statement, bucket, key, value).Scan(&sequence)
	})
	return sequence, err
}

// All implements [Records].
func (t *transaction) All(bucket string) (records []Record, err error) {
	err = t.run(func(tx *sql.Tx) error {
		rows, err := tx.Query(`SELECT sequence, coalesce(key, ''), value FROM records
			WHERE bucket = ? ORDER BY sequence`, bucket)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r Record
			if err := rows.Scan(&r.Sequence, &r.Key, &r.Value); err != nil {
				return err
			}
			records = append(records, r)
		}
		return rows.Err()
	})
	return records, err
}

// Clear removes every receipt and every record. It waits for open claims until
// ctx ends.
func (s *SQLite) Clear(ctx context.Context) error {
	t, err := s.begin(ctx)
	if err != nil {
		return fault(err, "clear receipts %s", s.path)
	}
	defer t.rollback()
	err = t.run(func(tx *sql.Tx) error {
		for _, table := range []string{"receipts", "records"} {
			if _, err := tx.Exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = t.commit()
	}
	return fault(err, "clear receipts %s", s.path)
}
