package receipt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/tool"
)

var (
	key  = Key{Tool: "record", Caller: "a", Value: "action-1"}
	noon = time.Date(2030, 1, 2, 12, 0, 0, 123456789, time.UTC)
)

var stores = []struct {
	name string
	open func(testing.TB) Store
}{
	{"memory", func(testing.TB) Store { return new(Memory) }},
	{"sqlite", func(t testing.TB) Store { return openAt(t, filepath.Join(t.TempDir(), "receipts.db")) }},
	{"somebody else's database", func(t testing.TB) Store { return onTheirs(t, theirs(t, filepath.Join(t.TempDir(), "theirs.db"))) }},
}

// openAt opens a file for as long as the test runs.
func openAt(t testing.TB, path string) *SQLite {
	t.Helper()
	s, err := OpenSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func claim(t testing.TB, s Store, k Key) Claim {
	t.Helper()
	granted, known, err := s.Claim(t.Context(), k, noon)
	if err != nil || known != nil || granted == nil {
		t.Fatalf("Claim(%v) = %v, %v, %v; want a claim", k, granted, known, err)
	}
	return granted
}

func keep(t testing.TB, s Store, k Key, r Receipt) {
	t.Helper()
	if err := claim(t, s, k).Keep(r); err != nil {
		t.Fatal(err)
	}
}

func free(t testing.TB, c Claim) {
	t.Helper()
	if err := c.Free(); err != nil {
		t.Fatal(err)
	}
}

// wantKnown claims what has a receipt.
func wantKnown(t testing.TB, s Store, k Key, want Receipt) {
	t.Helper()
	granted, known, err := s.Claim(t.Context(), k, noon)
	if err != nil || granted != nil {
		t.Fatalf("Claim = %v, %v; want the receipt", granted, err)
	}
	if diff := cmp.Diff(&want, known); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
}

func wantPeek(t testing.TB, s Store, k Key, want *Receipt) {
	t.Helper()
	got, err := s.Peek(t.Context(), k, noon)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Peek (-want +got):\n%s", diff)
	}
}

var (
	applied = Receipt{State: Applied, Fingerprint: "f", Output: json.RawMessage(`{"n":1}`), SettledAt: noon}
	unknown = Receipt{
		State:       Unknown,
		Fingerprint: "f",
		Error: &tool.Error{
			Code:     tool.OutcomeUnknown,
			Category: tool.Dependency,
			Message:  "a <b> & \u2028 \x00",
			Details:  json.RawMessage(`{"html":"<&>","escaped":"\u003c","number":1.50}`),
			Outcome:  tool.Unknown,
		},
		SettledAt: noon,
		ExpiresAt: noon.Add(time.Nanosecond),
	}
)

