// Package casegen makes datasets of any size for tests and benchmarks.
//
// Start with [Write]. What it writes is made of the shipped cases, so it passes
// and fails exactly as they do.
package casegen

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"

	"agentlab/datasets"
)

// fresh are the parts of a shipped case that differ in every copy of it.
var fresh = regexp.MustCompile(`"(case_id|action_id)":"[^"]*`)

// Write writes the shipped cases over and over under fresh ids, until there are
// n or the writer fails.
func Write(w io.Writer, n int) error {
	shipped := bytes.Split(bytes.TrimSpace(datasets.ToolCases), []byte("\n"))
	out := bufio.NewWriterSize(w, 256<<10)
	for i := range n {
		suffix := fmt.Appendf(nil, "-%07d", i/len(shipped)+1)
		line := fresh.ReplaceAllFunc(shipped[i%len(shipped)], func(name []byte) []byte {
			return append(bytes.Clone(name), suffix...)
		})
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}
