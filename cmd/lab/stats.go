package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/lab/report"
	"agentlab/lab/stats"
	"agentlab/lab/stream"
)

// statsCommand is the command line of lab stats.
type statsCommand struct {
	by     []string
	format string
}

// statsFormats are what stdout can be given, by the value of --format.
var statsFormats = map[string]func(io.Writer, *stats.Stats) error{
	"text": report.StatsText, "json": report.StatsJSON, "csv": report.StatsCSV,
}

func newStats() *cobra.Command {
	var o statsCommand
	formats, dimensions := slices.Sorted(maps.Keys(statsFormats)), make([]string, 0, 4)
	for _, d := range stats.Dimensions() {
		dimensions = append(dimensions, string(d))
	}
	cmd := &cobra.Command{
		Use:   "stats FILE...",
		Short: "Count the calls of stored streams of runs: success, refusals, sizes, times",
		Long: `Read streams of runs that lab tool-eval wrote (tool-runs.jsonl), without running
anything, and count the calls in them: how many succeeded, which control refused the
others, which arguments were invalid, how many came to their timeout or were stopped
by a budget, and the percentiles of the output's bytes and of the time that calls
took. FILE is - for standard input.

Each attempt is a call; a proposal that could not be read is none. Times are those
of a simulated clock: a case that stages nothing tells none, and no server outside.
The version is that of the tool's contract, where the surface knows one.

It exits 0 whether the gate passed or not, and 2 where a stream cannot be read.`,
		Example: `  lab stats reports/local/tool-runs.jsonl
  lab stats --by caller,tool monday.jsonl tuesday.jsonl
  lab stats --by surface --format json runs.jsonl | jq '.groups[].success_rate'
  lab stats --format csv shards/*/tool-runs.jsonl > calls.csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the streams of runs to count in")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args, dimensions, formats) },
	}
	cmd.Flags().StringSliceVar(&o.by, "by", []string{string(stats.Surface), string(stats.Tool)}, "what calls are told apart by, `DIMENSIONS` of: "+strings.Join(dimensions, ", "))
	cmd.Flags().StringVar(&o.format, "format", "text", "what stdout gets, a `FORMAT`: "+strings.Join(formats, ", "))
	completions(cmd, map[string]cobra.CompletionFunc{
		"by":     cobra.FixedCompletions(dimensions, cobra.ShellCompDirectiveNoFileComp),
		"format": cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp),
	})
	return cmd
}

func (o *statsCommand) run(cmd *cobra.Command, names, dimensions, formats []string) error {
	render, ok := statsFormats[o.format]
	if !ok {
		return usageError(fmt.Errorf("--format %q is not one of %s", o.format, strings.Join(formats, ", ")))
	}
	var by []stats.Dimension
	for _, name := range o.by {
		if !slices.Contains(dimensions, name) {
			return usageError(fmt.Errorf("--by %q is not one of %s", name, strings.Join(dimensions, ", ")))
		}
		by = append(by, stats.Dimension(name))
	}
	counted := stats.New(by)
	for _, name := range names {
		if err := countStream(cmd, counted, name); err != nil {
			return err
		}
	}
	if err := render(cmd.OutOrStdout(), counted); err != nil {
		return couldNotRun(err)
	}
	return nil
}

// countStream counts the calls of one stream.
func countStream(cmd *cobra.Command, counted *stats.Stats, name string) error {
	from := io.NopCloser(cmd.InOrStdin())
	if name != standardOutput {
		var err error
		if from, err = openUntil(cmd.Context(), name); err != nil {
			return usageError(err)
		}
	}
	defer from.Close()
	reader, err := stream.NewReader(from)
	if err != nil {
		return unreadableStream(name, err)
	}
	counted.Begin(reader.Comparison())
	for {
		pair, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return unreadableStream(name, err)
		}
		counted.Add(pair)
	}
}
