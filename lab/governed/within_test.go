package governed

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWithin(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	box, outside := root+"/box", root+"/outside"
	for _, folder := range []string{box + "/a/b", box + "x", outside + "/d"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{box + "/a/f", outside + "/f"} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		box + "/in":         "a",
		box + "/out":        "../outside",
		box + "/absolute":   outside,
		box + "/home":       box,
		box + "/chain":      "out/d",
		box + "/a/up":       "..",
		box + "/a/upup":     "../..",
		box + "/loop":       "loop",
		box + "/new":        "a/not-yet",
		box + "/newout":     "../outside/not-yet",
		box + "/deep":       "a/b",
		box + "/dotted":     "a/../a/./b",
		root + "/shortcut":  "box",
		outside + "/inside": box + "/a/b",
		box + "/self":       "/proc/self/cwd",
	} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		"":                               false,
		"box":                            false,
		"./box/a":                        false,
		"~/a":                            false,
		"~":                              false,
		"file://" + box + "/a":           false,
		box:                              true,
		box + "/":                        true,
		box + "//a/./f":                  true,
		box + "/a/not/yet":               true,
		box + "/a/f":                     true,
		box + "/a/f/x":                   false, // below a file
		box + "/a/f/..":                  false,
		box + "/a/\x00":                  false,
		box + "\x00/../../etc":           false,
		box + "/not/yet\x00/x":           false,
		box + "x":                        false,
		box + "x/f":                      false,
		root:                             false,
		"/":                              false,
		box + "/..":                      false,
		box + "/../box/a":                true,
		box + "/a/../../outside/f":       false,
		box + "/in/f":                    true,
		box + "/out":                     false, // also where only the link itself would be removed
		box + "/out/f":                   false,
		box + "/absolute/f":              false,
		box + "/home/a":                  true,
		box + "/chain":                   false,
		box + "/a/up/a/f":                true,
		box + "/a/upup/outside/f":        false,
		box + "/loop":                    false,
		box + "/new":                     true,
		box + "/newout":                  false,
		box + "/dotted/x":                true,
		root + "/shortcut/a/f":           true,
		root + "/shortcut/out/f":         false,
		outside + "/inside/f":            true,  // it is the file in the folder
		outside + "/inside/../f":         false, // read as text it is another
		box + "/deep/../x":               true,  // box/a/x by the links, box/x by the text
		box + "/out/../box/a":            true,  // box/box/a by the text, root/box/a by the links
		box + "/deep/../../../outside/f": false,
		box + "/not/../a":                false,
		box + "/not/yet/../../../x":      false,
		box + "/self/x":                  false,
		"/proc/self/root" + box + "/a":   false,
	} {
		err := within(box, path)
		if (err == nil) != want {
			t.Errorf("within(box, %q) = %v, want %t", strings.TrimPrefix(path, root), err, want)
		}
	}
	// The folder may be named by a link, and must exist.
	if err := within(root+"/shortcut", box+"/a/f"); err != nil {
		t.Error(err)
	}
	if within(root+"/none", root+"/none/f") == nil || within("box", box) == nil || within("", box) == nil {
		t.Error("a folder that is none was taken")
	}
	if err := within("/", outside+"/f"); err != nil {
		t.Error(err)
	}
}

// The resolution agrees with that of the standard library wherever there is
// something, and the whole with what [os.Root] lets through.
func TestWithinAgrees(t *testing.T) {
	names := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "within")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		if root, err = filepath.EvalSymlinks(root); err != nil {
			t.Fatal(err)
		}
		box := root + "/a"
		if err := os.Mkdir(box, 0o700); err != nil {
			t.Fatal(err)
		}
		// What is made through links that were made before stays in the folder.
		held, err := os.OpenRoot(root)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		part := rapid.SampledFrom(append(names, "..", ".", "", "..", "a"))
		relative := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "parts"), "/")
		})
		name := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(t, "name"), "/")
		})
		for range rapid.IntRange(0, 12).Draw(t, "entries") {
			at := name.Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0, 1: // what cannot be made is not there
				_ = held.MkdirAll(at, 0o700)
			case 2:
				_ = held.WriteFile(at, nil, 0o600)
			default:
				target := relative.Draw(t, "target")
				if rapid.Bool().Draw(t, "absolute") {
					target = root + "/" + target
				}
				_ = held.Symlink(target, at)
			}
		}
		if info, err := os.Lstat(box); err != nil || !info.IsDir() {
			return
		}
		path := box + "/" + relative.Draw(t, "path")
		truth, missing := filepath.EvalSymlinks(path)
		got, err := resolve(path)
		switch {
		case missing == nil && err != nil && !errors.Is(err, fs.ErrNotExist):
			// filepath.EvalSymlinks takes ".." after a file for its folder; the system does not.
			if _, stat := os.Stat(path); stat == nil {
				t.Fatalf("resolve(%q): %v, but there is %s", path, err, truth)
			}
		case missing == nil && err == nil && got != truth:
			t.Fatalf("resolve(%q) = %q, want %q", path, got, truth)
		case missing != nil && err == nil:
			// It does not exist: its nearest folder that does is the one that a server would write to.
			if _, there := os.Stat(path); there == nil {
				t.Fatalf("resolve(%q) = %q, but it cannot be resolved: %v", path, got, missing)
			}
		}
		if within(box, path) != nil {
			return
		}
		// Whatever is made at the path now is made in the folder.
		if os.WriteFile(path, []byte("made"), 0o600) != nil {
			return
		}
		made, err := filepath.EvalSymlinks(path)
		if err != nil || made != box && !strings.HasPrefix(made, box+"/") {
			t.Fatalf("%q was let through, and what was written there is at %q (%v)", path, made, err)
		}
		inside, err := os.OpenRoot(box)
		if err != nil {
			t.Fatal(err)
		}
		defer inside.Close()
		if _, err := inside.Lstat(strings.TrimPrefix(made, box+"/")); err != nil {
			t.Fatalf("%q is not in the folder: %v", made, err)
		}
		if cleaned, err := filepath.EvalSymlinks(filepath.Clean(path)); err == nil && cleaned != box && !strings.HasPrefix(cleaned, box+"/") {
			t.Fatalf("%q was let through, and read as text it is %q", path, cleaned)
		}
	})
}

// However a server reads a path: by what it decodes, trims or turns around first.
func TestWithinHoweverItIsRead(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	box := root + "/box"
	if err := os.MkdirAll(box+"/a", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../..", box+"/out"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		box + "/%2e%2e/f":                   false,
		box + "/%2E%2e/f":                   false,
		box + "/..%2ff":                     false,
		box + "/..%252ff":                   false,
		box + "/..%25252ff":                 false,
		box + "/a/%2e%2e/%2e%2e/f":          false,
		box + "/%6fut/f":                    false,
		box + "/a%00":                       false,
		box + "/a%zz":                       true,
		box + "/100%":                       true,
		box + "/a%20b":                      true,
		box + `/..\..\f`:                    false,
		box + `/a\b`:                        true,
		box + `/..%5c..%5cf`:                false,
		box + "/out ":                       false,
		box + "/out\n":                      false,
		box + `/out"`:                       false,
		box + "/out'":                       false,
		box + "/out ' ":                     false,
		box + "/.. ":                        false,
		box + "/a ":                         true,
		box + "/" + strings.Repeat("%", 99): true,
		// More readings than anybody means.
		box + "/a%" + strings.Repeat("25", 60) + "2e": false,
	} {
		if err := within(box, path); (err == nil) != want {
			t.Errorf("within(box, %q) = %v, want %t", strings.TrimPrefix(path, root), err, want)
		}
	}
}
