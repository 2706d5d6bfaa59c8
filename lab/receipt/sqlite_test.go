package receipt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// all returns the values of a bucket.
func all(t testing.TB, s *SQLite, bucket string) (values []string) {
	t.Helper()
	if err := s.View(t.Context(), func(r Records) error {
		records, err := r.All(bucket)
		for _, record := range records {
			values = append(values, string(record.Value))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return values
}

func wantAll(t testing.TB, s *SQLite, bucket string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, all(t, s, bucket)); diff != "" {
		t.Errorf("bucket %s (-want +got):\n%s", bucket, diff)
	}
}

func appendTo(bucket, value string) func(Records) error {
	return func(r Records) error {
		_, err := r.Append(bucket, []byte(value))
		return err
	}
}

// wantIntact holds the file against its own structure.
func wantIntact(t testing.TB, s *SQLite) {
	t.Helper()
	var told string
	if err := s.reads.QueryRow(`PRAGMA integrity_check`).Scan(&told); err != nil || told != "ok" {
		t.Errorf("integrity_check = %q, %v", told, err)
	}
}

func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

func TestRecords(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "r.db"))
	err := s.Update(t.Context(), func(r Records) error {
		for i, step := range []struct {
			bucket, key, value string
			sequence           int64 // of what is appended
		}{
			{"a", "", "one", 1},
			{"a", "k", "two", 0},
			{"b", "", "other", 1},
			{"a", "", "three", 3},
			{"a", "k", "two again", 0},
			{"b", "k", "other k", 0},
			{"a", "l", "", 0},
		} {
			if step.sequence == 0 {
				if err := r.Put(step.bucket, step.key, []byte(step.value)); err != nil {
					return err
				}
			} else if n, err := r.Append(step.bucket, []byte(step.value)); err != nil || n != step.sequence {
				t.Errorf("step %d: Append = %d, %v; want %d", i, n, err, step.sequence)
			}
		}
		n, err := r.Append("c", nil)
		if n != 1 {
			t.Errorf("Append = %d, want 1", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(r Records) error {
		got, err := r.All("a")
		want := []Record{{1, "", []byte("one")}, {2, "k", []byte("two again")}, {3, "", []byte("three")}, {4, "l", nil}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("All (-want +got):\n%s", diff)
		}
		for _, get := range []struct {
			bucket, key, value string
			found              bool
		}{
			{"a", "k", "two again", true},
			{"a", "l", "", true},
			{"b", "k", "other k", true},
			{"b", "l", "", false},
			{"a", "", "", false},
			{"none", "k", "", false},
		} {
			value, found, err := r.Get(get.bucket, get.key)
			if string(value) != get.value || found != get.found || err != nil {
				t.Errorf("Get(%s, %s) = %q, %v, %v", get.bucket, get.key, value, found, err)
			}
		}
		if none, err := r.All("none"); len(none) != 0 || err != nil {
			t.Errorf("All = %v, %v; want none", none, err)
		}
		if err := r.Put("a", "k", nil); !errors.Is(err, errReadOnly) {
			t.Errorf("Put in a view = %v", err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, s, "c", "")
}

func TestRecordsOfAClaim(t *testing.T) {
	refused := errors.New("refused")
	for _, test := range []struct {
		name string
		work func(*testing.T, *SQLite, context.Context)
		end  func(Claim) error
		want []string
	}{
		{"kept", func(t *testing.T, s *SQLite, ctx context.Context) {
			records, ok := RecordsFrom(ctx)
			if !ok {
				t.Fatal("no records")
			}
			if err := appendTo("b", "direct")(records); err != nil {
				t.Fatal(err)
			}
			if err := s.Update(ctx, appendTo("b", "joined")); err != nil {
				t.Fatal(err)
			}
			if err := s.View(ctx, func(r Records) error {
				if got, err := r.All("b"); len(got) != 2 || err != nil {
					t.Errorf("the claim sees %v, %v; want what it wrote", got, err)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			wantAll(t, s, "b") // nobody else sees it
		}, keepApplied, []string{"direct", "joined"}},

		{"freed", func(t *testing.T, s *SQLite, ctx context.Context) {
			if err := s.Update(ctx, appendTo("b", "lost")); err != nil {
				t.Fatal(err)
			}
		}, Claim.Free, nil},

		{"a part that failed, and the rest", func(t *testing.T, s *SQLite, ctx context.Context) {
			if err := s.Update(ctx, appendTo("b", "before")); err != nil {
				t.Fatal(err)
			}
			err := s.Update(ctx, func(r Records) error {
				if err := appendTo("b", "in the failed part")(r); err != nil {
					t.Fatal(err)
				}
				if err := s.Update(ctx, appendTo("b", "in a part of it")); err != nil {
					t.Fatal(err)
				}
				return refused
			})
			if !errors.Is(err, refused) {
				t.Errorf("Update = %v", err)
			}
			if !panics(func() {
				_ = s.Update(ctx, func(r Records) error {
					_ = appendTo("b", "before a panic")(r)
					panic("gone")
				})
			}) {
				t.Error("the panic was swallowed")
			}
			if err := s.Update(ctx, appendTo("b", "after")); err != nil {
				t.Fatal(err)
			}
		}, keepApplied, []string{"before", "after"}},

		{"an action that outlives its context", func(t *testing.T, s *SQLite, ctx context.Context) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			if err := s.Update(ctx, appendTo("b", "late")); err != nil {
				t.Fatal(err)
			}
		}, keepApplied, []string{"late"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := openAt(t, filepath.Join(t.TempDir(), "r.db"))
			c := claim(t, s, key)
			ctx := c.Context(t.Context())
			test.work(t, s, ctx)
			if err := test.end(c); err != nil {
				t.Fatal(err)
			}
			wantAll(t, s, "b", test.want...)
			// What comes after the end lands nowhere, least of all in the next claim.
			next := claim(t, s, Key{Value: "next"})
			records, _ := RecordsFrom(ctx)
			if _, err := records.Append("b", nil); !errors.Is(err, errEnded) {
				t.Errorf("Append after the end = %v", err)
			}
			if err := s.Update(ctx, appendTo("b", "")); !errors.Is(err, errEnded) {
				t.Errorf("Update after the end = %v", err)
			}
			free(t, next)
			wantAll(t, s, "b", test.want...)
		})
	}
}

func TestUpdateAlone(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "r.db"))
	other := openAt(t, filepath.Join(t.TempDir(), "other.db"))
	if _, ok := RecordsFrom(t.Context()); ok {
		t.Error("records without a claim")
	}
	refused := errors.New("refused")
	if err := s.Update(t.Context(), func(r Records) error {
		return errors.Join(appendTo("b", "lost")(r), refused)
	}); !errors.Is(err, refused) {
		t.Errorf("Update = %v", err)
	}
	if !panics(func() {
		_ = s.Update(t.Context(), func(r Records) error { _ = appendTo("b", "lost")(r); panic("gone") })
	}) {
		t.Error("the panic was swallowed")
	}
	if err := s.Update(t.Context(), appendTo("b", "kept")); err != nil {
		t.Fatal(err)
	}
	// A claim of one file has no say in another file.
	c := claim(t, other, key)
	if err := s.Update(c.Context(t.Context()), appendTo("b", "kept too")); err != nil {
		t.Fatal(err)
	}
	free(t, c)
	wantAll(t, s, "b", "kept", "kept too")

	c = claim(t, s, key)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Update(ctx, appendTo("b", "never")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Update beside a claim = %v; want the end of its context", err)
	}
	if _, _, err := s.Claim(c.Context(t.Context()), Key{Value: "inner"}, noon); err == nil {
		t.Error("a claim within a claim was granted")
	}
	free(t, c)
	wantAll(t, s, "b", "kept", "kept too")
}

func TestKeepRefusesWhatItCannotHold(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "r.db"))
	far := applied
	far.ExpiresAt = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	garbled := unknown
	failure := *unknown.Error
	failure.Details = []byte("{")
	garbled.Error = &failure
	for _, test := range []struct {
		receipt Receipt
		says    string
	}{
		{Receipt{State: InProgress}, `"in_progress"`},
		{Receipt{}, `""`},
		{far, "2262"},
		{garbled, "error cannot be encoded"},
	} {
		c := claim(t, s, key)
		if err := s.Update(c.Context(t.Context()), appendTo("b", "lost")); err != nil {
			t.Fatal(err)
		}
		wantError(t, c.Keep(test.receipt), `keep the receipt of record "action-1": nothing was applied`, test.says)
		wantAll(t, s, "b")
		wantPeek(t, s, key, nil)
	}
	keep(t, s, key, unknown)
	wantError(t, s.Resolve(t.Context(), key, unknown, &Receipt{State: InProgress}), "in_progress")
	wantKnown(t, s, key, unknown)
}

// limitPages lets the file grow by no more than a few pages, on the connection
// that writes.
func limitPages(t *testing.T, s *SQLite) {
	t.Helper()
	var pages, limit int
	if err := s.writes.QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if err := s.writes.QueryRow(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+4)).Scan(&limit); err != nil {
		t.Fatal(err)
	}
}

func TestFullFile(t *testing.T) {
	const nothing, full = "nothing was applied", "is full"
	large := strings.Repeat("x", 100_000)
	for _, test := range []struct {
		name string
		fail func(*testing.T, *SQLite)
	}{
		{"the receipt does not fit", func(t *testing.T, s *SQLite) {
			c := claim(t, s, key)
			if err := s.Update(c.Context(t.Context()), appendTo("b", "lost")); err != nil {
				t.Fatal(err)
			}
			r := applied
			r.Output = []byte(`"` + large + `"`)
			wantError(t, c.Keep(r), nothing, full, s.path)
		}},
		{"the work does not fit, and its error is kept quiet", func(t *testing.T, s *SQLite) {
			c := claim(t, s, key)
			ctx := c.Context(t.Context())
			if err := s.Update(ctx, appendTo("b", "lost")); err != nil {
				t.Fatal(err)
			}
			wantError(t, s.Update(ctx, appendTo("b", large)), full, s.path)
			// SQLite may have rolled back by itself: this must not land.
			wantError(t, s.Update(ctx, appendTo("b", "lost")), full)
			wantError(t, c.Keep(applied), nothing, full, s.path)
		}},
		{"the work does not fit, and frees its key", func(t *testing.T, s *SQLite) {
			c := claim(t, s, key)
			wantError(t, s.Update(c.Context(t.Context()), appendTo("b", large)), full, s.path)
			free(t, c)
		}},
		{"an update of its own", func(t *testing.T, s *SQLite) {
			wantError(t, s.Update(t.Context(), appendTo("b", large)), full, s.path)
		}},
		{"an update that is silent about it", func(t *testing.T, s *SQLite) {
			wantError(t, s.Update(t.Context(), func(r Records) error {
				_, _ = r.Append("b", []byte("lost"))
				_, _ = r.Append("b", []byte(large))
				_, _ = r.Append("b", []byte("lost"))
				return nil
			}), nothing, full, s.path)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := openAt(t, filepath.Join(t.TempDir(), "r.db"))
			earlier := Key{Value: "earlier"}
			keep(t, s, earlier, applied)
			limitPages(t, s)
			test.fail(t, s)
			wantAll(t, s, "b")
			wantPeek(t, s, key, nil)
			wantKnown(t, s, earlier, applied)
			wantIntact(t, s)
			// The limit went with the connection that met it.
			c := claim(t, s, key)
			if err := s.Update(c.Context(t.Context()), appendTo("b", large)); err != nil {
				t.Fatal(err)
			}
			if err := c.Keep(applied); err != nil {
				t.Fatal(err)
			}
			wantAll(t, s, "b", large)
			wantKnown(t, s, key, applied)
		})
	}
}

func TestTwoHandlesOnOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	handles := []*SQLite{openAt(t, path), openAt(t, path)}
	first := claim(t, handles[0], key)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	started := time.Now()
	if _, _, err := handles[1].Claim(ctx, key, noon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Claim = %v, want the end of its context", err)
	}
	if took := time.Since(started); took > 2*time.Second {
		t.Errorf("a wait of 100 ms took %v", took)
	}
	if err := first.Keep(applied); err != nil {
		t.Fatal(err)
	}
	wantKnown(t, handles[1], key, applied)

	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			s := handles[i%2]
			for action := range 10 {
				c, known, err := s.Claim(t.Context(), Key{Value: fmt.Sprint(action)}, noon)
				if err != nil {
					t.Error(err)
				}
				if c == nil || known != nil {
					continue
				}
				if err := s.Update(c.Context(t.Context()), appendTo("effects", fmt.Sprint(action))); err != nil {
					t.Error(err)
				}
				if err := c.Keep(applied); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	wantOnce(t, handles[0], 10)
}

// wantOnce looks for the effects 0 to n-1, each exactly once.
func wantOnce(t testing.TB, s *SQLite, n int) {
	t.Helper()
	times := map[string]int{}
	for _, effect := range all(t, s, "effects") {
		times[effect]++
	}
	for i := range n {
		if got := times[fmt.Sprint(i)]; got != 1 {
			t.Errorf("action %d was applied %d times", i, got)
		}
	}
	if len(times) != n {
		t.Errorf("%d actions were applied, want %d", len(times), n)
	}
}

func TestCloseWithAnOpenClaim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	s, err := OpenSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	c := claim(t, s, key)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Keep(applied); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Claim(t.Context(), key, noon); err == nil {
		t.Error("a claim after the close was granted")
	}
	wantKnown(t, openAt(t, path), key, applied)
}
