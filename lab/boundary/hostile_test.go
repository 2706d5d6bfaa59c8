package boundary_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentlab/lab/boundary"
	"agentlab/lab/tool"
)

// repeated joins what a function gives for 0 to n-1 with commas.
func repeated(n int, one func(int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = one(i)
	}
	return strings.Join(all, ",")
}

// hostile are schemas that are made to cost time.
var hostile = func() []hostileSchema {
	ladder := func(keyword string, width int) string {
		return `{"$ref":"#/definitions/s0","definitions":{` + repeated(40, func(i int) string {
			return fmt.Sprintf(`"s%d":{%q:[%s]}`, i, keyword, repeated(width, func(int) string { return fmt.Sprintf(`{"$ref":"#/definitions/s%d"}`, i+1) }))
		}) + `,"s40":{"type":"object"}}}`
	}
	return []hostileSchema{
		{"many optional properties", `{"additionalProperties":false,"properties":{` + repeated(9000, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"integer"}`, i) }) + `}}`, true},
		{"many required properties", `{"properties":{` + repeated(3000, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"integer"}`, i) }) +
			`},"required":[` + repeated(200, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) + `]}`, true},
		{"required properties that contradict themselves", `{"properties":{` + repeated(900, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"integer","not":{"type":"integer"}}`, i) }) +
			`},"required":[` + repeated(900, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) + `]}`, false},
		{"wide choices", with(`{"anyOf":[` + repeated(5000, func(i int) string { return fmt.Sprintf(`{"type":"integer","minimum":%d,"maximum":%d}`, i+1, i) }) + `]}`), false},
		{"doubling allOf", ladder("allOf", 2), false},
		{"doubling anyOf", ladder("anyOf", 2), false},
		{"doubling items", `{"required":["a"],"properties":{"a":{"$ref":"#/definitions/s0"}},"definitions":{` + repeated(30, func(i int) string {
			return fmt.Sprintf(`"s%d":{"type":"array","minItems":3,"items":{"$ref":"#/definitions/s%d"}}`, i, i+1)
		}) + `,"s30":{}}}`, false},
		{"doubling properties", `{"$ref":"#/definitions/s0","definitions":{` + repeated(30, func(i int) string {
			return fmt.Sprintf(`"s%d":{"type":"object","required":["a","b"],"properties":{"a":{"$ref":"#/definitions/s%d"},"b":{"$ref":"#/definitions/s%d"}}}`, i, i+1, i+1)
		}) + `,"s30":{}}}`, false},
		{"recursion that widens", `{"type":"object","required":["a","b","c"],"additionalProperties":{"$ref":"#"}}`, false},
		{"large repetition", with(`{"type":"string","pattern":"^((a{30}){30})$"}`), true},
		{"repetition of nothing", with(`{"type":"string","minLength":9000,"pattern":"^((a*)*)*$"}`), true},
		{"many steps", with(`{"type":"integer","allOf":[` + repeated(1500, func(i int) string { return fmt.Sprintf(`{"multipleOf":%d}`, 1000003+2*i) }) + `]}`), false},
		{"long and unique", with(`{"type":"array","minItems":300,"uniqueItems":true,"items":{"type":"string","minLength":5000}}`), false},
		{"unique of few", with(`{"type":"array","minItems":200,"uniqueItems":true,"items":{"enum":[1,2,3]}}`), false},
		{"large enum", with(`{"enum":[` + repeated(1000, func(i int) string { return fmt.Sprintf(`"v%d"`, i) }) + `],"not":{"type":"string"}}`), false},
		{"deep schema", `{"required":["a"],"properties":` + strings.Repeat(`{"a":{"type":"object","required":["a"],"properties":`, 20) + `{}` + strings.Repeat(`}}`, 20) + `}`, true},
		{"large example", with(`{"default":"` + strings.Repeat("x", 900_000) + `"}`), true},
	}
}()

type hostileSchema struct {
	name, schema string
	built        bool // there is a plain call
}

// TestHostile: schemas made to cost time end in a call or an error, in a time
// that is generous for a slow machine and out of reach for what is not bounded.
func TestHostile(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			d := define("t", tt.schema)
			d.Annotations = json.RawMessage(strings.Repeat("[", 100_000))
			lines, err := boundary.Cases([]tool.Definition{d}, nil)
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			t.Logf("%v, %d bytes", took.Round(time.Millisecond), len(lines))
			if took > 2*time.Minute {
				t.Errorf("it took %v", took)
			}
			if len(lines) > 300<<20 {
				t.Errorf("%d bytes", len(lines))
			}
			if plain, err := boundary.Plain(d); (err == nil) != tt.built {
				t.Errorf("Plain = %.200s, %v", plain, err)
			}
		})
	}
}
