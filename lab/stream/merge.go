package stream

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"agentlab/lab/eval"
)

// Part is the stream of one shard, and how an error names it.
type Part struct {
	Name string
	*Reader
}

// Unreadable is what is wrong with the stream of one part, which is the error of
// [Reader].
type Unreadable struct {
	Name string
	Err  error
}

func (e *Unreadable) Error() string { return e.Name + ": " + e.Err.Error() }

func (e *Unreadable) Unwrap() error { return e.Err }

// ErrMismatch is wrapped by the error of streams that are not the shards of one
// replay, each of them once.
var ErrMismatch = errors.New("these are not the shards of one replay")

func mismatch(format string, values ...any) error {
	return fmt.Errorf("%w: %s", ErrMismatch, fmt.Sprintf(format, values...))
}

// Merge writes the stream that the replay of all shards in one gives, to the byte, of
// parts of which nothing was read but their first lines, and returns what they come
// to together. It holds one case of each part.
//
// What was written is worth nothing where there is an error: that of a part shows at
// its end. It is an [*Unreadable], wraps [ErrMismatch], or is that of writing.
func Merge(to io.Writer, parts []Part) (*eval.Comparison, error) {
	if err := oneReplay(parts); err != nil {
		return nil, err
	}
	whole := wholeOf(parts[0].Comparison())
	out := bufio.NewWriterSize(to, 64<<10)
	if _, err := out.Write(AppendHead(nil, whole)); err != nil {
		return nil, err
	}
	sources := make([]merging, len(parts))
	for i, p := range parts {
		sources[i].Part = p
		if err := sources[i].advance(); err != nil {
			return nil, err
		}
	}
	var line []byte
	for {
		next := -1
		for i := range sources {
			if sources[i].pair != nil && (next < 0 || order(sources[i].pair, sources[next].pair) < 0) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		pair := sources[next].pair
		line = AppendPair(line[:0], pair)
		if _, err := out.Write(line); err != nil {
			return nil, err
		}
		whole.Count(pair)
		if err := sources[next].advance(); err != nil {
			return nil, err
		}
	}
	sha256 := parts[0].Comparison().Dataset.SHA256
	for _, p := range parts[1:] {
		if other := p.Comparison().Dataset.SHA256; other != sha256 {
			return nil, mismatch("the dataset of %s has SHA-256 %s, and that of %s %s", parts[0].Name, sha256, p.Name, other)
		}
	}
	if err := whole.Finish(sha256); err != nil {
		return nil, mismatch("%v", err)
	}
	if _, err := out.Write(AppendEnd(nil, whole)); err != nil {
		return nil, err
	}
	return whole, out.Flush()
}

// merging is a part that is being merged.
type merging struct {
	Part
	pair *eval.Pair // that comes next; nil at the end
}

// advance reads the next case, which has to come after the last one and to fall to
// the shard.
func (m *merging) advance() error {
	last := m.pair
	pair, err := m.Next()
	if err == io.EOF {
		m.pair = nil
		return nil
	}
	if err != nil {
		return &Unreadable{m.Name, err}
	}
	if last != nil && order(last, pair) >= 0 {
		return &Unreadable{m.Name, m.invalid(fmt.Sprintf("case %q stands before the case that comes first", pair.Case.ID))}
	}
	if shard := m.Comparison().Dataset.Shard; !shard.Has(pair.Case.ID) {
		return &Unreadable{m.Name, m.invalid(fmt.Sprintf("case %q does not fall to %v", pair.Case.ID, shard))}
	}
	m.pair = pair
	return nil
}

// order compares the places of two cases in the dataset.
func order(a, b *eval.Pair) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line))
}

// wholeOf is the comparison of all shards, as the head of one tells it, with no case.
func wholeOf(part *eval.Comparison) *eval.Comparison {
	whole := &eval.Comparison{Dataset: part.Dataset, Candidate: part.Candidate, Repeat: part.Repeat}
	whole.Dataset.Shard = nil
	if part.Baseline != nil {
		baseline := *part.Baseline
		whole.Baseline = &baseline
	}
	return whole
}

// oneReplay looks whether parts are all shards of one replay, each once.
func oneReplay(parts []Part) error {
	if len(parts) == 0 {
		return mismatch("there is none")
	}
	first := parts[0]
	for _, p := range parts {
		if p.Comparison().Dataset.Shard == nil {
			return mismatch("%s is no shard, but of all cases", p.Name)
		}
	}
	for _, p := range parts {
		if err := sameReplay(first, p); err != nil {
			return err
		}
	}
	of := first.Comparison().Dataset.Shard.Of
	names := make([]string, of)
	for _, p := range parts {
		name := &names[p.Comparison().Dataset.Shard.Index-1]
		if *name != "" {
			return mismatch("%v comes twice, as %s and as %s", p.Comparison().Dataset.Shard, *name, p.Name)
		}
		*name = p.Name
	}
	var missing []string
	for i, name := range names {
		if name == "" {
			missing = append(missing, fmt.Sprintf("%v is missing", eval.Shard{Index: i + 1, Of: of}))
		}
	}
	if missing != nil {
		return mismatch("%s", strings.Join(missing, ", "))
	}
	return nil
}

// sameReplay looks whether the first lines of two parts tell of the same replay, made
// by this lab: the stream that is written of them says that it was.
func sameReplay(a, b Part) error {
	if b.Version() != eval.Version {
		return mismatch("lab %s wrote %s, and this is %s", b.Version(), b.Name, eval.Version)
	}
	x, y := a.Comparison(), b.Comparison()
	for _, is := range []struct {
		what string
		same bool
	}{
		{"dataset", x.Dataset.Name == y.Dataset.Name && slices.Equal(x.Dataset.Files, y.Dataset.Files)},
		{"number of shards", x.Dataset.Shard.Of == y.Dataset.Shard.Of},
		{"selection of cases", (x.Dataset.Selection == nil) == (y.Dataset.Selection == nil) && slices.Equal(x.Dataset.Selection, y.Dataset.Selection)},
		{"number of repetitions", x.Repeat == y.Repeat},
		{"baseline", reflect.DeepEqual(x.Baseline, y.Baseline)},
		{"candidate", reflect.DeepEqual(x.Candidate, y.Candidate)},
	} {
		if !is.same {
			return mismatch("%s and %s have not the same %s", a.Name, b.Name, is.what)
		}
	}
	return nil
}
