package mcp

import "testing"

// What the environment gives to a server is in no message, though the server
// says it; a word such as the level of a log may stand there.
func TestScrubTheEnvironment(t *testing.T) {
	s := Server{Env: map[string]string{"TOKEN": "s3cr3t-t0ken", "LONGER": "s3cr3t-t0ken-2", "LEVEL": "warn", "EMPTY": ""}}
	const said, want = "warn: s3cr3t-t0ken and s3cr3t-t0ken-2 are no good", "warn: [hidden] and [hidden] are no good"
	if got := s.scrub(said); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
