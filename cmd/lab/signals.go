package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"agentlab/lab/process"
)

// untilSignal returns the context of a command, which the first signal ends:
// what the command then still does is to tidy up. The second signal takes the
// time away from servers to end by themselves, which is most of the wait. The
// third ends this process at once, whatever it leaves behind.
func untilSignal() (context.Context, context.CancelFunc) {
	endings := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	first, again := make(chan os.Signal, 1), make(chan os.Signal, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	signal.Notify(first, endings...)
	go func() {
		defer signal.Stop(again)
		select {
		case <-first:
		case <-done:
			return
		}
		signal.Notify(again, endings...)
		signal.Stop(first)
		cancel()
		select {
		case <-again:
			process.Rush()
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(first)
		close(done)
		cancel()
	}
}

// keepBrokenPipes lets this process live on where nobody reads its stdout or its
// stderr any more, as long as it may have to tidy up. What it returns ends it in
// the way that is usual where it was stdout.
func keepBrokenPipes() func(stdout *firstError) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func(stdout *firstError) {
		signal.Stop(broken)
		if errors.Is(stdout.err, syscall.EPIPE) {
			_, _ = stdout.w.Write([]byte("\n"))
		}
	}
}
