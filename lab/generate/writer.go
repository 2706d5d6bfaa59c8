package generate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

	probe keyword // that it is of; zero for none
	side  string
}

// keyword is one of an input schema.
type keyword struct{ pointer, name string }

// LeftOut is what no case was written about, and why.
type LeftOut struct{ Tool, What, Why string }

// Covered is a keyword of an input schema, and how many cases are on each side of it.
type Covered struct {
	Tool, Pointer, Keyword string
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
	var subjects []*subject
	for _, c := range contracts {
		s, err := w.newSubject(ctx, c)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, s)
	}
	set := new(Set)
	var byTool [][]Case
	for _, s := range subjects {
		if o.Tools != nil && !slices.Contains(o.Tools, s.Name) {
			continue
		}
		cases, coverage, err := s.write(ctx, subjects)
		if err != nil {
			return nil, err
		}
		byTool = append(byTool, cases)
		set.Coverage = append(set.Coverage, coverage...)
	}
	for _, cases := range share(byTool, o.Max) {
		set.Cases = append(set.Cases, cases...)
	}
	set.count()
	set.Left = w.left
	return set, w.failed
}

// count counts the cases on each side of every keyword: those that were written, and
// not those that could have been.
func (s *Set) count() {
	type of struct {
		tool string
		keyword
	}
	at := make(map[of]int, len(s.Coverage))
	for i, c := range s.Coverage {
		c.Inside, c.On, c.Outside = 0, 0, 0
		s.Coverage[i] = c
		at[of{c.Tool, keyword{c.Pointer, c.Keyword}}] = i
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		n, known := at[of{c.Tool, c.probe}]
		if !known || c.probe == (keyword{}) {
			continue
		}
		switch c.side {
		case inside:
			s.Coverage[n].Inside++
		case on:
			s.Coverage[n].On++
		case outside:
			s.Coverage[n].Outside++
		}
	}
}

// write writes the cases of one tool.
func (s *subject) write(ctx context.Context, all []*subject) ([]Case, []Covered, error) {
	if s.input == nil {
		return nil, nil, nil
	}
	if s.o.Runtime {
		if err := s.runtime(ctx, all); err != nil {
			return nil, nil, err
		}
	}
	runtime := s.cases
	s.cases = nil
	var coverage []Covered
	most := 0
	if s.o.PerTool > 0 {
		// Each side may have at least one half.
		most = s.o.PerTool - min(len(runtime), s.o.PerTool/2)
	}
	if s.o.Schema && !s.retired() {
		var err error
		if coverage, err = s.schema(most); err != nil {
			return nil, nil, err
		}
	}
	if s.o.PerTool > 0 {
		s.cases = spread(s.cases, most, s.o.Seed)
		runtime = spread(runtime, s.o.PerTool-len(s.cases), s.o.Seed)
	}
	return append(runtime, s.cases...), coverage, ctx.Err()
}

// share cuts the lists of the tools to so many cases together, the longest first.
func share(byTool [][]Case, most int) [][]Case {
	total := 0
	for _, cases := range byTool {
		total += len(cases)
	}
	if most == 0 || total <= most {
		return byTool
	}
	quota := make([]int, len(byTool))
	for left := most; left > 0; {
		open := 0
		for i := range byTool {
			if quota[i] < len(byTool[i]) {
				open++
			}
		}
		each := max(1, left/open)
		for i := range byTool {
			more := min(each, len(byTool[i])-quota[i], left)
			quota[i] += more
			left -= more
		}
	}
	cut := make([][]Case, len(byTool))
	for i := range byTool {
		cut[i] = spread(byTool[i], quota[i], 0)
	}
	return cut
}

// spread keeps so many of a list, evenly.
func spread(list []Case, most int, seed uint64) []Case {
	if most <= 0 {
		return nil
	}
	if len(list) <= most {
		return list
	}
	kept := make([]Case, most)
	for i := range kept {
		// Within each of as many parts of equal length, which one the seed says.
		from, to := i*len(list)/most, (i+1)*len(list)/most
		kept[i] = list[from+int(seed%uint64(to-from))]
	}
	return kept
}

// leaveOut says what no case was written about.
func (s *subject) leaveOut(what, why string) {
	s.left = append(s.left, LeftOut{s.Name, what, why})
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
		return
	}
	s.cases = append(s.cases, Case{ID: l.ID, Tool: s.Name, Clause: l.Clause, Line: bytes.Clone(bytes.TrimSuffix(s.buffer.Bytes(), []byte("\n")))})
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
