package process

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// StartError says why a program could not be started.
type StartError struct {
	Program string // as it was named
	Reason  string // the same words whenever the same is wrong
	Err     error
}

func (e *StartError) Error() string { return "start " + e.Program + ": " + e.Reason }

func (e *StartError) Unwrap() error { return e.Err }

// Environment is the smallest environment in which programs run: the PATH of
// this process, HOME, and what extra names, which may be one of these two. It
// is sorted.
func Environment(home string, extra map[string]string) []string {
	values := map[string]string{"PATH": os.Getenv("PATH"), "HOME": home}
	maps.Copy(values, extra)
	environment := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		environment = append(environment, name+"="+values[name])
	}
	return environment
}

// prepare finds the program, and says clearly what the kernel would say with
// one number.
func prepare(command Command) (*exec.Cmd, error) {
	if len(command.Args) == 0 || command.Args[0] == "" {
		return nil, &StartError{"a process", "no program is named", nil}
	}
	program := command.Args[0]
	refuse := func(reason string, err error) (*exec.Cmd, error) {
		return nil, &StartError{program, reason, err}
	}
	if command.Dir != "" {
		switch info, err := os.Stat(command.Dir); {
		case errors.Is(err, fs.ErrNotExist):
			return refuse("the folder to run it in does not exist", err)
		case err != nil:
			return refuse("the folder to run it in: "+plain(err), err)
		case !info.IsDir():
			return refuse("what it should run in is not a folder", nil)
		}
	}
	path := program
	if filepath.Base(program) == program {
		found, err := exec.LookPath(program)
		if errors.Is(err, fs.ErrPermission) {
			return refuse("it is not executable", err)
		} else if err != nil {
			return refuse("no such program in PATH"+oneWord(command), err)
		}
		path = found
	} else {
		seen := path
		if !filepath.IsAbs(seen) {
			seen = filepath.Join(command.Dir, seen)
		}
		switch info, err := os.Stat(seen); {
		case errors.Is(err, fs.ErrNotExist) && runtime.GOOS != "windows": // where a suffix may be missing
			return refuse("no such file"+oneWord(command), err)
		case err != nil:
			return refuse(plain(err), err)
		case info.IsDir():
			return refuse("it is a folder", nil)
		case info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
			return refuse("it is not executable", fs.ErrPermission)
		}
	}
	cmd := exec.Command(path, command.Args[1:]...)
	cmd.Args[0] = program
	cmd.Dir = command.Dir
	return cmd, nil
}

// oneWord says what a program's name with blanks in it most often is.
func oneWord(command Command) string {
	if len(command.Args) == 1 && strings.ContainsRune(command.Args[0], ' ') {
		return "; its name has blanks: is it a program and its arguments in one word?"
	}
	return ""
}

// refused says why a program that is there could not be started.
func refused(command Command, err error) error {
	reason := plain(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		reason = "the interpreter that its first line names does not exist"
	case errors.Is(err, syscall.ENOEXEC):
		reason = "it is neither a program of this machine nor a script whose first line names an interpreter"
	case errors.Is(err, fs.ErrPermission):
		reason = "it may not be run"
	}
	return &StartError{command.Args[0], reason, err}
}

// plain is an error without the path, which the program's name stands for.
func plain(err error) string {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return strings.TrimPrefix(err.Error(), "exec: ")
}
