package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What a living server may change meanwhile is emptied through handles: whatever
// it puts in the place of a folder, nothing that lies elsewhere is removed.

// openWithin opens a folder of another one, and not what a link in its place
// points to. It makes it one that can be written to.
func openWithin(parent *os.Root, name string) (*os.Root, error) {
	info, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, noFolder(parent, name)
	}
	if info.Mode().Perm() != 0o700 {
		if err := parent.Chmod(name, 0o700); err != nil {
			return nil, err
		}
	}
	folder, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := folder.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = noFolder(parent, name)
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

func noFolder(parent *os.Root, name string) error {
	return fmt.Errorf("%s is no folder any more", filepath.Join(parent.Name(), name))
}

// empty removes what is in a folder, but for what has the name of keep.
func empty(folder *os.Root, keep string) error {
	entries, err := entriesOf(folder, ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == keep {
			continue
		}
		if err := removeWithin(folder, entry.Name()); err != nil {
			return err
		}
	}
	return nil
}

// entriesOf reads a folder. The names may be any bytes, which an [fs.FS] does not
// take.
func entriesOf(folder *os.Root, name string) ([]fs.DirEntry, error) {
	opened, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	return opened.ReadDir(-1)
}

// removeWithin is [removeAll] of what lies in a folder.
func removeWithin(folder *os.Root, name string) error {
	var err error
	for range attempts {
		if err = folder.RemoveAll(name); err == nil {
			return nil
		}
		permit(folder, name)
	}
	return fmt.Errorf("remove the sandbox: %w", err)
}

// permit lets folders be written to, as far as it can.
func permit(folder *os.Root, name string) {
	if info, err := folder.Lstat(name); err != nil || !info.IsDir() {
		return
	}
	_ = folder.Chmod(name, 0o700)
	entries, _ := entriesOf(folder, name)
	for _, entry := range entries {
		if entry.IsDir() {
			permit(folder, strings.Join([]string{name, entry.Name()}, string(filepath.Separator)))
		}
	}
}
