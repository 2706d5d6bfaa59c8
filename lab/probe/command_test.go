package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"agentlab/lab/process"
)

func init() {
	roles["print"] = func(text string) error {
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // which has ended
			return err
		}
		_, err := fmt.Print(text)
		return err
	}
	roles["fail"] = func(text string) error {
		fmt.Print(`{}`)
		return errors.New(text)
	}
	roles["hang"] = func(string) error {
		os.Stdout.Close()
		time.Sleep(time.Hour)
		return nil
	}
	roles["flood"] = func(string) error {
		for {
			if _, err := fmt.Println(strings.Repeat(" ", 1<<16)); err != nil {
				return err
			}
		}
	}
}

func TestCommand(t *testing.T) {
	if seen := mustLook(t, Command(act("print", `{"a":[1,2]}`))); len(seen) != 2 {
		t.Error(seen)
	}
	if e := wantFault(t, Command(act("fail", "no state")), "the command failed: exit status 1"); e.Detail != "no state" ||
		!strings.HasSuffix(e.Target, "act fail no state") {
		t.Errorf("%q", e)
	}
	wantFault(t, Command(act("print", `{} x`)), "it is not one JSON document")
	wantFault(t, Command(act("flood", "")), "the document is longer than 16777216 bytes")
	wantFault(t, Command(process.Command{Args: []string{"no-such-program-here"}}),
		"the command cannot be started: no such program in PATH")

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Command(act("hang", "")).Look(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 10*time.Second {
		t.Error(err, time.Since(start))
	}
	if _, err := Command(act("print", "1")).Look(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
