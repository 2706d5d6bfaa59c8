package schema

import (
	"cmp"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xeipuuv/gojsonschema"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// refused is the keyword of a violation that no keyword of the schema names:
// the value cannot be checked.
const refused = "schema"

// finding is how one kind of the engine's findings becomes a violation.
type finding struct {
	keyword string // empty: it only introduces other findings
	message message
	// follows says how many findings of a muted branch come next.
	follows func(rest []gojsonschema.ResultError) int
}

// findings is the table of the engine's findings.
//
// A schema of the engine that has a failing anyOf, oneOf, contains or
// propertyNames repeats what its closest branch found. All branches are muted,
// so that is exactly one finding, and it comes next. Which branch is closest
// is an accident of the engine; none of it is told.
var findings = map[string]finding{
	"false":                {"false", fixed("false"), none},
	"required":             {"required", property("required"), none},
	"invalid_type":         {"type", typeMessage, none},
	"number_any_of":        {"anyOf", fixed("anyOf"), one},
	"number_one_of":        {"oneOf", fixed("oneOf"), oneWhereNoneMatched},
	"number_all_of":        {},
	"number_not":           {"not", fixed("not"), none},
	"condition_then":       {},
	"condition_else":       {},
	"missing_dependency":   {"dependencies", dependency, none},
	"const":                {"const", constMessage, none},
	"enum":                 {"enum", enumMessage, none},
	"array_min_items":      {"minItems", amount("minItems", "min"), none},
	"array_max_items":      {"maxItems", amount("maxItems", "max"), none},
	"unique":               {"uniqueItems", fixed("uniqueItems"), none},
	"contains":             {"contains", fixed("contains"), oneUnlessEmpty},
	"array_min_properties": {"minProperties", amount("minProperties", "min"), none},
	"array_max_properties": {"maxProperties", amount("maxProperties", "max"), none},

	"array_no_additional_items":       {"additionalItems", fixed("additionalItems"), none},
	"additional_property_not_allowed": {"additionalProperties", property("additionalProperties"), none},
	"invalid_property_name":           {"propertyNames", property("propertyNames"), one},

	"string_gte":  {"minLength", amount("minLength", "min"), none},
	"string_lte":  {"maxLength", amount("maxLength", "max"), none},
	"pattern":     {"pattern", patternMessage, none},
	"format":      {"format", formatMessage, none},
	"multiple_of": {"multipleOf", bound("multipleOf", "multiple"), none},
	"number_gte":  {"minimum", bound("minimum", "min"), none},
	"number_gt":   {"exclusiveMinimum", bound("exclusiveMinimum", "min"), none},
	"number_lte":  {"maximum", bound("maximum", "max"), none},
	"number_lt":   {"exclusiveMaximum", bound("exclusiveMaximum", "max"), none},
}

func none([]gojsonschema.ResultError) int { return 0 }
func one([]gojsonschema.ResultError) int  { return 1 }

func oneUnlessEmpty(rest []gojsonschema.ResultError) int {
	items, _ := rest[0].Value().([]any)
	return min(len(items), 1)
}

// oneWhereNoneMatched tells a oneOf without a match from one with several. The
// oneOf stands alone in its schema, at the end of an allOf, so a "not" that
// follows it at the same place is its branch's.
func oneWhereNoneMatched(rest []gojsonschema.ResultError) int {
	if len(rest) > 1 && rest[1].Type() == "number_not" && rest[1].Context() == rest[0].Context() {
		return 1
	}
	return 0
}

// violations turns the engine's findings into sorted violations, each once.
func violations(found []gojsonschema.ResultError, sources map[string]string) []tool.Violation {
	list := make([]tool.Violation, 0, len(found))
	w := wording{sources, make(map[string]string)}
	for i := 0; i < len(found); i++ {
		row, ok := findings[found[i].Type()]
		if !ok {
			list = append(list, cannot("", notChecked))
			continue
		}
		if row.keyword == "" {
			continue
		}
		list = append(list, tool.Violation{
			Pointer: where(found[i].Context()),
			Keyword: row.keyword,
			Message: row.message(found[i].Details(), w),
		})
		i += row.follows(found[i:])
	}
	return sorted(list)
}

func sorted(list []tool.Violation) []tool.Violation {
	slices.SortFunc(list, func(a, b tool.Violation) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(list)
}

// where turns the engine's path into a JSON Pointer. A key is valid UTF-8, so
// a byte that never occurs in UTF-8 separates keys beyond doubt.
func where(context *gojsonschema.JsonContext) string {
	const separator = "\xff"
	path := strings.Split(context.String(separator), separator)
	return pointer(path[1:]) // the first is the engine's name of the root
}

func cannot(pointer, reason string) tool.Violation {
	return tool.Violation{Pointer: pointer, Keyword: refused, Message: reason}
}

// message words a finding from the details that the engine gives.
type message = func(gojsonschema.ErrorDetails, wording) string

// wording is what messages are made from beside the details.
type wording struct {
	sources map[string]string // patterns and numbers of the schema, by the engine's form
	choices map[string]string // enums that are worded already
}

func fixed(keyword string) message {
	return func(gojsonschema.ErrorDetails, wording) string { return texts[keyword] }
}

// property names a property: one of the schema's, or one too many, which is a
// key of the data and cut where it is long.
func property(keyword string) message {
	return func(details gojsonschema.ErrorDetails, _ wording) string {
		name, _ := details["property"].(string)
		return named(keyword, name)
	}
}

func dependency(details gojsonschema.ErrorDetails, _ wording) string {
	name, _ := details["dependency"].(string)
	return named("dependencies", name)
}

func typeMessage(details gojsonschema.ErrorDetails, _ wording) string {
	expected, _ := details["expected"].(string)
	return oneType(strings.Split(strings.Trim(expected, "[]"), ","))
}

func constMessage(details gojsonschema.ErrorDetails, _ wording) string {
	allowed, _ := details["allowed"].(string)
	return fmt.Sprintf(texts["const"], strings.Join(rewritten(allowed), ""))
}

func enumMessage(details gojsonschema.ErrorDetails, w wording) string {
	allowed, _ := details["allowed"].(string)
	if w.choices[allowed] == "" {
		w.choices[allowed] = fmt.Sprintf(texts["enum"], either(rewritten(allowed)))
	}
	return w.choices[allowed]
}

func patternMessage(details gojsonschema.ErrorDetails, w wording) string {
	re2, _ := details["pattern"].(*regexp.Regexp)
	return fmt.Sprintf(texts["pattern"], quoted(w.sources[re2.String()]))
}

func formatMessage(details gojsonschema.ErrorDetails, _ wording) string {
	name, _ := details["format"].(string)
	return fmt.Sprintf(texts["format"], quoted(name))
}

func amount(keyword, detail string) message {
	return func(details gojsonschema.ErrorDetails, _ wording) string {
		n, _ := details[detail].(int)
		return counted(keyword, strconv.Itoa(n))
	}
}

func bound(keyword, detail string) message {
	return func(details gojsonschema.ErrorDetails, w wording) string {
		n, _ := details[detail].(*big.Float)
		return fmt.Sprintf(texts[keyword], cut(w.sources[numberForm(n)]))
	}
}

// rewritten reads values that the engine has joined, and writes them in the
// canonical form.
func rewritten(joined string) []string {
	decoded, err := jsonvalue.Decode([]byte("[" + joined + "]"))
	if err != nil {
		return []string{"what the schema lists"}
	}
	var texts []string
	for _, value := range decoded.([]any) {
		texts = append(texts, cut(string(jsonvalue.AppendCanonical(nil, value))))
	}
	return texts
}
