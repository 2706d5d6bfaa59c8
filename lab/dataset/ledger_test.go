package dataset

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// record hands a dataset of one file to a ledger whose hash of each of the
// given ids was seen before.
func record(t *testing.T, text string, collisions ...string) (*Ledger, []bool) {
	t.Helper()
	r := Open(Source{Name: "cases.jsonl", Path: "cases.jsonl", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}})
	l := NewLedger(r)
	for _, id := range collisions {
		l.ids.add(maphash.String(l.seed, id))
	}
	var clean []bool
	for {
		batch, err := r.Next()
		if err == io.EOF {
			return l, clean
		}
		if err != nil {
			t.Fatal(err)
		}
		clean = append(clean, l.Record(batch.Decode()))
	}
}

func caseLine(id string) string {
	return fmt.Sprintf(`{"case_id":%q,"intent":"Read.","actor_permissions":[],"approved":false,`+
		`"baseline_calls":[{"name":"b","arguments":{}}],"candidate_calls":[{"name":"c","arguments":{}}],`+
		`"expected":{"ok":true,"side_effect_count":0}}`+"\n", id)
}

// A hash that two ids share is no fault, and does not make a dataset look as
// if it had one.
func TestHashCollision(t *testing.T) {
	l, clean := record(t, caseLine("a")+caseLine("b")+caseLine("c"), "b", "c")
	if l.again != 2 {
		t.Fatalf("%d ids with a hash that was seen before, want 2", l.again)
	}
	if slices.Contains(clean, false) {
		t.Errorf("Record = %v", clean)
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

func TestHashCollisionBesideRepeat(t *testing.T) {
	l, _ := record(t, caseLine("a")+caseLine("b")+"1\n"+caseLine("a")+caseLine("b"), "b")
	var invalid *Invalid
	if err := l.Close(); !errors.As(err, &invalid) {
		t.Fatalf("Close = %v, want an *Invalid", err)
	}
	want := &Invalid{
		Faults: []Fault{
			{0, "cases.jsonl", 3, "", "must be an object, not a number"},
			{0, "cases.jsonl", 4, "case_id", `"a" is already the case of cases.jsonl:1`},
			{0, "cases.jsonl", 5, "case_id", `"b" is already the case of cases.jsonl:2`},
		},
		Total: 3,
	}
	if diff := cmp.Diff(want, invalid, cmp.AllowUnexported(Fault{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRecordTellsFaults(t *testing.T) {
	filler := strings.Repeat("\n", batchSize)
	_, clean := record(t, caseLine("a")+filler+caseLine("a")+filler+"1\n"+filler+caseLine("b")+filler)
	first, faulty := clean[0], clean[len(clean)-1]
	if !first || faulty {
		t.Errorf("Record = %v, want true up to the batch of the fault and false from then on", clean)
	}
	for i := 1; i < len(clean); i++ {
		if clean[i] && !clean[i-1] {
			t.Errorf("Record = %v: the dataset became right again", clean)
		}
	}
}

func TestHashSet(t *testing.T) {
	const many = 100_000
	var s hashSet
	hash := func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }
	for i := range many {
		if !s.add(hash(i + 1)) {
			t.Fatalf("hash %d is not new", i)
		}
		if 4*s.count > 3*len(s.slots) {
			t.Fatalf("%d of %d slots are taken", s.count, len(s.slots))
		}
	}
	for i := range many {
		if s.add(hash(i + 1)) {
			t.Fatalf("hash %d is new again", i)
		}
	}
	if s.count != many {
		t.Errorf("count = %d, want %d", s.count, many)
	}
	if perHash := float64(8*len(s.slots)) / many; perHash > 22 {
		t.Errorf("%.1f bytes a hash", perHash)
	}
	if bits.OnesCount(uint(len(s.slots))) != 1 {
		t.Errorf("%d slots, want a power of two", len(s.slots))
	}
}

// Hashes that share their low bits want the same slot.
func TestHashSetProbes(t *testing.T) {
	const many = 1500
	var s hashSet
	for range 2 {
		for i := range many {
			isNew := s.count < many
			if s.add(uint64(i+1)<<32|0x3ff) != isNew {
				t.Fatalf("hash %d: new = %v", i, !isNew)
			}
		}
	}
	if s.count != many {
		t.Errorf("count = %d, want %d", s.count, many)
	}
}

// Zero marks an empty slot, so that the hash zero is kept as one: a collision,
// of which Close makes no fault.
func TestHashSetZero(t *testing.T) {
	var s hashSet
	for _, step := range []struct {
		hash uint64
		want bool
	}{{0, true}, {0, false}, {1, false}, {2, true}} {
		if got := s.add(step.hash); got != step.want {
			t.Errorf("add(%d) = %v", step.hash, got)
		}
	}
}

// The ledger of a dataset without fault grows with nothing but its hashes.
func TestLedgerKeepsHashesOnly(t *testing.T) {
	const many = 20_000
	var text strings.Builder
	for i := range many {
		text.WriteString(caseLine(fmt.Sprint("case-", i)))
	}
	l, _ := record(t, text.String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l.ids.count != many || len(l.ids.slots) > 4*many || l.faults != nil || l.repeats != nil {
		t.Errorf("%d ids in %d slots, %d faults and %d repeats", l.ids.count, len(l.ids.slots), len(l.faults), len(l.repeats))
	}
}
