// Package mcp tests the lab on MCP servers that other people wrote, from npm, in
// the versions that package-lock.json pins.
//
// Start with make test-mcp, which installs the servers and runs the tests. Each
// folder is a suite: what is right stands in its cases.jsonl, and what its server
// does today, right or wrong, in expected.txt: "ID: pass", or "ID: FAIL" and the
// graders that fail.
//
// Without Node the suites are only held to their expectations; no server runs.
package mcp
