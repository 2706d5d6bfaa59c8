package report

import _ "embed"

// ComparisonSchema is the JSON Schema (draft 07) of tool-comparison.json.
//
//go:embed schemas/tool-comparison.schema.json
var ComparisonSchema []byte
