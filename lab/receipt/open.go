package receipt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"modernc.org/sqlite"
)

const (
	// applicationID is "labr" in the header of the file: no other program's
	// database is taken for one of ours, whatever its tables are called.
	applicationID = 0x6c616272
	// schemaVersion grows with every change of the schema.
	schemaVersion = 1
)

// schema is of version 1.
const schema = `
CREATE TABLE receipts ` + receiptColumns + `;

CREATE TABLE records (
	bucket   TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	key      TEXT,
	value    BLOB NOT NULL,
	PRIMARY KEY (bucket, sequence)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX records_by_key ON records (bucket, key) WHERE key IS NOT NULL;
`

// receiptColumns is of version 1. Times are nanoseconds since 1970 in UTC. Keys
// compare byte by byte, as Go compares strings.
const receiptColumns = `(
	tool        TEXT NOT NULL,
	caller      TEXT NOT NULL,
	key         TEXT NOT NULL,
	state       TEXT NOT NULL CHECK (state IN ('applied', 'unknown')),
	fingerprint TEXT NOT NULL,
	output      TEXT,
	error       TEXT,
	settled_at  INTEGER,
	expires_at  INTEGER,
	PRIMARY KEY (tool, caller, key)
) STRICT, WITHOUT ROWID`

// readers bounds the connections that look while another one writes.
const readers = 4

// OpenSQLite opens the receipts in a file, and creates the file where there is
// none. A file that is anything but such a database is an error, and is left
// as it is. What a killed process left behind is recovered. ctx bounds the
// opening only.
func OpenSQLite(ctx context.Context, path string) (*SQLite, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open receipts %s: %w", path, err)
	}
	exists, err := look(absolute)
	if err != nil {
		return nil, fmt.Errorf("open receipts %s: %w", path, err)
	}
	if exists {
		err = recognise(ctx, absolute)
	}
	if err == nil && !exists || errors.Is(err, errEmpty) {
		err = create(ctx, absolute)
	}
	if err != nil {
		return nil, fault(err, "open receipts %s", path)
	}
	s := &SQLite{path: path, table: "receipts"}
	if s.writes, err = pool(absolute, "rw", 1, ""); err == nil {
		s.reads, err = pool(absolute, "rw", readers, "&_query_only=1")
	}
	if err == nil {
		err = s.probe(ctx)
	}
	if err != nil {
		return nil, errors.Join(fault(err, "open receipts %s", path), s.Close())
	}
	return s, nil
}

// look tells a file from what cannot be one. It never opens the file: closing
// it again would drop the locks that this process holds on it (POSIX).
func look(path string) (exists bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		folder, err := os.Stat(filepath.Dir(path))
		if errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("the folder %s does not exist", filepath.Dir(path))
		}
		if err == nil && !folder.IsDir() {
			return false, fmt.Errorf("%s is not a folder", filepath.Dir(path))
		}
		return false, err
	case err != nil:
		return false, err
	case info.IsDir():
		return false, errors.New("it is a folder, not a file")
	case !info.Mode().IsRegular():
		return false, errors.New("it is not a regular file")
	case info.Size() == 1:
		return false, errors.New("it is not an SQLite database") // SQLite would take it for an empty one
	}
	return info.Size() > 0, nil
}

// pool returns connections to a file that are opened on demand. The wait for a
// lock is short: [patiently] repeats it for as long as a context allows, which
// asks more often than SQLite's own wait would.
func pool(path, mode string, size int, more string) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	name := url.URL{Scheme: "file", Path: slashed, RawQuery: "mode=" + mode +
		"&_txlock=immediate&_busy_timeout=20&_synchronous=FULL&_dqs=0&_error_rc=1" + more}
	connector, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// errEmpty says that a database holds nothing, and was made by nobody.
var errEmpty = errors.New("it is an empty database")

// recognise looks at a database without changing what it says. Where a log is
// waiting to be moved into the database, a connection that may write would do
// that as it closes; where there is none, only such a connection takes away the
// empty log that it had to make.
func recognise(ctx context.Context, path string) (err error) {
	mode := "rw"
	if _, err := os.Stat(path + "-wal"); err == nil {
		mode = "ro"
	}
	db, err := pool(path, mode, 1, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return patiently(ctx, func() error { return identify(ctx, db) })
}

// queryer is a connection, a transaction or a pool of connections.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// identify returns nil where the database is one of ours, of this version.
func identify(ctx context.Context, db queryer) error {
	var application, version, objects int64
	err := db.QueryRowContext(ctx, `SELECT
		(SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&application, &version, &objects)
	switch {
	case err != nil:
		return err
	case application == 0 && version == 0 && objects == 0:
		return errEmpty
	case application != applicationID:
		return fmt.Errorf("it is a database of another program (application id %d)", application)
	case version > schemaVersion:
		return fmt.Errorf("its schema is of version %d, and this program knows versions up to %d: use a newer one",
			version, schemaVersion)
	case version < 1:
		return fmt.Errorf("its schema is of version %d, which never was", version)
	}
	return nil
}

// create lays out an empty database. Another process may do the same at once:
// the first one does it.
func create(ctx context.Context, path string) (err error) {
	db, err := pool(path, "rwc", 1, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = patiently(ctx, func() error {
		var mode string
		if err := db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil {
			return err
		}
		if mode != "wal" {
			return fmt.Errorf("its file system cannot hold a write-ahead log (journal mode %s)", mode)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return patiently(ctx, func() error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := identify(ctx, tx); !errors.Is(err, errEmpty) {
			return err
		}
		if _, err := tx.ExecContext(ctx, schema+
			"PRAGMA application_id = "+strconv.Itoa(applicationID)+";"+
			"PRAGMA user_version = "+strconv.Itoa(schemaVersion)); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// probe finds a file that can be read and not written. A file that another
// process is writing to is not one: there is no need to wait for it.
func (s *SQLite) probe(ctx context.Context) error {
	tx, err := s.beginWrite(ctx, s.writes)
	if isBusy(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.Rollback()
}
