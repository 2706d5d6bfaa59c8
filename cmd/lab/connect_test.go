package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentlab/lab/dataset"
)

// Of a file that was changed or replaced since it was checked nothing is read.
func TestUnchanged(t *testing.T) {
	later := time.Now().Add(time.Hour)
	tests := []struct {
		name   string
		change func(t *testing.T, file string) error
		same   bool
	}{
		{"as it was", func(*testing.T, string) error { return nil }, true},
		{"longer", func(_ *testing.T, file string) error { return os.WriteFile(file, []byte("{}\n{}\n"), 0o644) }, false},
		{"written again", func(_ *testing.T, file string) error {
			return errors.Join(os.WriteFile(file, []byte("[]\n"), 0o644), os.Chtimes(file, later, later))
		}, false},
		{"replaced", func(t *testing.T, file string) error {
			other := filepath.Join(t.TempDir(), "other")
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(other, []byte("[]\n"), 0o644), os.Chtimes(other, info.ModTime(), info.ModTime()), os.Rename(other, file))
		}, false},
		{"removed", func(_ *testing.T, file string) error { return os.Remove(file) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "cases.jsonl")
			if err := os.WriteFile(file, []byte("{}\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			open := unchanged(t.Context(), file)
			first, err := open()
			if err != nil {
				t.Fatal(err)
			}
			first.Close()
			if err := test.change(t, file); err != nil {
				t.Fatal(err)
			}
			second, err := open()
			if err == nil {
				second.Close()
			}
			if (err == nil) != test.same {
				t.Errorf("error %v", err)
			}
			if !test.same && test.name != "removed" && !errors.Is(err, dataset.ErrChanged) {
				t.Errorf("error %v is not ErrChanged", err)
			}
		})
	}
}
