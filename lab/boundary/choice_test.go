package boundary

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/tool"
)

// TestChoices: the wheels near a fault turn, the last first, and each once for
// all the faults of an attempt.
func TestChoices(t *testing.T) {
	c := newChoices()
	attempt := func() []int {
		c.begin()
		return []int{c.choose("/a", "x", 2), c.choose("/a/b", "x", 3), c.choose("/ab", "x", 2), c.choose("/a", "y", 1)}
	}
	steps := []struct {
		faults []string
		want   []int // of the next attempt
		moved  bool
	}{
		{nil, []int{0, 0, 0, 0}, false},
		{[]string{"/a/b"}, []int{0, 1, 0, 0}, true},
		{[]string{"/a", "/a/b"}, []int{0, 2, 0, 0}, true}, // once for both
		{[]string{"/a/b/c"}, []int{1, 0, 0, 0}, true},     // no more of them: the one around it
		{[]string{"/ab"}, []int{1, 0, 1, 0}, true},
		{[]string{"/ab"}, []int{1, 0, 1, 0}, false},
		{[]string{"/c"}, []int{1, 0, 1, 0}, false},
		{[]string{""}, []int{1, 1, 1, 0}, true},
	}
	attempt()
	for _, step := range steps {
		moved := false
		for _, place := range step.faults {
			moved = c.advance(place) || moved
		}
		if moved != step.moved {
			t.Errorf("%v: moved %v", step.faults, moved)
		}
		if diff := cmp.Diff(step.want, attempt()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", step.faults, diff)
		}
	}
	// A choice of fewer than were there starts again.
	c.begin()
	if got := c.choose("/ab", "x", 1) + c.choose("/a", "x", 1); got != 0 {
		t.Errorf("%d of one", got)
	}
	c.picked["/d\x00x"] = 2
	if got := c.choose("/d", "x", 2); got != 0 {
		t.Errorf("%d of two", got)
	}
}

// TestSpend: the work of checks comes to an end, and the last one is counted by
// how many schemas meet how many values.
func TestSpend(t *testing.T) {
	root := object{"anyOf": []any{object{}, object{"allOf": []any{true, true}}}}
	c := &check{func(any) []tool.Violation { return nil }, newDocument(root), 12}
	if c.doc.thick != 5 || c.doc.nodes != 5 {
		t.Errorf("%d schemas meet, of %d", c.doc.thick, c.doc.nodes)
	}
	value := object{"a": []any{nil}} // four values, the name among them
	if !c.spend(value) || c.left != 12-4*5-5 || c.spend(value) {
		t.Errorf("%d left", c.left)
	}
	if _, err := c.plain(); err == nil {
		t.Error("a plain call without any work")
	}
}
