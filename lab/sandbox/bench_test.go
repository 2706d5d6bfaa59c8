//go:build unix

package sandbox

import (
	"os"
	"testing"
	"time"

	"agentlab/lab/mcp"
	"agentlab/lab/probe"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// program is a server that starts fast: BENCH_SERVER names one, else it is the
// test binary.
func program(b *testing.B) []string {
	if named := os.Getenv("BENCH_SERVER"); named != "" {
		return []string{named}
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	return []string{self, "faultserver"}
}

// BenchmarkCase is a case of one call with a look at an empty folder. "server" is
// what its server costs alone: started, asked once, and ended.
func BenchmarkCase(b *testing.B) {
	command := append(program(b), suite.SandboxVariable)
	call := proposal("add", `{"a":1,"b":2}`)
	b.Run("server", func(b *testing.B) {
		dir := b.TempDir()
		server := mcp.Server{Name: "bare", Command: suite.Server{Command: command}.In(dir).Command, Home: dir}.Learning()
		for b.Loop() {
			client, err := mcp.Connect(b.Context(), &server)
			if err != nil {
				b.Fatal(err)
			}
			if result := client.Call(b.Context(), call.Proposal); result.Error != nil {
				b.Fatal(result.Error)
			}
			client.Close()
		}
	})
	for _, isolation := range []suite.Isolation{suite.PerCase, suite.PerSuite} {
		b.Run("isolation: "+string(isolation), func(b *testing.B) {
			s := opened(b, command, isolation)
			for b.Loop() {
				session, err := s.Open(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				session.Call(b.Context(), call)
				if _, err := session.(tool.Observed).Observe(b.Context()); err != nil {
					b.Fatal(err)
				}
				session.Close()
			}
		})
	}
}

// BenchmarkCall is one call; what it costs more than "bare" is the sandbox's and
// the probe's.
func BenchmarkCall(b *testing.B) {
	command := append(program(b), suite.SandboxVariable)
	call := proposal("add", `{"a":1,"b":2}`)
	s := opened(b, command, suite.PerSuite)
	one, err := s.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer one.Close()
	session := one.(*session)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			session.bench.client.Call(b.Context(), call.Proposal)
		}
	})
	b.Run("session", func(b *testing.B) {
		for b.Loop() {
			session.Call(b.Context(), call)
		}
	})
	b.Run("session and look", func(b *testing.B) {
		for b.Loop() {
			session.Call(b.Context(), call)
			if _, err := session.Observe(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			if _, err := session.Observe(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFolder is what lies between two cases beside the server.
func BenchmarkFolder(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			f, err := newFolder(b.Context(), "")
			if err != nil {
				b.Fatal(err)
			}
			if err := f.remove(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("reset", func(b *testing.B) {
		f, err := newFolder(b.Context(), "")
		if err != nil {
			b.Fatal(err)
		}
		defer f.remove()
		for b.Loop() {
			if err := f.reset(b.Context(), ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("watch", func(b *testing.B) {
		dir, err := probe.Directory(b.TempDir(), noise)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := probe.Watch(b.Context(), dir); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func opened(b *testing.B, command []string, isolation suite.Isolation) *Surface {
	s, err := Open(b.Context(), suite.Surface{
		Name: "bench", Server: suite.Server{Command: command}, Effects: wholeFolder,
	}, Settings{Isolation: isolation, Timeout: 10 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	if s.Down() != nil {
		b.Fatal(s.Down())
	}
	return s
}