// TestStore is what every store promises.
func TestStore(t *testing.T) {
	promises := []struct {
		name string
		test func(*testing.T, Store)
	}{
		{"a kept receipt answers every repeat", func(t *testing.T, s Store) {
			for i, r := range []Receipt{
				applied,
				unknown,
				{State: Applied},
				{State: Applied, SettledAt: time.Unix(0, 0).UTC(), Output: json.RawMessage("  {\n}")},
				{State: Applied, SettledAt: noon.In(time.FixedZone("east", 3600))},
				{State: Applied, Error: &tool.Error{Code: tool.InvalidToolOutput}},
			} {
				k := Key{"record", "a", fmt.Sprint(i)}
				keep(t, s, k, r)
				for range 2 {
					wantKnown(t, s, k, r)
					wantPeek(t, s, k, &r)
				}
			}
		}},
		{"a freed key is granted again", func(t *testing.T, s Store) {
			free(t, claim(t, s, key))
			wantPeek(t, s, key, nil)
			free(t, claim(t, s, key))
		}},
		{"what had expired is there again for those who began before", func(t *testing.T, s Store) {
			r := applied
			r.ExpiresAt = noon
			keep(t, s, key, r)
			free(t, claim(t, s, key)) // at noon it has expired
			known, err := s.Peek(t.Context(), key, noon.Add(-time.Nanosecond))
			if err != nil || known == nil || known.Fingerprint != r.Fingerprint {
				t.Errorf("Peek = %v, %v", known, err)
			}
			wantPeek(t, s, key, nil)
			keep(t, s, key, applied)
			wantKnown(t, s, key, applied)
		}},
		{"every part of a key counts", func(t *testing.T, s Store) {
			keep(t, s, key, applied)
			for _, other := range []Key{
				{"other", key.Caller, key.Value},
				{key.Tool, "other", key.Value},
				{key.Tool, key.Caller, "other"},
				{key.Tool, key.Caller, "Action-1"},
				{key.Tool, key.Caller, "action-1 "},
				{key.Tool, key.Caller, "action-1\x00"},
				{key.Tool, key.Caller, "action-1\x00x"},
				{key.Tool, key.Caller, "\xff"},
				{key.Tool, key.Caller, ""},
				{key.Tool + key.Caller, "", key.Value},
				{key.Tool, key.Caller, "é"},       // composed
				{key.Tool, key.Caller, "e\u0301"}, // decomposed
			} {
				keep(t, s, other, Receipt{State: Applied, Fingerprint: other.Value})
				wantKnown(t, s, other, Receipt{State: Applied, Fingerprint: other.Value})
			}
			wantKnown(t, s, key, applied)
		}},
		{"a claim ends once", func(t *testing.T, s Store) {
			for _, first := range []func(Claim) error{Claim.Free, keepApplied} {
				for _, second := range []func(Claim) error{Claim.Free, keepApplied} {
					c := claim(t, s, Key{Value: fmt.Sprintf("%p %p", first, second)})
					if err := first(c); err != nil {
						t.Fatal(err)
					}
					if !panics(func() { _ = second(c) }) {
						t.Error("the second end did not panic")
					}
					// The end of a claim that has ended ends no other one.
					other := claim(t, s, Key{Value: "other"})
					if !panics(func() { _ = second(c) }) {
						t.Error("the third end did not panic")
					}
					wantPeek(t, s, Key{Value: "other"}, &Receipt{State: InProgress})
					free(t, other)
				}
			}
		}},
		{"an open claim is in progress", func(t *testing.T, s Store) {
			keep(t, s, Key{"a", "", ""}, applied)
			keep(t, s, Key{"c", "", ""}, applied)
			c := claim(t, s, Key{"b", "", ""})
			wantPeek(t, s, Key{"b", "", ""}, &Receipt{State: InProgress})
			wantList(t, s, []Entry{
				{Key{"a", "", ""}, applied},
				{Key{"b", "", ""}, Receipt{State: InProgress}},
				{Key{"c", "", ""}, applied},
			})
			if err := s.Resolve(c.Context(t.Context()), Key{"b", "", ""}, Receipt{}, &applied); err != nil {
				t.Error(err)
			}
			free(t, c)
			wantPeek(t, s, Key{"b", "", ""}, nil)
		}},
		{"receipts expire", func(t *testing.T, s Store) {
			r := applied
			r.ExpiresAt = noon
			keep(t, s, key, r)
			wantPeek(t, s, key, nil) // noon is when it no longer counts
			if got, err := s.Peek(t.Context(), key, noon.Add(-1)); err != nil || got == nil {
				t.Errorf("Peek before the end = %v, %v; want the receipt", got, err)
			}
			free(t, claim(t, s, key))
			keep(t, s, key, applied) // zero: never
			if got, err := s.Peek(t.Context(), key, noon.AddDate(200, 0, 0)); err != nil || got == nil {
				t.Errorf("Peek in 200 years = %v, %v; want the receipt", got, err)
			}
		}},
		{"what is unknown is resolved once", func(t *testing.T, s Store) {
			r := unknown
			r.ExpiresAt = time.Time{}
			found := Receipt{State: Applied, Fingerprint: "g", Output: json.RawMessage(`[]`)}
			resolve := func(k Key, found *Receipt) {
				t.Helper()
				if err := s.Resolve(t.Context(), k, r, found); err != nil {
					t.Error(err)
				}
			}
			resolve(key, &found) // nothing to resolve
			wantPeek(t, s, key, nil)
			keep(t, s, key, r)
			resolve(key, &found)
			wantKnown(t, s, key, found)
			resolve(key, &applied)
			resolve(key, nil)
			wantKnown(t, s, key, found)
			other := Key{"record", "a", "other"}
			keep(t, s, other, r)
			resolve(other, nil)
			wantPeek(t, s, other, nil)
			wantKnown(t, s, key, found)
		}},
		{"the list is in the order of keys", func(t *testing.T, s Store) {
			wantList(t, s, []Entry{})
			expired := applied
			expired.ExpiresAt = noon
			want := []Entry{
				{Key{"A", "b", "z"}, applied},
				{Key{"a", "B", "z"}, unknown},
				{Key{"a", "b", "1"}, applied},
				{Key{"a", "b", "10"}, expired},
				{Key{"a", "b", "2"}, applied},
				{Key{"é", "", ""}, applied},
			}
			for _, i := range []int{3, 5, 0, 2, 4, 1} {
				keep(t, s, want[i].Key, want[i].Receipt)
			}
			wantList(t, s, want)
		}},
		{"a claim outlives its context", func(t *testing.T, s Store) {
			ctx, cancel := context.WithCancel(t.Context())
			c, _, err := s.Claim(ctx, key, noon)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			time.Sleep(5 * time.Millisecond)
			if err := c.Keep(applied); err != nil {
				t.Fatal(err)
			}
			wantKnown(t, s, key, applied)
		}},
		{"a second claim waits for the first", func(t *testing.T, s Store) {
			first := claim(t, s, key)
			answered := make(chan *Receipt)
			go func() {
				_, known, err := s.Claim(t.Context(), key, noon)
				if err != nil {
					t.Error(err)
				}
				answered <- known
			}()
			select {
			case <-answered:
				t.Fatal("the second claim did not wait")
			case <-time.After(60 * time.Millisecond):
			}
			if err := first.Keep(applied); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&applied, <-answered); diff != "" {
				t.Errorf("the second claim's receipt (-want +got):\n%s", diff)
			}
		}},
		{"a wait ends with its context", func(t *testing.T, s Store) {
			first := claim(t, s, key)
			for _, end := range []struct {
				want error
				ctx  func() (context.Context, context.CancelFunc)
			}{
				{context.DeadlineExceeded, func() (context.Context, context.CancelFunc) {
					return context.WithTimeout(t.Context(), 30*time.Millisecond)
				}},
				{context.Canceled, func() (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(30*time.Millisecond, cancel)
					return ctx, cancel
				}},
			} {
				ctx, cancel := end.ctx()
				started := time.Now()
				granted, known, err := s.Claim(ctx, key, noon)
				if granted != nil || known != nil || !errors.Is(err, end.want) {
					t.Errorf("Claim = %v, %v, %v; want %v", granted, known, err, end.want)
				}
				if took := time.Since(started); took > 2*time.Second {
					t.Errorf("the wait took %v", took)
				}
				cancel()
			}
			// The claim that was waited for is none the worse for it.
			if err := first.Keep(applied); err != nil {
				t.Fatal(err)
			}
			wantKnown(t, s, key, applied)
		}},
		{"many callers of one key have one effect", func(t *testing.T, s Store) {
			var effects, open atomic.Int32
			var group sync.WaitGroup
			for range 32 {
				group.Go(func() {
					c, known, err := s.Claim(t.Context(), key, noon)
					switch {
					case err != nil:
						t.Error(err)
					case known != nil:
						if diff := cmp.Diff(&applied, known); diff != "" {
							t.Error(diff)
						}
					default:
						effects.Add(1)
						time.Sleep(time.Millisecond)
						if err := c.Keep(applied); err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			if n := effects.Load(); n != 1 {
				t.Errorf("%d effects, want 1", n)
			}
			for i := range 32 {
				group.Go(func() {
					c, known, err := s.Claim(t.Context(), Key{Value: "freed"}, noon)
					if err != nil || known != nil {
						t.Errorf("Claim = %v, %v; want a claim", known, err)
						return
					}
					if open.Add(1) != 1 {
						t.Error("two claims were open at once")
					}
					if i%2 == 0 {
						time.Sleep(100 * time.Microsecond)
					}
					open.Add(-1)
					if err := c.Free(); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		}},
	}
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			for _, promise := range promises {
				t.Run(promise.name, func(t *testing.T) { promise.test(t, store.open(t)) })
			}
		})
	}
}

func keepApplied(c Claim) error { return c.Keep(applied) }

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func wantList(t testing.TB, s Store, want []Entry) {
	t.Helper()
	got, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
}

func TestMemoryWaitsOnOneKeyOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		first := claim(t, &m, key)
		free(t, claim(t, &m, Key{Value: "other"}))
		answered := make(chan *Receipt, 1)
		go func() {
			_, known, _ := m.Claim(t.Context(), key, noon)
			answered <- known
		}()
		synctest.Wait()
		if len(answered) != 0 {
			t.Fatal("the second claim did not wait for the first")
		}
		if err := first.Keep(applied); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&applied, <-answered); diff != "" {
			t.Errorf("receipt (-want +got):\n%s", diff)
		}
	})
}

func TestMemoryReset(t *testing.T) {
	var m Memory
	m.Reset()
	keep(t, &m, key, applied)
	m.Reset()
	wantList(t, &m, []Entry{})
}

func BenchmarkClaimAndKeep(b *testing.B) {
	for _, store := range stores {
		b.Run(store.name, func(b *testing.B) {
			s := store.open(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				keep(b, s, Key{"record", "a", fmt.Sprint(i)}, applied)
			}
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	for _, store := range stores {
		b.Run(store.name, func(b *testing.B) {
			s := store.open(b)
			keep(b, s, key, applied)
			b.ReportAllocs()
			for b.Loop() {
				if _, known, err := s.Claim(b.Context(), key, noon); known == nil {
					b.Fatal(err)
				}
			}
		})
	}
}
