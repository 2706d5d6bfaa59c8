package overlay

import (
	"errors"
	"strings"
	"testing"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
	"agentlab/lab/yamlfile"
)

// Whatever a file holds, it is a contract file or has faults that stand within
// it; laid over a server it makes contracts that hold together, or has faults.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "version: 1\ntools: {t: {permission: p, effect: read}}\n",
		"version: 1\npin: a\ndefault: deny\ntools:\n  write:\n    permission: '${SECRET}'\n    effect: write\n    approval: bound\n    approver: {permission: q, not_caller: true}\n" +
			"    resource: [{argument: path, within: '${SANDBOX}/a'}]\n    idempotency: {key: id, add: true, expires: 1h}\n    precondition: {call: stat, arguments: {path: $.path, n: [1.50], l: $$.}, field: a.b}\n" +
			"    timeout: 2s\n    retry: transient\n    rate: {burst: 1, every: 1s}\n    concurrency: 1\n    cost: 2\n    visibility: {tasks: [a]}\n    input: {additionalProperties: false, properties: {path: {maxLength: 3}}}\n" +
			"    output: {max_bytes: 9, narrow_by: [path], redact: [x], credentials: true}\n    errors:\n    - {match: a, code: b, category: policy}\n    - {result: {a: 1}, code: rate_limited}\n    description: d\n",
		"version: 1\ntools: {stat: {permission: p, effect: read}, write: {permission: p, effect: write, idempotency: {key: path}, input: {properties: {pat: {}}}}}\n",
	} {
		f.Add([]byte(seed))
	}
	const secret = "s3cr3t"
	env := func(name string) (string, bool) { return secret, name != "GONE" }
	server := []tool.Definition{
		{Name: "write", InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "stat", InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"n":{},"l":{}}}`)},
		{Name: "t", InputSchema: []byte(`{}`)},
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), secret) {
			return
		}
		file, err := parse(text, "contract.yaml", env)
		checkFaults(t, text, err)
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("a secret is told: %v", err)
			}
			return
		}
		tools, err := file.Lay(server)
		checkFaults(t, text, err)
		if err != nil {
			return
		}
		if len(tools) != len(file.Names()) || len(tools) == 0 {
			t.Errorf("%d tools of %q", len(tools), file.Names())
		}
		for _, laid := range tools {
			c := laid.Contract
			c.OutputSchema = []byte(`{}`)
			if _, err := c.Complete(); err != nil {
				t.Error(err)
			}
			if _, err := schema.CompileForeign(c.InputSchema, schema.Draft202012); err != nil {
				t.Errorf("%s: %v", c.InputSchema, err)
			}
			for _, r := range c.Resources {
				if laid.Within[r.Argument] == "" {
					t.Errorf("%q is within nothing", r.Argument)
				}
			}
			if laid.Precondition != nil {
				call, err := laid.Precondition.Call([]byte(`{"path":"x"}`))
				if err != nil {
					t.Error(err)
				} else if _, err := jsonvalue.Decode(call); err != nil {
					t.Errorf("%s: %v", call, err)
				}
			}
		}
	})
}

func checkFaults(t *testing.T, text []byte, err error) {
	t.Helper()
	var invalid *yamlfile.Invalid
	if err == nil {
		return
	}
	if !errors.As(err, &invalid) || len(invalid.Faults) == 0 {
		t.Fatalf("the error is %#v", err)
	}
	for _, fault := range invalid.Faults {
		if fault.Line < 1 || fault.Column < 1 || fault.Column > len(text)+1 || fault.Reason == "" {
			t.Errorf("%v", fault)
		}
	}
}
