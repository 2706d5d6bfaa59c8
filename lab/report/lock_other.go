//go:build !unix

package report

// FileLock is empty where nothing can be locked: there two runs into one place
// are the user's to keep apart.
type FileLock struct{}

// Lock locks nothing here.
func Lock(string) (*FileLock, error) { return &FileLock{}, nil }

// Release ends nothing here.
func (*FileLock) Release() {}
