package governed

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many links Linux follows on the way of one path.
const maxLinks = 40

// within returns nil where a path leads into a folder, or to it, however the
// server reads it: link by link, as the system does, and with ".." taken out of the
// text first, as many libraries do. What a path that is not absolute is relative to
// is for the server to say, so that no such path is taken.
//
// Nobody outside can close the gap between this look and what the server does: who
// can make links in the folder meanwhile can lead it elsewhere. A hard link is not
// told from the file that it is. Both are for the server's own sandbox to keep out.
func within(folder, path string) error {
	switch {
	case filepath.Separator != '/':
		return errors.New("paths are understood only where / parts them")
	case strings.ContainsRune(path, 0):
		return errors.New("the path has a NUL in it")
	case !strings.HasPrefix(path, "/"):
		return errors.New("the path is not absolute")
	}
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(folder) {
		return errors.New("the folder is not absolute")
	}
	for _, reading := range []string{path, filepath.Clean(path)} {
		leads, err := resolve(reading)
		if err != nil {
			return err
		}
		if leads != folder && !strings.HasPrefix(leads, strings.TrimSuffix(folder, "/")+"/") {
			return errors.New("the path leads out of the folder")
		}
	}
	return nil
}

// resolve follows a path as the system does, to what need not exist yet.
func resolve(path string) (string, error) {
	at, todo, links := "", strings.Split(path, "/"), 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = at[:max(strings.LastIndexByte(at, '/'), 0)]
			continue
		}
		next := at + "/" + name
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return beyond(next, todo)
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", syscall.ELOOP
			}
			// Links there are each process's own.
			if next == "/proc" || strings.HasPrefix(next, "/proc/") {
				return "", errors.New("the path goes through the links of a process")
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if strings.HasPrefix(target, "/") {
				at = ""
			}
			todo = append(strings.Split(target, "/"), todo...)
		case !info.IsDir() && len(todo) > 0:
			return "", syscall.ENOTDIR
		default:
			at = next
		}
	}
	if at == "" {
		at = "/"
	}
	return at, nil
}

// beyond is the rest of a path below what does not exist. No ".." is followed
// there: where it leads depends on what will stand there.
func beyond(at string, rest []string) (string, error) {
	for _, name := range rest {
		switch name {
		case "", ".":
		case "..":
			return "", errors.New(`there is a ".." below what does not exist`)
		default:
			at += "/" + name
		}
	}
	return at, nil
}
