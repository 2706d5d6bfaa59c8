package eval_test

import (
	"testing"

	"pgregory.net/rapid"

	"agentlab/lab/eval"
)

// Where a case falls is the same for ever: the hashes are those of the FNV authors'
// test vectors.
func TestShardOfACase(t *testing.T) {
	for id, hash := range map[string]uint64{"": 0xcbf29ce484222325, "a": 0xaf63dc4c8601ec8c, "foobar": 0x85944171f73967e8} {
		for of := 1; of <= 7; of++ {
			for index := 1; index <= of; index++ {
				shard := eval.Shard{Index: index, Of: of}
				if want := int(hash%uint64(of))+1 == index; shard.Has(id) != want {
					t.Errorf("%v has %q: %v, want %v", shard, id, !want, want)
				}
			}
		}
	}
}

func TestEveryCaseFallsToOneShard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, of := rapid.String().Draw(t, "id"), rapid.IntRange(1, eval.MaxShards).Draw(t, "of")
		found := 0
		for index := 1; index <= of; index++ {
			if (eval.Shard{Index: index, Of: of}).Has(id) {
				found++
			}
		}
		if found != 1 {
			t.Fatalf("%q falls to %d shards of %d", id, found, of)
		}
	})
}

func TestParseShard(t *testing.T) {
	for text, want := range map[string]eval.Shard{"1/1": {1, 1}, "2/5": {2, 5}, "256/256": {256, 256}} {
		if got, err := eval.ParseShard(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "2", "/", "2/", "/5", "0/5", "6/5", "-1/5", "1/0", "1/257", "1/5/5", " 1/5", "a/b", "1.0/5", "99999999999999999999/5"} {
		if got, err := eval.ParseShard(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
