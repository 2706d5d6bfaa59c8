//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree tells what is in a folder: mode, and content or target, by path.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	seen := make(map[string]string)
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == folder {
			return err
		}
		relative, _ := filepath.Rel(folder, name)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text := ""
		switch info.Mode().Type() {
		case 0:
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text = string(content)
		case fs.ModeSymlink:
			if text, err = os.Readlink(name); err != nil {
				return err
			}
		}
		seen[relative] = fmt.Sprintf("%v %s", info.Mode(), text)
		if info.Mode()&fs.ModeSymlink != 0 {
			seen[relative] = "-> " + text
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func put(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// seed makes a folder of everything that a seed may hold.
func seed(t *testing.T) string {
	t.Helper()
	return seedIn(t, t.TempDir())
}

func seedIn(t *testing.T, top string) string {
	t.Helper()
	dir := filepath.Join(top, "seed")
	put(t, filepath.Join(dir, "plain.txt"), "plain", 0o644)
	put(t, filepath.Join(dir, "secret"), "", 0o600)
	put(t, filepath.Join(dir, "fixed"), "do not write", 0o444)
	put(t, filepath.Join(dir, "run.sh"), "#!/bin/sh\n", 0o755)
	put(t, filepath.Join(dir, "deep", "er", "ünï \"q\".txt"), strings.Repeat("x", 100_000), 0o640)
	put(t, filepath.Join(dir, "closed", "in"), "in", 0o644)
	must(t, os.MkdirAll(filepath.Join(dir, "empty"), 0o700),
		os.Symlink("plain.txt", filepath.Join(dir, "near")),
		os.Symlink("../../outside", filepath.Join(dir, "out")),
		os.Symlink("/etc", filepath.Join(dir, "etc")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling")),
		os.Chmod(filepath.Join(dir, "closed"), 0o555))
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "closed"), 0o755) })
	return dir
}

func TestFolderIsACopyOfItsSeed(t *testing.T) {
	b := newBed(t)
	original := seed(t)
	want := tree(t, original)
	linked := filepath.Join(t.TempDir(), "linked")
	must(t, os.Symlink(original, linked))
	for _, from := range []string{original, linked, original + "/"} {
		f, err := newFolder(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree(t, f.path)); diff != "" {
			t.Error(diff)
		}
		for _, path := range []string{f.root, f.path} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
		}
		if filepath.Dir(f.path) != f.root || filepath.Dir(f.root) != b.tmp {
			t.Errorf("%s in %s", f.path, f.root)
		}
		must(t, f.remove())
	}
	f, err := newFolder(t.Context(), "")
	if err != nil || len(tree(t, f.root)) != 1 || len(tree(t, f.path)) != 0 {
		t.Error(tree(t, f.root), err)
	}
	g, err := newFolder(t.Context(), "")
	if err != nil || g.root == f.root || len(g.root) != len(f.root) {
		t.Error(g, f, err)
	}
	must(t, f.remove(), g.remove())
	if diff := cmp.Diff(want, tree(t, original)); diff != "" {
		t.Errorf("the seed has changed: %s", diff)
	}
}

// A link out of the seed is removed, and what it leads to is not.
func TestLinksAreNotFollowed(t *testing.T) {
	newBed(t)
	precious := t.TempDir()
	put(t, filepath.Join(precious, "file"), "precious", 0o444)
	dir := t.TempDir()
	must(t, os.Symlink(precious, filepath.Join(dir, "out")))
	f, err := newFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	must(t, f.reset(t.Context(), dir), f.remove())
	if text, err := os.ReadFile(filepath.Join(precious, "file")); string(text) != "precious" {
		t.Error(string(text), err)
	}
}

func TestSeedThatCannotBeCopied(t *testing.T) {
	b := newBed(t)
	pipe := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(pipe, "pipe"), 0o600))
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "", 0o600)
	tests := []struct{ name, seed, want string }{
		{"holds a pipe", pipe, "is neither a file nor a folder nor a link"},
		{"is not there", filepath.Join(pipe, "none"), "no such file or directory"},
		{"holds its copies", filepath.Dir(b.tmp), "holds the folder for temporary files"},
		{"is the folder of its copies", b.tmp, "holds the folder for temporary files"},
		{"is all", "/", "holds the folder for temporary files"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, err := newFolder(t.Context(), test.seed)
			if f != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v; want %q", f, err, test.want)
			}
			b.wantNothingLeft()
		})
	}
	// One whose name only begins like that of the temporary folder is another.
	beside := b.tmp + "-seed"
	put(t, filepath.Join(beside, "a"), "a", 0o600)
	f, err := newFolder(t.Context(), beside)
	if err != nil {
		t.Fatal(err)
	}
	must(t, f.remove())
}

