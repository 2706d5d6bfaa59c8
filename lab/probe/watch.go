package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"agentlab/lab/tool"
)

// Watcher tells what changes at several places. It is for one goroutine.
type Watcher struct {
	places []place
}

type place struct {
	probe  Probe
	prefix string // of its resources
	last   Snapshot
	// What changed although nobody called: resources, and whole collections.
	resources, collections map[string]bool
}

// Watch looks twice at every place, and calls unsteady what differs. See
// [WatchFor] for what changes slowly.
func Watch(ctx context.Context, probes ...Probe) (*Watcher, error) {
	return WatchFor(ctx, 0, 1, probes...)
}

// WatchFor is [Watch] with a pause between the first look and the last, and as many
// looks after the first as are wanted, spread over it. A clock that tells seconds is
// found for certain only with a pause of more than one of them; a file that is
// emptied and written anew all the time may be met empty by two looks alone.
//
// An entry that differs is unsteady alone; where an entry of a collection (an
// item of a JSON array, a row of a table) comes or goes, all of the collection
// is, since the next one will have another name.
func WatchFor(ctx context.Context, pause time.Duration, looks int, probes ...Probe) (*Watcher, error) {
	w := &Watcher{places: make([]place, 0, len(probes))}
	count := make(map[string]int)
	for _, p := range probes {
		at := place{probe: p, resources: make(map[string]bool), collections: make(map[string]bool)}
		if count[p.Kind()]++; len(probes) > 1 {
			at.prefix = p.Kind() + ":"
			if n := count[p.Kind()]; n > 1 {
				at.prefix = fmt.Sprintf("%s#%d:", p.Kind(), n)
			}
		}
		var err error
		if at.last, err = p.Look(ctx); err != nil {
			return nil, err
		}
		w.places = append(w.places, at)
	}
	for range looks {
		if pause > 0 {
			timer := time.NewTimer(pause / time.Duration(looks))
			select {
			case <-ctx.Done():
				timer.Stop()
				return nil, ctx.Err()
			case <-timer.C:
			}
		}
		if err := w.lookAgain(ctx); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// lookAgain takes for unsteady what differs, as nobody has called meanwhile.
func (w *Watcher) lookAgain(ctx context.Context) error {
	for i := range w.places {
		at := &w.places[i]
		again, err := at.probe.Look(ctx)
		if err != nil {
			return err
		}
		for _, effect := range Diff(at.last, again) {
			entry, still := again[effect.Resource]
			if !still {
				entry = at.last[effect.Resource]
			}
			if effect.Change != tool.Changed && entry.Collection != "" {
				at.collections[entry.Collection] = true
			} else {
				at.resources[effect.Resource] = true
			}
		}
		at.last = again
	}
	return nil
}

// Unsteady names what changed although nobody called, sorted. A collection is
// named by its name and "*".
func (w *Watcher) Unsteady() []string {
	var names []string
	for _, at := range w.places {
		for resource := range at.resources {
			names = append(names, at.prefix+resource)
		}
		for collection := range at.collections {
			names = append(names, at.prefix+collection+"*")
		}
	}
	slices.Sort(names)
	return names
}

// Remember takes over what an earlier watcher of like places found unsteady.
func (w *Watcher) Remember(earlier *Watcher) {
	for i := range min(len(w.places), len(earlier.places)) {
		maps.Copy(w.places[i].resources, earlier.places[i].resources)
		maps.Copy(w.places[i].collections, earlier.places[i].collections)
	}
}

// Observe tells what changed since the last time, or since the start, sorted
// within each place. Where one place cannot be looked at nothing is taken for
// seen, and the next time tells all of it.
//
// With several places, their resources begin with the kind of the probe and a
// colon; the second of a kind is "kind#2:".
func (w *Watcher) Observe(ctx context.Context) ([]tool.Effect, error) {
	seen := make([]Snapshot, len(w.places))
	for i, at := range w.places {
		var err error
		if seen[i], err = at.probe.Look(ctx); err != nil {
			return nil, err
		}
	}
	var effects []tool.Effect
	for i := range w.places {
		at := &w.places[i]
		for _, effect := range Diff(at.last, seen[i]) {
			if at.unsteady(effect.Resource, seen[i]) {
				continue
			}
			effect.Resource = at.prefix + effect.Resource
			effects = append(effects, effect)
		}
		at.last = seen[i]
	}
	return effects, nil
}

func (at *place) unsteady(resource string, now Snapshot) bool {
	return at.resources[resource] ||
		at.collections[at.last[resource].Collection] || at.collections[now[resource].Collection]
}
