package report

import (
	"encoding/json"
	"io"

	"github.com/olekukonko/tablewriter/tw"

	"agentlab/lab/stream"
)

// ReceiptTable reads a stream of runs and writes a table of the receipts that
// each of them left. The error is that of [stream.Reader].
func ReceiptTable(w io.Writer, runs io.Reader) error {
	table := newTable(w, tw.AlignLeft)
	table.Header("surface", "case", "tool", "caller", "key", "state")
	reader, err := stream.NewReader(runs)
	if err != nil {
		return err
	}
	for {
		pair, err := reader.Next()
		if err == io.EOF {
			return table.Render()
		}
		if err != nil {
			return err
		}
		for _, run := range pair.Runs() {
			var receipts []struct{ Tool, Caller, Key, State string }
			if run.Receipts != nil {
				if err := json.Unmarshal(run.Receipts, &receipts); err != nil {
					return err
				}
			}
			for _, r := range receipts {
				if err := table.Append(Visible(run.Strategy), Visible(run.Case.ID), Visible(r.Tool), Visible(r.Caller), Visible(r.Key), Visible(r.State)); err != nil {
					return err
				}
			}
		}
	}
}
