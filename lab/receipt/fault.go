package receipt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// fault says what failed, and why in words that a person can act on. The end of
// a context is not a fault of the file and is told as it is.
func fault(err error, format string, args ...any) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	doing := fmt.Sprintf(format, args...)
	var told *explained
	if reason := reason(err); reason != "" && !errors.As(err, &told) {
		err = &explained{reason, err}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// explained is an error of SQLite with what it means.
type explained struct {
	reason string
	cause  error
}

func (e *explained) Error() string { return e.reason + ": " + e.cause.Error() }
func (e *explained) Unwrap() error { return e.cause }

// reason returns what an error of SQLite means, or the empty string.
func reason(err error) string {
	switch code := code(err); code & 0xff {
	case codes.SQLITE_FULL:
		return "the disk, or the room that the file may take, is full"
	case codes.SQLITE_READONLY:
		return "the file, or its folder, is read-only"
	case codes.SQLITE_CANTOPEN, codes.SQLITE_PERM:
		return "the file, or one beside it, cannot be opened or created"
	case codes.SQLITE_NOTADB:
		return "it is not an SQLite database"
	case codes.SQLITE_CORRUPT:
		return "the database is damaged"
	case codes.SQLITE_IOERR:
		if code == codes.SQLITE_IOERR_WRITE {
			return "the file could not be written to (is the disk full?)"
		}
		return "the file could not be read or written"
	case codes.SQLITE_TOOBIG:
		return "it is larger than a database can hold"
	}
	return ""
}

// code returns the extended result code of SQLite, or 0.
func code(err error) int {
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		return failed.Code()
	}
	return 0
}

// isBusy reports whether somebody else holds a lock. The errors of other drivers
// than ours are told by SQLite's words for it.
func isBusy(err error) bool {
	return code(err)&0xff == codes.SQLITE_BUSY || err != nil && strings.Contains(err.Error(), "database is locked")
}

// patiently repeats what meets somebody else's lock until ctx ends; the error
// is then that of ctx. What it repeats must have changed nothing.
func patiently(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !isBusy(err) {
			return err
		}
		// Not every refusal comes after SQLite's own wait.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}
