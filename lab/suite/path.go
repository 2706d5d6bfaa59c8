package suite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agentlab/lab/yamlfile"
)

func (r *reader) seed(p place) string {
	text, ok := r.Filled(p, "a folder")
	if !ok {
		return ""
	}
	folder := r.Under(text)
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		r.Fault(p, "cannot be read as a folder: "+yamlfile.Cause(err))
	case !info.IsDir():
		r.Fault(p, "is not a folder")
	}
	return folder
}

// cases finds the files of the patterns. A file that two patterns match is read
// where the first of them stands.
func (r *reader) cases(p place) []string {
	items, ok := r.Items(p, "a list of paths, such as [cases/*.jsonl]")
	if !ok {
		return nil
	}
	if len(items) == 0 {
		r.Fault(p, "must name at least one file")
	}
	var files []string
	taken := make(map[string]bool)
	for _, item := range items {
		text, ok := r.Filled(item, "a path")
		if !ok {
			continue
		}
		found, err := r.match(text)
		if err != nil {
			r.Fault(item, err.Error())
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
	if info, err := os.Stat(r.Under(pattern)); err == nil {
		if info.IsDir() {
			return nil, errors.New("is a folder; name its files, such as *.jsonl in it")
		}
		return []string{r.Under(pattern)}, nil
	}
	if strings.Contains(pattern, "**") {
		return nil, errors.New("** is not known; * stands for a part of one name")
	}
	whole := filepath.Clean(pattern)
	if !filepath.IsAbs(pattern) {
		whole = filepath.Join(literally(r.Folder), pattern)
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
