package report

import (
	"os"
	"path/filepath"
	"testing"
)

// What was put in place can be taken away again, as long as the set is not
// complete.
func TestPlaceCanBeUndone(t *testing.T) {
	for name, before := range map[string]string{"over an old report": "old", "where there was none": ""} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report")
			write := func(path, text string) {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if before != "" {
				write(path, before)
			}
			write(path+partial, "new")
			undo, err := place(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
				t.Fatalf("in place is %q, %v", got, err)
			}
			if err := undo(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if before == "" && !os.IsNotExist(err) || before != "" && string(got) != before {
				t.Errorf("after the undoing there is %q, %v", got, err)
			}
		})
	}
}
