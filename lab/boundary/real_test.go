package boundary_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/boundary"
	"agentlab/lab/tool"
)

// real are schemas in the style of well-known servers.
var real = []struct {
	name, schema string
	plain        string
	refused      []string // the faults, each with its property
}{
	{"filesystem read_text_file",
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string"},
		"tail":{"type":"number","description":"If provided, returns only the last N lines of the file"},"head":{"type":"number"}},"required":["path"]}`,
		`{"path":"${SANDBOX}/example.txt"}`,
		[]string{"missing path", "type head", "null head", "type path", "null path", "type tail", "null tail", "misspelt path"}},
	{"filesystem read_multiple_files",
		`{"type":"object","properties":{"paths":{"type":"array","items":{"type":"string"},"minItems":1,"description":"Array of file paths"}},"required":["paths"],"additionalProperties":false}`,
		`{"paths":["${SANDBOX}/example.txt"]}`,
		[]string{"missing paths", "unknown unexpected_property", "type paths", "null paths", "minItems paths", "misspelt paths"}},
	{"filesystem write_file",
		`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`,
		`{"content":"example","path":"${SANDBOX}/example.txt"}`,
		[]string{"missing content", "missing path", "type content", "null content", "type path", "null path", "misspelt content", "misspelt path"}},
	{"filesystem edit_file",
		`{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},
		"required":["oldText","newText"],"additionalProperties":false}},"dryRun":{"type":"boolean","default":false}},"required":["path","edits"],"additionalProperties":false}`,
		`{"edits":[{"newText":"example","oldText":"example"}],"path":"${SANDBOX}/example.txt"}`,
		[]string{"missing edits", "missing path", "unknown unexpected_property", "type dryRun", "null dryRun", "type edits", "null edits",
			"type path", "null path", "misspelt dryRun", "misspelt edits", "misspelt path"}},
	{"filesystem move_file",
		`{"type":"object","properties":{"source":{"type":"string"},"destination":{"type":"string"}},"required":["source","destination"]}`,
		`{"destination":"${SANDBOX}/example-copy.txt","source":"${SANDBOX}/example.txt"}`,
		[]string{"missing destination", "missing source", "type destination", "null destination", "type source", "null source", "misspelt destination", "misspelt source"}},
	{"filesystem list_directory_with_sizes",
		`{"type":"object","properties":{"path":{"type":"string"},"sortBy":{"type":"string","enum":["name","size"],"default":"name"}},"required":["path","sortBy"]}`,
		`{"path":"${SANDBOX}/example.txt","sortBy":"name"}`,
		[]string{"missing path", "missing sortBy", "type path", "null path", "type sortBy", "null sortBy", "enum sortBy", "misspelt path", "misspelt sortBy"}},
	{"filesystem list_allowed_directories", `{"type":"object","properties":{},"required":[]}`, `{}`, nil},
	{"memory create_relations",
		`{"type":"object","properties":{"relations":{"type":"array","items":{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},
		"relationType":{"type":"string"}},"required":["from","to","relationType"],"additionalProperties":false}}},"required":["relations"],"additionalProperties":false}`,
		`{"relations":[{"from":"example","relationType":"example","to":"example"}]}`,
		[]string{"missing relations", "unknown unexpected_property", "type relations", "null relations", "misspelt relations"}},
	{"everything long running",
		`{"type":"object","properties":{"duration":{"type":"number","default":10},"steps":{"type":"integer","minimum":1,"maximum":100}},"required":["duration","steps"]}`,
		`{"duration":10,"steps":1}`,
		[]string{"missing duration", "missing steps", "type duration", "null duration", "type steps", "null steps", "whole steps", "minimum steps", "maximum steps",
			"misspelt duration", "misspelt steps"}},
	{"everything annotated message",
		`{"type":"object","properties":{"messageType":{"type":"string","enum":["error","success","debug"]},"includeImage":{"type":"boolean","default":false}},"required":["messageType"],"additionalProperties":false}`,
		`{"messageType":"error"}`,
		[]string{"missing messageType", "unknown unexpected_property", "type includeImage", "null includeImage", "type messageType", "null messageType", "enum messageType",
			"misspelt includeImage", "misspelt messageType"}},
	{"sqlite write_query",
		`{"type":"object","properties":{"query":{"type":"string","description":"SQL query to execute","minLength":1}},"required":["query"]}`,
		`{"query":"example"}`,
		[]string{"missing query", "type query", "null query", "minLength query", "misspelt query"}},
	{"github create_issue",
		`{"type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string"},"title":{"type":"string","maxLength":256},
		"labels":{"type":"array","items":{"type":"string"},"uniqueItems":true},"milestone":{"anyOf":[{"type":"integer"},{"type":"null"}]}},
		"required":["owner","repo","title","labels"],"additionalProperties":false}`,
		`{"labels":["example"],"owner":"example","repo":"example","title":"example"}`,
		[]string{"missing labels", "missing owner", "missing repo", "missing title", "unknown unexpected_property", "type labels", "null labels", "uniqueItems labels",
			"type milestone", "whole milestone", "type owner", "null owner", "type repo", "null repo", "type title", "null title", "maxLength title",
			"misspelt labels", "misspelt milestone", "misspelt owner", "misspelt repo", "misspelt title"}},
	{"github list_commits",
		`{"type":"object","properties":{"sha":{"type":"string","pattern":"^[0-9a-f]{7,40}$"},"since":{"type":"string","format":"date-time"},
		"perPage":{"type":"integer","minimum":1,"maximum":100,"default":30}},"required":["sha","since","perPage"]}`,
		`{"perPage":30,"sha":"aaaaaaa","since":"2024-01-15T09:30:00Z"}`,
		[]string{"missing perPage", "missing sha", "missing since", "type perPage", "null perPage", "whole perPage", "minimum perPage", "maximum perPage",
			"type sha", "null sha", "pattern sha", "type since", "null since", "format since", "misspelt perPage", "misspelt sha", "misspelt since"}},
	{"no schema", `{}`, `{}`, nil},
	{"anything", `true`, `{}`, nil},
}

func define(name, schema string) tool.Definition {
	return tool.Definition{Name: name, InputSchema: json.RawMessage(schema)}
}

func TestRealSchemas(t *testing.T) {
	for _, tt := range real {
		t.Run(tt.name, func(t *testing.T) {
			d := define("a", tt.schema)
			plain, err := boundary.Plain(d)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.plain, string(plain)); diff != "" {
				t.Errorf("plain (-want +got):\n%s", diff)
			}
			calls, err := boundary.Refused(d)
			if err != nil {
				t.Fatal(err)
			}
			var faults []string
			for _, call := range calls {
				faults = append(faults, call.Fault+" "+call.Property)
			}
			if diff := cmp.Diff(tt.refused, faults); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			holds(t, d)
		})
	}
}
