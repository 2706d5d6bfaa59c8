//go:build linux

package process

import (
	"os"
	"testing"
)

// What the end of a child costs beside the child: one look through all processes
// of the machine.
func BenchmarkLeft(b *testing.B) {
	p, err := Start(Command{Args: []string{"sleep", "60"}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.End(0)
	names, err := os.ReadDir("/proc")
	if err != nil {
		b.Fatal(err)
	}
	processes := 0
	for _, name := range names {
		if c := name.Name()[0]; c >= '0' && c <= '9' {
			processes++
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if !p.family.left() {
			b.Fatal("it is not there")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(processes), "µs/process")
}
