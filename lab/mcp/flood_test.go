package mcp_test

import (
	"runtime"
	"testing"
	"time"

	"agentlab/lab/mcp"
)

// What a server sends is not held: 100 MB of it raise the heap by no more
// than a few messages.
func TestFloodsAreBounded(t *testing.T) {
	const most = 100 << 20
	for carrier, faults := range map[string][]string{
		"stdio": {"flood-progress:100", "flood-log:100", "huge:100", "endless", "flood-stderr:100@1"},
		"http":  {"flood-log:100", "endless", "sse-endless", "get-flood:100"}, // huge would be built in this process
	} {
		start := map[string]func(testing.TB, ...string) *mcp.Server{"stdio": stdioServer, "http": httpServer}[carrier]
		for _, fault := range faults {
			t.Run(carrier+" "+fault, func(t *testing.T) {
				s := start(t, fault)
				s.MaxMessage, s.Timeout = mcp.DefaultMaxMessage, brief
				c := connect(t, s)
				runtime.GC()
				var before, now runtime.MemStats
				runtime.ReadMemStats(&before)
				done := make(chan struct{})
				go func() {
					defer close(done)
					c.Call(t.Context(), addition)
					c.Close()
				}()
				peak := uint64(0)
				for ended := false; !ended; {
					select {
					case <-done:
						ended = true
					case <-time.After(5 * time.Millisecond):
					}
					runtime.ReadMemStats(&now)
					peak = max(peak, now.HeapAlloc)
				}
				if peak > before.HeapAlloc+most {
					t.Errorf("the heap grew by %d MiB", (peak-before.HeapAlloc)>>20)
				}
				t.Logf("by %d KiB", (max(peak, before.HeapAlloc)-before.HeapAlloc)>>10)
			})
		}
	}
}
