//go:build !unix

package report

// dirLock is empty where a directory cannot be locked: there two runs into one
// directory are the user's to keep apart.
type dirLock struct{}

func lockDir(string) (*dirLock, error) { return &dirLock{}, nil }

func (*dirLock) release() {}
