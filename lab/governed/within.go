package governed

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxLinks is how many links Linux follows on the way of one path.
const maxLinks = 40

// within returns nil where a path leads into a folder, or to it, in every reading
// that a server may give it; see [readings]. What a path that is not absolute is relative to
// is for the server to say, so that no such path is taken.
//
// Nobody outside can close the gap between this look and what the server does: who
// can make links in the folder meanwhile can lead it elsewhere. A hard link is not
// told from the file that it is. Both are for the server's own sandbox to keep out.
func within(folder, path string) error {
	switch {
	case filepath.Separator != '/':
		return errors.New("paths are understood only where / parts them")
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
	all, err := readings(path)
	if err != nil {
		return err
	}
	for _, reading := range all {
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

// maxReadings bounds how many readings a path may have.
const maxReadings = 24

// readings are the ways in which a server may read a path: link by link, as the
// system does; with ".." taken out of the text first, as many libraries do; with
// escapes of a URL decoded, once or more; with a backslash for a slash; and without
// the white space and the quotes around it. Nothing of this is likely to be meant
// where it leads out of a folder.
func readings(path string) ([]string, error) {
	all := []string{path}
	for i := 0; i < len(all); i++ {
		if strings.ContainsRune(all[i], 0) {
			return nil, errors.New("the path has a NUL in it")
		}
		for _, other := range []string{
			filepath.Clean(all[i]),
			decoded(all[i]),
			strings.ReplaceAll(all[i], `\`, "/"),
			strings.TrimSpace(all[i]),
			strings.TrimRight(all[i], `"'`),
		} {
			if !slices.Contains(all, other) {
				all = append(all, other)
			}
		}
		if len(all) > maxReadings {
			return nil, errors.New("the path can be read in too many ways")
		}
	}
	return all, nil
}

// decoded is a text with the escapes of a URL decoded; those that are none stay, as
// in the more forgiving libraries.
func decoded(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if b, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(b))
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return string(out)
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
