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

// newFolder makes a folder that is a copy of seed, or is empty. Beside an error it
// returns what could not be removed again, or nil.
func newFolder(ctx context.Context, seed string) (*folder, error) {
	root, err := makeRoot()
	if err != nil {
		return nil, err
	}
	f := &folder{root: root, path: filepath.Join(root, pathName)}
	f.shown = show(f.path, f.root)
	if err := f.lay(ctx, seed); err != nil {
		if f.remove() != nil {
			return f, err
		}
		return nil, err
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
	temporary, err := os.OpenRoot(filepath.Dir(f.root))
	if err != nil {
		return err
	}
	defer temporary.Close()
	root, err := openWithin(temporary, filepath.Base(f.root))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := empty(root, pathName); err != nil {
		return err
	}
	// What stands there may be something else by now, such as a link to a folder
	// that is not ours to empty.
	switch info, err := root.Lstat(pathName); {
	case errors.Is(err, fs.ErrNotExist):
		return f.lay(ctx, seed)
	case err != nil:
		return err
	case !info.IsDir():
		if err := root.Remove(pathName); err != nil {
			return err
		}
		return f.lay(ctx, seed)
	}
	inside, err := openWithin(root, pathName)
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := empty(inside, ""); err != nil {
		return err
	}
	if seed == "" {
		return ctx.Err()
	}
	return copySeed(ctx, seed, f.path)
}

func (f *folder) remove() error { return removeAll(f.root) }

// attempts is how often it is tried to remove something.
const attempts = 3

// removeAll removes what a server left, folders that nobody may write to
// included, and what is written to it meanwhile.
func removeAll(path string) error {
	var err error
	for range attempts {
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
