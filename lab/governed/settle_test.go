package governed_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

type work = func(ctx context.Context, s *server, a map[string]any) tool.Result

// writing makes the write of a server do this.
func writing(do work) func(s *server, get, put *overlay.Tool) {
	return func(s *server, _, _ *overlay.Tool) { s.tools["put"] = do }
}

// then changes a note or does not, and answers so.
func then(changes bool, result tool.Result) work {
	return func(_ context.Context, s *server, a map[string]any) tool.Result {
		if changes {
			s.put(a["name"].(string), a["text"].(string))
		}
		return result
	}
}

func TestWhatBecameOfAWriteThatFailed(t *testing.T) {
	lie := tool.Error{Code: "own", Category: tool.Internal, Message: "m", Outcome: tool.Applied}
	other := lie
	other.Outcome = tool.NotApplied
	broken := tool.Refusal(tool.InvalidToolOutput, nil, "no")
	broken.Outcome = tool.Unknown
	no := false
	protocol := tool.Refusal(tool.ProtocolError, nil, "no")
	protocol.Outcome = tool.Unknown
	rules := []overlay.ErrorRule{{Begins: "Error", Code: "own", Category: tool.Internal}}
	for name, test := range map[string]struct {
		changes, blind, own bool
		answer              tool.Result
		code                tool.Code
		want                tool.Outcome
		runs                int // after a repeat
		again               tool.Code
	}{
		"nothing changed":              {answer: failed("no"), code: tool.ToolFailed, want: tool.NotApplied, runs: 2, again: tool.ToolFailed},
		"something changed":            {changes: true, answer: failed("no"), code: tool.ToolFailed, want: tool.Applied, runs: 1, again: tool.ToolFailed},
		"whatever the server says":     {answer: coded(lie), code: "own", want: tool.NotApplied, runs: 2, again: "own"},
		"and the other way round":      {changes: true, answer: coded(other), code: "own", want: tool.Applied, runs: 1, again: "own"},
		"nobody looks":                 {blind: true, answer: failed("no"), code: tool.ToolFailed, want: tool.Unknown, runs: 1, again: tool.ToolFailed},
		"nobody looks, and it says so": {blind: true, answer: coded(other), code: "own", want: tool.Unknown, runs: 1, again: "own"},
		"it counts, and nothing":       {own: true, answer: failed("no"), code: tool.ToolFailed, want: tool.NotApplied, runs: 2, again: tool.ToolFailed},
		"it counts, and something":     {own: true, changes: true, answer: failed("no"), code: tool.ToolFailed, want: tool.Applied, runs: 1, again: tool.ToolFailed},
		"a JSON-RPC error":             {answer: tool.Result{Error: protocol}, code: tool.ProtocolError, want: tool.NotApplied, runs: 2, again: tool.ProtocolError},
		"a success that is none":       {answer: said("Error: x"), code: "own", want: tool.NotApplied, runs: 2, again: "own"},
		"a success that is one half":   {changes: true, answer: said("Error: x"), code: "own", want: tool.Applied, runs: 1, again: "own"},
		"a broken promise":             {blind: true, answer: tool.Result{Error: broken, Reply: &tool.Reply{SchemaValid: &no}}, code: tool.InvalidToolOutput, want: tool.Applied, runs: 1, again: tool.InvalidToolOutput},
		"a promise in words alone":     {blind: true, answer: coded(*broken), code: tool.ToolFailed, want: tool.Unknown, runs: 1, again: tool.ToolFailed},
		"no answer":                    {answer: unanswered(tool.ToolTimeout), code: tool.OutcomeUnknown, want: tool.Unknown, runs: 1, again: tool.OutcomeUnknown},
		"no server":                    {answer: unanswered(tool.ToolFailed), code: tool.OutcomeUnknown, want: tool.Unknown, runs: 1, again: tool.OutcomeUnknown},
		"a failure within":             {own: true, answer: unanswered(tool.ToolFailed), code: tool.ToolFailed, want: tool.NotApplied, runs: 2, again: tool.ToolFailed},
		"no answer, and a change":      {changes: true, answer: unanswered(tool.ToolTimeout), code: tool.OutcomeUnknown, want: tool.Unknown, runs: 1, again: tool.AnswerLost},
		"no answer, and it counts":     {own: true, changes: true, answer: unanswered(tool.ToolTimeout), code: tool.OutcomeUnknown, want: tool.Unknown, runs: 1, again: tool.AnswerLost},
		"no answer, and nobody looks":  {blind: true, changes: true, answer: unanswered(tool.ToolTimeout), code: tool.OutcomeUnknown, want: tool.Unknown, runs: 1, again: tool.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, func(s *server, get, put *overlay.Tool) {
				s.blind, s.own = test.blind, test.own
				put.Rules = rules
				s.tools["put"] = then(test.changes, test.answer)
			})
			failed := b.put("k", "x")
			refused(t, failed, test.code, test.want)
			if advised := strings.HasPrefix(failed.Error.NextAction, "stop: it failed, and has changed something"); advised != (test.want == tool.Applied && test.code == tool.ToolFailed) {
				t.Errorf("the advice is %q", failed.Error.NextAction)
			}
			again := b.put("k", "x")
			outcome := test.want
			if test.again == tool.AnswerLost {
				outcome = tool.Applied
			}
			refused(t, again, test.again, outcome)
			if got := len(b.made()); got != test.runs {
				t.Errorf("the server was asked %d times, want %d", got, test.runs)
			}
			// That nobody can tell what became of it is no fault of anybody's.
			if told := b.told(); len(told) > 1 || len(told) == 1 && !strings.Contains(told[0], "no answer") {
				t.Errorf("the operator was told %q", told)
			}
			if test.own || test.blind {
				return
			}
			// What was looked at on the way is told once.
			want := []tool.Effect{}
			if test.changes {
				want = append(want, tool.Effect{Resource: "n", Change: tool.Added, After: 1})
			}
			if diff := cmp.Diff(want, append([]tool.Effect{}, b.observe()...)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if again := b.observe(); len(again) != 0 {
				t.Errorf("the effects were told again: %v", again)
			}
			if got := b.session.Effects(); got != len(want) {
				t.Errorf("%d effects, want %d", got, len(want))
			}
		})
	}
}

