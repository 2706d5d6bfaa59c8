package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"agentlab/tests/casegen"
)

// BenchmarkToolEval is the whole command, in this process. Its CPU profile is
// what the compiler optimises the command for:
//
//	go test -run '^$' -bench ToolEval -cpuprofile cmd/lab/default.pgo ./cmd/lab
func BenchmarkToolEval(b *testing.B) {
	const cases = 11_000
	dir := b.TempDir()
	dataset := filepath.Join(dir, "cases.jsonl")
	file, err := os.Create(dataset)
	if err != nil {
		b.Fatal(err)
	}
	if err := casegen.Write(file, cases); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		args := []string{"tool-eval", "--quiet", "--cases", dataset, "--out", filepath.Join(dir, "reports")}
		if code := run(args, io.Discard, os.Stderr); code != exitPassed {
			b.Fatalf("exit code %d", code)
		}
	}
	b.ReportMetric(float64(cases*b.N)/b.Elapsed().Seconds(), "cases/s")
}
