package mutation

import (
	"encoding/json"

	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// ofInput are the operators that weaken which arguments are valid.
var ofInput = []Operator{
	{
		Name:      "unknown-properties-allowed",
		Control:   "input",
		Does:      "The arguments of TOOL may have properties that its schema does not know: PLACE is dropped.",
		Unchecked: "Nobody checks that TOOL refuses a property that it does not know (PLACE).",
		Needs:     "an input schema that allows no further properties",
		spots:     inSchemas(inputOf, unknownAllowed),
	},
	{
		Name:      "required-dropped",
		Control:   "input",
		Does:      "What PLACE names may be missing from the arguments of TOOL.",
		Unchecked: "Nobody checks that TOOL refuses arguments without what PLACE names.",
		Needs:     "an input schema that requires a property",
		spots:     inSchemas(inputOf, requiredDropped),
	},
	{
		Name:      "keyword-dropped",
		Control:   "input",
		Does:      "PLACE is dropped from the input schema of TOOL.",
		Unchecked: "Nobody checks that TOOL refuses what only PLACE of its input schema forbids.",
		Needs:     "an input schema that asks something of its values",
		spots:     inSchemas(inputOf, keywordDropped),
	},
	{
		Name:      "member-dropped",
		Control:   "input",
		Does:      "The value PLACE of the input schema of TOOL is no longer among those that there are.",
		Unchecked: "Nobody checks that TOOL takes the value PLACE of its input schema.",
		Needs:     "an input schema with an enum",
		spots:     inSchemas(inputOf, memberDropped),
	},
	{
		Name:      "bound-loosened",
		Control:   "input",
		Does:      "PLACE of the input schema of TOOL allows one more.",
		Unchecked: "Nobody checks a value just outside PLACE of the input schema of TOOL.",
		Needs:     "an input schema with a bound",
		spots:     inSchemas(inputOf, boundMoved(false)),
	},
	{
		Name:      "bound-tightened",
		Control:   "input",
		Does:      "PLACE of the input schema of TOOL allows one less.",
		Unchecked: "Nobody checks a value just on PLACE of the input schema of TOOL.",
		Needs:     "an input schema with a bound",
		spots:     inSchemas(inputOf, boundMoved(true)),
	},
	{
		Name:      "first-violation-only",
		Control:   "input",
		Does:      "Of all that is wrong with the arguments only the first is told.",
		Unchecked: "Nobody checks that everything is told that is wrong with arguments.",
		spots: func(*view) []spot {
			return []spot{{weaker: refused("input", "", tool.InvalidArguments, told(func(_ *registry.Crossing, e *tool.Error) {
				var all struct {
					Violations []tool.Violation `json:"violations"`
				}
				if json.Unmarshal(e.Details, &all) == nil && len(all.Violations) > 0 {
					e.Details = details("violations", all.Violations[:1])
				}
			}))}}
		},
	},
}
