//go:build race

package governed_test

const raceEnabled = true
