//go:build race

package boundary_test

const raceEnabled = true
