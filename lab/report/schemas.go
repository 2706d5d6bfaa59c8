package report

import _ "embed"

// ComparisonSchema is the JSON Schema (draft 07) of tool-comparison.json.
//
//go:embed schemas/tool-comparison.schema.json
var ComparisonSchema []byte

// RunsSchema is the JSON Schema (draft 07) of a line of tool-runs.jsonl.
//
//go:embed schemas/tool-runs.schema.json
var RunsSchema []byte
