//go:build unix

package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// aside makes a call that the test does not wait for, and returns when the server
// has it.
func aside(t *testing.T, s *session, call tool.Call) (called chan tool.Result) {
	t.Helper()
	called = make(chan tool.Result, 1)
	go func() { called <- s.Call(t.Context(), call) }()
	for begun := false; !begun; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		begun = s.calls > 0
		s.mu.Unlock()
	}
	return called
}

// What a call that has no end has changed is seen while it is under way, by every
// kind of look; the session ends in time, and its bench is given to nobody.
func TestLookWhileACallIsUnderWay(t *testing.T) {
	for name, effect := range map[string]suite.Effect{
		"files": wholeFolder[0],
		"calls": suite.Call{Tool: "snapshot", Arguments: json.RawMessage(`{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			// Where calls look, the server has had four of them by then.
			fault, settings := "hang:after@1", b.settings(suite.PerSuite)
			if name == "calls" {
				fault = "hang:after@5"
			}
			settings.Timeout = time.Minute
			s := b.open(b.spec([]suite.Effect{effect}, "-fault", fault, inFolder), settings)
			opened := openSession(t, s)
			called := aside(t, opened, write("hung", "x"))
			var lines []string
			promptly(t, "a look", func() {
				// A look may meet a file that is made and not yet written.
				for t.Context().Err() == nil {
					if text, _ := os.ReadFile(filepath.Join(opened.bench.folder.path, "hung.txt")); string(text) == "x" {
						break
					}
					time.Sleep(time.Millisecond)
				}
				lines = observe(t, opened)
			})
			if len(lines) != 1 || len(called) != 0 {
				t.Errorf("%q, and %d calls have ended", lines, len(called))
			}
			promptly(t, "another call", func() {
				if result := opened.Call(t.Context(), write("other", "y")); result.Error != nil {
					t.Error(result.Error)
				}
			})
			if lines := observe(t, opened); len(lines) != 1 || opened.Effects() != 2 {
				t.Errorf("%q, %d effects in all", lines, opened.Effects())
			}
			promptly(t, "Close", func() { closeSession(t, opened) })
			if result := <-called; result.Error == nil {
				t.Error(string(result.Output))
			}
			second := openSession(t, s)
			if second.bench == opened.bench {
				t.Error("the bench was given on")
			}
			closeSession(t, second)
		})
	}
}

// A case that ends lets its server end with a call under way, and looks afterwards.
func TestSettleEndsTheCallsUnderWay(t *testing.T) {
	b := newBed(t)
	settings := b.settings(suite.PerCase)
	settings.Timeout = time.Minute
	s := b.open(b.spec(wholeFolder, "-fault", "hang@1", "-fault", "write-at-eof", inFolder), settings)
	s.atEnd = nil // which is learnt where nobody called
	opened := openSession(t, s)
	called := aside(t, opened, write("hung", "x"))
	promptly(t, "Settle", func() {
		effects, err := opened.Settle(t.Context())
		if diff := cmp.Diff([]string{"added at-eof.txt 0 7"}, told(effects)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
	if result := <-called; result.Error == nil {
		t.Error(string(result.Output))
	}
	closeSession(t, opened)
}

// Calls at the same time, and looks among them, lose nothing and count nothing
// twice.
func TestCallsAtTheSameTime(t *testing.T) {
	const calls = 12
	b := newBed(t)
	s := b.open(b.spec(wholeFolder, inFolder), b.settings(suite.PerSuite))
	opened := openSession(t, s)
	var group sync.WaitGroup
	var mu sync.Mutex
	var seen, want []string
	for i := range calls {
		want = append(want, fmt.Sprintf("note-%02d.txt", i))
		group.Go(func() {
			if result := opened.Call(t.Context(), write(fmt.Sprintf("note-%02d", i), "x")); result.Error != nil {
				t.Error(result.Error)
			}
			effects, err := opened.Observe(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, e := range effects {
				if e.Change == tool.Added { // a file may be seen before it is written
					seen = append(seen, e.Resource)
				}
			}
		})
	}
	group.Wait()
	slices.Sort(seen)
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	closeSession(t, opened)
	second := openSession(t, s)
	if second.bench != opened.bench {
		t.Error("the bench was not kept")
	}
	// Whoever still holds the session reaches the bench of another case no more.
	if result := opened.Call(t.Context(), write("late", "x")); result.Error == nil || result.Error.Outcome != tool.NotApplied {
		t.Error(result.Error)
	}
	if lines := observe(t, second); lines != nil {
		t.Error(lines)
	}
	closeSession(t, second)
}
