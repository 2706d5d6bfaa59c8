package sarif

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"agentlab/lab/eval"
	"agentlab/lab/report/reporttest"
)

// official is the schema that OASIS publishes, as github.com/owenrumney/go-sarif
// v3.3.1 ships it.
func official(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("sarif.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

type log struct {
	Runs []struct {
		tail
		Results []result
	}
}

func read(t *testing.T, schema *jsonschema.Schema, document []byte) log {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v", err)
	}
	var l log
	if err := json.Unmarshal(document, &l); err != nil || len(l.Runs) != 1 {
		t.Fatalf("%d runs, %v", len(l.Runs), err)
	}
	for _, one := range l.Runs[0].Results {
		if rules := l.Runs[0].Tool.Driver.Rules; rules[one.RuleIndex].ID != one.RuleID {
			t.Errorf("rule %d is %s, not %s", one.RuleIndex, rules[one.RuleIndex].ID, one.RuleID)
		}
	}
	return l
}

func TestGolden(t *testing.T) {
	schema := official(t)
	for _, name := range reporttest.Streams {
		document := reporttest.Feed(t, name, func(w io.Writer, c *eval.Comparison) reporttest.Sink {
			return New(w, c, Options{Locate: func(file string) string { return "data sets/" + file }})
		})
		read(t, schema, document)
		reporttest.Golden(t, name+".sarif", document)
	}
	if err := schema.Validate(map[string]any{"version": "2.1.0"}); err == nil {
		t.Error("the schema takes everything")
	}
}

func TestHostileTexts(t *testing.T) {
	schema := official(t)
	for _, s := range reporttest.Hostile {
		pairs := []*eval.Pair{reporttest.HostilePair(s), reporttest.Lost(s), reporttest.Todo(s)}
		var out bytes.Buffer
		reporttest.Render(t, New(&out, reporttest.Compared(t, s, pairs...), Options{}), pairs...)
		run := read(t, schema, out.Bytes()).Runs[0]
		if len(run.Results) != 2 || len(run.Invocations[0].Notifications) != 2 || run.Invocations[0].Successful {
			t.Errorf("%q: %d results, %+v", s, len(run.Results), run.Invocations)
		}
		if run.Results[0].Level != "note" || run.Results[1].Level != "error" {
			t.Errorf("levels are %s, %s", run.Results[0].Level, run.Results[1].Level)
		}
		for _, one := range run.Results {
			if s != "" && one.Locations[0].Physical.Region.Line != 7 {
				t.Errorf("%q: %+v", s, one.Locations)
			}
			if strings.ContainsAny(one.Message.Text, "\x00\x07\x1b\r\u202e") || strings.Contains(one.Message.Text, "](") {
				t.Errorf("%q: %q", s, one.Message.Text)
			}
		}
	}
}

func TestFingerprints(t *testing.T) {
	run := reporttest.HostilePair("x").Candidate
	seen := map[string]bool{}
	for _, test := range []struct {
		surface, id string
		failed      []string
	}{{"s", "c", []string{"a"}}, {"sc", "", []string{"a"}}, {"s", "c", []string{"a", "b"}}, {"s", "c", []string{"ab"}}, {"s", "d", []string{"a"}}} {
		run.Strategy, run.Case.ID = test.surface, test.id
		seen[hashed(&run, test.failed)] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d fingerprints of 5", len(seen))
	}
	pair := reporttest.HostilePair("x")
	before := hashed(&pair.Candidate, []string{"ok"})
	if pair.Line++; hashed(&pair.Candidate, []string{"ok"}) != before {
		t.Error("a line that moves changes the fingerprint")
	}
}

func TestLimits(t *testing.T) {
	schema := official(t)
	failed, lost := reporttest.HostilePair("x"), reporttest.Lost("x")
	var out bytes.Buffer
	r := New(&out, reporttest.Compared(t, "s", failed, lost), Options{})
	r.limit = 5
	var pairs []*eval.Pair
	for range maxTold {
		pairs = append(pairs, failed, lost)
	}
	reporttest.Render(t, r, pairs...)
	run := read(t, schema, out.Bytes()).Runs[0]
	told := run.Invocations[0].Notifications
	if len(run.Results) != 5 || len(told) != maxTold+2 {
		t.Fatalf("%d results, %d notifications", len(run.Results), len(told))
	}
	for i, want := range []string{
		"100 more runs could not run; all of them are in tool-runs.jsonl.",
		"195 more runs failed, over the limit of 5 results; all of them are in tool-runs.jsonl.",
	} {
		if got := told[maxTold+i].Message.Text; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
