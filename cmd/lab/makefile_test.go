package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// make help is the one list of what a contributor can ask for, so every target
// of the Makefile is in it, with a word on what it does.
func TestMakeHelpListsEveryTarget(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, m := range regexp.MustCompile(`(?m)^([A-Za-z0-9_-]+):($|[^=].*)`).FindAllStringSubmatch(string(text), -1) {
		targets = append(targets, m[1])
		if _, said, _ := strings.Cut(m[2], "## "); said == "" {
			t.Errorf("target %s says nothing of itself", m[1])
		}
	}
	phony := regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindSubmatch(text)
	if phony == nil {
		t.Fatal("the Makefile has no .PHONY")
	}
	sorted := slices.Sorted(slices.Values(targets))
	if diff := cmp.Diff(sorted, slices.Sorted(slices.Values(strings.Fields(string(phony[1]))))); diff != "" {
		t.Errorf(".PHONY (-targets +listed):\n%s", diff)
	}
	for _, promised := range []string{"help", "build", "run", "test", "lint", "bench", "fuzz", "golden", "checkpoint", "clean"} {
		if !slices.Contains(targets, promised) {
			t.Errorf("there is no target %s", promised)
		}
	}

	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed; what it would print was not looked at")
	}
	out, err := exec.Command("make", "-s", "-C", root, "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 1 && !strings.HasPrefix(line, "make") {
			listed = append(listed, fields[0])
		}
	}
	if diff := cmp.Diff(targets, listed); diff != "" {
		t.Errorf("make help (-targets +listed):\n%s", diff)
	}
}
