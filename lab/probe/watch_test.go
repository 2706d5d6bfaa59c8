package probe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	before := Snapshot{"z": {Size: 1}, "same": {Size: 2}, "content": {Digest: [32]byte{1}}, "list": {Collection: "a"}}
	after := Snapshot{"a": {Size: 3}, "same": {Size: 2}, "content": {Digest: [32]byte{2}}, "list": {Collection: "b"}, "b": {}}
	wantEffects(t, before, after, "added a 0 3", "added b 0 0", "changed content 0 0", "removed z 1 0")
	wantEffects(t, after, before, "removed a 3 0", "removed b 0 0", "changed content 0 0", "added z 0 1")
	wantEffects(t, after, after)
	wantEffects(t, nil, nil)
}

func TestWatch(t *testing.T) {
	tests := []struct {
		name     string
		texts    []string // the first two are of the start
		unsteady []string
		want     [][]string
	}{
		{"nothing changes", []string{`{"a":1}`}, nil, [][]string{nil, nil}},
		{"each change once", []string{`{"a":1}`, `{"a":1}`, `{"a":22}`, `{"a":22}`, `{}`},
			nil, [][]string{{"changed /a 1 2"}, nil, {"removed /a 2 0"}}},
		{"a clock", []string{`{"t":1,"a":1}`, `{"t":2,"a":1}`, `{"t":3,"a":2}`, `{"a":2}`, `{"t":4,"a":2}`},
			[]string{"/t"}, [][]string{{"changed /a 1 1"}, nil, nil}},
		{"a member that comes", []string{`{"s":{}}`, `{"s":{"x":1}}`, `{"s":{}}`, `{"s":{"y":1}}`},
			[]string{"/s/x"}, [][]string{nil, {"added /s/y 0 1"}}},
		{"a clock in an item", []string{`{"l":[{"t":1}],"m":[1]}`, `{"l":[{"t":2}],"m":[1]}`, `{"l":[{"t":3},{"t":4}],"m":[]}`, `{"l":[]}`},
			[]string{"/l/*"}, [][]string{{"removed /m/sha256:6b86b273ff34fce1 1 0"}, nil}},
		{"a clock in an item with a name", []string{`[{"id":1,"t":1},{"id":2}]`, `[{"id":1,"t":2},{"id":2}]`, `[{"id":1,"t":3}]`},
			[]string{"/id=1"}, [][]string{{"removed /id=2 8 0"}}},
		{"a list that grows", []string{`[{"id":1}]`, `[{"id":1},{"id":2}]`, `[{"id":2},{"id":3}]`, `[]`, `[{"id":3}]`},
			[]string{"/*"}, [][]string{nil, nil, nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := Watch(t.Context(), texts("state", tt.texts...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.unsteady, w.Unsteady()); diff != "" {
				t.Error(diff)
			}
			for i, want := range tt.want {
				effects, err := w.Observe(t.Context())
				if diff := cmp.Diff(want, told(effects)); diff != "" || err != nil {
					t.Error(i, err, diff)
				}
			}
		})
	}
}

func TestWatchSeveral(t *testing.T) {
	w, err := Watch(t.Context(),
		texts("call", `{"a":1}`, `{"a":2}`, `{"b":1}`), texts("http", `[]`, `[]`, `[1]`), texts("call", `{"a":1}`, `{"a":1}`, `{"b":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"call:/a"}, w.Unsteady()); diff != "" {
		t.Error(diff)
	}
	effects, err := w.Observe(t.Context())
	want := []string{"added call:/b 0 1", "added http:/sha256:6b86b273ff34fce1 0 1", "removed call#2:/a 1 0", "added call#2:/b 0 1"}
	if diff := cmp.Diff(want, told(effects)); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// What was not seen is told the next time.
func TestObserveAfterAnError(t *testing.T) {
	broken := errors.New("broken")
	n := 0
	failing := JSON("second", func(context.Context) ([]byte, error) {
		if n++; n == 3 {
			return nil, broken
		}
		return []byte(`1`), nil
	})
	w, err := Watch(t.Context(), texts("first", `1`, `1`, `2`), failing)
	if err != nil {
		t.Fatal(err)
	}
	if effects, err := w.Observe(t.Context()); !errors.Is(err, broken) || effects != nil {
		t.Error(effects, err)
	}
	effects, err := w.Observe(t.Context())
	if diff := cmp.Diff([]string{"changed first:. 1 1"}, told(effects)); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := JSON("state", func(context.Context) ([]byte, error) { cancel(); return []byte(`1`), nil })
	if w, err := WatchFor(ctx, time.Hour, 1, p); w != nil || !errors.Is(err, context.Canceled) {
		t.Error(w, err)
	}
	if w, err := Watch(t.Context(), texts("state", `1`, `x`)); w != nil || err == nil {
		t.Error(w, err)
	}
	if w, err := Watch(t.Context(), texts("state", `x`)); w != nil || err == nil {
		t.Error(w, err)
	}
}

// emptied is a place where one of two looks, in turn, meets nothing written.
type emptied struct{ looks *int }

func (emptied) Kind() string { return "emptied" }

func (e emptied) Look(context.Context) (Snapshot, error) {
	*e.looks++
	var digest [32]byte
	if *e.looks > 2 {
		digest[0] = 1
	}
	return Snapshot{"clock": Entry{Digest: digest}}, nil
}

// Two looks that meet the same are no proof that nothing changes.
func TestMoreLooksThanTwo(t *testing.T) {
	for looks, want := range map[int]int{1: 0, 4: 1} {
		w, err := WatchFor(t.Context(), time.Millisecond, looks, emptied{new(int)})
		if err != nil || len(w.Unsteady()) != want {
			t.Errorf("%d looks: %v, %v", looks, w.Unsteady(), err)
		}
	}
}
