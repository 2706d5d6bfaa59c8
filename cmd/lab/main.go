// Command lab tells whether the tools that are given to an AI agent can be
// trusted when the agent proposes something wrong.
//
// Start with "lab tool-eval". This package alone knows cobra, the environment,
// stdout and exit codes; everything else is in lab/.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
