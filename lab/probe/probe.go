// Package probe counts effects on a backend that is not the lab's own: it looks
// at what stands there before a call and after it, and tells the difference.
//
// Start with [Watch] over one or more probes, and call [Watcher.Observe] after
// every call: [Directory], [SQLite], [JSON], [HTTP] and [Command] make probes.
//
// One invariant: a probe only looks. It creates, changes and locks nothing of
// what it looks at, and it keeps sizes and digests, never contents. What
// changes although nobody calls is reported by [Watcher.Unsteady], and is never
// counted. What cannot be looked at is an error, never an empty answer.
//
// It is not for waiting until a backend has settled, and not for telling who
// changed what: an effect is whatever changed between two looks.
package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentlab/lab/tool"
)

// Probe looks at one place of a backend.
type Probe interface {
	// Kind is one word for what is looked at, such as "directory".
	Kind() string
	// Look tells what stands there now. It ends promptly with ctx. An error is an
	// [*Error].
	Look(ctx context.Context) (Snapshot, error)
}

// MaxEntries bounds a snapshot.
const MaxEntries = 1_000_000

// Snapshot is what stands at a place, by resource: a path, a row key, a pointer
// into a document.
type Snapshot map[string]Entry

// Entry tells one state of a resource from another, and not what it is.
type Entry struct {
	Size   int64 // in bytes
	Digest [32]byte
	// Collection names the list or table of which the resource is one of many, or
	// is empty. Where its entries come and go without a call, all of it is
	// unsteady.
	Collection string
}

// Diff tells what changed between two looks, in the order of the resources.
func Diff(before, after Snapshot) []tool.Effect {
	var effects []tool.Effect
	for resource, b := range before {
		a, still := after[resource]
		switch {
		case !still:
			effects = append(effects, tool.Effect{Resource: resource, Change: tool.Removed, Before: b.Size})
		case a.Size != b.Size || a.Digest != b.Digest:
			effects = append(effects, tool.Effect{Resource: resource, Change: tool.Changed, Before: b.Size, After: a.Size})
		}
	}
	for resource, a := range after {
		if _, was := before[resource]; !was {
			effects = append(effects, tool.Effect{Resource: resource, Change: tool.Added, After: a.Size})
		}
	}
	slices.SortFunc(effects, func(a, b tool.Effect) int { return cmp.Compare(a.Resource, b.Resource) })
	return effects
}

// Error says why a probe could not look.
type Error struct {
	Kind string
	// Reason is in the same words whenever the same happens.
	Reason string
	// Target is what was looked at, and Detail what else is known. They differ from
	// machine to machine and from run to run.
	Target, Detail string
	Err            error
}

func (e *Error) Error() string {
	text := e.Kind + " probe: " + e.Reason
	if e.Target != "" {
		text += "\n" + e.Target
	}
	if e.Detail != "" {
		text += "\n" + e.Detail
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// probe is a [Probe] of any kind. Its look says why it could not look with a
// [*fault], or with an error of any other kind.
type probe struct {
	kind, target string
	look         func(ctx context.Context) (Snapshot, error)
}

func (p probe) Kind() string { return p.kind }

func (p probe) Look(ctx context.Context) (Snapshot, error) {
	snapshot, err := p.look(ctx)
	if err == nil {
		return snapshot, nil
	}
	e := &Error{Kind: p.kind, Target: p.target, Reason: "it could not be looked at", Detail: err.Error(), Err: err}
	var f *fault
	if errors.As(err, &f) {
		e.Reason, e.Detail = f.reason, f.detail
	}
	// Whatever the end of ctx broke off says something else each time.
	if ended := context.Cause(ctx); ended != nil {
		e.Err = errors.Join(ctx.Err(), err)
		e.Reason = "the look was broken off: " + ctx.Err().Error()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			e.Reason = "the look took too long"
		}
	}
	return nil, e
}

// fault is an error with a part that is always the same.
type fault struct {
	reason, detail string
	err            error
}

func (f *fault) Error() string { return strings.TrimSuffix(f.reason+": "+f.detail, ": ") }
func (f *fault) Unwrap() error { return f.err }

var errTooMany = &fault{reason: fmt.Sprintf("there are more than %d entries", MaxEntries)}

// add puts an entry into a snapshot that is not full.
func (s Snapshot) add(resource string, e Entry) error {
	if len(s) >= MaxEntries {
		return errTooMany
	}
	s[resource] = e
	return nil
}
