// Package datasets holds the datasets that the lab ships, so that the binary
// runs from any folder.
//
// Start with [ToolCases], the eleven boundary cases, and their JSON Schema.
// The package only embeds; lab/dataset reads.
package datasets

import _ "embed"

// ToolCasesName names the shipped dataset in reports.
const ToolCasesName = "tool-cases.jsonl"

// ToolCases is the shipped dataset, one case a line.
//
//go:embed tool-cases.jsonl
var ToolCases []byte

// ToolCasesSchema is the JSON Schema (draft 07) of one line.
//
//go:embed tool-cases.schema.json
var ToolCasesSchema []byte