// A harness that looks between the calls loses nothing of what a repeat looks for.
func TestTheLooksOfTheHarnessCount(t *testing.T) {
	b := open(t, writing(then(true, unanswered(tool.ToolTimeout))))
	refused(t, b.put("k", "x"), tool.OutcomeUnknown, tool.Unknown)
	if got := b.observe(); len(got) != 1 {
		t.Errorf("the harness saw %v", got)
	}
	refused(t, b.put("k", "x"), tool.AnswerLost, tool.Applied)
	if got := b.observe(); len(got) != 0 || len(b.made()) != 1 {
		t.Errorf("then it saw %v", got)
	}
}

// What changed before a write is not put down to it.
func TestEarlierChangesAreNotTheWrites(t *testing.T) {
	fail := false
	do := func(_ context.Context, s *server, a map[string]any) tool.Result {
		if fail {
			return failed("no")
		}
		s.put(a["name"].(string), a["text"].(string))
		return said("ok")
	}
	b := open(t, writing(do))
	ok(t, b.put("k1", "x")) // nobody looks after it
	fail = true
	refused(t, b.put("k2", "y"), tool.ToolFailed, tool.NotApplied)
	if diff := cmp.Diff([]tool.Effect{{Resource: "n", Change: tool.Added, After: 1}}, b.observe()); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	b.mu.Lock()
	looks := b.looks
	b.mu.Unlock()
	if looks != 3 {
		t.Errorf("there were %d looks, want one before the second write, one after it, and the harness's", looks)
	}
	// And where nothing is left to be seen, none is made before a write.
	fail = false
	ok(t, b.put("k3", "z"))
	if b.looks != 3 {
		t.Errorf("%d looks", b.looks)
	}
}

