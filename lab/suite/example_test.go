package suite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agentlab/lab/suite"
)

func ExampleRead() {
	dir, err := os.MkdirTemp("", "suite")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, suite.DefaultFile)
	text := `version: 1
surfaces:
  mine:
    mcp: {comand: [./my-server, "${SANDBOX}"]}
cases: [lab.yaml]
effects: {directory: "${SANDBOX}"}
timeout: 10
`
	for _, text := range []string{text, strings.NewReplacer("comand", "command", "10", "10s").Replace(text)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
		s, err := suite.Read(file, os.LookupEnv)
		if err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), dir+"/", ""))
			continue
		}
		mine := s.Surfaces[0].In("/tmp/sandbox")
		fmt.Println(s.Candidate, s.Timeout, mine.Server.Command, mine.Effects)
	}
	// Output:
	// lab.yaml:4:10: surfaces.mine.mcp: needs a command or a url
	// lab.yaml:4:11: surfaces.mine.mcp.comand: unknown key; did you mean "command"?
	// lab.yaml:7:10: timeout: must be a duration with its unit, from 1ms to 10m, such as 10s
	// mine 10s [./my-server /tmp/sandbox] [{/tmp/sandbox []}]
}
