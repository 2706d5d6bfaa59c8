package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// maxDatabase bounds what is copied, in bytes.
	maxDatabase = 1 << 30
	// patience is how long a database is waited for that is being written to.
	patience = 5 * time.Second
	// quiet is more than a step of the clock that files are stamped with: what was
	// not written to for so long gets another stamp when it is.
	quiet = 12 * time.Millisecond
)

// snapshot copies a database as a process that died at one moment would have
// left it, which SQLite makes a whole state of. Nobody is asked for a lock: the
// copy counts when nothing was written meanwhile, and is made again when
// something was. Only to the end of a log of changes (WAL) may be written, by
// its nature: what is not whole there is not counted. So a log that grows all
// the time does not hold up a copy; one that begins anew, or a database that is
// written to, does.
//
// A connection that only reads would leave files for the log behind, or take a
// lock on which a server that does not wait fails.
func snapshot(ctx context.Context, from, to string) (empty bool, err error) {
	// The log stands beside the file, not beside a link to it.
	file, err := filepath.EvalSymlinks(from)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	} else if err != nil {
		return false, &fault{"the file cannot be read", plain(err), err}
	}
	for end := time.Now().Add(patience); ; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		before, err := state(file)
		if err != nil || before.size == 0 {
			return before.size == 0, err
		}
		if before.size > maxDatabase {
			return false, &fault{fmt.Sprintf("the database is larger than %d bytes", int64(maxDatabase)), "", nil}
		}
		// A stamp in the future is nobody's who writes now.
		if since := time.Since(before.written); since < 0 || since >= quiet {
			err := copyAll(ctx, file, to)
			after, errAfter := state(file)
			if err == nil && errAfter == nil && before.same(after) {
				return false, nil
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false, &fault{"the database cannot be copied", err.Error(), err}
			}
		}
		if time.Now().After(end) {
			return false, &fault{fmt.Sprintf("the database was written to all the time for %v", patience), "", nil}
		}
		timer := time.NewTimer(quiet)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// suffixes of the file with changes to be undone and of the log of changes.
const (
	undoSuffix = "-journal"
	logSuffix  = "-wal"
)

type stamp struct {
	undo    fs.FileInfo // of the journal; nil where there is none
	head    []byte      // of the log
	file    fs.FileInfo
	size    int64     // of the database; 0 is an empty one
	written time.Time // the last time that what has to be quiet was
}

// state tells whether something was written between two looks.
func state(file string) (s stamp, err error) {
	s.file, err = os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, &fault{"the file cannot be read", plain(err), err}
	case s.file.IsDir():
		return stamp{size: -1}, &fault{"it is a folder", "", nil}
	case !s.file.Mode().IsRegular():
		return stamp{size: -1}, &fault{"it is not a regular file", "", nil}
	}
	s.size, s.written = s.file.Size(), s.file.ModTime()
	if s.undo, err = os.Stat(file + undoSuffix); err == nil {
		if s.undo.ModTime().After(s.written) {
			s.written = s.undo.ModTime()
		}
	} else if s.undo = nil; !errors.Is(err, fs.ErrNotExist) {
		return s, &fault{"the journal cannot be read", plain(err), err}
	}
	if s.head, err = head(file + logSuffix); err != nil {
		return s, &fault{"the log cannot be read", plain(err), err}
	}
	return s, nil
}

// head reads the start of the log, which is another when the log begins anew.
// It is nil where there is none.
func head(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|openOnly, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, 32)
	n, err := io.ReadFull(f, text)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return text[:n], err
}

func (s stamp) same(t stamp) bool {
	return same(s.file, t.file) && same(s.undo, t.undo) &&
		bytes.Equal(s.head, t.head) && (s.head == nil) == (t.head == nil)
}

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func copyAll(ctx context.Context, from, to string) error {
	if err := copyFile(ctx, from, to); err != nil {
		return err
	}
	for _, suffix := range []string{undoSuffix, logSuffix} {
		err := copyFile(ctx, from+suffix, to+suffix)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.Remove(to + suffix) // of an attempt before
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(ctx context.Context, from, to string) (err error) {
	source, err := os.OpenFile(from, os.O_RDONLY|openOnly, 0)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	for total := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Without a copy of bytes, where the file system can do that.
		n, err := io.CopyN(target, source, 4<<20)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if total += n; total > maxDatabase {
			return fmt.Errorf("it is larger than %d bytes", int64(maxDatabase))
		}
	}
}
