//go:build !unix

package probe

const openOnly = 0
