package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"agentlab/lab/eval"
	"agentlab/lab/registry"
	"agentlab/lab/report"
	"agentlab/lab/report/otel"
)

// formatOtel is the name of the traces among the formats.
const formatOtel = "otel"

// newOtel opens the traces. What is a credential by its name is never told.
func newOtel(arguments bool) func(io.Writer, *eval.Comparison, locating) (report.Sink, error) {
	return func(w io.Writer, c *eval.Comparison, _ locating) (report.Sink, error) {
		return otel.New(w, c, otel.Options{Arguments: arguments, Secret: registry.NamesCredential}), nil
	}
}

// telemetry are the flags of the traces.
type telemetry struct {
	file      string
	arguments bool
}

func (t *telemetry) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.file, "otel", "", "write the runs as OpenTelemetry traces to this `FILE`, OTLP JSON lines, which is what --report otel=FILE does")
	cmd.Flags().BoolVar(&t.arguments, "otel-arguments", false, "tell the arguments of calls in the traces, but for fields whose names are those of credentials")
}

// want reads the flags that ask for reports: the values of --report, with dir for
// those without a file, and of --format. It adds the traces, and says of all traces
// among the reports and on stdout what is to be told in them.
func (t *telemetry) want(cmd *cobra.Command, values []string, dir, onStdout string) (all []wantedReport, shown *reportFormat, err error) {
	if shown, err = formatNamed("format", onStdout); err != nil {
		return nil, nil, err
	}
	if all, err = wantedReports(values, dir); err != nil {
		return nil, nil, err
	}
	if cmd.Flag("otel").Changed {
		format, err := formatNamed("otel", formatOtel)
		switch {
		case err != nil:
			return nil, nil, err
		case t.file == "":
			return nil, nil, usageError(errors.New("--otel names no file"))
		case slices.ContainsFunc(all, func(w wantedReport) bool { return w.path == t.file }):
			return nil, nil, usageError(fmt.Errorf("--otel: two reports go to %s", t.file))
		}
		all = append(all, wantedReport{format, t.file})
	}
	if !t.arguments {
		return all, shown, nil
	}
	asked := false
	whole := func(f *reportFormat) *reportFormat {
		if f.name != formatOtel {
			return f
		}
		asked = true
		return &reportFormat{name: f.name, file: f.file, sink: newOtel(true)}
	}
	for i := range all {
		all[i].reportFormat = whole(all[i].reportFormat)
	}
	if shown = whole(shown); !asked {
		return nil, nil, usageError(errors.New("--otel-arguments is for traces, and none are asked for; --otel FILE writes them"))
	}
	return all, shown, nil
}
