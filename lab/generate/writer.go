package generate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
)

// Options say which cases are written.
type Options struct {
	Seed     uint64
	Max      int      // of all; 0: any number
	PerTool  int      // of one tool; 0: any number
	Tools    []string // only of these; nil: of all
	Pairwise bool     // combine the optional properties pair by pair
	Schema   bool     // those of the input schemas
	Runtime  bool     // those of the rest of the contracts
}

// Case is one case of a set.
type Case struct {
	ID, Tool, Clause string
	Line             json.RawMessage // without an end of line
}

// LeftOut is what no case was written about, and why.
type LeftOut struct{ Tool, What, Why string }

// Covered is a keyword of an input schema, and how many cases are on each side of it;
// one can be so of several.
type Covered struct {
	Tool, Pointer, Keyword string
	Property               string // of a keyword that lists properties
	Inside, On, Outside    int
}

// Set is what was generated: by tool, in the order in which a call meets the
// controls.
type Set struct {
	Cases    []Case
	Coverage []Covered
	Left     []LeftOut
}

// WriteTo writes the cases as a dataset. It implements [io.WriterTo].
func (s *Set) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for i := range s.Cases {
		n, err := w.Write(append(slices.Clip(s.Cases[i].Line), '\n'))
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// writer writes the cases of a source.
type writer struct {
	src   *Source
	o     Options
	trial *trial
	names []string // of all tools, retired ones too
	ids   map[string]bool
	left  []LeftOut
	// buffer and encoder are used for one line at a time.
	buffer  bytes.Buffer
	encoder *json.Encoder
	failed  error // the first of a line that could not be written
}

// Cases generates cases. The same source and options give the same bytes. An error
// is that of ctx, of a trial that could not run, or names a tool that is not there.
func Cases(ctx context.Context, src Source, o Options) (*Set, error) {
	w := &writer{src: &src, o: o, trial: newTrial(src.Trial), ids: make(map[string]bool)}
	w.encoder = json.NewEncoder(&w.buffer)
	w.encoder.SetEscapeHTML(false)
	contracts := slices.Clone(src.Contracts)
	slices.SortStableFunc(contracts, func(a, b contract.Contract) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), bytes.Compare(a.InputSchema, b.InputSchema))
	})
	for _, c := range contracts {
		w.names = append(w.names, c.Name)
	}
	for _, name := range o.Tools {
		if !slices.Contains(w.names, name) {
			return nil, fmt.Errorf("there is no tool %q; there are %s", name, strings.Join(w.names, ", "))
		}
	}
	var all []*subject
	for _, c := range contracts {
		s, err := w.newSubject(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	subjects := slices.Clone(all)
	subjects = slices.DeleteFunc(subjects, func(s *subject) bool { return o.Tools != nil && !slices.Contains(o.Tools, s.Name) })
	for _, s := range subjects {
		if err := s.runtime(ctx, all); err != nil {
			return nil, err
		}
	}
	if err := w.shared(ctx, subjects); err != nil {
		return nil, err
	}
	set := &Set{Left: w.left}
	for _, s := range subjects {
		set.Cases = append(append(set.Cases, s.chosen...), s.probed...)
		set.Coverage = append(set.Coverage, s.coverage...)
	}
	return set, w.failed
}

// unlimited is the limit of what has none.
const unlimited = math.MaxInt

// limit is how many cases an option allows, of which 0 stands for any number.
func limit(option int) int {
	if option <= 0 {
		return unlimited
	}
	return option
}

// shared writes the cases of all tools, which have even shares of the maximum; what
// some do not need the others have.
func (w *writer) shared(ctx context.Context, subjects []*subject) error {
	each := limit(w.o.PerTool)
	if w.o.Max <= 0 {
		for _, s := range subjects {
			if err := s.take(ctx, each); err != nil {
				return err
			}
		}
		return nil
	}
	left, wanting := w.o.Max, subjects
	for left > 0 && len(wanting) > 0 {
		var still []*subject
		for i, s := range wanting {
			share := left / (len(wanting) - i)
			had := len(s.chosen) + len(s.probed)
			most := min(each, had+share)
			if err := s.take(ctx, most); err != nil {
				return err
			}
			has := len(s.chosen) + len(s.probed)
			left -= has - had
			if has == most && most < each && has > had {
				still = append(still, s)
			}
		}
		if len(still) == len(wanting) {
			return nil
		}
		wanting = still
	}
	return nil
}

// take takes at most so many cases of a tool: each side, that of the input schema and
// that of the rest, may have at least one half.
func (s *subject) take(ctx context.Context, most int) error {
	for _, c := range s.probed {
		delete(s.ids, c.ID)
	}
	s.probed, s.coverage = nil, nil
	if s.o.Schema && s.input != nil && !s.retired() {
		of := most
		if most < unlimited {
			of = most - min(len(s.cases), most/2)
		}
		if err := s.schema(of); err != nil {
			return err
		}
	}
	s.chosen = spread(s.cases, most-len(s.probed), s.o.Seed)
	return ctx.Err()
}

// spread keeps so many of a list, evenly.
func spread[T any](list []T, most int, seed uint64) []T {
	if most <= 0 {
		return nil
	}
	if len(list) <= most {
		return list
	}
	kept := make([]T, most)
	for i := range kept {
		// Within each of as many parts of equal length, which one the seed says.
		from, to := i*len(list)/most, (i+1)*len(list)/most
		kept[i] = list[from+int(seed%uint64(to-from))]
	}
	return kept
}

// leaveOut says what no case was written about.
func (s *subject) leaveOut(what, why string) {
	if out := (LeftOut{s.Name, what, why}); !slices.Contains(s.left, out) {
		s.left = append(s.left, out)
	}
}

// clause is what a case tests.
type clause struct{ control, place, side string }

const (
	inside  = "inside"
	on      = "on"
	outside = "outside"
)

// add writes a case. Its name says which of the cases of a clause it is; an empty one
// stands for the place and the side.
func (s *subject) add(at clause, name, intent string, l line) {
	s.cases = s.write(s.cases, at, name, intent, l)
}

func (s *subject) write(cases []Case, at clause, name, intent string, l line) []Case {
	if name == "" {
		name = at.place + "-" + at.side
	}
	l.ID = s.id(at.control, name)
	l.Intent = sentence(intent)
	s.placed(&l)
	l.Clause = clip(visible(s.Name)+" "+at.control+" "+at.place+" "+at.side, maxClause)
	l.Tags = []string{"generated", clip(visible(s.Name), maxName), at.control}
	if s.src.Reach == Bare {
		l.Caller, l.Approved = nil, false
	}
	if l.Tags[1] == "" || l.Tags[1] == l.Tags[0] || l.Tags[1] == l.Tags[2] {
		l.Tags = []string{"generated", at.control}
	}
	s.buffer.Reset()
	if err := s.encoder.Encode(l); err != nil {
		s.failed = cmp.Or(s.failed, fmt.Errorf("case %s: %w", l.ID, err))
		return cases
	}
	return append(cases, Case{ID: l.ID, Tool: s.Name, Clause: l.Clause, Line: bytes.Clone(bytes.TrimSuffix(s.buffer.Bytes(), []byte("\n")))})
}

// Limits of what goes into a case, in bytes.
const (
	maxName   = 60
	maxClause = 900
	maxID     = 190
)

// id makes an id that no other case has.
func (s *subject) id(control, name string) string {
	whole := clip("gen-"+plain(s.Name)+"-"+control+"-"+plain(name), maxID)
	for n, one := 2, whole; ; n++ {
		if !s.ids[one] {
			s.ids[one] = true
			return one
		}
		one = whole + "-" + strconv.Itoa(n)
	}
}

// plain keeps what a case_id may hold of a name.
func plain(name string) string {
	name = clip(name, 2*maxName)
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, name)
}

// clip cuts a text to so many bytes, between two characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// visible is a name without anything that acts.
func visible(name string) string {
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}

// sentence begins with a capital and ends with a stop.
func sentence(words string) string {
	words = strings.TrimSuffix(clip(words, maxClause), ".")
	return strings.ToUpper(words[:1]) + words[1:] + "."
}

// canonical is the canonical form of a document, or the document.
func canonical(document json.RawMessage) json.RawMessage {
	value, err := jsonvalue.Decode(document)
	if err != nil {
		return document
	}
	return jsonvalue.AppendCanonical(nil, value)
}
