//go:build !race

package governed_test

const raceEnabled = false
