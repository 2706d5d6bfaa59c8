package tool_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/tool"
)

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func TestCatalog(t *testing.T) {
	tests := []struct {
		name        string
		definitions []tool.Definition
		want        string
	}{
		{"none", nil, `[]`},
		{"empty", []tool.Definition{}, `[]`},
		{"key order",
			[]tool.Definition{{Name: "n", Description: "d", InputSchema: raw(`{}`), Strict: true}},
			`[{"type":"function","name":"n","description":"d","parameters":{},"strict":true}]`},
		{"strict only where set",
			[]tool.Definition{{Name: "a", InputSchema: raw(`{}`)}, {Name: "b", InputSchema: raw(`{}`), Strict: true}},
			`[{"type":"function","name":"a","description":"","parameters":{}},` +
				`{"type":"function","name":"b","description":"","parameters":{},"strict":true}]`},
		{"sorted by bytes",
			[]tool.Definition{{Name: "b", InputSchema: raw(`1`)}, {Name: "a_b", InputSchema: raw(`2`)}, {Name: "B", InputSchema: raw(`3`)},
				{Name: "ab", InputSchema: raw(`4`)}, {Name: "a", InputSchema: raw(`5`)}},
			`[{"type":"function","name":"B","description":"","parameters":3},` +
				`{"type":"function","name":"a","description":"","parameters":5},` +
				`{"type":"function","name":"a_b","description":"","parameters":2},` +
				`{"type":"function","name":"ab","description":"","parameters":4},` +
				`{"type":"function","name":"b","description":"","parameters":1}]`},
		{"compact",
			[]tool.Definition{{Name: "n", InputSchema: raw(" {\n\t\"type\" : \"object\" ,\r\n \"required\" : [ \"a b\" , \"c\" ]\n}\n")}},
			`[{"type":"function","name":"n","description":"","parameters":{"type":"object","required":["a b","c"]}}]`},
		{"schema key order",
			[]tool.Definition{{Name: "n", InputSchema: raw(`{"type":"object","properties":{"z":{},"a":{},"m":{}},"additionalProperties":false}`)}},
			`[{"type":"function","name":"n","description":"","parameters":{"type":"object","properties":{"z":{},"a":{},"m":{}},"additionalProperties":false}}]`},
		{"schema numbers",
			[]tool.Definition{{Name: "n", InputSchema: raw(`{"maximum":9007199254740993,"minimum":1.0,"multipleOf":1e-2}`)}},
			`[{"type":"function","name":"n","description":"","parameters":{"maximum":9007199254740993,"minimum":1.0,"multipleOf":1e-2}}]`},
		{"no HTML escaping",
			[]tool.Definition{{Name: "n", Description: `1 < 2 & "3" > 2`, InputSchema: raw(`{"pattern":"<[^>]&"}`)}},
			`[{"type":"function","name":"n","description":"1 < 2 & \"3\" > 2","parameters":{"pattern":"<[^>]&"}}]`},
		{"UTF-8",
			[]tool.Definition{{Name: "n", Description: "工单 é 😀", InputSchema: raw(`{"description":"工单"}`)}},
			`[{"type":"function","name":"n","description":"工单 é 😀","parameters":{"description":"工单"}}]`},
		{"line end in a description",
			[]tool.Definition{{Name: "n", Description: "a\nb\n", InputSchema: raw(`true`)}},
			`[{"type":"function","name":"n","description":"a\nb\n","parameters":true}]`},
		{"no output schema",
			[]tool.Definition{{Name: "n", InputSchema: raw(`{}`), OutputSchema: raw(`{"type":"object"}`)}},
			`[{"type":"function","name":"n","description":"","parameters":{}}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tool.Catalog(tt.definitions)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !json.Valid(got) {
				t.Errorf("%s is not JSON", got)
			}
		})
	}
}

func TestCatalogRefusesInvalidSchemas(t *testing.T) {
	tests := []struct{ name, schema string }{
		{"missing", ""},
		{"white space", "  "},
		{"cut", `{"type":`},
		{"two documents", `{} {}`},
		{"comment", `{} // schema`},
		{"trailing comma", `{"a":1,}`},
		{"invalid UTF-8", "{\"title\":\"\xff\"}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tool.Catalog([]tool.Definition{
				{Name: "fine", InputSchema: raw(`{}`)},
				{Name: "faulty", InputSchema: raw(tt.schema)},
			})
			const want = `tool "faulty": the input schema is not JSON`
			if err == nil || err.Error() != want {
				t.Errorf("Catalog = %s, %v, want the error %s", got, err, want)
			}
		})
	}
}

func TestCatalogLeavesItsInput(t *testing.T) {
	definitions := []tool.Definition{
		{Name: "b", InputSchema: raw(`{ "z": 1 }`)},
		{Name: "c", InputSchema: raw(`{}`)},
		{Name: "a", InputSchema: raw(`{}`)},
	}
	before := slices.Clone(definitions)
	if _, err := tool.Catalog(definitions); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, definitions); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestCatalogIgnoresTheOrderOfItsInput(t *testing.T) {
	a := tool.Definition{Name: "a", InputSchema: raw(`1`)}
	b := tool.Definition{Name: "b", InputSchema: raw(`2`)}
	c := tool.Definition{Name: "c", InputSchema: raw(`3`)}
	want, err := tool.Catalog([]tool.Definition{a, b, c})
	if err != nil {
		t.Fatal(err)
	}
	for _, definitions := range [][]tool.Definition{{a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}} {
		got, err := tool.Catalog(definitions)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func ExampleCatalog() {
	catalog, err := tool.Catalog([]tool.Definition{
		{
			Name:        "search_tickets",
			Description: "Find tickets whose age is < 30 days.",
			InputSchema: json.RawMessage(`{"type": "object", "properties": {"query": {"type": "string"}}}`),
		},
		{
			Name:        "get_ticket",
			Description: "Read one ticket.",
			InputSchema: json.RawMessage(`{"type": "object", "required": ["id"]}`),
			Strict:      true,
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", catalog)
	// Output:
	// [{"type":"function","name":"get_ticket","description":"Read one ticket.","parameters":{"type":"object","required":["id"]},"strict":true},{"type":"function","name":"search_tickets","description":"Find tickets whose age is < 30 days.","parameters":{"type":"object","properties":{"query":{"type":"string"}}}}]
}
