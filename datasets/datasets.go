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

// ControlCasesName names the shipped dataset of all controls in reports.
const ControlCasesName = "control-cases.jsonl"

// ControlCases are the cases for every control, one a line.
//
//go:embed control-cases.jsonl
var ControlCases []byte