// Where it cannot be seen what came before a write, nothing is put down to it.
func TestEarlierChangesThatCannotBeSeen(t *testing.T) {
	do := then(true, said("ok"))
	b := open(t, writing(func(ctx context.Context, s *server, a map[string]any) tool.Result { return do(ctx, s, a) }))
	ok(t, b.put("k1", "x"))
	b.fails = 1
	do = then(false, failed("no"))
	refused(t, b.put("k2", "y"), tool.ToolFailed, tool.Unknown)
	if got := b.observe(); len(got) != 1 {
		t.Errorf("the harness saw %v", got)
	}

	// A look that has begun may not have seen what ends before it does.
	do = then(true, said("ok"))
	b = open(t, writing(func(ctx context.Context, s *server, a map[string]any) tool.Result { return do(ctx, s, a) }))
	once := true
	b.during = func() {
		if once {
			once = false
			ok(t, b.put("k1", "x"))
		}
	}
	b.get("n") // or there would be nothing to look at yet
	b.observe()
	do = then(false, failed("no"))
	refused(t, b.put("k2", "y"), tool.ToolFailed, tool.NotApplied)
}

// together makes two writes at once: the first answers when the second has, which
// changes the note or undoes the change.
func together(t *testing.T, first, second work, check func(t *testing.T, b *bench, results [2]tool.Result)) {
	synctest.Test(t, func(t *testing.T) {
		var results [2]tool.Result
		over := make(chan struct{})
		b := open(t, writing(func(ctx context.Context, s *server, a map[string]any) tool.Result {
			if a["text"] == "2" {
				defer close(over)
				return second(ctx, s, a)
			}
			result := first(ctx, s, a)
			s.mu.Unlock()
			<-over
			s.mu.Lock()
			return result
		}))
		var group sync.WaitGroup
		group.Go(func() { results[0] = b.put("k1", "1") })
		synctest.Wait()
		group.Go(func() { results[1] = b.put("k2", "2") })
		group.Wait()
		check(t, b, results)
	})
}

func TestWritesThatOverlapAreNotToldApart(t *testing.T) {
	undo := func(_ context.Context, s *server, _ map[string]any) tool.Result {
		delete(s.notes, "n")
		return said("ok")
	}
	for name, test := range map[string]struct{ first, second work }{
		"the other one changed something": {then(false, failed("no")), then(true, said("ok"))},
		"the other one undid it":          {then(true, failed("no")), undo},
		"both failed":                     {then(false, failed("no")), then(false, failed("no"))},
	} {
		t.Run(name, func(t *testing.T) {
			together(t, test.first, test.second, func(t *testing.T, b *bench, results [2]tool.Result) {
				refused(t, results[0], tool.ToolFailed, tool.Unknown)
				if name == "both failed" {
					refused(t, results[1], tool.ToolFailed, tool.Unknown)
				} else {
					ok(t, results[1])
				}
				// And they never are.
				refused(t, b.put("k1", "1"), tool.OutcomeUnknown, tool.Unknown)
				if got := len(b.made()); got != 2 {
					t.Errorf("the server was asked %d times", got)
				}
			})
		})
	}
}

// A write without an answer may still be at work: nothing that comes after it is
// told from it.
func TestAfterAWriteWithoutAnAnswer(t *testing.T) {
	do := then(false, unanswered(tool.ToolTimeout))
	b := open(t, writing(func(ctx context.Context, s *server, a map[string]any) tool.Result { return do(ctx, s, a) }))
	refused(t, b.put("k1", "x"), tool.OutcomeUnknown, tool.Unknown)
	do = then(true, failed("no"))
	refused(t, b.put("k2", "y"), tool.ToolFailed, tool.Unknown)
	// Nor is the change put down to the first.
	refused(t, b.put("k1", "x"), tool.OutcomeUnknown, tool.Unknown)

	// What was seen before another began is the first one's.
	do = then(true, unanswered(tool.ToolTimeout))
	b = open(t, writing(func(ctx context.Context, s *server, a map[string]any) tool.Result { return do(ctx, s, a) }))
	refused(t, b.put("k1", "x"), tool.OutcomeUnknown, tool.Unknown)
	b.observe()
	do = then(true, said("ok"))
	ok(t, b.put("k2", "y"))
	refused(t, b.put("k1", "x"), tool.AnswerLost, tool.Applied)
}

