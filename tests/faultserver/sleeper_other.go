//go:build !unix

package faultserver

import (
	"errors"
	"os"
	"os/signal"
)

func ignoreSignals() { signal.Ignore(os.Interrupt) }

func startSleeper(bool, bool) (int, error) { return 0, errors.New("children are for unix alone") }
