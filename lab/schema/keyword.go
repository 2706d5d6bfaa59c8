package schema

// drafts is a set of drafts of JSON Schema.
type drafts uint8

const (
	draft04 drafts = 1 << iota
	draft06
	draft07

	anyDraft  = draft04 | draft06 | draft07
	fromDraft = draft06 | draft07
)

func (d drafts) String() string {
	switch d {
	case draft04:
		return "draft-04"
	case draft06:
		return "draft-06"
	}
	return "draft-07"
}

// metaSchemas are the values of $schema that are known, without the scheme and
// an empty fragment.
var metaSchemas = map[string]drafts{
	"json-schema.org/draft-04/schema": draft04,
	"json-schema.org/draft-06/schema": draft06,
	"json-schema.org/draft-07/schema": draft07,
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
	names
	typeNames
	values
	aValue
	aPattern
	aFormat
	dialect
	identity
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
)

// keyword is one row of the allow-list.
type keyword struct {
	name       string
	drafts     drafts
	shape      shape
	use        use
	annotation bool // it says something about the data and refuses none
	on         kind // the types of data that it can refuse
}

// keywords is the allow-list: what else appears in a schema is refused.
var keywords = []keyword{
	{"$schema", anyDraft, dialect, nowhere, true, anyKind},
	{"id", draft04, identity, nowhere, true, anyKind},
	{"$id", fromDraft, identity, nowhere, true, anyKind},
	{"$ref", anyDraft, reference, inPlace, false, anyKind},
	{"$comment", draft07, text, nowhere, true, anyKind},
	{"title", anyDraft, text, nowhere, true, anyKind},
	{"description", anyDraft, text, nowhere, true, anyKind},
	{"default", anyDraft, anything, nowhere, true, anyKind},
	{"examples", fromDraft, list, nowhere, true, anyKind},
	{"readOnly", draft07, flag, nowhere, true, anyKind},
	{"writeOnly", draft07, flag, nowhere, true, anyKind},
	{"contentEncoding", draft07, text, nowhere, true, anyKind},
	{"contentMediaType", draft07, text, nowhere, true, anyKind},
	{"definitions", anyDraft, schemaMap, kept, true, anyKind},

	{"type", anyDraft, typeNames, nowhere, false, anyKind},
	{"enum", anyDraft, values, nowhere, false, anyKind},
	{"const", fromDraft, aValue, nowhere, false, anyKind},
	{"format", anyDraft, aFormat, nowhere, false, kindString},

	{"multipleOf", anyDraft, positive, nowhere, false, kindNumber},
	{"minimum", anyDraft, number, nowhere, false, kindNumber},
	{"maximum", anyDraft, number, nowhere, false, kindNumber},
	{"exclusiveMinimum", draft04, flag, nowhere, false, kindNumber},
	{"exclusiveMaximum", draft04, flag, nowhere, false, kindNumber},
	{"exclusiveMinimum", fromDraft, number, nowhere, false, kindNumber},
	{"exclusiveMaximum", fromDraft, number, nowhere, false, kindNumber},

	{"minLength", anyDraft, count, nowhere, false, kindString},
	{"maxLength", anyDraft, count, nowhere, false, kindString},
	{"pattern", anyDraft, aPattern, nowhere, false, kindString},

	{"items", anyDraft, schemaOrList, inItem, false, kindArray},
	{"additionalItems", anyDraft, schemaOrFlag, inRest, false, kindArray},
	{"minItems", anyDraft, count, nowhere, false, kindArray},
	{"maxItems", anyDraft, count, nowhere, false, kindArray},
	{"uniqueItems", anyDraft, flag, nowhere, false, kindArray},
	{"contains", fromDraft, aSchema, inItem, false, kindArray},

	{"properties", anyDraft, schemaMap, inProperty, false, kindObject},
	{"patternProperties", anyDraft, patternMap, inPattern, false, kindObject},
	{"additionalProperties", anyDraft, schemaOrFlag, inOther, false, kindObject},
	{"propertyNames", fromDraft, aSchema, inName, false, kindObject},
	{"required", anyDraft, names, nowhere, false, kindObject},
	{"minProperties", anyDraft, count, nowhere, false, kindObject},
	{"maxProperties", anyDraft, count, nowhere, false, kindObject},
	{"dependencies", anyDraft, dependencyMap, inPlace, false, kindObject},

	{"allOf", anyDraft, schemaList, inPlace, false, anyKind},
	{"anyOf", anyDraft, schemaList, inPlace, false, anyKind},
	{"oneOf", anyDraft, schemaList, inPlace, false, anyKind},
	{"not", anyDraft, aSchema, inPlace, false, anyKind},
	{"if", draft07, aSchema, inPlace, false, anyKind},
	{"then", draft07, aSchema, inPlace, false, anyKind},
	{"else", draft07, aSchema, inPlace, false, anyKind},
}

// allowed is the allow-list by draft and name.
var allowed = func() map[drafts]map[string]*keyword {
	byDraft := make(map[drafts]map[string]*keyword)
	for _, draft := range []drafts{draft04, draft06, draft07} {
		byName := make(map[string]*keyword)
		for i, k := range keywords {
			if k.drafts&draft != 0 {
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
