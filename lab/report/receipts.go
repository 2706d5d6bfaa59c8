package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter/tw"
)

// runReceipts is what [ReceiptTable] reads of a line of tool-runs.jsonl.
type runReceipts struct {
	SchemaVersion int    `json:"schema_version"`
	Strategy      string `json:"strategy"`
	CaseID        string `json:"case_id"`
	Receipts      []struct {
		Tool   string `json:"tool"`
		Caller string `json:"caller"`
		Key    string `json:"key"`
		State  string `json:"state"`
	} `json:"receipts"`
}

// ReceiptTable reads a stream of runs and writes a table of the receipts that
// each of them left. A line that is no run of this version is an error that
// names it.
func ReceiptTable(w io.Writer, runs io.Reader) error {
	table := newTable(w, tw.AlignLeft)
	table.Header("surface", "case", "tool", "caller", "key", "state")
	lines := bufio.NewReader(runs)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var run runReceipts
			if err := json.Unmarshal(line, &run); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			if run.SchemaVersion != SchemaVersion {
				return fmt.Errorf("line %d: schema_version is %d, not %d", number, run.SchemaVersion, SchemaVersion)
			}
			for _, r := range run.Receipts {
				if err := table.Append(Visible(run.Strategy), Visible(run.CaseID), Visible(r.Tool), Visible(r.Caller), Visible(r.Key), Visible(r.State)); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return table.Render()
		}
		if err != nil {
			return err
		}
	}
}
