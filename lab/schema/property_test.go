package schema_test

import (
	"encoding/json"
	"testing"

	"agentlab/lab/schema"
)

func TestWithProperty(t *testing.T) {
	for document, want := range map[string]string{
		`{}`: `{"properties":{"k":{"const":1.50}},"required":["k"]}`,
		`{"required":["b"], "properties":{"b":{"x":1e2},"a":{}},"type":"object"}`: `{"required":["b","k"],"properties":{"b":{"x":1e2},"a":{},"k":{"const":1.50}},"type":"object"}`,
	} {
		got, err := schema.WithProperty(json.RawMessage(document), "k", json.RawMessage(`{"const":1.50}`))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", document, got, err, want)
		}
	}
	for _, broken := range []string{``, `{`, `{"a":1,"a":2}`} {
		if got, err := schema.WithProperty(json.RawMessage(broken), "k", json.RawMessage(`{}`)); err == nil {
			t.Errorf("%s: %s", broken, got)
		}
		if got, err := schema.WithProperty(json.RawMessage(`{}`), "k", json.RawMessage(broken)); err == nil {
			t.Errorf("property %s: %s", broken, got)
		}
	}
}
