package main

import (
	"io"
	"os"
	"path/filepath"
	"sync"

	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/report/github"
)

// locate finds the files of a dataset by the names that reports have for them: among
// those that were read, else here, else in datasets.
func locate(files []string) locating {
	root := sync.OnceValue(repository) // most reports point nowhere
	return func(name string) string {
		for _, path := range append(files[:len(files):len(files)], name, filepath.Join("datasets", name)) {
			if filepath.Base(path) != filepath.Base(name) {
				continue
			}
			whole, err := filepath.Abs(path)
			if err != nil {
				continue
			}
			if _, err := os.Stat(whole); err != nil {
				continue
			}
			if relative, err := filepath.Rel(root(), whole); err == nil && filepath.IsLocal(relative) {
				return filepath.ToSlash(relative)
			}
		}
		return ""
	}
}

// repository is the root of the repository that the working directory is in, or the
// directory itself.
func repository() string {
	if workspace := os.Getenv("GITHUB_WORKSPACE"); workspace != "" {
		return workspace
	}
	here, err := os.Getwd()
	if err != nil {
		return "."
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return here
		}
	}
}

// newGitHub writes annotations, and where GitHub Actions has a summary of the job,
// what belongs there.
func newGitHub(w io.Writer, c *eval.Comparison, locate locating) (report.Sink, error) {
	annotations := github.NewAnnotations(w, c, github.Options{Locate: locate})
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return annotations, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &onGitHub{annotations, github.NewSummary(file, c), file}, nil
}

// onGitHub is both at once.
type onGitHub struct {
	annotations report.Sink
	summary     report.Sink
	file        *os.File
}

func (g *onGitHub) Add(pair *eval.Pair) error {
	if err := g.annotations.Add(pair); err != nil {
		return err
	}
	return g.summary.Add(pair)
}

func (g *onGitHub) Close() error {
	defer g.file.Close()
	if err := g.annotations.Close(); err != nil {
		return err
	}
	return g.summary.Close()
}
