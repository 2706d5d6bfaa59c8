package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestFaultsAreToldOnce(t *testing.T) {
	var said []string
	tell := each(func(text string) { said = append(said, text) }, "notes")
	var group sync.WaitGroup
	for i := range 4 * maxTold {
		group.Go(func() { tell(fmt.Sprintf("fault %d", i/2)) })
	}
	group.Wait()
	slices.Sort(said)
	if got := len(slices.Compact(slices.Clone(said))); got != len(said) || got != maxTold+1 {
		t.Errorf("%d were told, of which %d were not yet", len(said), got)
	}
	if !strings.Contains(strings.Join(said, "\n"), "notes: and more faults, which are not told") {
		t.Errorf("nobody learns that there are more: %q", said)
	}
	each(nil, "notes")("x")
}
