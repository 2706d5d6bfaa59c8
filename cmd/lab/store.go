package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"agentlab/lab/report"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

const (
	storeMemory = "memory"
	storeSQLite = "sqlite:" // and a file
)

// lockStore keeps other runs from a store: each would empty it under the other.
// The lock is on a file beside it, as SQLite has locks of its own on the store.
func lockStore(file string) (*report.FileLock, error) {
	path := file + ".lock"
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lock.Close(); err != nil {
		return nil, err
	}
	return report.Lock(path)
}

// withStore returns the surfaces of these names, with the one that can be kept
// elsewhere kept where --store says, and what closes it.
func withStore(ctx context.Context, store string, names ...string) (surfaces []tool.Surface, closeStore func() error, err error) {
	closeStore = func() error { return nil }
	file, onFile := strings.CutPrefix(store, storeSQLite)
	if !onFile && store != storeMemory || onFile && file == "" {
		return nil, nil, usageError(fmt.Errorf("--store %q is neither memory nor sqlite:FILE", store))
	}
	var kept *ticket.Production
	for _, name := range names {
		surface, err := surfaceNamed(name)
		if err != nil {
			return nil, nil, err
		}
		if onFile && name == ticket.ProductionName {
			if kept == nil {
				lock, err := lockStore(file)
				if err != nil {
					return nil, nil, couldNotRun(err)
				}
				if kept, err = ticket.OnSQLite(ctx, file); err != nil {
					lock.Release()
					return nil, nil, couldNotRun(err)
				}
				closeStore = func() error {
					defer lock.Release()
					return kept.Close()
				}
			}
			surface = kept
		}
		surfaces = append(surfaces, surface)
	}
	if onFile && kept == nil {
		return nil, nil, usageError(fmt.Errorf("--store %s is for %s, which is not replayed", store, ticket.ProductionName))
	}
	return surfaces, closeStore, nil
}
