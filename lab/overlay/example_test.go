package overlay_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

func ExampleFile_Lay() {
	dir, err := os.MkdirTemp("", "overlay")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "contract.yaml")
	text := `version: 1
tools:
  rename:
    permission: files:write
    effect: write
    idempotency: {key: action_id, add: true}
  remoev: {permission: files:write, effect: destructive}
`
	server := []tool.Definition{
		{Name: "rename", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "remove", InputSchema: json.RawMessage(`{"type":"object"}`)},
	}
	for _, text := range []string{text, strings.ReplaceAll(text, "remoev", "remove")} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
		file, err := overlay.Read(path, os.LookupEnv)
		if err != nil {
			fmt.Println(err)
			return
		}
		tools, err := file.Lay(server)
		if err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), dir+"/", ""))
			continue
		}
		for _, laid := range tools {
			fmt.Printf("%s %s %q %s\n", laid.Contract.Name, laid.Contract.Effect, laid.AddedKey, laid.Contract.Annotations)
		}
	}
	// Output:
	// contract.yaml:7:3: tools.remoev: the server has no such tool; did you mean "remove"?
	// remove destructive "" {"readOnlyHint":false,"destructiveHint":true}
	// rename write "action_id" {"readOnlyHint":false,"destructiveHint":false}
}
