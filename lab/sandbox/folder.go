package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// folder is a fresh folder of one case. It lies in one of its own, in which a
// server that escapes by one step does no harm.
type folder struct {
	root  string
	path  string
	shown shown
}

const (
	rootName = "lab-sandbox"
	pathName = "sandbox"
)

// newFolder makes a folder that is a copy of seed, or is empty.
func newFolder(ctx context.Context, seed string) (*folder, error) {
	root, err := makeRoot()
	if err != nil {
		return nil, err
	}
	f := &folder{root: root, path: filepath.Join(root, pathName)}
	f.shown = show(f.path, f.root)
	if err := f.lay(ctx, seed); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

// makeRoot makes a folder with a name of its own. All such names are equally
// long, so that the size of what holds one is the same in every run.
func makeRoot() (string, error) {
	// Servers tell where they are by the path that has no link in it, and run
	// elsewhere.
	temporary, err := filepath.EvalSymlinks(os.TempDir())
	if err == nil {
		temporary, err = filepath.Abs(temporary)
	}
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(temporary) {
		return "", fmt.Errorf("the folder for temporary files, %q, has a name that is not UTF-8 and so cannot stand in JSON", temporary)
	}
	for range 100 {
		root := filepath.Join(temporary, rootName+"-"+strings.ToLower(rand.Text()[:10]))
		if err = os.Mkdir(root, 0o700); !errors.Is(err, fs.ErrExist) {
			return root, err
		}
	}
	return "", err
}

func (f *folder) lay(ctx context.Context, seed string) error {
	if err := os.Mkdir(f.path, 0o700); err != nil {
		return err
	}
	if seed == "" {
		return ctx.Err()
	}
	return copySeed(ctx, seed, f.path)
}

// reset empties the folder, which a server may have as its own, and what lies
// beside it, and fills it anew.
func (f *folder) reset(ctx context.Context, seed string) error {
	if err := empty(f.root, pathName); err != nil {
		return err
	}
	// What stands there may be something else by now, such as a link to a folder
	// that is not ours to empty.
	switch info, err := os.Lstat(f.path); {
	case errors.Is(err, fs.ErrNotExist):
		return f.lay(ctx, seed)
	case err != nil:
		return err
	case !info.IsDir():
		if err := os.Remove(f.path); err != nil {
			return err
		}
		return f.lay(ctx, seed)
	}
	if err := empty(f.path, ""); err != nil {
		return err
	}
	if seed == "" {
		return ctx.Err()
	}
	return copySeed(ctx, seed, f.path)
}

// empty removes what is in a folder, but for what has the name of keep.
func empty(path, keep string) error {
	if info, err := os.Lstat(path); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is no folder any more", path)
	} else if info.Mode().Perm() != 0o700 {
		if err := os.Chmod(path, 0o700); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == keep {
			continue
		}
		if err := removeAll(filepath.Join(path, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) remove() error { return removeAll(f.root) }

// removeAll removes what a server left, folders that nobody may write to
// included, and what is written to it meanwhile.
func removeAll(path string) error {
	var err error
	for range 3 {
		if err = os.RemoveAll(path); err == nil {
			return nil
		}
		filepath.WalkDir(path, func(name string, entry fs.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				os.Chmod(name, 0o700)
			}
			return nil
		})
	}
	return fmt.Errorf("remove the sandbox: %w", err)
}
