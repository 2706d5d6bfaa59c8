package boundary

import (
	"errors"
	"maps"
	"slices"
)

func (b *builder) array(at site, d *demand) (any, error) {
	least, _ := d.strictest("minItems", 1)
	var wanted []any // what contains asks for, an item each
	for _, part := range d.parts {
		if schema, ok := part["contains"]; ok {
			n := 1
			if count, ok := (&demand{parts: []object{part}}).strictest("minContains", 1); ok {
				n = count
			}
			for range min(n, maxItems+1) {
				wanted = append(wanted, schema)
			}
		}
	}
	count := max(least, len(wanted))
	if count > maxItems {
		return nil, unmet(at.place, "the smallest array has more than %d items", maxItems)
	}
	if count == 0 && !slices.ContainsFunc(itemSchemas(d, 0), b.leadsBack) {
		if most, bounded := d.strictest("maxItems", -1); !bounded || most > 0 {
			count = 1 - b.choices.choose(at.place, "items", 2)
		}
	}
	unique := slices.ContainsFunc(d.parts, func(part object) bool { return part["uniqueItems"] == true })
	outer := b.salt
	defer func() { b.salt = outer }()
	items := make([]any, 0, count)
	for i := range count {
		schemas := itemSchemas(d, i)
		if i < len(wanted) {
			schemas = append(schemas, wanted[i])
		}
		if unique {
			b.salt = outer + i
		}
		item, err := b.value(at.item(i), schemas)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	b.bytes -= 2 + count
	return items, nil
}

// itemSchemas are the schemas of one item: of draft-04 to 2019-09, where items
// may be a list, and of 2020-12, where the list is prefixItems.
func itemSchemas(d *demand, i int) []any {
	var schemas []any
	for _, part := range d.parts {
		list, tuple := part["prefixItems"].([]any)
		rest := "items"
		if !tuple {
			if list, tuple = part["items"].([]any); tuple {
				rest = "additionalItems"
			}
		}
		if i < len(list) {
			schemas = append(schemas, list[i])
		} else {
			schemas = appendPresent(schemas, part, rest)
		}
	}
	return schemas
}

// record builds an object of the properties that it must have.
func (b *builder) record(at site, d *demand, schemas []any) (any, error) {
	present, d, err := b.present(at, d, schemas)
	if err != nil {
		return nil, err
	}
	least, _ := d.strictest("minProperties", 1)
	if max(least, len(present)) > maxMembers {
		return nil, unmet(at.place, "the smallest object has more than %d properties", maxMembers)
	}
	if len(present) < least {
		if err := b.fill(at, d, present, least); err != nil {
			return nil, err
		}
	}
	members := make(object, len(present))
	for _, name := range slices.Sorted(maps.Keys(present)) {
		if b.bytes -= len(name) + 4; b.bytes < 0 {
			return nil, unmet(at.place, "the smallest value is larger than %d bytes", maxBytes)
		}
		if members[name], err = b.value(at.member(name), b.memberSchemas(d, name)); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// present is the closure of what must be there: what is required, and what that
// brings with it. Schemas that hold only beside a property are gathered too.
func (b *builder) present(at site, d *demand, schemas []any) (map[string]bool, *demand, error) {
	present := make(map[string]bool)
	type dependent struct {
		of   identity
		name string
	}
	beside := make(map[dependent]bool)
	for {
		before := len(present)
		for _, part := range d.parts {
			addNames(present, part["required"])
		}
		var more []any
		for _, part := range d.parts {
			for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
				members, _ := part[keyword].(object)
				for _, name := range slices.Sorted(maps.Keys(members)) {
					if !present[name] {
						continue
					}
					addNames(present, members[name])
					key := dependent{identify(members), name}
					if _, names := members[name].([]any); !names && !beside[key] {
						beside[key] = true
						more = append(more, members[name])
					}
				}
			}
		}
		if len(more) > 0 {
			schemas = append(slices.Clip(schemas), more...)
			var err error
			if d, err = b.gather(at.place, schemas); err != nil {
				return nil, nil, err
			}
		} else if len(present) == before {
			return present, d, nil
		}
	}
}

func addNames(set map[string]bool, value any) {
	names, _ := value.([]any)
	for _, name := range names {
		if name, ok := name.(string); ok {
			set[name] = true
		}
	}
}

// fill adds properties up to a count: those that the schema names, then some of
// its patterns, then invented ones.
func (b *builder) fill(at site, d *demand, present map[string]bool, least int) error {
	for _, name := range declared(d) {
		if len(present) == least {
			return nil
		}
		if !slices.Contains(b.memberSchemas(d, name), any(false)) {
			present[name] = true
		}
	}
	var names []any
	for _, part := range d.parts {
		names = appendPresent(names, part, "propertyNames")
		if patterned, ok := part["patternProperties"].(object); ok && part["additionalProperties"] == false {
			if first := slices.Sorted(maps.Keys(patterned)); len(first) > 0 {
				names = append(names, object{"pattern": first[0]})
			}
		}
	}
	outer := b.salt
	defer func() { b.salt = outer }()
	for b.salt = 0; b.salt < 4*maxMembers && len(present) < least; b.salt++ {
		// A place of its own, below this one, which no property can have.
		name, err := b.value(site{below(at.place, "\x00"), "name"}, append(slices.Clip(names), object{"type": "string"}))
		if fault := (*Unmet)(nil); errors.As(err, &fault) {
			return unmet(at.place, "the name of another property: %s", fault.Reason)
		}
		present[name.(string)] = true
	}
	if len(present) < least {
		return unmet(at.place, "there are not enough names for its properties")
	}
	return nil
}

// declared lists the properties that a place has schemas for, by name.
func declared(d *demand) []string {
	names := make(map[string]bool)
	for _, part := range d.parts {
		properties, _ := part["properties"].(object)
		for name := range properties {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// memberSchemas are the schemas of one property.
func (b *builder) memberSchemas(d *demand, name string) []any {
	var schemas []any
	for _, part := range d.parts {
		properties, _ := part["properties"].(object)
		schema, named := properties[name]
		if named {
			schemas = append(schemas, schema)
		}
		patterned, _ := part["patternProperties"].(object)
		for _, pattern := range slices.Sorted(maps.Keys(patterned)) {
			if b.looks--; b.looks < 0 {
				break
			}
			if re := b.doc.pattern(pattern); re != nil && re.MatchString(name) {
				named = true
				schemas = append(schemas, patterned[pattern])
			}
		}
		if !named {
			schemas = appendPresent(schemas, part, "additionalProperties")
		}
	}
	return schemas
}
