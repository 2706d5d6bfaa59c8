package probe

import (
	"context"
	"errors"
	"io"
	"strings"

	"agentlab/lab/process"
)

// Command looks at the JSON that a command writes to its standard output, see
// [JSON]. It has no input, has to end with exit status 0, and is ended with
// everything that it started. What it last wrote to its standard error is part
// of the error where it fails.
func Command(command process.Command) Probe {
	return CommandThrough(command, func(text []byte) []byte { return text })
}

// CommandThrough is [Command] for output that holds what differs from run to
// run, such as the path of a temporary folder: through takes it out, before
// anything is named or measured.
func CommandThrough(command process.Command, through func(output []byte) []byte) Probe {
	return document("command", strings.Join(command.Args, " "), func(ctx context.Context) ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := process.Start(command)
		if err != nil {
			f := &fault{"the command cannot be started", err.Error(), err}
			if start := (*process.StartError)(nil); errors.As(err, &start) {
				f.reason += ": " + start.Reason
				f.detail = ""
			}
			return nil, f
		}
		defer p.End(0)
		defer context.AfterFunc(ctx, func() { p.End(0) })()
		_ = p.Stdin().Close()
		text, err := io.ReadAll(io.LimitReader(p.Stdout(), MaxDocument+1))
		if err != nil {
			return nil, err
		}
		if len(text) > MaxDocument {
			return nil, errTooLong
		}
		<-p.Exited() // by itself, or with ctx
		if status := p.Status(); status != "exit status 0" {
			return nil, &fault{"the command failed: " + status, strings.Join(p.LastWords(), "\n"), nil}
		}
		return through(text), nil
	})
}
