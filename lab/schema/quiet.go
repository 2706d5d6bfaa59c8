package schema

import "github.com/xeipuuv/gojsonschema"

// quiet keeps the engine from composing texts that nobody reads: they hold
// values of the data, and writing them took longer than the check.
type quiet struct{ gojsonschema.DefaultLocale }

// silence is not empty because the engine would look for an empty template
// again each time.
const silence = "-"

func init() { gojsonschema.Locale = quiet{} }

func (quiet) False() string                        { return silence }
func (quiet) Required() string                     { return silence }
func (quiet) InvalidType() string                  { return silence }
func (quiet) NumberAnyOf() string                  { return silence }
func (quiet) NumberOneOf() string                  { return silence }
func (quiet) NumberAllOf() string                  { return silence }
func (quiet) NumberNot() string                    { return silence }
func (quiet) MissingDependency() string            { return silence }
func (quiet) Internal() string                     { return silence }
func (quiet) Const() string                        { return silence }
func (quiet) Enum() string                         { return silence }
func (quiet) ArrayNoAdditionalItems() string       { return silence }
func (quiet) ArrayMinItems() string                { return silence }
func (quiet) ArrayMaxItems() string                { return silence }
func (quiet) Unique() string                       { return silence }
func (quiet) ArrayContains() string                { return silence }
func (quiet) ArrayMinProperties() string           { return silence }
func (quiet) ArrayMaxProperties() string           { return silence }
func (quiet) AdditionalPropertyNotAllowed() string { return silence }
func (quiet) InvalidPropertyPattern() string       { return silence }
func (quiet) InvalidPropertyName() string          { return silence }
func (quiet) StringGTE() string                    { return silence }
func (quiet) StringLTE() string                    { return silence }
func (quiet) DoesNotMatchPattern() string          { return silence }
func (quiet) DoesNotMatchFormat() string           { return silence }
func (quiet) MultipleOf() string                   { return silence }
func (quiet) NumberGTE() string                    { return silence }
func (quiet) NumberGT() string                     { return silence }
func (quiet) NumberLTE() string                    { return silence }
func (quiet) NumberLT() string                     { return silence }
func (quiet) ConditionThen() string                { return silence }
func (quiet) ConditionElse() string                { return silence }
