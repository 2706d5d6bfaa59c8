package eval

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// MaxShards is how many parts a replay can be split into.
const MaxShards = 256

// Shard is one part of a replay that is split into several, as over the jobs of a
// CI matrix.
type Shard struct {
	Index int // from 1
	Of    int // at most MaxShards
}

// ParseShard reads INDEX/OF, such as 2/5.
func ParseShard(text string) (Shard, error) {
	before, after, _ := strings.Cut(text, "/")
	index, err := strconv.Atoi(before)
	of, ofErr := strconv.Atoi(after)
	s := Shard{index, of}
	if err != nil || ofErr != nil || !s.Valid() {
		return Shard{}, fmt.Errorf("%q is no shard: it is INDEX/OF, such as 2/5, with OF from 1 to %d and INDEX from 1 to OF", text, MaxShards)
	}
	return s, nil
}

// Valid reports whether there is such a shard.
func (s Shard) Valid() bool { return s.Of >= 1 && s.Of <= MaxShards && s.Index >= 1 && s.Index <= s.Of }

// Has reports whether a case falls to the shard: the FNV-1a hash of its id, of 64
// bits, modulo Of, is Index - 1. No other case has a say in it, so a case that is
// added or taken away moves no other.
func (s Shard) Has(caseID string) bool {
	hash := fnv.New64a()
	hash.Write([]byte(caseID)) // which never fails
	return hash.Sum64()%uint64(s.Of) == uint64(s.Index-1)
}

// String is the shard as a report names it, such as "shard 2 of 5".
func (s Shard) String() string { return fmt.Sprintf("shard %d of %d", s.Index, s.Of) }
