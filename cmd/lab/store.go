package main

import (
	"context"
	"fmt"
	"strings"

	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

const (
	storeMemory = "memory"
	storeSQLite = "sqlite:" // and a file
)

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
				if kept, err = ticket.OnSQLite(ctx, file); err != nil {
					return nil, nil, couldNotRun(err)
				}
				closeStore = kept.Close
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
