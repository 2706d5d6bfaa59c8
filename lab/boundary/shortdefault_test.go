package boundary_test

import (
	"encoding/json"
	"testing"

	"agentlab/lab/boundary"
	"agentlab/lab/tool"
)

// TestProbesOfAnEmptyDefault: an array whose default is too short for what is to be
// looked at in it is no reason to end.
func TestProbesOfAnEmptyDefault(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"patterns":{"type":"array","items":{"type":"string"},"default":[]}}}`,
		`{"type":"object","properties":{"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"examples":[["a"]]}}}`,
	} {
		d := tool.Definition{Name: "t", InputSchema: json.RawMessage(schema)}
		if set, err := boundary.Probes(d, boundary.ProbeOptions{Foreign: true}); err != nil || len(set.Probes) < 10 {
			t.Errorf("%s: %v, %v", schema, set, err)
		}
	}
}
