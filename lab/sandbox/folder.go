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

// folder is a fresh folder of one case.
type folder struct {
	path string
	// The path and the variable as they stand within a JSON string.
	quoted []byte
	// Some encoders escape the slash.
	slashed []byte
}

// newFolder makes a folder that is a copy of seed, or is empty.
func newFolder(ctx context.Context, seed string) (*folder, error) {
	path, err := os.MkdirTemp("", "lab-sandbox-")
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	// Servers tell where they are by the path that has no link in it.
	if f.path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	f.quoted = inString(f.path)
	f.slashed = bytes.ReplaceAll(f.quoted, []byte("/"), []byte(`\/`))
	if err := f.fill(ctx, seed); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
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

func (f *folder) remove() error { return removeAll(f.path) }

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
	return bytes.ReplaceAll(document, variable, f.quoted)
}

// leave puts the variable into a JSON document in place of the path, and tells
// how many bytes shorter it has become.
func (f *folder) leave(document []byte) (out []byte, shorter int) {
	out = document
	if bytes.Contains(out, f.quoted) {
		out = bytes.ReplaceAll(out, f.quoted, variable)
	}
	if bytes.Contains(out, f.slashed) {
		out = bytes.ReplaceAll(out, f.slashed, variable)
	}
	return out, len(document) - len(out)
}

// leaveText is leave for a text.
func (f *folder) leaveText(text string) string {
	return strings.ReplaceAll(text, f.path, suite.SandboxVariable)
}
