// Command cmd is the faulty MCP server of the tests, to try by hand:
//
//	go run ./tests/faultserver/cmd -faults
//	go build -o /tmp/faultserver ./tests/faultserver/cmd
package main

import "agentlab/tests/faultserver"

func main() { faultserver.Main() }
