package yamlfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Under takes a path to be relative to the folder of the file.
func (r *Reader) Under(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.Folder, path)
}

// Path reads a path, which may begin with the sandbox and is then as it stands.
// Any other is taken by [Reader.Under].
func (r *Reader) Path(p Place) string {
	text, ok := r.Text(p, WithSandbox)
	switch reason := PathFault(text); {
	case !ok:
		return ""
	case reason != "":
		r.Fault(p, reason)
		return ""
	case strings.HasPrefix(text, SandboxVariable):
		return text
	}
	return r.Under(text)
}

// PathFault is what is wrong with a path that may begin with the sandbox, or "".
func PathFault(text string) string {
	switch at := strings.LastIndex(text, SandboxVariable); {
	case text == "":
		return "must be a path, not an empty string"
	case at > 0, at == 0 && len(text) > len(SandboxVariable) && text[len(SandboxVariable)] != '/':
		return "${SANDBOX} may only be the first folder of a path"
	}
	return ""
}

// Existing reads the path of a file that has to be there.
func (r *Reader) Existing(p Place) string {
	text, ok := r.Filled(p, "a path")
	if !ok {
		return ""
	}
	file := r.Under(text)
	info, err := os.Stat(file)
	switch {
	case err != nil:
		r.Fault(p, "cannot be read as a file: "+Cause(err))
	case info.IsDir():
		r.Fault(p, "is a folder, not a file")
	}
	return file
}

// Cause is why a file is out of reach, without its path: a variable may stand
// in that.
func Cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}
