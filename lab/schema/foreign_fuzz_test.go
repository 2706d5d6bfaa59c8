package schema

import (
	"math/bits"
	"slices"
	"testing"
	"time"

	"agentlab/lab/jsonvalue"
)

// FuzzForeign holds of the second engine what FuzzCompileValidate holds of the
// first: no panic, no hang, the same answer twice, and that both say the same
// of a schema that both take.
func FuzzForeign(f *testing.F) {
	for _, e := range table(f) {
		for _, draft := range e.Drafts {
			for _, value := range e.Accepted {
				f.Add(string(e.Schema), ordinal(draftNames[draft]), string(value))
			}
			for _, r := range e.Refused {
				f.Add(string(e.Schema), ordinal(draftNames[draft]), string(r.Value))
			}
		}
	}
	for _, draft := range sortedKeys(suites) {
		for i, g := range suiteGroups(f, draft) {
			if i%7 == 0 {
				f.Add(string(g.Group.Schema), ordinal(suites[draft]), string(g.Group.Tests[0].Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, document string, dialect uint8, text string) {
		start := time.Now()
		defer func() {
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		}()
		unstated := Dialect(1 << (dialect % 5))
		s, err := CompileForeign([]byte(document), unstated)
		if err != nil {
			fault, ok := err.(*Error)
			if !ok {
				t.Fatalf("%T", err)
			}
			if fault.Reason == notTaken {
				t.Fatal("the engine refuses what the check lets through")
			}
			return
		}
		value, err := jsonvalue.Decode([]byte(text))
		if err != nil {
			return
		}
		found := s.Validate(value)
		for _, v := range found {
			if v.Message == notChecked {
				t.Fatal("a panic, or a finding that is not known")
			}
		}
		if !slices.Equal(found, s.Validate(value)) {
			t.Fatal("another answer the second time")
		}
		if first, second := both(t, document, unstated); first != nil {
			agree(t, document, first, second, text)
		}
	})
}

// ordinal is the dialect as the fuzzer counts it.
func ordinal(d Dialect) uint8 { return uint8(bits.TrailingZeros8(uint8(d))) }
