package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"agentlab/lab/mutation"
)

// The files of a kill matrix.
const (
	MutationMarkdownFile = "mutation.md"
	MutationSVGFile      = "mutation.svg"
	MutationJSONFile     = "mutation.json"
)

var mutationFiles = []struct {
	name   string
	render func(io.Writer, *mutation.Matrix) error
}{
	{MutationMarkdownFile, MutationMarkdown},
	{MutationSVGFile, MutationSVG},
	{MutationJSONFile, MutationJSON}, // last, as what stands there is what machines go by
}

// WriteMutation writes the reports of a kill matrix into a directory, which is made
// where it is missing. Those that stand there stay as they are until all are
// written.
func WriteMutation(dir string, m *mutation.Matrix) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return writeError(err)
	}
	lock, err := Lock(dir)
	if err != nil {
		return writeError(err)
	}
	defer lock.Release()
	defer func() {
		for _, f := range mutationFiles {
			os.Remove(filepath.Join(dir, f.name+partial))
		}
	}()
	for _, f := range mutationFiles {
		path := filepath.Join(dir, f.name)
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			return writeError(fmt.Errorf("%s is a directory", path))
		}
		file, err := createPartial(path)
		if err != nil {
			return err
		}
		if err := errors.Join(f.render(file, m), file.Close()); err != nil {
			return writeError(err)
		}
	}
	var placed []func() error
	for _, f := range mutationFiles {
		undo, err := place(filepath.Join(dir, f.name))
		if err != nil {
			return writeError(undone(err, placed))
		}
		placed = append(placed, undo)
	}
	return nil
}

// CheckMutation compares the reports of a kill matrix in stored with those in fresh.
// The error is a *[Stale] that names every file that differs and its first
// difference.
func CheckMutation(fresh, stored string) error {
	names := make([]string, len(mutationFiles))
	for i, f := range mutationFiles {
		names[i] = f.name
	}
	return check(fresh, stored, names)
}
