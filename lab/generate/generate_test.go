package generate_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"agentlab/datasets"
	"agentlab/lab/contract"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/generate"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// contracted is a built-in surface.
type contracted interface {
	tool.Surface
	Contracts() []contract.Contract
}

func read(t testing.TB, text []byte) []*dataset.Case {
	t.Helper()
	reader := dataset.Settings{Surfaces: []string{ticket.WideName, ticket.TypedName, ticket.ProductionName}, Baseline: ticket.WideName, Candidate: ticket.TypedName}.Open(dataset.Source{
		Name: "cases.jsonl", Path: "cases.jsonl",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
	})
	var cases []*dataset.Case
	if _, err := reader.Check(context.Background(), func(c *dataset.Case) { cases = append(cases, c) }); err != nil {
		t.Fatal(err)
	}
	return cases
}

func source(t testing.TB, surface contracted) generate.Source {
	t.Helper()
	session, err := surface.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	src := generate.Source{Contracts: complete(t, surface.Contracts()), Reach: generate.ReachOf(session), Trial: surface}
	for _, c := range read(t, datasets.ToolCases) {
		src.Known = append(src.Known, generate.KnownCalls(c)...)
	}
	return src
}

func complete(t testing.TB, contracts []contract.Contract) []contract.Contract {
	t.Helper()
	for i := range contracts {
		var err error
		if contracts[i], err = contracts[i].Complete(); err != nil {
			t.Fatal(err)
		}
	}
	return contracts
}

func text(t testing.TB, set *generate.Set) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := set.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var everything = generate.Options{Seed: 1, Schema: true, Runtime: true, Pairwise: true}

// What is said of the shipped registries has to be true of them.
func TestCasesHoldOnTheShippedRegistries(t *testing.T) {
	for _, surface := range []contracted{ticket.Typed{}, new(ticket.Production)} {
		t.Run(surface.Name(), func(t *testing.T) {
			set, err := generate.Cases(t.Context(), source(t, surface), everything)
			if err != nil {
				t.Fatal(err)
			}
			cases := read(t, text(t, set))
			if len(cases) < 100 {
				t.Errorf("only %d cases were generated", len(cases))
			}
			failed := 0
			for _, c := range cases {
				run, err := eval.Play(t.Context(), surface, c, c.Candidate)
				if err != nil {
					t.Fatal(err)
				}
				if c.Clause == "" {
					t.Errorf("%s says nothing of what it tests", c.ID)
				}
				for _, g := range run.Grades {
					if !g.Passed {
						failed++
						t.Errorf("%s: %s: %s is %s, want %s", c.ID, c.Intent, g.Name, g.Actual, g.Expected)
					}
				}
			}
			t.Logf("%d cases, %d grades failed; left out: %v", len(cases), failed, set.Left)
		})
	}
}
