//go:build unix

package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustDirectory(t testing.TB, folder string, ignore ...string) Probe {
	t.Helper()
	p, err := Directory(folder, ignore)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t testing.TB, parts ...string) {
	t.Helper()
	path := filepath.Join(parts[:len(parts)-1]...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(parts[len(parts)-1]), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryEffects(t *testing.T) {
	tests := []struct {
		name string
		do   func(dir string) error
		want []string
	}{
		{"nothing", func(string) error { return nil }, nil},
		{"added", func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/new", 0o755), os.WriteFile(dir+"/new/f", []byte("abc"), 0o644))
		}, []string{"added new 0 0", "added new/f 0 3"}},
		{"removed", func(dir string) error { return os.RemoveAll(dir + "/sub") }, []string{"removed sub 0 0", "removed sub/b 2 0"}},
		{"changed, of the same size", func(dir string) error { return os.WriteFile(dir+"/a", []byte("A"), 0) }, []string{"changed a 1 1"}},
		{"written with what was there", func(dir string) error { return os.WriteFile(dir+"/a", []byte("a"), 0) }, nil},
		{"touched", func(dir string) error { return os.Chtimes(dir+"/a", time.Unix(1, 0), time.Unix(1, 0)) }, nil},
		{"other permissions", func(dir string) error { return os.Chmod(dir+"/a", 0o600) }, []string{"changed a 1 1"}},
		{"permissions of a folder", func(dir string) error { return os.Chmod(dir+"/sub", 0o700) }, []string{"changed sub 0 0"}},
		{"moved", func(dir string) error { return os.Rename(dir+"/a", dir+"/c") }, []string{"removed a 1 0", "added c 0 1"}},
		{"another target", func(dir string) error {
			return errors.Join(os.Remove(dir+"/link"), os.Symlink("nowhere", dir+"/link"))
		}, []string{"changed link 3 7"}},
		{"a file in place of a link", func(dir string) error {
			return errors.Join(os.Remove(dir+"/link"), os.WriteFile(dir+"/link", []byte("sub"), 0o777))
		}, []string{"changed link 3 3"}},
		{"a folder in place of an empty file", func(dir string) error {
			return errors.Join(os.Remove(dir+"/empty"), os.Mkdir(dir+"/empty", 0o644))
		}, []string{"changed empty 0 0"}},
		{"a pipe", func(dir string) error { return syscall.Mkfifo(dir+"/pipe", 0o600) }, []string{"added pipe 0 0"}},
		{"a name", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/\xff\n", nil, 0o600), os.WriteFile(dir+`/"q"`, nil, 0o600), os.WriteFile(dir+"/é b", nil, 0o600))
		}, []string{`added "\"q\"" 0 0`, `added "\xff\n" 0 0`, "added é b 0 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a", "a")
			write(t, dir, "empty", "")
			write(t, dir, "sub/b", "bb")
			must(t, os.Symlink("sub", dir+"/link"))
			p := mustDirectory(t, dir)
			before := mustLook(t, p)
			must(t, tt.do(dir))
			wantEffects(t, before, mustLook(t, p), tt.want...)
		})
	}
}

