package dataset_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
)

const batchSize = 128 << 10 // about what one batch holds

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestSeveralFiles(t *testing.T) {
	a, b, c := named("a1")+"\n"+named("a2"), "\r\n"+named("b1")+"\r\n", named("c1")+"\n"
	got := mustLoad(t, source("a.jsonl", a), source("b.jsonl", b), source("c.jsonl", c))
	want := loaded{
		Lines:  []dataset.Line{{1, goodCase("a1")}, {2, goodCase("a2")}, {2, goodCase("b1")}, {1, goodCase("c1")}},
		SHA256: digest(a + b + c),
		Name:   "a.jsonl + b.jsonl + c.jsonl",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFaultsOfSeveralFiles(t *testing.T) {
	bad := edit(good, `"c1"`, `1`)
	got := faultsOf(t,
		source("a.jsonl", named("a")+"\n"+bad),
		source("empty.jsonl", ""),
		source("b.jsonl", "\n"+bad+"\n"+named("a")+"\n"+named("b")+"\n"),
		source("blank.jsonl", "\n\n \r\n"),
		source("c.jsonl", named("b")))
	want := []string{
		"in/a.jsonl:2: case_id: must be a string, not a number",
		"in/empty.jsonl:1: line: the file holds no case",
		"in/b.jsonl:2: case_id: must be a string, not a number",
		`in/b.jsonl:3: case_id: "a" is already the case of in/a.jsonl:1`,
		"in/blank.jsonl:1: line: the file holds no case",
		`in/c.jsonl:1: case_id: "b" is already the case of in/b.jsonl:4`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestFilesWithoutCase(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "newline": "\n", "blank lines": "\n\n\t\n\r\n ", "many blank lines": strings.Repeat("\n", 3*batchSize),
	} {
		t.Run(name, func(t *testing.T) {
			want := []string{"in/cases.jsonl:1: line: the file holds no case"}
			if diff := cmp.Diff(want, faultsOf(t, source("cases.jsonl", text))); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
	// A file of which no line is right holds cases, wrong ones.
	want := []string{"in/cases.jsonl:2: line: must be an object, not a number"}
	if diff := cmp.Diff(want, faultsOf(t, source("cases.jsonl", "\n1\n"))); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestRepeatedID(t *testing.T) {
	got := faultsOf(t, source("cases.jsonl",
		named("x")+"\n\n"+named("y")+"\n"+edit(named("x"), `"x"`, `"\u0078"`)+"\n"+named("x")+"\n"+named("X")+"\n"))
	want := []string{
		`in/cases.jsonl:4: case_id: "x" is already the case of in/cases.jsonl:1`,
		`in/cases.jsonl:5: case_id: "x" is already the case of in/cases.jsonl:1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// A pipe gives its bytes once: the repeat is refused, only its first place
// stays unknown.
func TestRepeatedIDInPipe(t *testing.T) {
	pipe := strings.NewReader(named("x") + "\n" + named("y") + "\n" + named("x") + "\n")
	got := faultsOf(t, opened("pipe", func() io.Reader { return pipe }))
	want := []string{`in/pipe:3: case_id: "x" is already the case of an earlier line`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}

	// The same where the second opening fails.
	opened := 0
	once := dataset.Source{Name: "once", Path: "once", Open: func() (io.ReadCloser, error) {
		if opened++; opened > 1 {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(strings.NewReader(named("x") + "\n" + named("x"))), nil
	}}
	want = []string{`once:2: case_id: "x" is already the case of an earlier line`}
	if diff := cmp.Diff(want, faultsOf(t, once)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestFaultsAreCounted(t *testing.T) {
	var text strings.Builder
	line := 0
	write := func(s string) int {
		line++
		text.WriteString(s + "\n")
		return line
	}
	var want []string
	fault := func(line int, rest string) {
		want = append(want, fmt.Sprintf("in/cases.jsonl:%d: %s", line, rest))
	}
	write(named("first"))
	// Faults of all kinds in turn, over several batches.
	filler := strings.Replace(good, "Read a ticket.", strings.Repeat("x", 10_000), 1)
	for i := range 40 {
		write(strings.Replace(filler, `"c1"`, fmt.Sprintf(`"c%d"`, i), 1))
		fault(write(named("first")), `case_id: "first" is already the case of in/cases.jsonl:1`)
		unapproved := strings.Replace(edit(good, `"approved":false,`, ``), `"c1"`, fmt.Sprintf(`"u%d"`, i), 1)
		fault(write(unapproved), "approved: missing")
		bad := write(`{"case_id":"","intent":7`)
		fault(bad, "case_id: must not be empty")
		fault(bad, "intent: must be a string, not a number")
		fault(bad, "line: the document ends too early (byte 25 of the line)")
	}
	want = append(want[:dataset.MaxFaults:dataset.MaxFaults], fmt.Sprintf("and %d more", len(want)-dataset.MaxFaults))
	if diff := cmp.Diff(want, faultsOf(t, source("cases.jsonl", text.String()))); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// A line with another fault takes part in the search for repeated ids: its
// author mends both at once.
func TestARepeatIsNotHiddenByAnotherFault(t *testing.T) {
	unapproved := edit(named("twice"), `"approved":false,`, ``)
	for _, lines := range [][2]string{{unapproved, named("twice")}, {named("twice"), unapproved}} {
		var repeats int
		for _, f := range faultsOf(t, source("cases.jsonl", lines[0]+"\n"+lines[1]+"\n")) {
			if f == `in/cases.jsonl:2: case_id: "twice" is already the case of in/cases.jsonl:1` {
				repeats++
			}
		}
		if repeats != 1 {
			t.Errorf("the repeat is told %d times, want once", repeats)
		}
	}
}

func TestFaultLimit(t *testing.T) {
	for _, faults := range []int{1, dataset.MaxFaults - 1, dataset.MaxFaults, dataset.MaxFaults + 1, 1000} {
		for kind, line := range map[string]string{"fault": "1\n", "repeat": good + "\n"} {
			t.Run(fmt.Sprint(faults, " ", kind), func(t *testing.T) {
				got := faultsOf(t, source("cases.jsonl", good+"\n"+strings.Repeat(line, faults)))
				var want []string
				for i := range min(faults, dataset.MaxFaults) {
					if kind == "fault" {
						want = append(want, fmt.Sprintf("in/cases.jsonl:%d: line: must be an object, not a number", i+2))
					} else {
						want = append(want, fmt.Sprintf(`in/cases.jsonl:%d: case_id: "c1" is already the case of in/cases.jsonl:1`, i+2))
					}
				}
				if more := faults - dataset.MaxFaults; more > 0 {
					want = append(want, fmt.Sprintf("and %d more", more))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("faults (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// wide gives the good case another id and makes its line that many bytes long.
func wide(id string, length int) string {
	line := named(id)
	return edit(line, "Read a ticket.", strings.Repeat("x", length-len(line)+len("Read a ticket.")))
}

func TestLineLimit(t *testing.T) {
	atLimit := wide("limit", dataset.MaxLine)
	const tooLong = "line: the line is longer than 16777216 bytes"
	bad := edit(good, `"c1"`, `1`)
	const wrong = "case_id: must be a string, not a number"
	tests := []struct {
		name  string
		parts []string
		ids   []string // with their line
		want  []string // faults, without the file
	}{
		{"at the limit", []string{named("a"), "\n", atLimit, "\r\n", named("b")}, []string{"1 a", "2 limit", "3 b"}, nil},
		{"at the limit without a newline", []string{atLimit}, []string{"1 limit"}, nil},
		{"one byte more", []string{named("a"), "\n", bad, "\n", atLimit, " \n", named("b"), "\n", bad, "\n"}, []string{"1 a", "4 b"},
			[]string{"2: " + wrong, "3: " + tooLong, "5: " + wrong}},
		{"one byte more without a newline", []string{named("a"), "\n\n", atLimit, " "}, []string{"1 a"}, []string{"3: " + tooLong}},
		// More than what is kept before a line is given up.
		{"three times as long", []string{"\n", bad, "\n", atLimit, atLimit, atLimit, "\r\n", named("b"), "\n\n", bad}, []string{"4 b"},
			[]string{"2: " + wrong, "3: " + tooLong, "6: " + wrong}},
		{"three times as long at the end", []string{named("a"), "\n", atLimit, atLimit, atLimit}, []string{"1 a"}, []string{"2: " + tooLong}},
		{"three times as long and alone", []string{atLimit, atLimit, atLimit, "\n"}, nil, []string{"1: " + tooLong}},
		{"as long, of white space", []string{named("a"), "\n", strings.Repeat(" ", dataset.MaxLine+1), "\n"}, []string{"1 a"}, []string{"2: " + tooLong}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := load(opened("cases.jsonl", func() io.Reader {
				readers := make([]io.Reader, len(test.parts))
				for i, part := range test.parts {
					readers[i] = strings.NewReader(part)
				}
				return io.MultiReader(readers...)
			}))
			var ids []string
			for _, line := range got.Lines {
				ids = append(ids, fmt.Sprintf("%d %s", line.Number, line.Case.ID))
			}
			if diff := cmp.Diff(test.ids, ids); diff != "" {
				t.Errorf("cases (-want +got):\n%s", diff)
			}
			var faults []string
			if err != nil {
				faults = strings.Split(strings.ReplaceAll(err.Error(), "in/cases.jsonl:", ""), "\n")
			}
			if diff := cmp.Diff(test.want, faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			hash := sha256.New()
			for _, part := range test.parts {
				io.WriteString(hash, part)
			}
			if want := hex.EncodeToString(hash.Sum(nil)); got.SHA256 != want {
				t.Errorf("sha256 = %s, want %s", got.SHA256, want)
			}
		})
	}
}

// Wherever the reads and the batches end, the cases and faults are the same.
func TestBatchBoundaries(t *testing.T) {
	readers := map[string]func(io.Reader) io.Reader{
		"whole":        func(r io.Reader) io.Reader { return r },
		"half":         iotest.HalfReader,
		"data and EOF": iotest.DataErrReader,
		"with pauses":  func(r io.Reader) io.Reader { return &pausing{r: r} },
	}
	for offset := -3; offset <= 3; offset++ {
		// The end of the second line falls around the end of the first batch.
		first := named("first") + "\n"
		text := first + wide("second", batchSize-len(first)+offset) + "\r\n"
		want := []dataset.Line{{1, goodCase("first")}, {2, nil}}
		for i := range 40 {
			id := fmt.Sprint("c", i)
			text += wide(id, 7000+i) + "\n\n" + named(id+"b") + "\n"
			want = append(want, dataset.Line{3 + 3*i, nil}, dataset.Line{5 + 3*i, goodCase(id + "b")})
		}
		text += "{}\n" + named("last")
		want = append(want, dataset.Line{Number: 124, Case: goodCase("last")})

		for name, reader := range readers {
			t.Run(fmt.Sprint(name, offset), func(t *testing.T) {
				got, err := load(opened("cases.jsonl", func() io.Reader { return reader(strings.NewReader(text)) }))
				for i, line := range got.Lines {
					if i < len(want) && want[i].Case == nil { // a wide one
						if len(line.Case.Intent) < 6000 {
							t.Errorf("line %d is cut", line.Number)
						}
						got.Lines[i].Case = nil
					}
				}
				if diff := cmp.Diff(loaded{want, digest(text), "cases.jsonl"}, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				var invalid *dataset.Invalid
				if !errors.As(err, &invalid) || invalid.Total != 7 || invalid.Faults[0].Line != 123 {
					t.Errorf("error = %v, want the seven missing fields of line 123", err)
				}
			})
		}
	}
}

func TestByteAtATime(t *testing.T) {
	text := "\r\n" + named("a") + "\r\n\n" + named("b") + "\n{}\n" + named("c")
	got, err := load(opened("cases.jsonl", func() io.Reader { return iotest.OneByteReader(strings.NewReader(text)) }))
	want := loaded{[]dataset.Line{{2, goodCase("a")}, {4, goodCase("b")}, {6, goodCase("c")}}, digest(text), "cases.jsonl"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "in/cases.jsonl:5: case_id: missing\n") {
		t.Errorf("error = %v, want that of line 5", err)
	}
}

// pausing is a reader that now and then has nothing to give.
type pausing struct {
	r     io.Reader
	calls int
}

func (p *pausing) Read(b []byte) (int, error) {
	if p.calls++; p.calls%5 != 0 {
		return 0, nil
	}
	return p.r.Read(b)
}

type failingClose struct{ io.Reader }

func (failingClose) Close() error { return errBoom }

var errBoom = errors.New("boom")

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestUnreadable(t *testing.T) {
	long := strings.Repeat(" ", 3*dataset.MaxLine)
	after := func(text string, err error) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(text), iotest.ErrReader(err))), nil
		}
	}
	dropped := fmt.Errorf("connection lost: %w", io.EOF)
	tests := []struct {
		name string
		open func() (io.ReadCloser, error)
		want error
		text string
	}{
		{"not opened", func() (io.ReadCloser, error) { return nil, fs.ErrNotExist }, fs.ErrNotExist, "read cases: file does not exist"},
		{"from the start", after("", errBoom), errBoom, "read cases: in/b: boom"},
		{"after a line", after(good+"\n", errBoom), errBoom, "read cases: in/b: boom"},
		{"within a line", after(good[:50], errBoom), errBoom, "read cases: in/b: boom"},
		{"after a batch", after(strings.Repeat("\n", 2*batchSize), errBoom), errBoom, "read cases: in/b: boom"},
		{"within a line that is too long", after(long, errBoom), errBoom, "read cases: in/b: boom"},
		{"by an error that wraps EOF", after(good+"\n", dropped), dropped, "read cases: in/b: connection lost: EOF"},
		{"never any bytes", func() (io.ReadCloser, error) { return io.NopCloser(stuck{}), nil }, io.ErrNoProgress,
			"read cases: in/b: " + io.ErrNoProgress.Error()},
		{"not closed", func() (io.ReadCloser, error) { return failingClose{strings.NewReader(good)}, nil }, errBoom, "read cases: in/b: boom"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := load(source("a", named("a")+"\n"), dataset.Source{Name: "b", Path: "in/b", Open: test.open})
			if !errors.Is(err, dataset.ErrUnreadable) || !errors.Is(err, test.want) {
				t.Fatalf("error = %v, want one that wraps ErrUnreadable and %v", err, test.want)
			}
			if err.Error() != test.text {
				t.Errorf("error = %q, want %q", err, test.text)
			}
			if got.Lines != nil {
				t.Errorf("%d lines beside the error", len(got.Lines))
			}
		})
	}
}

// closing counts how often it is closed.
type closing struct {
	io.Reader
	closed *int
}

func (c closing) Close() error { *c.closed++; return nil }

func TestClose(t *testing.T) {
	closed := 0
	r := dataset.Open(dataset.Source{Name: "a", Path: "a", Open: func() (io.ReadCloser, error) {
		return closing{io.MultiReader(strings.NewReader(good+"\n"), bytes.NewReader(make([]byte, 10))), &closed}, nil
	}})
	if err := r.Close(); err != nil || closed != 0 {
		t.Errorf("Close before Next = %v, and closed %d times", err, closed)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Close(); err != nil || closed != 1 {
			t.Errorf("Close = %v, and closed %d times, want once", err, closed)
		}
	}
}

func TestNoSource(t *testing.T) {
	got := mustLoad(t)
	if diff := cmp.Diff(loaded{SHA256: digest("")}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is wrong with every line in one way is not told as often as there are
// lines.
func TestFaultsThatAreAlike(t *testing.T) {
	settings := dataset.Settings{Surfaces: []string{"governed"}}
	raw := func(id string) string {
		return `{"case_id":"` + id + `","intent":"i","calls":{"raw":[{"name":"t","arguments":{}}]},"expected":{"ok":true,"side_effect_count":0}}` + "\n"
	}
	var lines strings.Builder
	for i := range 24 {
		lines.WriteString(raw(strconv.Itoa(i)))
	}
	const reason = "calls.raw: there is no surface of that name; there are governed"
	for name, tt := range map[string]struct {
		sources []dataset.Source
		want    []string
	}{
		"three": {[]dataset.Source{source("a", raw("x")+raw("y")+raw("z"))},
			[]string{"in/a:1: " + reason, "in/a:2: " + reason, "in/a:3: " + reason}},
		"24, another fault, and another file": {[]dataset.Source{source("a", lines.String()+"1\n"), source("b", raw("x")+raw("y")+raw("z")+raw("w"))},
			[]string{"in/a:1: " + reason, "in/a:2: " + reason, "in/a:3: " + reason, "in/a:25: line: must be an object, not a number",
				"in/b:1: " + reason, "in/b:2: " + reason, "in/b:3: " + reason,
				"in/a: and 21 more, the last on line 24: " + reason, "in/b: and 1 more, the last on line 4: " + reason}},
		"more than are told": {[]dataset.Source{source("a", strings.Repeat("1\n", 60))},
			[]string{"in/a:1: line: must be an object, not a number", "in/a:2: line: must be an object, not a number", "in/a:3: line: must be an object, not a number",
				"in/a: and 47 more, the last on line 50: line: must be an object, not a number", "and 10 more"}},
	} {
		_, err := with(settings, tt.sources...)
		if err == nil {
			t.Errorf("%s: no fault", name)
			continue
		}
		if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
