package generate

import "encoding/json"

// Rewritten is the same JSON in another form.
func Rewritten(document json.RawMessage) json.RawMessage { return rewritten(document) }
