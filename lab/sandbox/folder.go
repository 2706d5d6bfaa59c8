package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/suite"
)

// folder is a fresh folder of one case. It lies in one of its own, in which a
// server that escapes by one step does no harm.
type folder struct {
	root string
	path string
	// What stands for a path in reports, the longer path first.
	shown [2]replacement
}

// replacement is a path of this machine, and what stands for it.
type replacement struct {
	path, name string
	quoted     []byte // the path as it stands within a JSON string
	slashed    []byte // the same by an encoder that escapes the slash
}

func replace(path, name string) replacement {
	quoted := inString(path)
	return replacement{path, name, quoted, bytes.ReplaceAll(quoted, []byte("/"), []byte(`\/`))}
}

// newFolder makes a folder that is a copy of seed, or is empty.
func newFolder(ctx context.Context, seed string) (*folder, error) {
	root, err := os.MkdirTemp("", "lab-sandbox-")
	if err != nil {
		return nil, err
	}
	f := &folder{root: root}
	if err := f.lay(ctx, seed); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

func (f *folder) lay(ctx context.Context, seed string) (err error) {
	// Servers tell where they are by the path that has no link in it.
	if f.root, err = filepath.EvalSymlinks(f.root); err != nil {
		return err
	}
	f.path = filepath.Join(f.root, "sandbox")
	f.shown = [2]replacement{replace(f.path, suite.SandboxVariable), replace(f.root, suite.SandboxVariable+"/..")}
	if err := os.Mkdir(f.path, 0o700); err != nil {
		return err
	}
	return f.fill(ctx, seed)
}

// inString is a text as it stands between the quotes of a JSON string.
func inString(text string) []byte {
	quoted := jsonvalue.AppendString(nil, text)
	return quoted[1 : len(quoted)-1]
}

func (f *folder) fill(ctx context.Context, seed string) error {
	if seed == "" {
		return ctx.Err()
	}
	return os.CopyFS(f.path, until{ctx, os.DirFS(seed)})
}

// until is a file system that ends with its context, so that the copy of a large
// seed does.
type until struct {
	ctx context.Context
	fs.FS
}

// Open implements [fs.FS].
func (u until) Open(name string) (fs.File, error) {
	if err := u.ctx.Err(); err != nil {
		return nil, err
	}
	return u.FS.Open(name)
}

// ReadLink and Lstat implement [fs.ReadLinkFS]: a link is copied as one.
func (u until) ReadLink(name string) (string, error) { return fs.ReadLink(u.FS, name) }

func (u until) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(u.FS, name) }

// reset empties the folder, which a server may have as its own, and fills it
// anew.
func (f *folder) reset(ctx context.Context, seed string) error {
	entries, err := os.ReadDir(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Mkdir(f.path, 0o700)
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := removeAll(filepath.Join(f.path, entry.Name())); err != nil {
			return err
		}
	}
	return f.fill(ctx, seed)
}

func (f *folder) remove() error { return removeAll(f.root) }

// removeAll removes what a server left, folders that nobody may write to
// included.
func removeAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove the sandbox: %w", err)
	}
	return nil
}

// The variable, as it stands within a JSON string too.
var variable = []byte(suite.SandboxVariable)

// enter puts the path into a JSON document in place of the variable.
func (f *folder) enter(document []byte) []byte {
	if !bytes.Contains(document, variable) {
		return document
	}
	return bytes.ReplaceAll(document, variable, f.shown[0].quoted)
}

// leave puts the variable into a JSON document in place of the path.
func (f *folder) leave(document []byte) []byte {
	for i := range f.shown {
		r := &f.shown[i]
		for _, form := range [][]byte{r.quoted, r.slashed} {
			if bytes.Contains(document, form) {
				document = bytes.ReplaceAll(document, form, []byte(r.name))
			}
		}
	}
	return document
}

// leaveText is leave for a text.
func (f *folder) leaveText(text string) string {
	for i := range f.shown {
		text = strings.ReplaceAll(text, f.shown[i].path, f.shown[i].name)
	}
	return text
}
