package dataset_test

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"agentlab/datasets"
	"agentlab/lab/dataset"
)

func FuzzDecode(f *testing.F) {
	for line := range bytes.Lines(datasets.ToolCases) {
		f.Add(line)
	}
	for _, seed := range []string{
		"", "\n", "\r\n \t\r", full, staged, foreign, edit(foreign, `"before"`, `"\u0062\"efore"`), edit(foreign, `"after"`, `"before"`), strings.Replace(staged, `"at_ms":10`, `"at_ms":1e400`, 1), good + "\n" + full, good + good, "{}", "[]", "null\n1\n", "\ufeff" + good,
		good[:100], strings.Replace(good, "c1", "\xff", 1), strings.Replace(good, "c1", `\ud800`, 1),
		strings.Replace(good, `"ok":true`, `"ok":true,"\u001b":[{"a":}]`, 1),
		strings.Replace(good, `"ok":true`, `"ok":true,"output_keys":["a",1,1,"a"],"output_count":1e1000000000`, 1),
		strings.Repeat("[", 20_000), `{"case_id":"\u0000","case_id":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 100_000 {
			return // it might be more than one batch
		}
		batch, err := dataset.Open(opened("cases.jsonl", func() io.Reader { return atOnce(text) })).Next()
		if err != nil {
			t.Fatal(err)
		}
		decoded := batch.Decode()
		checkFaults(t, text, decoded)
		for _, line := range decoded.Lines {
			checkCase(t, line.Case)
		}
		// Every line that is not blank is a case or has a fault.
		faulty := make(map[int]bool)
		for _, fault := range decoded.Faults {
			faulty[fault.Line] = true
		}
		if decoded.Total > len(decoded.Faults) {
			return
		}
		filled := 0
		for line := range bytes.Lines(text) {
			if len(bytes.Trim(line, " \t\r\n")) > 0 {
				filled++
			}
		}
		if len(decoded.Lines)+len(faulty) != filled {
			t.Errorf("%d cases and %d lines with faults of %d lines", len(decoded.Lines), len(faulty), filled)
		}
	})
}

// atOnce is a reader that gives everything, and its end, in one read.
type atOnce []byte

func (a atOnce) Read(b []byte) (int, error) { return copy(b, a), io.EOF }

func checkFaults(t *testing.T, text []byte, decoded dataset.Decoded) {
	t.Helper()
	if len(decoded.Faults) != min(decoded.Total, dataset.MaxFaults) {
		t.Errorf("%d faults of %d are told", len(decoded.Faults), decoded.Total)
	}
	last := 1
	for _, fault := range decoded.Faults {
		if fault.Line < last || fault.Line > bytes.Count(text, []byte("\n"))+1 || fault.Reason == "" {
			t.Errorf("%v after a fault of line %d", fault, last)
		}
		last = fault.Line
		if strings.ContainsFunc(fault.String(), func(c rune) bool { return !unicode.IsPrint(c) }) {
			t.Errorf("a terminal would obey %q", fault)
		}
	}
}

// checkCase holds what whoever replays a case relies on.
func checkCase(t *testing.T, c *dataset.Case) {
	t.Helper()
	if n := utf8.RuneCountInString(c.ID); n < 1 || n > dataset.MaxIDLength || !utf8.ValidString(c.ID) || c.Intent == "" {
		t.Errorf("id %q, intent %q", c.ID, c.Intent)
	}
	lists := [][]dataset.Proposal{c.Baseline, c.Candidate}
	if c.Calls != nil {
		if c.Baseline != nil || c.Candidate != nil {
			t.Errorf("%s: nobody said who is replayed, yet %v, %v", c.ID, c.Baseline, c.Candidate)
		}
		lists = nil
		for _, of := range c.Calls {
			lists = append(lists, of.Proposals)
		}
	}
	if len(lists) == 0 || slices.ContainsFunc(lists, func(l []dataset.Proposal) bool { return len(l) == 0 }) || c.Permissions == nil {
		t.Errorf("%s: %v, %v", c.ID, lists, c.Permissions)
	}
	for _, proposal := range slices.Concat(lists...) {
		if proposal.Setting != nil && proposal.Raw != nil {
			if proposal.Arguments != nil || proposal.Name != "" {
				t.Errorf("%s: %v is both read and given", c.ID, proposal)
			}
			continue
		}
		if !json.Valid(proposal.Arguments) || !utf8.Valid(proposal.Arguments) || proposal.Arguments[0] != '{' ||
			bytes.ContainsRune(proposal.Arguments, '\n') {
			t.Errorf("%s: arguments %q", c.ID, proposal.Arguments)
		}
	}
	var counts []int
	if c.Expected.SideEffectCount != nil {
		counts = append(counts, *c.Expected.SideEffectCount)
	} else if c.Expected.Accepted == nil {
		t.Errorf("%s: nothing is expected", c.ID)
	}
	if c.Expected.OutputCount != nil {
		counts = append(counts, *c.Expected.OutputCount)
	}
	for _, count := range counts {
		if count < 0 || count > dataset.MaxCount {
			t.Errorf("%s: a count of %d", c.ID, count)
		}
	}
	for _, list := range lists {
		if steps := c.Expected.Steps; steps != nil && len(steps) != len(list) {
			t.Errorf("%s: %d steps", c.ID, len(steps))
		}
		if c.Stage != nil {
			for _, a := range c.Stage.Approvals {
				if a.Call == nil && a.Proposal >= len(list) {
					t.Errorf("%s: an approval of proposal %d", c.ID, a.Proposal)
				}
			}
		}
	}
	seen := make(map[string]bool)
	for _, key := range c.Expected.OutputKeys {
		if seen[key] {
			t.Errorf("%s: %q is expected twice", c.ID, key)
		}
		seen[key] = true
	}
}
