//go:build race

package proposal_test

// raceFactor is by how much the race detector slows reading down, and more.
const raceFactor = 10
