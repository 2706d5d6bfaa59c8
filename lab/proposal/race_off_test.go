//go:build !race

package proposal_test

const raceFactor = 1
