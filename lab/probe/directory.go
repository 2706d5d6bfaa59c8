package probe

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// Directory looks at the files and folders below a folder, which has to be
// there at first. Where it has been taken away later, or something else stands in
// its place, such as a link to elsewhere, all that was in it is gone; where it was
// empty, that cannot be looked at. Files and folders differ by their kind, their permissions and their content; a
// symbolic link by where it points to, and it is not followed; a pipe, a socket
// or a device is never opened. Times and owners make no difference, and what
// vanishes while it is looked at is not there.
//
// A resource is the path below the folder, with slashes; one with characters
// that cannot be printed, or that begins with a quote, is a quoted Go string.
//
// What a pattern of ignore matches is left out, and a folder with all that is
// in it. "*" and "?" stand for anything but a slash, "[a-z]" for a character,
// "{a,b}" for either, and "**" for any number of folders. A pattern without a
// slash, but for one at its end, matches a name in every folder, one with a
// slash the whole path; a slash at its end matches folders only.
func Directory(folder string, ignore []string) (Probe, error) {
	patterns := make([]pattern, 0, len(ignore))
	for _, text := range ignore {
		glob, folders := strings.CutSuffix(text, "/")
		anywhere := !strings.Contains(glob, "/")
		if glob = strings.TrimPrefix(glob, "/"); anywhere && glob != "" {
			glob = "**/" + glob
		}
		if glob == "" || !doublestar.ValidatePattern(glob) {
			return nil, &Error{Kind: "directory", Reason: fmt.Sprintf("%q is not a pattern of files to ignore", text)}
		}
		patterns = append(patterns, pattern{glob, folders})
	}
	var first fs.FileInfo // of the folder itself, which may be a link
	var held bool         // something, when it was last looked at
	return probe{"directory", folder, func(ctx context.Context) (Snapshot, error) {
		stands, statErr := os.Lstat(folder)
		taken := first != nil && (errors.Is(statErr, fs.ErrNotExist) || statErr == nil && stands.Mode().Type() != first.Mode().Type())
		if taken && held {
			return make(Snapshot), nil
		}
		info, err := os.Stat(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &fault{"the folder does not exist", "", err}
		case err != nil:
			return nil, &fault{"the folder cannot be read", plain(err), err}
		case !info.IsDir():
			return nil, &fault{"it is not a folder", "", nil}
		}
		if taken {
			return nil, &fault{"something else stands where the folder was", "", nil}
		}
		w := walk{ctx: ctx, root: folder, ignore: patterns, digest: sha256.New(), seen: make(Snapshot)}
		if err := w.folder(""); err != nil {
			return nil, err
		}
		first, held = stands, len(w.seen) > 0
		return w.seen, nil
	}}, nil
}

type pattern struct {
	glob    string
	folders bool // only
}

func (p pattern) matches(relative string, folder bool) bool {
	return (folder || !p.folders) && doublestar.MatchUnvalidated(p.glob, relative)
}

type walk struct {
	ctx    context.Context
	root   string
	ignore []pattern
	digest hash.Hash
	buffer []byte // made for the first file
	seen   Snapshot
}

// folder looks at what is in a folder, which is named from the root.
func (w *walk) folder(relative string) error {
	opened, err := os.Open(filepath.Join(w.root, filepath.FromSlash(relative)))
	if err != nil {
		if relative == "" {
			return &fault{"the folder cannot be read", plain(err), err}
		}
		return w.unless(err, relative)
	}
	defer opened.Close()
	for {
		// Piece by piece: a folder can have any number of entries.
		entries, err := opened.ReadDir(1000)
		for _, entry := range entries {
			if err := w.entry(path.Join(relative, entry.Name()), entry); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return w.unless(err, relative)
		}
	}
}

// unless is nil for the error of what has vanished or become something else.
func (w *walk) unless(err error, relative string) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return nil
	}
	return &fault{"it cannot be read: " + short(printable(relative)), plain(err), err}
}

func (w *walk) entry(relative string, found fs.DirEntry) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	for _, p := range w.ignore {
		if p.matches(relative, found.IsDir()) {
			return nil
		}
	}
	info, err := found.Info()
	if err != nil {
		return w.unless(err, relative)
	}
	w.digest.Reset()
	var size int64
	switch mode := info.Mode(); {
	case mode.IsRegular():
		if size, err = w.content(relative, &info); err != nil {
			return w.unless(err, relative)
		}
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(filepath.Join(w.root, filepath.FromSlash(relative)))
		if err != nil {
			return w.unless(err, relative)
		}
		size = int64(len(target))
		_, _ = io.WriteString(w.digest, target)
	}
	mode := info.Mode()
	if mode&fs.ModeSymlink != 0 {
		mode = mode.Type() // its permissions mean nothing
	}
	_, _ = fmt.Fprintf(w.digest, "\x00%v", mode)
	e := Entry{Size: size}
	w.digest.Sum(e.Digest[:0])
	if err := w.seen.add(printable(relative), e); err != nil {
		return err
	}
	if info.IsDir() {
		return w.folder(relative)
	}
	return nil
}

// content digests a file, and tells what was opened: meanwhile it may be
// another.
func (w *walk) content(relative string, info *fs.FileInfo) (size int64, err error) {
	f, err := os.OpenFile(filepath.Join(w.root, filepath.FromSlash(relative)), os.O_RDONLY|openOnly, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if *info, err = f.Stat(); err != nil || !(*info).Mode().IsRegular() {
		return 0, err
	}
	if w.buffer == nil {
		w.buffer = make([]byte, 64<<10)
	}
	for {
		if err := w.ctx.Err(); err != nil {
			return 0, err
		}
		n, err := f.Read(w.buffer)
		_, _ = w.digest.Write(w.buffer[:n])
		size += int64(n)
		if errors.Is(err, io.EOF) {
			return size, nil
		} else if err != nil {
			return 0, err
		}
	}
}

// printable is a name in a form that can be printed and read in one way only.
func printable(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if utf8.ValidString(name) && !strings.ContainsFunc(name, odd) && !strings.HasPrefix(name, `"`) {
		return name
	}
	return strconv.Quote(name)
}

// plain is an error without the path, which stands elsewhere.
func plain(err error) string {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}
