package registry_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

func TestWhatNamesAResourceOrAnAction(t *testing.T) {
	const (
		none = iota
		text
		list
	)
	of := func(property string) string {
		return `{"type":"object","required":["a"],"properties":{"a":` + property + `}}`
	}
	for name, test := range map[string]struct {
		schema  string
		foreign bool
		want    int
	}{
		"a string":              {of(`{"type":"string"}`), false, text},
		"one type in a list":    {of(`{"type":["string"]}`), true, text},
		"two types":             {of(`{"type":["string","null"]}`), true, none},
		"no type":               {of(`{}`), true, none},
		"a number":              {of(`{"type":"number"}`), true, none},
		"one of several":        {of(`{"anyOf":[{"type":"string"},{"type":"number"}]}`), true, none},
		"a list":                {of(`{"type":"array","items":{"type":"string"}}`), true, list},
		"a list of anything":    {of(`{"type":"array"}`), true, none},
		"a list of lists":       {of(`{"type":"array","items":{"type":"array","items":{"type":"string"}}}`), true, none},
		"a list, but its first": {of(`{"type":"array","prefixItems":[{}],"items":{"type":"string"}}`), true, none},
		"first items":           {of(`{"type":"array","items":[{"type":"string"}]}`), false, none},
		"not required":          {`{"type":"object","properties":{"a":{"type":"string"}}}`, true, none},
		"not an object":         {`{"required":["a"],"properties":{"a":{"type":"string"}}}`, true, none},
		"another one":           {`{"type":"object","required":["b"],"properties":{"b":{"type":"string"}}}`, true, none},
		"a reference":           {`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"type":"string"}}}`, true, text},
		"references":            {`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/s"}},"s":{"type":"string"}}}`, true, list},
		"into a list":           {`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/anyOf/1/properties/x"}},"anyOf":[true,{"properties":{"x":{"type":"string"}}}]}`, true, text},
		"beside a reference":    {`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/s","type":"string"}},"$defs":{"s":{}}}`, true, text},
		"nothing beside it in the drafts": {
			`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["a"],"properties":{"a":{"$ref":"#/definitions/s","type":"string"}},"definitions":{"s":{}}}`, true, none},
		"all of":           {`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"required":["a"]}]}`, true, text},
		"all of the whole": {`{"allOf":[{"$ref":"#/$defs/w"}],"required":["a"],"$defs":{"w":{"type":"object","properties":{"a":{"type":"string"}}}}}`, true, text},
		"an identity": {
			`{"type":"object","required":["a"],"properties":{"a":{"$id":"https://x.example/s","$ref":"#/$defs/s","$defs":{"s":{}}}},"$defs":{"s":{"type":"string"}}}`, true, none},
		"an anchor": {`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#s"}},"$defs":{"s":{"$anchor":"s","type":"string"}}}`, true, none},
	} {
		t.Run(name, func(t *testing.T) {
			c := contracts[0]
			c.InputSchema, c.Foreign = json.RawMessage(test.schema), test.foreign
			if _, err := registry.Compile(c); err != nil {
				t.Fatalf("the schema itself: %v", err)
			}
			named := c
			named.Resources = []contract.Resource{{Argument: "a"}}
			_, err := registry.Compile(named)
			if (err == nil) != (test.want != none) {
				t.Errorf("as a resource: %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), `does not require "a" to be a string or a list of strings`) {
				t.Errorf("as a resource: %v", err)
			}
			c.IdempotencyKey = "a"
			if _, err := registry.Compile(c); (err == nil) != (test.want == text) {
				t.Errorf("as a key: %v", err)
			}
		})
	}
}

func TestSchemasOfOthers(t *testing.T) {
	c := contracts[0]
	c.InputSchema = json.RawMessage(`{"type":"object","x-order":1,"properties":{"id":{"type":"string","format":"path"}}}`)
	c.OutputSchema = nil
	if _, err := registry.Compile(c); err == nil {
		t.Error("a schema of our own was taken without what its output must be")
	}
	c.Foreign = true
	s := newStage(t, func(look, _ *contract.Contract, b *registry.Backend) {
		*look = c
		b.Handlers["look"] = func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			if string(arguments) == `{"id":"no"}` {
				return json.RawMessage(`{"seen":`), nil
			}
			return json.RawMessage(`["anything"]`), nil
		}
	})
	if got := succeeded(t, s.look()); string(got.Output) != `["anything"]` {
		t.Errorf("got %s", got.Output)
	}
	refused(t, s.call(call("look", `{"id":"no"}`, "read")), "output", tool.InvalidToolOutput)
	refused(t, s.call(call("look", `{"id":1}`, "read")), "input", tool.InvalidArguments)

	// Of 2020-12 where they do not say: there, prefixItems means something.
	c.InputSchema = json.RawMessage(`{"type":"object","properties":{"id":{"prefixItems":[{"type":"string"}]}}}`)
	s = newStage(t, func(look, _ *contract.Contract, b *registry.Backend) {
		*look = c
		look.OutputSchema = json.RawMessage(`{"type":"object","properties":{"seen":{"prefixItems":[{"type":"string"}]}}}`)
		b.Handlers["look"] = answer(`{"seen":[1]}`)
	})
	refused(t, s.call(call("look", `{"id":[1]}`, "read")), "input", tool.InvalidArguments)
	refused(t, s.call(call("look", `{"id":["x"]}`, "read")), "output", tool.InvalidToolOutput)
}

func TestEveryResourceOfAList(t *testing.T) {
	var asked []string
	s := newStage(t, func(look, _ *contract.Contract, b *registry.Backend) {
		look.Foreign = true
		look.InputSchema = json.RawMessage(`{"type":"object","required":["ids","to"],"properties":{"ids":{"type":"array","items":{"type":"string"}},"to":{"type":"string"}}}`)
		look.Resources = []contract.Resource{{Argument: "ids"}, {Argument: "to"}}
		b.Access = map[string]func(context.Context, tool.Caller, string, string) registry.Access{
			"look": func(_ context.Context, _ tool.Caller, argument, resource string) registry.Access {
				asked = append(asked, argument+"="+resource)
				if strings.HasPrefix(resource, "no") {
					return registry.Forbidden
				}
				return registry.Allowed
			},
		}
	})
	for arguments, test := range map[string]struct {
		asked   []string
		details string // of the refusal; empty: it passes
	}{
		`{"ids":["a"],"to":"t"}`:             {[]string{"ids=a", "to=t"}, ""},
		`{"ids":["a","b","a"],"to":"t"}`:     {[]string{"ids=a", "ids=b", "ids=a", "to=t"}, ""},
		`{"ids":["a","b","no"],"to":"t"}`:    {[]string{"ids=a", "ids=b", "ids=no"}, `{"ids":"no"}`},
		`{"ids":["no1","a","no2"],"to":"t"}`: {[]string{"ids=no1"}, `{"ids":"no1"}`},
		`{"ids":["a",""],"to":"no"}`:         {[]string{"ids=a", "ids=", "to=no"}, `{"to":"no"}`},
		`{"ids":[],"to":"t"}`:                {nil, `{"argument":"ids"}`},
	} {
		asked = nil
		result := s.call(call("look", arguments, "read"))
		if test.details == "" {
			succeeded(t, result)
		} else {
			wantDetails(t, refused(t, result, "permission", tool.ResourceForbidden), test.details)
		}
		if diff := cmp.Diff(test.asked, slices.Clone(asked)); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", arguments, diff)
		}
	}
}
