package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrChanged is wrapped by the error of a source that is not what was checked.
var ErrChanged = errors.New("it has changed since it was checked")

// Checked is what a dataset without a fault holds.
type Checked struct {
	SHA256 string // as of [Reader.SHA256]
	Cases  int    // that are ready to be replayed
	Todo   int    // that are not
}

// Check reads every line of every source, so that its faults are known before
// anything is called. It comes before the first Next, and opens each source
// once more than that does. The reader then ends with an error that wraps
// [ErrChanged] where a source gives other bytes.
//
// See, where it is not nil, is shown each case; of a dataset with a fault,
// those before it. Errors: an [*Invalid], the error of ctx, or of a source that
// cannot be read.
func (r *Reader) Check(ctx context.Context, see func(*Case)) (Checked, error) {
	settings := r.settings
	settings.BatchLines = 0
	first := settings.Open(r.sources...)
	defer first.Close()
	ledger := NewLedger(first)
	var checked Checked
	for {
		if err := ctx.Err(); err != nil {
			return Checked{}, err
		}
		batch, err := first.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			// What was wrong with the lines before is told all the same.
			return Checked{}, errors.Join(ledger.Close(), err)
		}
		decoded := batch.Decode()
		if !ledger.Record(decoded) {
			continue
		}
		for _, line := range decoded.Lines {
			if line.Case.Todo != "" {
				checked.Todo++
			} else {
				checked.Cases++
			}
			if see != nil {
				see(line.Case)
			}
		}
	}
	if err := ledger.Close(); err != nil {
		return Checked{}, err
	}
	r.checked = first.ends
	checked.SHA256 = first.SHA256()
	return checked, nil
}

// sourceEnds notes the digest at the end of the current source, and finds
// whether it is the one that was checked.
func (r *Reader) sourceEnds(path string) error {
	digest := r.digest.Sum(nil)
	r.ends = append(r.ends, digest)
	if r.checked != nil && !bytes.Equal(digest, r.checked[r.source]) {
		return fmt.Errorf("%w: %s: %w", ErrUnreadable, path, ErrChanged)
	}
	return nil
}
