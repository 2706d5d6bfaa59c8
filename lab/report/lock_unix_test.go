//go:build unix

package report

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestOneSetADirectory(t *testing.T) {
	dir := t.TempDir()
	first := begun(t, dir, "first")
	before := written(t, dir)
	for _, name := range []string{dir, dir + "/.", filepath.Join(dir, "..", filepath.Base(dir))} {
		second, err := Create(name)
		if err == nil {
			second.Discard()
			t.Fatalf("a second set was opened in %s", name)
		}
		if !strings.HasSuffix(err.Error(), ": another run is writing here") {
			t.Errorf("the error is %q", err)
		}
	}
	if after := written(t, dir); len(after) != len(before) {
		t.Errorf("the second set left %d files, the first had %d", len(after), len(before))
	}
	if err := first.Publish(comparisonOf("first")); err != nil {
		t.Error(err)
	}
	// Published or discarded, a set lets go of the directory.
	begun(t, dir, "second").Discard()
	begun(t, dir, "third").Discard()
	// Another directory is nobody's business.
	begun(t, dir, "fourth")
	begun(t, t.TempDir(), "fifth")
}
