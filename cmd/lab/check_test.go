package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// One changed byte, wherever it is, makes the stored reports stale, and the
// message leads to its line.
func TestCheckFindsOneChangedByte(t *testing.T) {
	t.Chdir(t.TempDir())
	var stdout, stderr bytes.Buffer
	if code := run([]string{"tool-eval", "--out", "stored"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code is %d; stderr: %s", code, &stderr)
	}
	for _, name := range []string{"tool-comparison.md", "tool-failures.md", "tool-runs.jsonl", "tool-comparison.json"} {
		path := filepath.Join("stored", name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damages := map[string][]byte{
			"first byte":         changed(good, 0),
			"byte in the middle": changed(good, len(good)/2),
			"last byte":          changed(good, len(good)-1),
			"last byte missing":  good[:len(good)-1],
			"a byte too many":    append(bytes.Clone(good), 'x'),
			"empty":              {},
			"no UTF-8":           append([]byte{0xff}, good[1:]...),
		}
		for damage, bad := range damages {
			t.Run(name+"/"+damage, func(t *testing.T) {
				if err := os.WriteFile(path, bad, 0o644); err != nil {
					t.Fatal(err)
				}
				defer os.WriteFile(path, good, 0o644)
				at := 0
				for at < len(good) && at < len(bad) && good[at] == bad[at] {
					at++
				}
				line := 1 + bytes.Count(good[:at], []byte("\n"))

				var stdout, stderr bytes.Buffer
				if code := run([]string{"tool-eval", "--builtin", "--check", "stored"}, &stdout, &stderr); code != 1 {
					t.Errorf("exit code is %d, want 1", code)
				}
				lines := strings.Split(stderr.String(), "\n")
				want := []string{"lab: the stored reports are stale", fmt.Sprintf("%s:%d:", path, line)}
				if len(lines) != 5 || !cmp.Equal(want, lines[:2]) {
					t.Fatalf("stderr is %q, want it to start with %q and to name one file", lines, want)
				}
				stored, fresh := strings.TrimPrefix(lines[2], "  stored: "), strings.TrimPrefix(lines[3], "  fresh:  ")
				if stored == fresh {
					t.Errorf("both lines read %q", stored)
				}
			})
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, good) {
			t.Fatalf("%s was not put back (%v)", path, err)
		}
	}
	stdout.Reset()
	if code := run([]string{"tool-eval", "--builtin", "--check", "stored"}, &stdout, &stderr); code != 0 {
		t.Errorf("exit code over the reports as they were is %d, want 0", code)
	}
	if _, err := os.Stat("reports"); !os.IsNotExist(err) {
		t.Errorf("a check has written to reports (%v)", err)
	}
}

func changed(text []byte, at int) []byte {
	bad := bytes.Clone(text)
	bad[at] ^= 1
	return bad
}
