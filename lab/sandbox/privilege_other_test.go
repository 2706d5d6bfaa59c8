//go:build unix && !linux

package sandbox

import "testing"

func unprivileged(t *testing.T, run func(top string)) {
	top := t.TempDir()
	t.Setenv("TMPDIR", top)
	run(top)
}
