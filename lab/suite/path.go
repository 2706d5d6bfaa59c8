package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// under takes a path to be relative to the folder of the suite file.
func (r *reader) under(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.folder, path)
}

// path reads a path, which may begin with the sandbox.
func (r *reader) path(p place) string {
	text, ok := r.text(p, withSandbox)
	switch reason := badPath(text); {
	case !ok:
		return ""
	case reason != "":
		r.fault(p, reason)
		return ""
	case strings.HasPrefix(text, SandboxVariable):
		return text
	}
	return r.under(text)
}

func badPath(text string) string {
	switch at := strings.LastIndex(text, SandboxVariable); {
	case text == "":
		return "must be a path, not an empty string"
	case at > 0, at == 0 && len(text) > len(SandboxVariable) && text[len(SandboxVariable)] != '/':
		return "${SANDBOX} may only be the first folder of a path"
	}
	return ""
}

func (r *reader) seed(p place) string {
	text, ok := r.filled(p, "a folder")
	if !ok {
		return ""
	}
	folder := r.under(text)
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		r.fault(p, "cannot be read as a folder: "+cause(err))
	case !info.IsDir():
		r.fault(p, "is not a folder")
	}
	return folder
}

// cause is why a file is out of reach, without its path: a variable may stand
// in that.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

// cases finds the files of the patterns. A file that two patterns match is read
// where the first of them stands.
func (r *reader) cases(p place) []string {
	items, ok := r.items(p, "a list of paths, such as [cases/*.jsonl]")
	if !ok {
		return nil
	}
	if len(items) == 0 {
		r.fault(p, "must name at least one file")
	}
	var files []string
	taken := make(map[string]bool)
	for _, item := range items {
		text, ok := r.filled(item, "a path")
		if !ok {
			continue
		}
		found, err := r.match(text)
		if err != nil {
			r.fault(item, err.Error())
		}
		for _, file := range found {
			if !taken[file] {
				taken[file] = true
				files = append(files, file)
			}
		}
	}
	return files
}

// match lists the files that a pattern stands for, in the order of their names.
// Of a file that is named as it is, a pattern's characters have no meaning.
func (r *reader) match(pattern string) ([]string, error) {
	if info, err := os.Stat(r.under(pattern)); err == nil {
		if info.IsDir() {
			return nil, errors.New("is a folder; name its files, such as *.jsonl in it")
		}
		return []string{r.under(pattern)}, nil
	}
	if strings.Contains(pattern, "**") {
		return nil, errors.New("** is not known; * stands for a part of one name")
	}
	whole := filepath.Clean(pattern)
	if !filepath.IsAbs(pattern) {
		whole = filepath.Join(literally(r.folder), pattern)
	}
	found, err := filepath.Glob(whole)
	if err != nil {
		return nil, errors.New("is not a pattern: a [ is not closed, or is empty")
	}
	found = slices.DeleteFunc(found, func(file string) bool {
		info, err := os.Stat(file)
		return err != nil || info.IsDir()
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("no such file%s", map[bool]string{true: " matches the pattern"}[strings.ContainsAny(pattern, `*?[\`)])
	}
	slices.Sort(found)
	return found, nil
}

// literally takes the meaning from the characters of a pattern.
func literally(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
