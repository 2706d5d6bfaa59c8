package receipt

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var key = Key{Tool: "record", Caller: "a", Value: "action-1"}

func claim(t *testing.T, m *Memory, k Key) *Claim {
	t.Helper()
	granted, known, err := m.Claim(t.Context(), k)
	if err != nil || known != nil || granted == nil {
		t.Fatalf("Claim(%v) = %v, %v, %v; want a claim", k, granted, known, err)
	}
	return granted
}

func TestClaim(t *testing.T) {
	receipt := Receipt{Fingerprint: "f", Output: json.RawMessage(`{"n":1}`)}

	t.Run("a kept receipt answers every repeat", func(t *testing.T) {
		var m Memory
		claim(t, &m, key).Keep(receipt)
		for range 2 {
			granted, known, err := m.Claim(t.Context(), key)
			if err != nil || granted != nil {
				t.Fatalf("Claim = %v, %v; want the receipt", granted, err)
			}
			if diff := cmp.Diff(&receipt, known); diff != "" {
				t.Errorf("receipt (-want +got):\n%s", diff)
			}
		}
	})
	t.Run("a freed key is granted again", func(t *testing.T) {
		var m Memory
		claim(t, &m, key).Free()
		claim(t, &m, key).Free()
	})
	t.Run("every part of a key counts", func(t *testing.T) {
		var m Memory
		claim(t, &m, key).Keep(receipt)
		for _, other := range []Key{
			{"other", key.Caller, key.Value},
			{key.Tool, "other", key.Value},
			{key.Tool, key.Caller, "other"},
		} {
			claim(t, &m, other)
		}
	})
	t.Run("a claim ends once", func(t *testing.T) {
		var m Memory
		c := claim(t, &m, key)
		c.Keep(receipt)
		defer func() {
			if recover() == nil {
				t.Error("the second end did not panic")
			}
		}()
		c.Free()
	})
}

func TestClaimWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		first := claim(t, &m, key)
		answered := make(chan *Receipt)
		go func() {
			_, known, _ := m.Claim(t.Context(), key)
			answered <- known
		}()
		synctest.Wait()
		select {
		case <-answered:
			t.Fatal("the second claim did not wait for the first")
		default:
		}
		first.Keep(Receipt{Fingerprint: "f"})
		if known := <-answered; known == nil || known.Fingerprint != "f" {
			t.Errorf("the second claim got %v, want the receipt of the first", known)
		}
	})
}

func TestClaimWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		defer claim(t, &m, key).Free()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		granted, known, err := m.Claim(ctx, key)
		if granted != nil || known != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Claim = %v, %v, %v; want the end of the context", granted, known, err)
		}
	})
}

func TestClaimIsGrantedToOneAtATime(t *testing.T) {
	var m Memory
	var open, granted atomic.Int32
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			c, known, err := m.Claim(t.Context(), key)
			switch {
			case err != nil:
				t.Error(err)
			case known != nil:
			default:
				if open.Add(1) != 1 {
					t.Error("two claims were open at once")
				}
				granted.Add(1)
				open.Add(-1)
				if i%2 == 0 {
					c.Keep(Receipt{})
				} else {
					c.Free()
				}
			}
		})
	}
	group.Wait()
	if granted.Load() == 0 {
		t.Error("no claim was granted")
	}
}
