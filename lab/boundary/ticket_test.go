package boundary_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/boundary"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

var update = flag.Bool("update", false, "write the golden files")

// TestTicketProbes holds the probes of the built-in contracts to a list.
func TestTicketProbes(t *testing.T) {
	var out bytes.Buffer
	for _, d := range definitions() {
		set := probed(t, d, boundary.ProbeOptions{Pairwise: true})
		for _, c := range set.Coverage {
			if !c.Both() {
				t.Errorf("%s: %+v", d.Name, c)
			}
		}
		fmt.Fprintf(&out, "# %s: %d probes\n", d.Name, len(set.Probes))
		for _, p := range set.Probes {
			fmt.Fprintf(&out, "%s %s | %s | %+.120q\n", p.Place(), p.Side, p.Words, p.Arguments)
		}
	}
	const golden = "testdata/ticket.golden"
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("run go test -update where this is wanted (-want +got):\n%s", diff)
	}
}

func definitions() (list []tool.Definition) {
	for _, c := range ticket.Contracts() {
		list = append(list, c.Definition)
	}
	return list
}

// BenchmarkProbes makes more than 10,000 probes of nine tools of a rich schema, and all
// of the five built-in ones.
func BenchmarkProbes(b *testing.B) {
	rich := tool.Definition{Name: "rich", InputSchema: []byte(richSchema(b))}
	for _, tt := range []struct {
		name  string
		tools []tool.Definition
		o     boundary.ProbeOptions
	}{
		{"rich", []tool.Definition{rich, rich, rich, rich, rich, rich, rich, rich, rich}, boundary.ProbeOptions{Foreign: true, Pairwise: true}},
		{"ticket", definitions(), boundary.ProbeOptions{Pairwise: true}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			probes := 0
			for b.Loop() {
				probes = 0
				for _, d := range tt.tools {
					set, err := boundary.Probes(d, tt.o)
					if err != nil {
						b.Fatal(err)
					}
					probes += len(set.Probes)
				}
			}
			b.ReportMetric(float64(probes), "probes")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(probes), "ns/probe")
		})
	}
}
