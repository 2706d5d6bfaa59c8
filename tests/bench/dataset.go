package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"

	"agentlab/datasets"
)

// names are the parts of a shipped case that must be fresh in every copy.
var names = regexp.MustCompile(`"(case_id|action_id)":"[^"]*`)

// writeDataset writes the shipped cases over and over, with fresh case and
// action ids, until there are so many.
func writeDataset(w io.Writer, cases int) error {
	shipped := bytes.Split(bytes.TrimSpace(datasets.ToolCases), []byte("\n"))
	out := bufio.NewWriterSize(w, 1<<20)
	for i := range cases {
		suffix := fmt.Appendf(nil, "-%07d", i/len(shipped)+1)
		line := names.ReplaceAllFunc(shipped[i%len(shipped)], func(name []byte) []byte {
			return append(bytes.Clone(name), suffix...)
		})
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Flush()
}
