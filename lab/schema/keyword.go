package schema

// Dialect is a dialect of JSON Schema. Each is one bit, so that a set of them
// is one too.
type Dialect uint8

// The dialects that are known, by the value of $schema that names them.
const (
	Draft04     Dialect = 1 << iota // http://json-schema.org/draft-04/schema#
	Draft06                         // http://json-schema.org/draft-06/schema#
	Draft07                         // http://json-schema.org/draft-07/schema#
	Draft201909                     // https://json-schema.org/draft/2019-09/schema
	Draft202012                     // https://json-schema.org/draft/2020-12/schema

	drafts    = Draft04 | Draft06 | Draft07
	anyDraft  = drafts | modern
	upTo2019  = drafts | Draft201909
	fromDraft = Draft06 | from07
	from07    = Draft07 | modern
	modern    = Draft201909 | Draft202012
)

func (d Dialect) String() string {
	switch d {
	case Draft04:
		return "draft-04"
	case Draft06:
		return "draft-06"
	case Draft201909:
		return "2019-09"
	case Draft202012:
		return "2020-12"
	}
	return "draft-07"
}

// metaSchemas are the values of $schema that are known, without the scheme and
// an empty fragment.
var metaSchemas = map[string]Dialect{
	"json-schema.org/draft-04/schema":      Draft04,
	"json-schema.org/draft-06/schema":      Draft06,
	"json-schema.org/draft-07/schema":      Draft07,
	"json-schema.org/draft/2019-09/schema": Draft201909,
	"json-schema.org/draft/2020-12/schema": Draft202012,
}

// shape is what the value of a keyword has to look like.
type shape uint8

const (
	anything shape = iota
	text
	flag
	list
	number
	positive
	count
	aSchema
	schemaOrFlag // a schema, or true and false in draft-04 too
	schemaList
	schemaMap
	schemaOrList
	patternMap
	dependencyMap
	namesMap
	names
	typeNames
	values
	aValue
	aPattern
	aFormat
	dialect
	identity
	anchor
	reference
)

// use is where in the data a keyword applies the schemas in its value.
type use uint8

const (
	nowhere    use = iota // it holds none
	kept                  // only for references
	inPlace               // the same place
	inProperty            // the property of that name
	inPattern             // properties whose names match
	inOther               // properties that neither of these two names
	inName                // the names of all properties
	inItem                // every item
	inIndex               // the item at that index
	inRest                // the items after those
	inTail                // the items after those, or every item without any
	inLeft                // properties or items that nothing else has looked at
)

// keyword is one row of the allow-list.
type keyword struct {
	name       string
	dialects   Dialect
	shape      shape
	use        use
	annotation bool // it says something about the data and refuses none
	on         kind // the types of data that it can refuse
}