func TestALookThatFails(t *testing.T) {
	b := open(t, writing(then(true, failed("no"))))
	b.unseen = errors.New("nobody can look")
	refused(t, b.put("k", "x"), tool.ToolFailed, tool.Unknown)
	if diff := cmp.Diff([]string{"put: what a write changed could not be looked at: nobody can look"}, b.told()); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	refused(t, b.put("k", "x"), tool.OutcomeUnknown, tool.Unknown)
	if _, err := b.session.(tool.Observed).Observe(t.Context()); err == nil {
		t.Error("the harness was not told")
	}
	b.unseen = nil
	refused(t, b.put("k", "x"), tool.AnswerLost, tool.Applied)
	if got := b.observe(); len(got) != 1 || len(b.made()) != 1 {
		t.Errorf("the harness saw %v", got)
	}
	// Where it can be seen later that nothing was changed, the key is free again.
	b = open(t, writing(then(false, failed("no"))))
	b.unseen = errors.New("nobody can look")
	refused(t, b.put("k", "x"), tool.ToolFailed, tool.Unknown)
	b.unseen = nil
	refused(t, b.put("k", "x"), tool.ToolFailed, tool.NotApplied)
	if got := len(b.made()); got != 2 {
		t.Errorf("the server was asked %d times, want 2", got)
	}
}

// What could not be seen before a write began may be all that is seen after it.
func TestAWriteAfterALookThatFailed(t *testing.T) {
	do := then(true, said("ok"))
	b := open(t, writing(func(ctx context.Context, s *server, a map[string]any) tool.Result { return do(ctx, s, a) }))
	ok(t, b.put("k1", "x"))
	b.unseen = errors.New("nobody can look")
	do = func(ctx context.Context, s *server, a map[string]any) tool.Result {
		s.unseen = nil
		return then(true, failed("no"))(ctx, s, a)
	}
	refused(t, b.put("k2", "y"), tool.ToolFailed, tool.Unknown)
}

// Two looks tell what one would have told.
func TestLooksAreCountedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		steps [2]func(s *server)
		want  []tool.Effect
	}{
		"added, then changed":   {[2]func(*server){func(s *server) { s.put("x", "1") }, func(s *server) { s.put("x", "22") }}, []tool.Effect{{Resource: "x", Change: tool.Added, After: 2}}},
		"changed twice":         {[2]func(*server){func(s *server) { s.put("old", "2") }, func(s *server) { s.put("old", "333") }}, []tool.Effect{{Resource: "old", Change: tool.Changed, Before: 1, After: 3}}},
		"changed, then removed": {[2]func(*server){func(s *server) { s.put("old", "22") }, func(s *server) { delete(s.notes, "old") }}, []tool.Effect{{Resource: "old", Change: tool.Removed, Before: 1}}},
		"removed, then added":   {[2]func(*server){func(s *server) { delete(s.notes, "old") }, func(s *server) { s.put("old", "22") }}, []tool.Effect{{Resource: "old", Change: tool.Changed, Before: 1, After: 2}}},
		"added, then removed": {[2]func(*server){func(s *server) { s.put("x", "1") }, func(s *server) { delete(s.notes, "x") }}, []tool.Effect{
			{Resource: "x", Change: tool.Added, After: 1}, {Resource: "x", Change: tool.Removed, Before: 1}}},
		"two things": {[2]func(*server){func(s *server) { s.put("y", "1") }, func(s *server) { s.put("x", "1") }}, []tool.Effect{
			{Resource: "x", Change: tool.Added, After: 1}, {Resource: "y", Change: tool.Added, After: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			step := 0
			b := open(t, func(s *server, _, _ *overlay.Tool) {
				s.notes["old"], s.seen["old"] = "1", "1"
				s.tools["put"] = func(_ context.Context, s *server, _ map[string]any) tool.Result {
					test.steps[step](s)
					step++
					return failed("no")
				}
			})
			for _, key := range []string{"k1", "k2"} {
				refused(t, b.put(key, "x"), tool.ToolFailed, tool.Applied)
			}
			if got := b.session.Effects(); got != len(test.want) {
				t.Errorf("%d effects, want %d", got, len(test.want))
			}
			if diff := cmp.Diff(test.want, b.observe()); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
}