// The copy ends with its context, in the middle of a file too.
func TestCopyEndsWithItsContext(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a", "b"), "b", 0o600)
	put(t, filepath.Join(dir, "large"), "", 0o600)
	must(t, os.Truncate(filepath.Join(dir, "large"), 3*piece))
	ended := 0
	for asked := 0; ; asked++ {
		f, err := newFolder(endsAfter(t.Context(), asked), dir)
		if err == nil {
			must(t, f.remove())
			break
		}
		if !errors.Is(err, context.Canceled) || f != nil {
			t.Fatal(f, err)
		}
		b.wantNothingLeft()
		ended++
	}
	// The folder, two entries and what is in one, and four times for the large file.
	if ended < 8 {
		t.Errorf("it looked at its context only %d times", ended)
	}
}

func TestReset(t *testing.T) {
	var precious string
	at := func(f *folder, names ...string) string { return filepath.Join(append([]string{f.path}, names...)...) }
	tests := []struct {
		name string
		left func(f *folder) error
	}{
		{"nothing", func(f *folder) error { return nil }},
		{"a changed file", func(f *folder) error { return os.WriteFile(at(f, "plain.txt"), []byte("other"), 0o644) }},
		{"another mode", func(f *folder) error {
			return os.Chmod(at(f, "run.sh"), 0o600)
		}},
		{"a removed file", func(f *folder) error { return os.Remove(at(f, "plain.txt")) }},
		{"a removed folder", func(f *folder) error { return os.RemoveAll(at(f, "deep")) }},
		{"an added file", func(f *folder) error { return os.WriteFile(at(f, ".hidden"), []byte("new"), 0o644) }},
		{"an added folder", func(f *folder) error { return os.MkdirAll(at(f, "new", "folder"), 0o755) }},
		{"a link instead of a file", func(f *folder) error {
			return errors.Join(os.Remove(at(f, "plain.txt")), os.Symlink(filepath.Join(precious, "file"), at(f, "plain.txt")))
		}},
		{"a link to a folder", func(f *folder) error { return os.Symlink(precious, at(f, "link")) }},
		{"a read-only folder", func(f *folder) error {
			return errors.Join(os.MkdirAll(at(f, "ro", "ro"), 0o755), os.WriteFile(at(f, "ro", "ro", "file"), nil, 0o400),
				os.Chmod(at(f, "ro", "ro"), 0o500), os.Chmod(at(f, "ro"), 0o500))
		}},
		{"a folder that cannot be read", func(f *folder) error { return os.Chmod(at(f, "deep"), 0) }},
		{"a sandbox that cannot be written", func(f *folder) error { return os.Chmod(f.path, 0o500) }},
		{"a sandbox that cannot be read", func(f *folder) error { return os.Chmod(f.path, 0) }},
		{"no sandbox", func(f *folder) error { return removeAll(f.path) }},
		{"a file as its sandbox", func(f *folder) error {
			return errors.Join(removeAll(f.path), os.WriteFile(f.path, nil, 0o600))
		}},
		{"a link as its sandbox", func(f *folder) error { return errors.Join(removeAll(f.path), os.Symlink(precious, f.path)) }},
		{"a file beside it", func(f *folder) error { return os.WriteFile(filepath.Join(f.root, "escaped"), nil, 0o600) }},
		{"a read-only folder beside it", func(f *folder) error {
			return errors.Join(os.MkdirAll(filepath.Join(f.root, "a", "b"), 0o700), os.Chmod(filepath.Join(f.root, "a"), 0o500))
		}},
		{"an outside that cannot be written", func(f *folder) error {
			return errors.Join(os.WriteFile(filepath.Join(f.root, "escaped"), nil, 0o600), os.Chmod(f.root, 0o500))
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			unprivileged(t, func(top string) {
				original := seedIn(t, top)
				want := tree(t, original)
				precious = filepath.Join(top, "precious")
				put(t, filepath.Join(precious, "file"), "precious", 0o644)
				f, err := newFolder(t.Context(), original)
				must(t, err)
				// Where it is still there, a server may have it as its own.
				must(t, test.left(f), f.reset(t.Context(), original))
				if diff := cmp.Diff(want, tree(t, f.path)); diff != "" {
					t.Error(diff)
				}
				beside, err := os.ReadDir(f.root)
				if err != nil || len(beside) != 1 {
					t.Error(beside, err)
				}
				for _, path := range []string{f.root, f.path} {
					if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o700 || !info.IsDir() {
						t.Errorf("%s: %v, %v", path, info, err)
					}
				}
				must(t, test.left(f), f.reset(t.Context(), ""))
				if left := tree(t, f.path); len(left) != 0 {
					t.Error(left)
				}
				must(t, f.reset(t.Context(), original), test.left(f), f.remove())
				if text, err := os.ReadFile(filepath.Join(precious, "file")); string(text) != "precious" {
					t.Fatal(string(text), err)
				}
			})
		})
	}
}

