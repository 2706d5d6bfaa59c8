package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"agentlab/lab/eval"
	"agentlab/lab/stream"
)

func newMerge() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Join the streams of all shards into that of one whole run",
		Long: `Join the streams of runs that "lab tool-eval --shard" wrote into the very bytes that
one run without --shard gives. The order of the files does not matter.

Each shard has to be there, once. It is an error if they are not of the same
dataset, selection of cases, surfaces and lab, or if one of them was cut off. What
is written is put in place when it is whole.

The exit code says whether they could be joined, and nothing of the gate, which
"lab report" judges.`,
		Example: `  lab report merge shards/*/tool-runs.jsonl --out tool-runs.jsonl
  lab report merge 1.jsonl 2.jsonl | lab report -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if to == "" {
				return usageError(errors.New("--out names no file"))
			}
			if to == standardOutput {
				return mergeToStdout(cmd, names)
			}
			file, err := replace(to)
			if err != nil {
				return couldNotRun(err)
			}
			defer file.discard()
			if _, err := merge(cmd, file.buffered, names); err != nil {
				return err
			}
			if err := file.publish(); err != nil {
				return couldNotRun(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "out", standardOutput, "write the stream to this `FILE`; - is standard output")
	return cmd
}

// mergeToStdout writes nothing where something is wrong with the last line.
func mergeToStdout(cmd *cobra.Command, names []string) error {
	open, closeStored, _, err := mergedStream(cmd, names)
	if err != nil {
		return err
	}
	defer closeStored()
	from, err := open()
	if err != nil {
		return couldNotRun(err)
	}
	defer from.Close()
	if _, err := io.Copy(cmd.OutOrStdout(), from); err != nil {
		return couldNotRun(err)
	}
	return nil
}

// mergedStream is the stream of a whole run, made of those of its shards, in a
// temporary file until closeStored.
func mergedStream(cmd *cobra.Command, names []string) (open func() (io.ReadCloser, error), closeStored func(), comparison *eval.Comparison, err error) {
	whole, err := os.CreateTemp("", "lab-merge-")
	if err != nil {
		return nil, nil, nil, couldNotRun(err)
	}
	closeStored = func() { os.Remove(whole.Name()) }
	buffered := bufio.NewWriterSize(whole, 64<<10)
	comparison, err = merge(cmd, buffered, names)
	closed := errors.Join(buffered.Flush(), whole.Close())
	if err == nil && closed != nil {
		err = couldNotRun(closed)
	}
	if err != nil {
		closeStored()
		return nil, nil, nil, err
	}
	return func() (io.ReadCloser, error) { return os.Open(whole.Name()) }, closeStored, comparison, nil
}

// merge writes the stream of a whole run, made of those of its shards.
func merge(cmd *cobra.Command, to io.Writer, names []string) (*eval.Comparison, error) {
	if len(names) > eval.MaxShards {
		return nil, usageError(fmt.Errorf("%d files are more than there can be shards, which is %d", len(names), eval.MaxShards))
	}
	parts := make([]stream.Part, len(names))
	for i, name := range names {
		from := io.NopCloser(cmd.InOrStdin())
		if name != standardOutput {
			var err error
			if from, err = openUntil(cmd.Context(), name); err != nil {
				if cmd.Context().Err() != nil {
					return nil, cmd.Context().Err()
				}
				return nil, usageError(err)
			}
		}
		defer from.Close()
		reader, err := stream.NewReader(from)
		if cmd.Context().Err() != nil {
			return nil, cmd.Context().Err()
		}
		if err != nil {
			return nil, unreadableStream(name, err)
		}
		parts[i] = stream.Part{Name: name, Reader: reader}
	}
	comparison, err := stream.Merge(to, parts)
	var unreadable *stream.Unreadable
	switch {
	case err == nil:
		return comparison, nil
	case cmd.Context().Err() != nil:
		return nil, cmd.Context().Err()
	case errors.As(err, &unreadable):
		return nil, unreadableStream(unreadable.Name, unreadable.Err)
	case errors.Is(err, stream.ErrMismatch):
		return nil, usageError(err)
	}
	return nil, couldNotRun(err)
}
