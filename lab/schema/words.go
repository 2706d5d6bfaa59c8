package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// texts are the messages, by keyword. Both engines' findings are told in them.
var texts = map[string]string{
	"false":                 "nothing is allowed here",
	"required":              "%s is required",
	"type":                  "must be %s",
	"anyOf":                 "must match at least one of the alternatives",
	"oneOf":                 "must match exactly one of the alternatives",
	"not":                   "must not match what the schema excludes",
	"dependencies":          "%s is required beside another property",
	"dependentRequired":     "%s is required beside another property",
	"const":                 "must be %s",
	"enum":                  "must be %s",
	"minItems":              "must have at least %v %s",
	"maxItems":              "must have at most %v %s",
	"uniqueItems":           "must not have two equal items",
	"contains":              "must have an item of the form that the schema asks for",
	"minContains":           "must have at least %v %s of the form that the schema asks for",
	"maxContains":           "must have at most %v %s of the form that the schema asks for",
	"minProperties":         "must have at least %v %s",
	"maxProperties":         "must have at most %v %s",
	"additionalItems":       "must not have more items than the schema lists",
	"unevaluatedItems":      "must not have more items than the schema lists",
	"additionalProperties":  "%s is not allowed",
	"unevaluatedProperties": "%s is not allowed",
	"propertyNames":         "%s has a name that is not allowed",
	"minLength":             "must be at least %v %s long",
	"maxLength":             "must be at most %v %s long",
	"pattern":               "must match the pattern %s",
	"format":                "must be in the format %s",
	"multipleOf":            "must be a multiple of %s",
	"minimum":               "must be at least %s",
	"exclusiveMinimum":      "must be greater than %s",
	"maximum":               "must be at most %s",
	"exclusiveMaximum":      "must be less than %s",
}

// nouns are what a keyword counts: one of them, and several.
var nouns = map[string][2]string{
	"minLength": {"character", "characters"}, "maxLength": {"character", "characters"},
	"minItems": {"item", "items"}, "maxItems": {"item", "items"},
	"minContains": {"item", "items"}, "maxContains": {"item", "items"},
	"minProperties": {"property", "properties"}, "maxProperties": {"property", "properties"},
}

func counted(keyword, n string) string {
	noun := nouns[keyword][1]
	if n == "1" {
		noun = nouns[keyword][0]
	}
	return fmt.Sprintf(texts[keyword], cut(n), noun)
}

func named(keyword, property string) string {
	return fmt.Sprintf(texts[keyword], "property "+quoted(property))
}

func oneType(names []string) string {
	return fmt.Sprintf(texts["type"], either(slices.Sorted(slices.Values(names))))
}

// Limits of a message. What is cut is told as such.
const (
	maxQuoted = 200 // bytes of one name, pattern or value
	maxChoice = 20  // values of an enum
)

func quoted(s string) string { return cut(string(jsonvalue.AppendString(nil, s))) }

func cut(s string) string { return tool.Cut(s, maxQuoted) }

func either(choices []string) string {
	switch n := len(choices); {
	case n == 0:
		return "one of no values"
	case n > maxChoice:
		return "one of " + strings.Join(choices[:maxChoice], ", ") + " or " + strconv.Itoa(n-maxChoice) + " others"
	case n > 2:
		return "one of " + strings.Join(choices[:n-1], ", ") + " or " + choices[n-1]
	}
	return strings.Join(choices, " or ")
}
