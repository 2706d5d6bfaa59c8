//go:build unix

package probe

import "syscall"

// openOnly opens what was a file a moment ago: no link is followed, and no pipe
// is waited for.
const openOnly = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
