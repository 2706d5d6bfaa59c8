package registry

// named returns the strings of an argument that is one, or a list of them. The
// second value is false where it is neither, or an empty list.
func named(value any) (all []string, ok bool) {
	switch v := value.(type) {
	case string:
		return []string{v}, true
	case []any:
		for _, item := range v {
			word, ok := item.(string)
			if !ok {
				return nil, false
			}
			all = append(all, word)
		}
	}
	return all, len(all) > 0
}
