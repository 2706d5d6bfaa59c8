package dataset

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// MaxFaults is how many faults are told one by one.
const MaxFaults = 50

// Fault is one thing that is wrong with a dataset.
type Fault struct {
	source int
	File   string
	Line   int    // counted from 1
	Field  string // such as expected.output_keys[1]; empty for the whole line
	Reason string
}

func (f Fault) String() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.what()) }

// what is the fault without its line.
func (f Fault) what() string {
	field := f.Field
	if field == "" {
		field = "line"
	}
	return field + ": " + f.Reason
}

// Invalid is the error of a dataset with faults: the first MaxFaults of them,
// in the order of their lines, and how many there are.
type Invalid struct {
	Faults []Fault
	Total  int
}

// maxAlike is how many faults of one kind are told with their lines.
const maxAlike = 3

// Error tells the faults a line each. Of those that are alike in one file, as where
// a surface has another name, it tells the first and counts the rest.
func (e *Invalid) Error() string {
	type kind struct {
		source        int
		field, reason string
	}
	alike := make(map[kind][]Fault)
	var told []string
	var more []kind // of which some are only counted
	for _, f := range e.Faults {
		k := kind{f.source, f.Field, f.Reason}
		alike[k] = append(alike[k], f)
		switch n := len(alike[k]); {
		case n <= maxAlike:
			told = append(told, f.String())
		case n == maxAlike+1:
			more = append(more, k)
		}
	}
	for _, k := range more {
		rest := alike[k][maxAlike:]
		last := rest[len(rest)-1]
		told = append(told, fmt.Sprintf("%s: and %d more, the last on line %d: %s", last.File, len(rest), last.Line, last.what()))
	}
	if more := e.Total - len(e.Faults); more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(told, "\n")
}

// Ledger takes decoded batches in their order and finds what no single line
// shows: repeated ids and files without a case. Of a case it keeps a hash, in 11
// to 22 bytes.
type Ledger struct {
	sources []Source
	seed    maphash.Seed
	ids     hashSet
	cases   int // of the current source
	faults  []Fault
	total   int
	repeats []Fault // the lines whose id has a hash that was seen before
	again   int     // how many such lines there are
}

// NewLedger returns a ledger for what a reader reads.
func NewLedger(r *Reader) *Ledger {
	return &Ledger{sources: r.sources, seed: maphash.MakeSeed()}
}

// Record takes the next batch. It reports whether every line so far is without
// a fault of its own. Whether ids repeat is for Close to say: until then, all
// that is known of two of them may be that their hashes are equal.
func (l *Ledger) Record(d Decoded) bool {
	l.total += d.Total
	for _, f := range d.Faults {
		l.fault(f)
	}
	for _, id := range d.IDs {
		if l.ids.add(maphash.String(l.seed, id.Text)) {
			continue
		}
		l.again++
		if len(l.repeats) < MaxFaults {
			l.repeats = append(l.repeats, Fault{d.Batch.source, d.Batch.path, id.Number, "case_id", id.Text})
		}
	}
	l.cases += len(d.Lines) + d.Total
	if d.Batch.last {
		if l.cases == 0 {
			l.total++
			l.fault(Fault{d.Batch.source, d.Batch.path, 1, "", "the file holds no case"})
		}
		l.cases = 0
	}
	return l.total == 0
}

func (l *Ledger) fault(f Fault) {
	if len(l.faults) < MaxFaults {
		l.faults = append(l.faults, f)
	}
}

// Close returns nil, or an *[Invalid] with the faults of the batches. Where
// ids seem to repeat it reads the sources once more to say which.
func (l *Ledger) Close() error {
	if l.again > 0 {
		confirmed := l.confirm()
		l.total += l.again - (len(l.repeats) - len(confirmed))
		l.faults = append(l.faults, confirmed...)
	}
	if l.total == 0 {
		return nil
	}
	slices.SortStableFunc(l.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.Line, b.Line))
	})
	return &Invalid{l.faults[:min(len(l.faults), MaxFaults)], l.total}
}

// confirm finds for each line whose hash was seen before the line that has the
// same id. A hash that two ids share leads to no fault. Where a source does not
// give its lines a second time, as a pipe does not, the hash is believed.
func (l *Ledger) confirm() []Fault {
	first := make(map[string]*Fault) // by id
	for _, f := range l.repeats {
		first[f.Reason] = nil
	}
	r := Open(l.sources...)
	defer r.Close()
	for batch, err := r.Next(); err == nil; batch, err = r.Next() {
		for _, id := range batch.Decode().IDs {
			if known, wanted := first[id.Text]; wanted && known == nil {
				first[id.Text] = &Fault{source: batch.source, File: batch.path, Line: id.Number}
			}
		}
	}
	var confirmed []Fault
	for _, f := range l.repeats {
		switch earlier := first[f.Reason]; {
		case earlier == nil:
			f.Reason = fmt.Sprintf("%q is already the case of an earlier line", f.Reason)
		case earlier.source == f.source && earlier.Line == f.Line:
			continue
		default:
			f.Reason = fmt.Sprintf("%q is already the case of %s:%d", f.Reason, earlier.File, earlier.Line)
		}
		confirmed = append(confirmed, f)
	}
	return confirmed
}

// hashSet is an open-addressed set of hashes: eight bytes a slot, at most
// three quarters of them taken. A Go map would take three times as much.
type hashSet struct {
	slots []uint64 // 0 is empty
	count int
}

// add reports whether the hash is new.
func (s *hashSet) add(h uint64) bool {
	if h == 0 {
		h = 1
	}
	if 4*(s.count+1) > 3*len(s.slots) {
		old := s.slots
		s.slots = make([]uint64, max(1024, 2*len(old)))
		for _, kept := range old {
			if kept != 0 {
				*s.slot(kept) = kept
			}
		}
	}
	slot := s.slot(h)
	if *slot == h {
		return false
	}
	*slot = h
	s.count++
	return true
}

// slot finds the slot that holds h or would.
func (s *hashSet) slot(h uint64) *uint64 {
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		if s.slots[i] == 0 || s.slots[i] == h {
			return &s.slots[i]
		}
	}
}
