package dataset_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/dataset"
)

// foreign is a case for servers outside, in which every field stands that they
// bring up.
const foreign = `{"case_id":"foreign","intent":"Write.","todo":"Say what is right.",` +
	`"calls":{"before":[{"name":"a","arguments":{}}],"after":[{"name":"b","arguments":{"n":1}}]},` +
	`"expected":{"ok":true,"side_effect_count":0,"is_error":false,"content_contains":"done","max_output_bytes":100,"schema_valid":true,` +
	`"steps":[{"is_error":true,"content_contains":" ","max_output_bytes":0,"schema_valid":false}]}}`

// with reads sources as settings say.
func with(settings dataset.Settings, sources ...dataset.Source) (loaded, error) {
	return loadFrom(settings.Open(sources...))
}

func TestDecodeForeign(t *testing.T) {
	before := []dataset.Proposal{{Name: "a", Arguments: json.RawMessage(`{}`)}}
	after := []dataset.Proposal{{Name: "b", Arguments: json.RawMessage(`{"n":1}`)}}
	tests := []struct {
		name                string
		baseline, candidate string // that are replayed
		want                [2][]dataset.Proposal
	}{
		{"nobody is replayed", "", "", [2][]dataset.Proposal{}},
		{"both", "before", "after", [2][]dataset.Proposal{before, after}},
		{"the other way around", "after", "before", [2][]dataset.Proposal{after, before}},
		{"one alone", "", "before", [2][]dataset.Proposal{nil, before}},
		{"one against itself", "after", "after", [2][]dataset.Proposal{after, after}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := &dataset.Case{
				ID: "foreign", Intent: "Write.", Todo: "Say what is right.", Permissions: []string{},
				Calls:    []dataset.Calls{{Surface: "before", Proposals: before}, {Surface: "after", Proposals: after}},
				Baseline: test.want[0], Candidate: test.want[1],
				Stage: new(dataset.Stage),
				Expected: dataset.Expectation{
					OK: ptr(true), SideEffectCount: ptr(0), IsError: ptr(false), ContentContains: ptr("done"), MaxOutputBytes: ptr(100), SchemaValid: ptr(true),
					Steps: []*dataset.StepExpectation{{IsError: ptr(true), ContentContains: ptr(" "), MaxOutputBytes: ptr(0), SchemaValid: ptr(false)}},
				},
			}
			settings := dataset.Settings{Baseline: test.baseline, Candidate: test.candidate, Surfaces: []string{"before", "after", "third"}}
			got, err := with(settings, source("cases.jsonl", foreign))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]dataset.Line{{Number: 1, Case: want}}, got.Lines); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			// Who is replayed can be said of an open reader too.
			r := dataset.Open(source("cases.jsonl", foreign))
			r.Replay(test.baseline, test.candidate)
			later, err := loadFrom(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, later); diff != "" {
				t.Errorf("(-settings +Replay):\n%s", diff)
			}
		})
	}
}

// Calls alone stage nothing, and a case of a list for all needs no caller.
func TestDecodeWithoutACaller(t *testing.T) {
	plain := `{"case_id":"c","intent":"i","calls":{"a":[{"name":"t","arguments":{}}]},"expected":{"ok":true,"side_effect_count":0}}`
	listed := edit(plain, `"calls":{"a":[{"name":"t","arguments":{}}]}`, `"proposals":[{"name":"t","arguments":{}}]`)
	for name, test := range map[string]struct {
		line     string
		staged   bool
		approved bool
		may      []string
	}{
		"calls":                    {plain, false, false, []string{}},
		"calls, approved":          {edit(plain, `"calls"`, `"approved":true,"calls"`), false, true, []string{}},
		"calls, with permissions":  {edit(plain, `"calls"`, `"actor_permissions":["p"],"calls"`), false, false, []string{"p"}},
		"calls with a time":        {edit(plain, `"name":"t"`, `"at_ms":1,"name":"t"`), true, false, []string{}},
		"proposals":                {listed, true, false, []string{}},
		"proposals, with a caller": {edit(listed, `"proposals"`, `"caller":{"id":"x","permissions":["q"]},"proposals"`), true, false, []string{"q"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := mustLoad(t, source("cases.jsonl", test.line)).Lines[0].Case
			if staged := c.Stage != nil; staged != test.staged || c.Approved != test.approved || !slices.Equal(c.Permissions, test.may) || c.Permissions == nil {
				t.Errorf("staged %v, approved %v, permissions %v", staged, c.Approved, c.Permissions)
			}
		})
	}
}

