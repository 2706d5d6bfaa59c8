package registry

import (
	"context"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"

	"agentlab/lab/tool"
)

// Typed makes a [Handler] of a function over Go types. The arguments are
// decoded by encoding/json's tags, with exact key case; keys that the type
// does not name are ignored, as the schema has already said which may come.
// The result is encoded at once, so that it shares nothing with the backend.
func Typed[In, Out any](work func(ctx context.Context, in In) (Out, error)) Handler {
	return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		var in In
		if err := jsonv2.Unmarshal(arguments, &in); err != nil {
			return nil, tool.Refusal(tool.HandlerFailed, nil, "The schema allows arguments that the handler cannot take.")
		}
		out, err := work(ctx, in)
		if err != nil {
			return nil, err
		}
		encoded, err := jsonv2.Marshal(out, jsonv2.Deterministic(true))
		if err != nil {
			failed := tool.Refusal(tool.HandlerFailed, nil, "The output cannot be written as JSON.")
			failed.Outcome = tool.Applied // the work is done
			return nil, failed
		}
		return encoded, nil
	}
}
