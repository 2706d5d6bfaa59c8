package overlay

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"agentlab/lab/tool"
	"agentlab/lab/yamlfile"
)

// ErrorRule gives what a server answers a stable code. A rule with neither Part
// nor Begins is for what the server calls an error, and Match is then not empty;
// any other is for what it calls a success.
type ErrorRule struct {
	Match  string          // a part of the texts of the answer; "" for any
	Part   json.RawMessage // a JSON object that the output holds: objects in part, all else alike; nil for any
	Begins string          // what a text of the answer begins with; "" for any

	Code       tool.Code
	Category   tool.Category
	Retryable  bool
	NextAction string // "" for that of the code or the category
}

var ruleFields = table[ErrorRule]{
	yamlfile.Optional("match", func(r *reader, p place, x *ErrorRule) { x.Match, _ = r.Filled(p, "a text") }),
	yamlfile.Optional("result", func(r *reader, p place, x *ErrorRule) { r.result(p, x) }),
	yamlfile.Required("code", func(r *reader, p place, x *ErrorRule) {
		text, ok := r.Filled(p, "a code")
		if ok && !tool.Code(text).Plain() {
			r.Fault(p, "must be a word in snake_case, such as file_not_found, of 64 letters at most")
			return
		}
		x.Code = tool.Code(text)
	}),
	yamlfile.Optional("category", func(r *reader, p place, x *ErrorRule) {
		x.Category, _ = yamlfile.Choice(&r.Reader, p, tool.Categories()...)
	}),
	yamlfile.Optional("retryable", func(r *reader, p place, x *ErrorRule) { x.Retryable, _ = r.Flag(p) }),
	yamlfile.Optional("next_action", func(r *reader, p place, x *ErrorRule) { x.NextAction, _ = r.Filled(p, "what to do next") }),
}

func (r *reader) result(p place, x *ErrorRule) {
	switch p.Kind() {
	case yamlfile.Mapping:
		if p.Empty() {
			r.Fault(p, "must not be empty: it would be a part of every answer")
			return
		}
		x.Part, _ = r.JSONObject(p, yamlfile.WithoutSandbox)
	case yamlfile.String:
		x.Begins, _ = r.Filled(p, "what a text begins with")
	default:
		if r.Plain(p) {
			r.Fault(p, "must be a mapping, which is a part of the answer, or a string, with which it begins, not "+string(p.Kind()))
		}
	}
}

// aRule is one as a fault shows it.
const aRule = "{match: ENOENT, code: file_not_found, category: not_found}"

func (r *reader) rules(p place) []ErrorRule {
	items, _ := r.Items(p, "a list of mappings, such as ["+aRule+"]")
	var rules []ErrorRule
	for _, item := range items {
		var x ErrorRule
		given, ok := yamlfile.ObjectSuch(r, item, aRule, ruleFields, &x)
		if !ok {
			continue
		}
		_, match := given["match"]
		_, result := given["result"]
		if !match && !result && item.Whole() {
			r.Fault(item, "needs match, a part of what an error says, or result, which tells a success that is none")
		}
		category, categorised := given["category"]
		row, known := tool.Lookup(x.Code)
		switch {
		case x.Code == "":
		case !known && !categorised:
			if item.Whole() {
				r.Fault(item.Member("category"), "missing: "+string(x.Code)+" is a code of this file alone, and its category is one of "+yamlfile.Words(tool.Categories()...))
			}
		case known && x.Category != "" && x.Category != row.Category:
			r.Fault(category, "must be "+string(row.Category)+", or left out: so it is for "+string(x.Code)+" everywhere")
		}
		if known {
			x.Category = row.Category
			if _, said := given["retryable"]; !said {
				x.Retryable = row.Retryable
			}
		}
		rules = append(rules, x)
	}
	return slices.Clip(rules)
}

// folder reads what a resource has to be within.
func (r *reader) folder(p place) string {
	folder := r.Path(p)
	if folder == "" || strings.HasPrefix(folder, yamlfile.SandboxVariable) {
		return folder
	}
	// The server may be started in another folder.
	whole, err := filepath.Abs(folder)
	if err != nil {
		r.Fault(p, "cannot be told as an absolute path: "+yamlfile.Cause(err))
	}
	return whole
}