// keywords is the allow-list: what else appears in a schema of our own is
// refused, and in a foreign one an annotation. Since 2019-09, definitions and
// dependencies are deprecated and mean what they meant.
var keywords = []keyword{
	{"$schema", anyDraft, dialect, nowhere, true, anyKind},
	{"id", Draft04, identity, nowhere, true, anyKind},
	{"$id", fromDraft, identity, nowhere, true, anyKind},
	{"$ref", anyDraft, reference, inPlace, false, anyKind},
	{"$comment", from07, text, nowhere, true, anyKind},
	{"title", anyDraft, text, nowhere, true, anyKind},
	{"description", anyDraft, text, nowhere, true, anyKind},
	{"default", anyDraft, anything, nowhere, true, anyKind},
	{"examples", fromDraft, list, nowhere, true, anyKind},
	{"readOnly", from07, flag, nowhere, true, anyKind},
	{"writeOnly", from07, flag, nowhere, true, anyKind},
	{"contentEncoding", from07, text, nowhere, true, anyKind},
	{"contentMediaType", from07, text, nowhere, true, anyKind},
	{"contentSchema", modern, aSchema, kept, true, anyKind},
	{"deprecated", modern, flag, nowhere, true, anyKind},
	{"definitions", anyDraft, schemaMap, kept, true, anyKind},
	{"$defs", modern, schemaMap, kept, true, anyKind},
	{"$anchor", modern, anchor, nowhere, true, anyKind},
	{"$vocabulary", modern, anything, nowhere, true, anyKind},
	{"$recursiveAnchor", Draft201909, flag, nowhere, true, anyKind},
	{"$recursiveRef", Draft201909, reference, inPlace, false, anyKind},
	{"$dynamicAnchor", Draft202012, anchor, nowhere, true, anyKind},
	{"$dynamicRef", Draft202012, reference, inPlace, false, anyKind},

	{"type", anyDraft, typeNames, nowhere, false, anyKind},
	{"enum", anyDraft, values, nowhere, false, anyKind},
	{"const", fromDraft, aValue, nowhere, false, anyKind},
	{"format", anyDraft, aFormat, nowhere, false, kindString},

	{"multipleOf", anyDraft, positive, nowhere, false, kindNumber},
	{"minimum", anyDraft, number, nowhere, false, kindNumber},
	{"maximum", anyDraft, number, nowhere, false, kindNumber},
	{"exclusiveMinimum", Draft04, flag, nowhere, false, kindNumber},
	{"exclusiveMaximum", Draft04, flag, nowhere, false, kindNumber},
	{"exclusiveMinimum", fromDraft, number, nowhere, false, kindNumber},
	{"exclusiveMaximum", fromDraft, number, nowhere, false, kindNumber},

	{"minLength", anyDraft, count, nowhere, false, kindString},
	{"maxLength", anyDraft, count, nowhere, false, kindString},
	{"pattern", anyDraft, aPattern, nowhere, false, kindString},

	{"items", upTo2019, schemaOrList, inItem, false, kindArray},
	{"items", Draft202012, aSchema, inTail, false, kindArray},
	{"prefixItems", Draft202012, schemaList, inIndex, false, kindArray},
	{"additionalItems", upTo2019, schemaOrFlag, inRest, false, kindArray},
	{"minItems", anyDraft, count, nowhere, false, kindArray},
	{"maxItems", anyDraft, count, nowhere, false, kindArray},
	{"uniqueItems", anyDraft, flag, nowhere, false, kindArray},
	{"contains", fromDraft, aSchema, inItem, false, kindArray},
	{"minContains", modern, count, nowhere, false, kindArray},
	{"maxContains", modern, count, nowhere, false, kindArray},
	{"unevaluatedItems", modern, aSchema, inLeft, false, kindArray},

	{"properties", anyDraft, schemaMap, inProperty, false, kindObject},
	{"patternProperties", anyDraft, patternMap, inPattern, false, kindObject},
	{"additionalProperties", anyDraft, schemaOrFlag, inOther, false, kindObject},
	{"propertyNames", fromDraft, aSchema, inName, false, kindObject},
	{"required", anyDraft, names, nowhere, false, kindObject},
	{"minProperties", anyDraft, count, nowhere, false, kindObject},
	{"maxProperties", anyDraft, count, nowhere, false, kindObject},
	{"dependencies", anyDraft, dependencyMap, inPlace, false, kindObject},
	{"dependentRequired", modern, namesMap, nowhere, false, kindObject},
	{"dependentSchemas", modern, schemaMap, inPlace, false, kindObject},
	{"unevaluatedProperties", modern, aSchema, inLeft, false, kindObject},

	{"allOf", anyDraft, schemaList, inPlace, false, anyKind},
	{"anyOf", anyDraft, schemaList, inPlace, false, anyKind},
	{"oneOf", anyDraft, schemaList, inPlace, false, anyKind},
	{"not", anyDraft, aSchema, inPlace, false, anyKind},
	{"if", from07, aSchema, inPlace, false, anyKind},
	{"then", from07, aSchema, inPlace, false, anyKind},
	{"else", from07, aSchema, inPlace, false, anyKind},
}

// allowed is the allow-list by draft and name.
var allowed = func() map[Dialect]map[string]*keyword {
	byDraft := make(map[Dialect]map[string]*keyword)
	for _, draft := range []Dialect{Draft04, Draft06, Draft07, Draft201909, Draft202012} {
		byName := make(map[string]*keyword)
		for i, k := range keywords {
			if k.dialects&draft != 0 {
				byName[k.name] = &keywords[i]
			}
		}
		byDraft[draft] = byName
	}
	return byDraft
}()

// kind is a set of JSON types.
type kind uint8

const (
	kindNull kind = 1 << iota
	kindBoolean
	kindNumber
	kindString
	kindArray
	kindObject

	anyKind = kindNull | kindBoolean | kindNumber | kindString | kindArray | kindObject
)

// kinds are the names that type knows. An integer is a number as far as the
// cost of a check goes.
var kinds = map[string]kind{
	"null":    kindNull,
	"boolean": kindBoolean,
	"integer": kindNumber,
	"number":  kindNumber,
	"string":  kindString,
	"array":   kindArray,
	"object":  kindObject,
}
