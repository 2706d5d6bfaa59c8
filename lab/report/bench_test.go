package report_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/ticket"
)

// BenchmarkPage renders a case, which is two runs, into a page. The cases are
// the shipped ones in turn; pages are delivered when a batch would be full.
func BenchmarkPage(b *testing.B) {
	var pairs []*eval.Pair
	plan := eval.Plan{
		Cases: dataset.Open(dataset.Source{
			Name: datasets.ToolCasesName,
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(datasets.ToolCases)), nil },
		}),
		Baseline: ticket.Wide{}, Candidate: ticket.Typed{}, Workers: 1,
	}
	keep := func(_ struct{}, pair *eval.Pair) { pairs = append(pairs, pair) }
	_, err := eval.Replay(context.Background(), plan, func() struct{} { return struct{}{} }, keep, func(struct{}) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	set, err := report.Create(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer set.Discard()
	page := set.NewPage()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		page.Add(pairs[i%len(pairs)])
		if i%200 == 199 {
			b.StopTimer()
			if err := set.Deliver(page); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}
