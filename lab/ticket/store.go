// Package ticket is the demo backend, a support-ticket store, and the three
// surfaces over it: [Wide], one tool without controls, [Typed], five tools
// behind the registry, and [Production], the same five with every control.
//
// Start with [Surfaces]. The faults of the wide tool are the experiment: they
// are what the typed surface is compared with.
//
// One invariant: what the store hands out never aliases what it holds.
//
// Nothing here sleeps or dials out, and only [OnSQLite] touches a file.
package ticket

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"agentlab/lab/tool"
)

// Size is the number of tickets in a fresh store.
const Size = 25

const firstNumber = 101

// Ticket is one support ticket.
type Ticket struct {
	ID        string   `json:"id"`
	Status    string   `json:"status"` // open or waiting
	Subject   string   `json:"subject"`
	Followups []string `json:"followups"`
}

// seed is the state of every fresh store, and never changes.
var seed = func() (tickets [Size]Ticket) {
	for i := range tickets {
		status := "open"
		if i%3 == 2 {
			status = "waiting"
		}
		tickets[i] = Ticket{
			ID:        "T-" + strconv.Itoa(firstNumber+i),
			Status:    status,
			Subject:   "Support request " + strconv.Itoa(i+1),
			Followups: []string{},
		}
	}
	return tickets
}()

// Store is a support-ticket store in memory with a ledger of its effects. It
// is safe for concurrent use.
type Store struct {
	mu        sync.Mutex
	followups map[string][]string // by ticket id; all else is as the seed has it
	actions   map[int]followup    // named writes, by their effect
	ledger    []tool.Effect
}

// NewStore returns a store of the tickets T-101 to T-125: every third one,
// from T-103 on, is waiting, the others are open.
func NewStore() *Store { return new(Store) }

// Reset brings the store back to the state of a fresh one.
func (s *Store) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.followups)
	clear(s.actions)
	s.ledger = s.ledger[:0]
}

// Get returns a ticket, and whether there is one of exactly this id.
func (s *Store) Get(id string) (Ticket, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := find(id); i >= 0 {
		return s.ticket(i), true
	}
	return Ticket{}, false
}

// List returns all tickets in the order of their ids.
func (s *Store) List() []Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	tickets := make([]Ticket, 0, Size)
	for i := range seed {
		tickets = append(tickets, s.ticket(i))
	}
	return tickets
}

// Append adds a follow-up to a ticket and returns the number of the effect,
// counted from 1. Where there is no such ticket it changes nothing and
// returns 0.
func (s *Store) Append(id, note string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if find(id) < 0 {
		return 0
	}
	return s.append(id, note)
}

func (s *Store) append(id, note string) int {
	if s.followups == nil {
		s.followups = make(map[string][]string)
	}
	s.followups[id] = append(s.followups[id], note)
	return s.book(id)
}

// Action names a write, so that it can be found again.
type Action struct {
	Caller string `json:"caller"`
	ID     string `json:"id"`
}

// followup is a named write, and when it was made.
type followup struct {
	Ticket string    `json:"ticket"`
	Note   string    `json:"note"`
	Action Action    `json:"action"`
	At     time.Time `json:"at"`
}

// is reports whether f is the write that is looked for: the same action with
// the same words, and not one from before.
func (f followup) is(wanted followup) bool {
	return f.Ticket == wanted.Ticket && f.Note == wanted.Note && f.Action == wanted.Action && !f.At.Before(wanted.At)
}

// ErrChanged is the error of a write to a ticket that is no longer as its
// caller has seen it.
var ErrChanged = errors.New("the ticket has changed")

// record is Append for a named action. Where version is not empty, the ticket
// must still have it; the two are one critical section.
func (s *Store) record(f followup, version string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if find(f.Ticket) < 0 {
		return 0, nil
	}
	if version != "" && version != s.version(f.Ticket) {
		return 0, ErrChanged
	}
	if s.actions == nil {
		s.actions = make(map[int]followup)
	}
	effect := s.append(f.Ticket, f.Note)
	s.actions[effect] = f
	return effect, nil
}

// recorded returns the last effect that is such a write, or 0.
func (s *Store) recorded(wanted followup) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for effect := len(s.ledger); effect > 0; effect-- {
		if f, named := s.actions[effect]; named && f.is(wanted) {
			return effect
		}
	}
	return 0
}

// Version returns the version of a ticket: it is another after every change.
func (s *Store) Version(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version(id)
}

func (s *Store) version(id string) string { return versionOf(len(s.followups[id])) }

// State is what of the store differs from a fresh one.
type State struct {
	Followups map[string][]string `json:"followups"` // by ticket id
	Effects   int                 `json:"effects"`
}

// State returns a copy of it.
func (s *Store) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := State{make(map[string][]string), len(s.ledger)}
	for id, notes := range s.followups {
		state.Followups[id] = slices.Clone(notes)
	}
	return state
}

// Book adds an effect to the ledger without looking for a ticket: a system
// that wrote somewhere it should not have.
func (s *Store) Book(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book(resource)
}

func (s *Store) book(resource string) int {
	s.ledger = append(s.ledger, tool.Effect{Resource: resource, Change: "followup_appended"})
	return len(s.ledger)
}

// Effects returns the ledger, oldest first.
func (s *Store) Effects() []tool.Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ledger)
}

// EffectCount returns the length of the ledger.
func (s *Store) EffectCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ledger)
}

// ticket returns a copy of the ticket at an index of the seed.
func (s *Store) ticket(i int) Ticket {
	t := seed[i]
	held := s.followups[t.ID]
	t.Followups = append(make([]string, 0, len(held)), held...)
	return t
}

// find returns the index of a ticket in the seed, or -1.
func find(id string) int {
	return slices.IndexFunc(seed[:], func(t Ticket) bool { return t.ID == id })
}
