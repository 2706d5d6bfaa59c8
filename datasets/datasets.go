// Package datasets holds the datasets that the lab ships, so that the binary
// runs from any folder.
//
// Start with [ToolCases], the eleven boundary cases, and their JSON Schema.
// [ControlCases] are those of every control, [MutantWaivers] what none of all these
// can notice.
// The package only embeds; lab/dataset reads.
package datasets

import _ "embed"

// ToolCasesName names the shipped dataset in reports.
const ToolCasesName = "tool-cases.jsonl"

// ToolCases is the shipped dataset, one case a line.
//
//go:embed tool-cases.jsonl
var ToolCases []byte

// ControlCasesName names the cases of every control in reports.
const ControlCasesName = "control-cases.jsonl"

// ControlCases are the cases of every control, for the surface that asks for them
// all.
//
//go:embed control-cases.jsonl
var ControlCases []byte

// MutantWaiversName names the waivers in what is said of them.
const MutantWaiversName = "mutant-waivers.yaml"

// MutantWaivers says which mutants of that surface no case could notice, and why.
//
//go:embed mutant-waivers.yaml
var MutantWaivers []byte

// ToolCasesSchema is the JSON Schema (draft 07) of one line.
//
//go:embed tool-cases.schema.json
var ToolCasesSchema []byte