// A server lives on while its folder is emptied, and may put something else in
// its place at any moment.
func TestResetRemovesNothingElsewhere(t *testing.T) {
	precious := t.TempDir()
	const files = 50
	for i := range files {
		put(t, filepath.Join(precious, fmt.Sprint("file", i)), "precious", 0o644)
	}
	f, err := newFolder(t.Context(), "")
	must(t, err)
	away := filepath.Join(t.TempDir(), "away")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(f.path, away)
			os.Symlink(precious, f.path)
			os.Remove(f.path)
			os.Rename(away, f.path)
		}
	}()
	for range 10_000 {
		_ = f.reset(t.Context(), "") // it may well say that this is no folder any more
	}
	close(stop)
	<-stopped
	if left, err := os.ReadDir(precious); err != nil || len(left) != files {
		t.Errorf("%d of %d files are left, %v", len(left), files, err)
	}
	must(t, f.remove())
}

// A folder in which a link was put instead of another one is not followed, where
// it leads to a folder beside it either.
func TestOpenWithin(t *testing.T) {
	top := t.TempDir()
	must(t, os.Mkdir(filepath.Join(top, "folder"), 0o500), os.Symlink("folder", filepath.Join(top, "link")), os.WriteFile(filepath.Join(top, "file"), nil, 0o600))
	parent, err := os.OpenRoot(top)
	must(t, err)
	defer parent.Close()
	for _, name := range []string{"link", "file", "none"} {
		if opened, err := openWithin(parent, name); err == nil {
			opened.Close()
			t.Errorf("%s was opened", name)
		}
	}
	opened, err := openWithin(parent, "folder")
	must(t, err)
	must(t, opened.Mkdir("new", 0o700), opened.Close())
}

// A folder that is kept is emptied, and is not another one.
func TestResetKeepsTheFolder(t *testing.T) {
	newBed(t)
	f, err := newFolder(t.Context(), "")
	must(t, err)
	before, err := os.Stat(f.path)
	must(t, err, f.reset(t.Context(), seed(t)))
	after, err := os.Stat(f.path)
	if must(t, err); !os.SameFile(before, after) {
		t.Error("it is another folder")
	}
	if err := f.reset(endsAfter(t.Context(), 0), ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	must(t, f.remove())
	if err := f.reset(t.Context(), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Where the outside is a link elsewhere, nothing is removed there.
func TestResetLeavesWhatIsNotItsOwn(t *testing.T) {
	newBed(t)
	precious := t.TempDir()
	put(t, filepath.Join(precious, pathName, "file"), "precious", 0o644)
	f, err := newFolder(t.Context(), "")
	must(t, err, f.remove(), os.Symlink(precious, f.root))
	if err := f.reset(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "is no folder any more") {
		t.Error(err)
	}
	must(t, f.remove())
	if _, err := os.Stat(filepath.Join(precious, pathName, "file")); err != nil {
		t.Error(err)
	}
}

func TestPlaceOfTheFolder(t *testing.T) {
	top := t.TempDir()
	real := filepath.Join(top, "real")
	must(t, os.Mkdir(real, 0o755), os.Symlink(real, filepath.Join(top, "link")))
	file := filepath.Join(top, "file")
	put(t, file, "", 0o600)
	t.Chdir(top)
	for _, tmp := range []string{real, filepath.Join(top, "link"), "real", "link"} {
		t.Setenv("TMPDIR", tmp)
		f, err := newFolder(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(f.root) != real {
			t.Errorf("TMPDIR=%s: %s", tmp, f.root)
		}
		must(t, f.remove())
	}
	invalid := filepath.Join(top, "\xff")
	must(t, os.Mkdir(invalid, 0o755))
	for tmp, want := range map[string]string{
		filepath.Join(top, "none"): "no such file or directory",
		file:                       "not a directory",
		invalid:                    "has a name that is not UTF-8",
		"/proc":                    "no such file or directory", // not even root may
	} {
		t.Setenv("TMPDIR", tmp)
		if f, err := newFolder(t.Context(), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("TMPDIR=%s: %v, %v", tmp, f, err)
		}
	}
}

// outgrow copies a seed in a process that may write only small files, as on a
// full disk.
func outgrow(seed string) {
	limit := syscall.Rlimit{Cur: 1000, Max: 1000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
	}
	_, err := newFolder(context.Background(), seed)
	fmt.Println(err)
}

func TestFullAndReadOnlyTemporaryFolder(t *testing.T) {
	b := newBed(t)
	self, err := os.Executable()
	must(t, err)
	said, err := exec.CommandContext(t.Context(), self, "outgrow", seed(t)).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(said), ": file too large\n") {
		t.Errorf("%s, %v", said, err)
	}
	b.wantNothingLeft()
	unprivileged(t, func(top string) {
		must(t, os.Chmod(top, 0o500))
		if f, err := newFolder(t.Context(), ""); !errors.Is(err, fs.ErrPermission) {
			t.Error(f, err)
		}
		must(t, os.Chmod(top, 0o700))
	})
	t.Setenv("TMPDIR", b.tmp)
}
