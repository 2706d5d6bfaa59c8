package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// copySeed copies what is in a folder, with its permissions, to one that is
// empty. A link is copied as it stands, wherever it points to. It ends with ctx,
// in the middle of a large file too.
func copySeed(ctx context.Context, seed, to string) error {
	from, err := filepath.EvalSymlinks(seed)
	if err == nil {
		from, err = filepath.Abs(from)
	}
	if err != nil {
		return err
	}
	// A copy within what is copied has no end.
	if strings.HasPrefix(to, strings.TrimSuffix(from, string(filepath.Separator))+string(filepath.Separator)) {
		return fmt.Errorf("the seed %s holds the folder for temporary files, in which its copies lie", seed)
	}
	type made struct {
		path string
		mode fs.FileMode
	}
	var folders []made
	err = filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || name == from {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		copied := filepath.Join(to, strings.TrimPrefix(name, from))
		switch info.Mode().Type() {
		case fs.ModeDir:
			folders = append(folders, made{copied, info.Mode().Perm()})
			return os.Mkdir(copied, 0o700)
		case fs.ModeSymlink:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(target, copied)
		case 0:
			return copyFile(ctx, name, copied, info.Mode().Perm())
		}
		return fmt.Errorf("the seed's %s is neither a file nor a folder nor a link", name)
	})
	// At last, as nothing can be put into a folder that may not be written.
	for _, folder := range slices.Backward(folders) {
		if err == nil {
			err = os.Chmod(folder.path, folder.mode)
		}
	}
	return err
}

// piece is how much is copied between two looks at ctx, in bytes.
const piece = 16 << 20

func copyFile(ctx context.Context, from, to string, mode fs.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.CopyN(out, in, piece); err == io.EOF {
			return out.Chmod(mode)
		} else if err != nil {
			return err
		}
	}
}