func TestDirectoryIgnore(t *testing.T) {
	tests := []struct {
		ignore []string
		want   string // of: a.log a.txt build build/out src src/a.log src/build src/deep src/deep/x.tmp
	}{
		{nil, "a.log a.txt build build/out src src/a.log src/build src/deep src/deep/x.tmp"},
		{[]string{"*.log"}, "a.txt build build/out src src/build src/deep src/deep/x.tmp"},
		{[]string{"/*.log"}, "a.txt build build/out src src/a.log src/build src/deep src/deep/x.tmp"},
		{[]string{"build"}, "a.log a.txt src src/a.log src/deep src/deep/x.tmp"},
		{[]string{"build/"}, "a.log a.txt src src/a.log src/build src/deep src/deep/x.tmp"},
		{[]string{"src/**"}, "a.log a.txt build build/out"},
		{[]string{"src/*"}, "a.log a.txt build build/out src"},
		{[]string{"**/x.*", "a.{log,txt}"}, "build build/out src src/build src/deep"},
		{[]string{"src/**/x.tmp", "?.[l]og"}, "a.txt build build/out src src/build src/deep"},
	}
	dir := t.TempDir()
	for _, name := range []string{"a.log", "a.txt", "build/out", "src/a.log", "src/build", "src/deep/x.tmp"} {
		write(t, dir, name, "x")
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.ignore, " "), func(t *testing.T) {
			seen := mustLook(t, mustDirectory(t, dir, tt.ignore...))
			if diff := cmp.Diff(tt.want, strings.Join(slices.Sorted(maps.Keys(seen)), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, text := range []string{"", "/", "[", "a/{b"} {
		if p, err := Directory(dir, []string{text}); p != nil || err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// Special files are there, and none is opened: that would wait for ever.
func TestDirectorySpecialFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	l, err := net.Listen("unix", dir+"/socket")
	must(t, err)
	defer l.Close()
	seen := mustLook(t, mustDirectory(t, dir))
	if len(seen) != 2 || seen["pipe"].Digest == seen["socket"].Digest {
		t.Error(seen)
	}
	// One that took the place of a file a moment ago is not waited for either.
	w := walk{ctx: t.Context(), root: dir, buffer: make([]byte, 1)}
	var info os.FileInfo
	if n, err := w.content("pipe", &info); n != 0 || err != nil || info.Mode().IsRegular() {
		t.Error(n, err)
	}
	// A link is not followed, and is looked at the next time.
	must(t, os.Symlink("/etc/hostname", dir+"/link"))
	if n, err := w.content("link", &info); n != 0 || err == nil || w.unless(err, "link") != nil {
		t.Error(n, err)
	}
}

// Who takes the whole folder away has removed all that was in it, whatever else
// stands there then. What is elsewhere is never taken for it.
func TestDirectoryThatIsTakenAway(t *testing.T) {
	elsewhere := t.TempDir()
	write(t, elsewhere, "precious", "x")
	tests := []struct {
		name  string
		put   func(dir string) error
		fault string // where it was empty
	}{
		{"nothing", func(string) error { return nil }, "the folder does not exist"},
		{"a link to elsewhere", func(dir string) error { return os.Symlink(elsewhere, dir) }, "something else stands where the folder was"},
		{"a file", func(dir string) error { return os.WriteFile(dir, []byte("x"), 0o600) }, "it is not a folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, empty := range []bool{false, true} {
				dir := filepath.Join(t.TempDir(), "dir")
				must(t, os.Mkdir(dir, 0o700))
				if !empty {
					write(t, dir, "sub/b", "bb")
				}
				p := mustDirectory(t, dir)
				before := mustLook(t, p)
				must(t, errors.Join(os.RemoveAll(dir), tt.put(dir)))
				if empty {
					wantFault(t, p, tt.fault)
					continue
				}
				wantEffects(t, before, mustLook(t, p), "removed sub 0 0", "removed sub/b 2 0")
				// As long as it is away nothing more is, and what is put there again is new.
				wantEffects(t, Snapshot{}, mustLook(t, p))
				must(t, errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)))
				write(t, dir, "c", "c")
				wantEffects(t, Snapshot{}, mustLook(t, p), "added c 0 1")
			}
		})
	}
}

// What cannot be read is named at no great length, however deep it lies.
func TestDirectoryNamesWhatCannotBeReadShortly(t *testing.T) {
	w := walk{ctx: t.Context(), root: t.TempDir()}
	err := w.unless(syscall.ENAMETOOLONG, strings.Repeat("folder/", 3000))
	var f *fault
	if !errors.As(err, &f) || len(f.reason) > 200 {
		t.Errorf("the reason has %d bytes", len(f.reason))
	}
}

func TestDirectoryFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file", "x")
	if e := wantFault(t, mustDirectory(t, dir+"/none"), "the folder does not exist"); e.Target != dir+"/none" || !errors.Is(e, os.ErrNotExist) {
		t.Error(e)
	}
	wantFault(t, mustDirectory(t, dir+"/file"), "it is not a folder")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mustDirectory(t, dir).Look(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// A link to the folder itself is followed.
	must(t, os.Symlink(dir, dir+"/self"))
	if seen := mustLook(t, mustDirectory(t, dir+"/self")); len(seen) != 2 {
		t.Error(seen)
	}
}

func init() {
	roles["look as nobody"] = func(dir string) error {
		if os.Getuid() == 0 {
			if err := errors.Join(syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
				return err
			}
		}
		p, err := Directory(dir, nil)
		if err == nil {
			_, err = p.Look(context.Background())
		}
		return err
	}
}

func TestDirectoryWithWhatCannotBeRead(t *testing.T) {
	for _, name := range []string{"file", "folder"} {
		dir, err := os.MkdirTemp("/tmp", "lab-probe-test-") // where anybody may go
		must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		must(t, os.Chmod(dir, 0o755))
		write(t, dir, "sub/file", "x")
		must(t, os.Mkdir(dir+"/sub/folder", 0o755))
		must(t, os.Chmod(dir+"/sub/"+name, 0))
		_, err = Command(act("look as nobody", dir)).Look(t.Context())
		want := fmt.Sprintf("directory probe: it cannot be read: sub/%s\n%s\npermission denied", name, dir)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Files come and go while they are looked at.
func TestDirectoryWhileItChanges(t *testing.T) {
	dir := t.TempDir()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := fmt.Sprintf("%s/d%d", dir, i%20)
			_ = os.MkdirAll(name, 0o755)
			_ = os.WriteFile(name+"/f", []byte("x"), 0o644)
			_ = os.Symlink("f", name+"/l")
			_ = os.RemoveAll(fmt.Sprintf("%s/d%d", dir, (i+10)%20))
		}
	}()
	p := mustDirectory(t, dir)
	for range 300 {
		mustLook(t, p)
	}
	close(stop)
	<-stopped
}

func BenchmarkDirectory(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		write(b, dir, fmt.Sprintf("%d/%d", i/100, i), strings.Repeat("x", 1000))
	}
	p := mustDirectory(b, dir)
	for b.Loop() {
		if seen, err := p.Look(b.Context()); err != nil || len(seen) != 10_100 {
			b.Fatal(len(seen), err)
		}
	}
}
