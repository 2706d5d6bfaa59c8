package dataset_test

import (
	"testing"

	"agentlab/datasets"
	"agentlab/lab/dataset"
)

// BenchmarkDecode reads the shipped cases as one batch; the ns/case and
// allocs/op come out of one op a batch.
func BenchmarkDecode(b *testing.B) {
	batch, err := dataset.Open(source(datasets.ToolCasesName, string(datasets.ToolCases))).Next()
	if err != nil {
		b.Fatal(err)
	}
	cases := len(batch.Decode().Lines)
	if cases == 0 {
		b.Fatal("no case")
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(datasets.ToolCases)))
	for b.Loop() {
		if batch.Decode().Total > 0 {
			b.Fatal("a fault")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*cases), "ns/case")
}
