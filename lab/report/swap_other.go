//go:build !linux

package report

import "errors"

// swap is not to be had here: a set of which one report cannot be put in place
// stays half new.
func swap(string, string) error { return errors.ErrUnsupported }
