package generate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/generate"
	"agentlab/lab/tool"
)

// wide is a source of five tools with many properties.
func wide(t testing.TB) generate.Source {
	var contracts []contract.Contract
	for i := range 5 {
		var properties, required []string
		for p := range 24 {
			name := fmt.Sprintf("property_%d", p)
			properties = append(properties, fmt.Sprintf(
				`%q:{"type":"string","minLength":%d,"maxLength":%d,"pattern":"^[a-z]+$"},"n%s":{"type":"integer","minimum":%d,"maximum":%d},"l%s":{"type":"array","items":{"enum":["red","green"]},"maxItems":3}`,
				name, 1+p, 30+p, name, p, 100+p, name))
			if p%2 == 0 {
				required = append(required, `"`+name+`"`)
			}
		}
		contracts = append(contracts, contract.Contract{
			Definition: tool.Definition{
				Name:         fmt.Sprintf("tool_%d", i),
				InputSchema:  json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false}`),
				OutputSchema: json.RawMessage(`{}`),
			},
			Permission: "p:read",
		})
	}
	return generate.Source{Contracts: complete(t, contracts), Reach: generate.Staged}
}

var tenThousand = generate.Options{Seed: 1, Max: 10_000, Schema: true, Runtime: true, Pairwise: true}

func TestTenThousandCasesTakeASecond(t *testing.T) {
	src := wide(t)
	started := time.Now()
	set, err := generate.Cases(t.Context(), src, tenThousand)
	took := time.Since(started)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Cases) != tenThousand.Max {
		t.Errorf("%d cases", len(set.Cases))
	}
	// Many times of what it takes, for machines that do something else as well.
	if limit := 30 * time.Second; took > limit {
		t.Errorf("it took %s", took)
	}
	read(t, text(t, set))
}

func BenchmarkTenThousandCases(b *testing.B) {
	src := wide(b)
	for b.Loop() {
		if _, err := generate.Cases(b.Context(), src, tenThousand); err != nil {
			b.Fatal(err)
		}
	}
}
