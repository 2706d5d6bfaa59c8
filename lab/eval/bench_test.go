package eval_test

import (
	"testing"

	"agentlab/lab/eval"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// BenchmarkPlay replays one case on one surface: open, call, grade.
func BenchmarkPlay(b *testing.B) {
	for _, id := range []string{"read-ticket", "duplicate-action", "invalid-arguments", "bounded-list"} {
		c := shippedCase(b, id)
		for _, surface := range []tool.Surface{ticket.Wide{}, ticket.Typed{}} {
			proposals := c.Candidate
			if surface.Name() == ticket.WideName {
				proposals = c.Baseline
			}
			b.Run(id+"/"+surface.Name(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := eval.Play(b.Context(), surface, c, proposals); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkGrades grades a run that passes every grader.
func BenchmarkGrades(b *testing.B) {
	c := shippedCase(b, "bounded-list")
	run, err := eval.Play(b.Context(), ticket.Typed{}, c, c.Candidate)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(eval.Grades(c.Expected, &run)) != 5 {
			b.Fatal("not the five grades of the case")
		}
	}
}

// BenchmarkReplay replays many cases on both surfaces, one worker a core.
func BenchmarkReplay(b *testing.B) {
	text := copies(100)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		comparison, _ := replay(b, plan(text))
		if !comparison.GatePassed() {
			b.Fatal("the gate failed")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*100*len(shipped(b))), "ns/case")
}
