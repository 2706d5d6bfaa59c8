// Package mcp tests the lab on MCP servers that other people wrote, from npm, in
// the versions that package-lock.json pins.
//
// Start with make test-mcp, which installs the servers and runs the tests. Each
// folder is a suite: what is right stands in its cases.jsonl, and what becomes of it
// today, right or wrong, in expected.txt: "ID SURFACE: pass", or "ID SURFACE: FAIL"
// and the graders that fail. The surface raw is the server as it is, and governed
// the same server behind contract.yaml, which holds for the tools in catalog.lock
// (lab pin writes it). server-everything is only replayed over both transports.
//
// A case that fails on governed is a fault that no contract can keep out, such as an
// answer that does not tell what the server did; it stays to be seen.
//
// generated.jsonl holds cases that lab generate makes of the bare catalog of the raw
// server, and generated.txt those that it fails, with what it did: mostly it drops an
// argument that its own schema forbids, and does the work. To write the cases anew:
// lab generate -f FOLDER/lab.yaml --surface raw --only schema --max 40 --force --out
// FOLDER/generated.jsonl.
//
// Without Node the suites are only held to their expectations; no server runs.
package mcp
