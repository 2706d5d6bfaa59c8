package boundary

// formats are texts that have a format and texts that do not: those of
// lab/schema and those that JSON Schema 2020-12 adds. No address among them
// leads anywhere (RFC 2606, 5737, 3849), and no path but to what a case owns.
var formats = map[string]struct{ good, bad []string }{
	"date-time": {[]string{"2024-01-15T09:30:00Z", "2024-01-16T09:30:00Z", "2024-01-17T09:30:00Z"}, []string{"2024-13-45T99:99:99Z", "not a date"}},
	"date":      {[]string{"2024-01-15", "2024-01-16", "2024-01-17"}, []string{"2024-13-45", "not a date"}},
	"time":      {[]string{"09:30:00Z", "10:30:00Z", "11:30:00Z"}, []string{"25:61:00Z", "not a time"}},
	"duration":  {[]string{"PT1H", "PT2H", "P1D"}, []string{"1 hour"}},

	"email":     {[]string{mailbox, "someone-2@example.test", "someone-3@example.test"}, []string{"not an address"}},
	"idn-email": {[]string{mailbox, "someone-2@example.test"}, []string{"not an address"}},

	"hostname":     {[]string{"example.test", "www.example.test", "api.example.test"}, []string{"not a host", "-"}},
	"idn-hostname": {[]string{"example.test", "www.example.test"}, []string{"not a host", "-"}},
	"ipv4":         {[]string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}, []string{"192.0.2.999"}},
	"ipv6":         {[]string{"2001:db8::1", "2001:db8::2", "2001:db8::3"}, []string{"2001:db8::g"}},

	"uri":           {[]string{address, address + "2", address + "3"}, []string{"not an address", "::"}},
	"uri-reference": {[]string{address, address + "2", address + "3"}, []string{"not a reference", "%"}},
	"iri":           {[]string{address, address + "2"}, []string{"not an address"}},
	"iri-reference": {[]string{address, address + "2"}, []string{"not a reference"}},
	"uri-template":  {[]string{address + "{id}", address + "2/{id}"}, []string{"{"}},
	"url":           {[]string{address, address + "2"}, []string{"not an address"}},

	"uuid": {[]string{"123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174001", "123e4567-e89b-42d3-a456-426614174002"},
		[]string{"123e4567-e89b-42d3-a456-42661417400g"}},
	"json-pointer":          {[]string{"/example", "/example-2", "/example-3"}, []string{"example", "/~2"}},
	"relative-json-pointer": {[]string{"0/example", "1/example"}, []string{"example", "-1"}},
	"regex":                 {[]string{"^example$", "^other$"}, []string{"("}},
}