func TestDecodeRefusesForeign(t *testing.T) {
	const both = `"calls":{"before":[{"name":"a","arguments":{}}],"after":[{"name":"b","arguments":{"n":1}}]}`
	known := dataset.Settings{Surfaces: []string{"before", "after", "\x1b[1m"}, Baseline: "before", Candidate: "after"}
	tests := []struct {
		name     string
		settings dataset.Settings
		old, new string
		want     []string
	}{
		{"a misspelt surface", known, `"after"`, `"affter"`, []string{
			`calls.affter: there is no surface of that name; there are "\x1b[1m", after, before`,
			"calls.after: missing, and this surface is replayed"}},
		{"no calls for the baseline", known, `"before":[{"name":"a","arguments":{}}],`, ``, []string{"calls.before: missing, and this surface is replayed"}},
		{"a further surface that nobody knows", known, `"before"`, `"x y":[{"name":"","arguments":{}}],"before"`,
			[]string{`calls."x y": there is no surface of that name; there are "\x1b[1m", after, before`}},
		{"no calls for one alone", dataset.Settings{Candidate: "alone"}, `"todo":"Say what is right.",`, ``, []string{"calls.alone: missing, and this surface is replayed"}},
		{"no calls for one against itself", dataset.Settings{Baseline: "x", Candidate: "x"}, `"done"`, `"d"`, []string{"calls.x: missing, and this surface is replayed"}},
		{"a misspelt surface, with nobody replayed", dataset.Settings{Surfaces: []string{"before"}}, `"done"`, `"d"`,
			[]string{"calls.after: there is no surface of that name; there are before"}},
		{"no surface at all", known, both, `"calls":{}`, []string{"calls: must not be empty"}},
		{"no proposal", known, `[{"name":"a","arguments":{}}]`, `[]`, []string{"calls.before: must not be empty"}},
		{"a list of calls", known, both, `"calls":[]`, []string{"calls: must be an object, not an array"}},
		{"a call in place of a list", known, `[{"name":"a","arguments":{}}]`, `{}`, []string{"calls.before: must be an array, not an object"}},
		{"a surface twice", known, `"before"`, "\"after\"", []string{`calls.after: duplicate key (byte 115 of the line)`}},
		{"calls beside proposals", known, `"calls"`, `"proposals":[{"name":"","arguments":{}}],"calls"`, []string{"proposals: may not stand beside calls"}},
		{"calls beside a list of the baseline", known, `"calls"`, `"baseline_calls":[{"name":"","arguments":{}}],"calls"`, []string{"baseline_calls: may not stand beside calls"}},
		{"steps that are not as many as one list has", known, `[{"name":"a","arguments":{}}]`, `[{"name":"a","arguments":{}},{"name":"a","arguments":{}}]`,
			[]string{"expected.steps: has 1 steps, but not each surface is given as many proposals"}},
		{"times that go back", known, `[{"name":"b","arguments":{"n":1}}]`, `[{"name":"b","arguments":{"n":1},"at_ms":2},{"raw":"","at_ms":1}]`,
			[]string{"calls.after[1].at_ms: is before that of an earlier proposal", "expected.steps: has 1 steps, but not each surface is given as many proposals"}},
		{"an approval of a proposal that one list lacks", known, `"expected"`, `"approvals":[{"proposal":1,"approver":{"id":"e","permissions":[]},"expires_at_ms":1}],"expected"`,
			[]string{"approvals[0].proposal: there is no such proposal; the first is 0"}},
		{"a todo without a reason", known, `"Say what is right."`, `""`, []string{"todo: must not be empty"}},
		{"a todo that is a mark", known, `"Say what is right."`, `true`, []string{"todo: must be a string, not true"}},
		{"a todo as long as a book", known, `Say what is right.`, strings.Repeat("x", dataset.MaxTodo+1), []string{"todo: must be at most 1000 characters"}},
		{"a todo with a fault", known, `"is_error":false`, `"is_error":0`, []string{"expected.is_error: must be true or false, not a number"}},
		{"no text", known, `"done"`, `""`, []string{"expected.content_contains: must not be empty"}},
		{"less than no byte", known, `100`, `-1`, []string{"expected.max_output_bytes: must be a whole number from 0 to 1000000000"}},
		{"a schema that is so so", known, `"schema_valid":true`, `"schema_valid":"so so"`, []string{"expected.schema_valid: must be true or false, not a string"}},
		{"a step's text", known, `" "`, `7`, []string{"expected.steps[0].content_contains: must be a string, not a number"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			for _, fault := range test.want {
				want = append(want, "in/cases.jsonl:1: "+fault)
			}
			_, err := with(test.settings, source("cases.jsonl", edit(foreign, test.old, test.new)))
			if err == nil {
				t.Fatal("no fault")
			}
			if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// Where calls are not used, a caller is asked for as ever.
func TestDecodeStaysStrict(t *testing.T) {
	for old, want := range map[string]string{
		`"actor_permissions":["ticket:read"],`: "actor_permissions: missing",
		`"approved":false,`:                    "approved: missing",
	} {
		if diff := cmp.Diff([]string{"in/cases.jsonl:1: " + want}, faultsOf(t, source("cases.jsonl", edit(good, old, "")))); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
}

// However lines are cut into batches, the same cases, faults and digest come
// out.
func TestBatchLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sources []dataset.Source
		for i := range rapid.IntRange(1, 3).Draw(t, "sources") {
			var text strings.Builder
			for j := range rapid.IntRange(0, 12).Draw(t, "lines") {
				text.WriteString(rapid.SampledFrom([]string{"", " ", "{}", named(fmt.Sprint("c", i, "-", j)), named("again"), named(strings.Repeat("é", 201))}).Draw(t, "line"))
				text.WriteString(rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
			}
			whole := text.String()
			if rapid.Bool().Draw(t, "cut") {
				whole = strings.TrimRight(whole, "\r\n")
			}
			if rapid.Bool().Draw(t, "at once") {
				sources = append(sources, opened(fmt.Sprint(i), func() io.Reader { return &once{text: whole} }))
				continue
			}
			sources = append(sources, source(fmt.Sprint(i), whole))
		}
		say := func(l loaded, err error) string { return fmt.Sprint(cmp.Diff(loaded{}, l), err) }
		want := say(load(sources...))
		lines := rapid.IntRange(1, 4).Draw(t, "batch")
		if got := say(with(dataset.Settings{BatchLines: lines}, sources...)); got != want {
			t.Fatalf("batches of %d lines: %s\nand as ever: %s", lines, got, want)
		}
	})
}

// once gives all of a text, and its end, in one read.
type once struct{ text string }

func (o *once) Read(b []byte) (int, error) {
	n := copy(b, o.text)
	o.text = o.text[n:]
	if o.text == "" {
		return n, io.EOF
	}
	return n, nil
}

func TestBatchLinesAreAtMost(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		text.WriteString(named(fmt.Sprint(i)) + "\n")
	}
	for lines, want := range map[int]int{0: 3, 1: 1000, 7: 143 + 2} { // a chunk's last batch may be short
		r := dataset.Settings{BatchLines: lines}.Open(source("a", text.String()))
		batches := 0
		for {
			batch, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := len(batch.Decode().Lines); lines > 0 && n > lines {
				t.Errorf("a batch of %d lines, want at most %d", n, lines)
			}
			batches++
		}
		if batches < want-2 || batches > want+2 {
			t.Errorf("%d batches of %d lines, want about %d", batches, lines, want)
		}
	}
}
