package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

func TestTyped(t *testing.T) {
	type in struct {
		Note string `json:"note"`
		N    int    `json:"n"`
	}
	type out struct {
		Items []string `json:"items"`
		N     int      `json:"n"`
	}
	echo := registry.Typed(func(_ context.Context, in in) (out, error) { return out{nil, in.N}, nil })

	// Key case is exact, and an empty list is a list.
	got, err := echo(t.Context(), json.RawMessage(`{"N":5,"NOTE":"x","n":1}`))
	if want := `{"items":[],"n":1}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	var e *tool.Error
	if _, err := echo(t.Context(), json.RawMessage(`{"n":"one"}`)); !errors.As(err, &e) || e.Outcome != tool.NotApplied {
		t.Errorf("arguments of another type: %v", err)
	}
	unwritable := registry.Typed(func(context.Context, in) (func(), error) { return func() {}, nil })
	if _, err := unwritable(t.Context(), json.RawMessage(`{}`)); !errors.As(err, &e) || e.Outcome != tool.Applied {
		t.Errorf("an output that cannot be written: %v", err)
	}
	broken := errors.New("broken")
	failing := registry.Typed(func(context.Context, in) (out, error) { return out{}, broken })
	if _, err := failing(t.Context(), json.RawMessage(`{}`)); !errors.Is(err, broken) {
		t.Errorf("the error of the work became %v", err)
	}
}

func Example() {
	catalog, err := registry.Compile(contract.Contract{
		Definition: tool.Definition{
			Name:         "greet",
			Description:  "Greet somebody by name.",
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":1}},"required":["name"],"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"greeting":{"type":"string"}},"required":["greeting"]}`),
		},
		Permission: "greetings:read",
	})
	if err != nil {
		panic(err)
	}
	type in struct {
		Name string `json:"name"`
	}
	type out struct {
		Greeting string `json:"greeting"`
	}
	tools, err := registry.New(catalog, registry.Backend{Handlers: map[string]registry.Handler{
		"greet": registry.Typed(func(_ context.Context, in in) (out, error) {
			return out{"Hello " + in.Name}, nil
		}),
	}})
	if err != nil {
		panic(err)
	}
	caller := tool.Caller{ID: "agent-1", Permissions: []string{"greetings:read"}}
	for _, arguments := range []string{`{"name":"world"}`, `{"nmae":"world"}`} {
		result := tools.Call(context.Background(), tool.Call{
			Caller:   caller,
			Proposal: tool.Proposal{Name: "greet", Arguments: json.RawMessage(arguments)},
		})
		if result.OK() {
			fmt.Println(string(result.Output))
			continue
		}
		fmt.Println(result.Trace.RefusedBy(), result.Error.Code)
		fmt.Println(string(result.Error.Details))
	}
	// Output:
	// {"greeting":"Hello world"}
	// input invalid_arguments
	// {"violations":[{"pointer":"","keyword":"additionalProperties","message":"property \"nmae\" is not allowed"},{"pointer":"","keyword":"required","message":"property \"name\" is required"}]}
}
