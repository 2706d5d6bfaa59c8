package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"agentlab/lab/contract"
)

// Options say how far a search goes.
type Options struct {
	Calls     []int  // how many calls are made together; empty: 2
	Schedules int    // at the most, of each variation; 0: [DefaultSchedules]
	Seed      uint64 // of the schedules that are drawn at random
	// Durable says that what a session works on outlives its process, so that a
	// crash can be tried.
	Durable bool
	Workers int // variations at once; below 2: one after the other
	// Only, where set, says which variations are tried.
	Only     func(pattern, hazard string) bool
	Progress func(done, of int) // variations; not called by two at once
}

const (
	// DefaultSchedules is how many schedules of a variation are played at the most.
	DefaultSchedules = 1000
	// MostCalls is how many calls can be made together.
	MostCalls = 9
	// exhaustive is the largest number of calls whose orders are all tried.
	exhaustive = 3
)

// Report is what came of a search.
type Report struct {
	Surface    string      `json:"surface"`
	Variations []Variation `json:"variations"` // in a fixed order
	LeftOut    []LeftOut   `json:"left_out"`
}

// LeftOut is a tool that changes something and was not tried.
type LeftOut struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

// Variation is what came of one pattern of calls with one hazard.
type Variation struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
	Hazard  string `json:"hazard"`
	Calls   int    `json:"calls"`
	// Schedules were played: every one that there is where Complete, else the first
	// in order and some that were drawn at random.
	Schedules int  `json:"schedules"`
	Random    int  `json:"drawn_at_random"`
	Complete  bool `json:"complete"`
	// Expired counts the effects that came after the receipt of an earlier one had
	// expired, which is no violation.
	Expired    int         `json:"effects_after_expiry"`
	Violations []Violation `json:"violations"`
}

// Violation is an invariant that did not hold.
type Violation struct {
	Invariant string `json:"invariant"`
	Says      string `json:"says"`
	Schedule  string `json:"schedule"`  // the first on which it did not hold, for [Replay]
	Schedules int    `json:"schedules"` // on how many of the variation
	// Case is a line of a dataset that replays the schedule as nearly as proposals in
	// a fixed order can.
	Case json.RawMessage `json:"case"`
}

// Violations counts the schedules' violations of all variations.
func (r *Report) Violations() (n int) {
	for _, v := range r.Variations {
		n += len(v.Violations)
	}
	return n
}

// Schedules counts those that were played.
func (r *Report) Schedules() (n int) {
	for _, v := range r.Variations {
		n += v.Schedules
	}
	return n
}

