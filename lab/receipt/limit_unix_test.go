//go:build unix

package receipt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() {
	children["outgrow"] = outgrow
	children["write"] = write
}

// outgrow fills a file up to what the system allows it, and goes on once the
// system allows more.
func outgrow(path string) error {
	ctx := context.Background()
	s, err := OpenSQLite(ctx, path)
	if err != nil {
		return err
	}
	defer s.Close()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	free := limit
	limit.Cur = 200_000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	do := func(i int) error {
		action := fmt.Sprint(i)
		c, known, err := s.Claim(ctx, Key{Value: action}, noon)
		if err != nil || known != nil {
			return errors.Join(err, fmt.Errorf("known: %v", known))
		}
		if err := s.Update(c.Context(ctx), appendTo("effects", action)); err != nil {
			return errors.Join(err, c.Free())
		}
		r := applied
		r.Output = []byte(`"` + strings.Repeat("x", 10_000) + `"`)
		return c.Keep(r)
	}
	done := 0
	for {
		if err = do(done); err != nil {
			break
		}
		done++
	}
	fmt.Println("full:", err)
	for range 3 { // it stays an error, and does no harm
		if again := do(done); again == nil {
			return errors.New("the limit did not hold")
		}
	}
	for i := range done {
		if known, err := s.Peek(ctx, Key{Value: fmt.Sprint(i)}, noon); err != nil || known == nil {
			return fmt.Errorf("the receipt of %d at the limit: %v, %w", i, known, err)
		}
	}
	if known, err := s.Peek(ctx, Key{Value: fmt.Sprint(done)}, noon); err != nil || known != nil {
		return fmt.Errorf("the receipt that was not kept: %v, %w", known, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &free); err != nil {
		return err
	}
	for range 3 {
		if err := do(done); err != nil {
			return fmt.Errorf("beyond the limit: %w", err)
		}
		done++
	}
	fmt.Println("done:", done)
	return nil
}

func TestFileSizeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	out, err := child(t, "outgrow", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	wantError(t, errors.New(string(out)), path, "nothing was applied", "could not be written")
	var done int
	if _, err := fmt.Sscanf(string(out[strings.LastIndex(string(out), "done:"):]), "done: %d", &done); err != nil || done < 4 {
		t.Fatalf("%d done, %v", done, err)
	}
	s := openAt(t, path)
	wantOnce(t, s, done)
	wantIntact(t, s)
}

// write does one action.
func write(path string) error {
	s, err := OpenSQLite(context.Background(), path)
	if err != nil {
		return err
	}
	defer s.Close()
	c, known, err := s.Claim(context.Background(), Key{Value: "write"}, noon)
	if err != nil || known != nil {
		return errors.Join(err, fmt.Errorf("known: %v", known))
	}
	return c.Keep(applied)
}

// TestWithoutPermission opens files as somebody who may not write them.
func TestWithoutPermission(t *testing.T) {
	if os.Getuid() == 0 {
		if _, err := os.Stat("/proc/self/exe"); err != nil {
			t.Skip("this system starts no binary as somebody else")
		}
	}
	for _, test := range []struct {
		name         string
		made         bool // the file is there
		file, folder os.FileMode
		says         string // empty: it works
	}{
		{"a file and its folder that may be written", true, 0o666, 0o777, ""},
		{"a file that may not be written", true, 0o444, 0o777, "read-only"},
		{"a file that may not be read", true, 0, 0o777, "cannot be opened"},
		{"a folder that may not be written", true, 0o666, 0o555, "read-only"},
		{"neither", true, 0o444, 0o555, "read-only"},
		{"no file yet", false, 0, 0o555, "cannot be opened or created"},
		{"a folder that may not be entered", true, 0o666, 0o600, "permission denied"},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil { // not the place of the test
				t.Fatal(err)
			}
			path := filepath.Join(folder, "r.db")
			if test.made {
				s := openAt(t, path)
				keep(t, s, key, applied)
				if err := errors.Join(s.Close(), os.Chmod(path, test.file)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(folder, test.folder); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(folder, 0o700)
			cmd := child(t, "write", path)
			if os.Getuid() == 0 { // who may do everything
				const nobody = 65534
				cmd.Path = "/proc/self/exe"
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			}
			out, err := cmd.CombinedOutput()
			if test.says == "" {
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				return
			}
			if err == nil {
				t.Fatal("it was written to")
			}
			wantError(t, errors.New(string(out)), "open receipts "+path, test.says)
			t.Logf("%s", out)
			if !test.made {
				return
			}
			if err := errors.Join(os.Chmod(folder, 0o700), os.Chmod(path, 0o600)); err != nil {
				t.Fatal(err)
			}
			wantKnown(t, openAt(t, path), key, applied)
		})
	}
}