// Run tries every variation of every tool that changes something and has a key.
// The actions are one for each such tool that is to be tried; of several of one
// tool the first counts. An error means that it could not be tried.
func Run(ctx context.Context, subject Subject, actions []Action, o Options) (*Report, error) {
	variations, left, err := plan(ctx, subject, actions, &o)
	if err != nil {
		return nil, err
	}
	report := &Report{Surface: subject.Name(), Variations: make([]Variation, len(variations)), LeftOut: left}
	var mu sync.Mutex
	var group sync.WaitGroup
	var faults []error
	next, done := 0, 0
	for range max(o.Workers, 1) {
		group.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= len(variations) || len(faults) > 0
				mu.Unlock()
				if stop {
					return
				}
				found, err := explore(ctx, subject, variations[i], &o)
				mu.Lock()
				report.Variations[i] = found
				done++
				if err != nil {
					faults = append(faults, err)
				} else if o.Progress != nil {
					o.Progress(done, len(variations))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return report, nil
}

// ErrNothing is the error of a surface of which nothing can be tried.
var ErrNothing = errors.New("no tool of the surface changes something, names a key and has a call that works")

type prepared struct {
	contract contract.Contract
	variation
}

func plan(ctx context.Context, subject Subject, actions []Action, o *Options) (all []prepared, left []LeftOut, err error) {
	if len(o.Calls) == 0 {
		o.Calls = []int{2}
	}
	for _, n := range o.Calls {
		if n < 2 || n > MostCalls {
			return nil, nil, fmt.Errorf("%d calls are not from 2 to %d", n, MostCalls)
		}
	}
	if o.Schedules <= 0 {
		o.Schedules = DefaultSchedules
	}
	left = []LeftOut{}
	for _, c := range subject.Contracts() {
		c, err := c.Complete()
		if err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(actions, func(a Action) bool { return a.Proposal.Name == c.Name })
		switch {
		case !c.Effect.Changes() || c.Lifecycle != nil && c.Lifecycle.Retired:
			continue
		case c.IdempotencyKey == "":
			left = append(left, LeftOut{c.Name, "the contract names no key: nothing tells a repeat from another action"})
			continue
		case i < 0:
			left = append(left, LeftOut{c.Name, "no call of it is known to work"})
			continue
		}
		action := actions[i]
		if action.Approver.ID == "" {
			action.Approver = approver(&c)
		}
		arguments, err := argumentsOf(ctx, subject, c, action)
		if err != nil {
			return nil, nil, err
		}
		for _, calls := range o.Calls {
			for p := range patterns {
				for h := range hazards {
					pattern, hazard := &patterns[p], &hazards[h]
					if !applies(pattern, hazard, &c, o.Durable) || o.Only != nil && !o.Only(pattern.Name, hazard.Name) ||
						pattern.Name == "other-arguments" && arguments[1] == "" {
						continue
					}
					all = append(all, prepared{c, variation{pattern, hazard, calls, action, arguments}})
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("%s: %w", subject.Name(), ErrNothing)
	}
	return all, left, nil
}

// argumentsOf makes the call by itself, and finds others that work too.
func argumentsOf(ctx context.Context, subject Subject, c contract.Contract, a Action) (both [2]string, err error) {
	s, err := newStage(subject, c)
	if err != nil {
		return both, err
	}
	works := func(arguments string) (string, error) {
		v := &variation{&patterns[0], &hazards[0], 1, a, [2]string{arguments, ""}}
		p, err := playOne(ctx, s, v, first)
		if err != nil {
			return "", err
		}
		if r := p.actors[0].result; !r.OK() {
			return fmt.Sprintf("%s: %s", r.Error.Code, r.Error.Message), nil
		}
		return "", nil
	}
	both[0] = string(a.Proposal.Arguments)
	switch why, err := works(both[0]); {
	case err != nil:
		return both, err
	case why != "":
		return both, fmt.Errorf("the call of %s that is to be tried does not work by itself: %s", c.Name, why)
	}
	for _, other := range others(&c, a.Proposal.Arguments) {
		why, err := works(string(other))
		if err != nil {
			return both, err
		}
		if why == "" {
			both[1] = string(other)
			break
		}
	}
	return both, nil
}

func first([]choice) (int, error) { return 0, nil }

// explore plays the schedules of one variation.
func explore(ctx context.Context, subject Subject, v prepared, o *Options) (Variation, error) {
	found := Variation{Tool: v.contract.Name, Pattern: v.pattern.Name, Hazard: v.hazard.Name, Calls: v.calls, Violations: []Violation{}}
	s, err := newStage(subject, v.contract)
	if err != nil {
		return found, err
	}
	one := func(choose func([]choice) (int, error)) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := playOne(ctx, s, &v.variation, choose)
		if err != nil {
			return err
		}
		found.Schedules++
		found.add(p)
		if p.stuck {
			return errStuck
		}
		return nil
	}
	if v.calls <= exhaustive {
		for w := (&walk{independent: v.independent}); !found.Complete && found.Schedules < o.Schedules; {
			switch err := one(w.choose); {
			case errors.Is(err, errStuck):
				return found, nil
			case err != nil && !errors.Is(err, errAsleep):
				return found, err
			}
			found.Complete = !w.next()
		}
	}
	if found.Complete {
		return found, nil
	}
	h := fnv.New64a()
	h.Write([]byte(v.name()))
	source := rand.New(rand.NewPCG(o.Seed, h.Sum64()))
	for ; found.Random < o.Schedules; found.Random++ {
		switch err := one(func(c []choice) (int, error) { return source.IntN(len(c)), nil }); {
		case errors.Is(err, errStuck):
			return found, nil
		case err != nil:
			return found, err
		}
	}
	return found, nil
}

// errStuck ends a variation at the first call that does not end: each such schedule
// takes long, and one says it all.
var errStuck = errors.New("a call does not end")

// add takes in what a schedule came to.
func (v *Variation) add(p *play) {
	v.Expired += p.expired
	var seen []string
	for _, b := range p.breaches {
		if slices.Contains(seen, b.invariant) {
			continue
		}
		seen = append(seen, b.invariant)
		i := slices.IndexFunc(v.Violations, func(known Violation) bool { return known.Invariant == b.invariant })
		if i < 0 {
			i = len(v.Violations)
			v.Violations = append(v.Violations, Violation{Invariant: b.invariant, Says: b.says, Schedule: p.written(), Case: p.line(b)})
		}
		v.Violations[i].Schedules++
	}
}

func (v *prepared) name() string { return v.variation.name(v.contract.Name) }

// name is how schedules name a variation.
func (v *variation) name(tool string) string {
	return strings.Join([]string{tool, v.pattern.Name, v.hazard.Name, strconv.Itoa(v.calls)}, " ")
}

// written is the schedule as [Replay] reads it.
func (p *play) written() string {
	var steps []string
	for _, c := range p.trail {
		if c.step != stepRepeat {
			steps = append(steps, c.String())
		}
	}
	return p.variation.name(p.contract.Name) + ": " + strings.Join(steps, ", ")
}

// Replay plays one schedule again, as a violation writes it, and returns what did
// not hold. Where the schedule ends early, the first call that can go on does. An
// error names the first step that is not possible.
func Replay(ctx context.Context, subject Subject, actions []Action, o Options, schedule string) (*Report, error) {
	name, rest, ok := strings.Cut(schedule, ":")
	words := strings.Fields(name)
	if !ok || len(words) != 4 {
		return nil, &ScheduleError{"a schedule is written TOOL PATTERN HAZARD CALLS: STEP, STEP, …"}
	}
	calls, err := strconv.Atoi(words[3])
	if err != nil || calls < 2 || calls > MostCalls {
		return nil, &ScheduleError{fmt.Sprintf("%q is no number of calls", words[3])}
	}
	o.Calls = []int{calls}
	o.Only = func(pattern, hazard string) bool { return pattern == words[1] && hazard == words[2] }
	variations, left, err := plan(ctx, subject, actions, &o)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(variations, func(v prepared) bool { return v.contract.Name == words[0] })
	if i < 0 {
		return nil, &ScheduleError{fmt.Sprintf("%s has no tool %q that is tried", subject.Name(), words[0])}
	}
	v := variations[i]
	s, err := newStage(subject, v.contract)
	if err != nil {
		return nil, err
	}
	var wanted []string
	for word := range strings.SplitSeq(rest, ",") {
		if word = strings.Join(strings.Fields(word), " "); word != "" {
			wanted = append(wanted, word)
		}
	}
	at := 0
	p, err := playOne(ctx, s, &v.variation, func(choices []choice) (int, error) {
		if at == len(wanted) {
			return 0, nil
		}
		i := slices.IndexFunc(choices, func(c choice) bool { return c.String() == wanted[at] })
		if i < 0 {
			return 0, notPossible(at+1, wanted[at], choices)
		}
		at++
		return i, nil
	})
	if err != nil {
		return nil, err
	}
	found := Variation{Tool: words[0], Pattern: words[1], Hazard: words[2], Calls: calls, Schedules: 1, Violations: []Violation{}}
	found.add(p)
	return &Report{Surface: subject.Name(), Variations: []Variation{found}, LeftOut: left}, nil
}

// ScheduleError says why a schedule that was written down cannot be played.
type ScheduleError struct{ reason string }

func (e *ScheduleError) Error() string { return e.reason }

func notPossible(place int, step string, instead []choice) error {
	var all []string
	for _, c := range instead {
		all = append(all, c.String())
	}
	return &ScheduleError{fmt.Sprintf("step %d of the schedule, %q, is not possible there; what is: %s", place, step, strings.Join(all, ", "))}
}
