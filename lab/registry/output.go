package registry

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

func output(_ context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	if refusal := c.checkOutput(); refusal != nil {
		return tool.Refuse, refusal
	}
	return tool.Pass, nil
}

// checkOutput holds the output against the contract: its schema, its size, and
// then what of it may leave the runtime.
func (c *Crossing) checkOutput() *tool.Error {
	var violations []tool.Violation
	decoded, err := jsonvalue.Decode(c.output)
	if err != nil {
		violations = []tool.Violation{{Keyword: "json", Message: "must be one JSON document"}}
	} else if c.entry.output != nil {
		violations = c.entry.output.Validate(decoded)
	}
	if len(violations) > 0 {
		return tool.Refusal(tool.InvalidToolOutput, violationDetails{violations},
			"The output of %s breaks its contract.", c.entry.Name)
	}
	limits := c.entry.Output
	if limits == nil {
		return nil
	}
	if limits.MaxBytes > 0 && len(c.output) > limits.MaxBytes {
		refusal := tool.Refusal(tool.OutputTooLarge, struct {
			Bytes    int      `json:"bytes"`
			MaxBytes int      `json:"max_bytes"`
			NarrowBy []string `json:"narrow_by"`
		}{len(c.output), limits.MaxBytes, append([]string{}, limits.NarrowBy...)},
			"The output of %s is larger than an agent should be given.", c.entry.Name)
		if c.outcome == tool.Applied {
			// A narrower call would be another write.
			refusal.NextAction = "go on: it was applied; its answer is too large to be shown"
		}
		return refusal
	}
	if c.entry.redaction.Any() && c.redact(decoded) {
		c.output = jsonvalue.AppendCanonical(nil, decoded)
	}
	return nil
}

// Redaction says which fields have values that never leave the runtime.
type Redaction struct {
	names       map[string]bool
	credentials bool // and those that NamesCredential
}

// RedactionBy is what a contract asks for; nil asks for none.
func RedactionBy(limits *contract.Output) Redaction {
	if limits == nil {
		return Redaction{}
	}
	r := Redaction{make(map[string]bool, len(limits.Secret)), limits.Credentials}
	for _, name := range limits.Secret {
		r.names[name] = true
	}
	return r
}

// Any reports whether there can be such a field.
func (r Redaction) Any() bool { return len(r.names) > 0 || r.credentials }

// Has reports whether a field of this name is one.
func (r Redaction) Has(name string) bool {
	return r.names[name] || r.credentials && NamesCredential(name)
}

// redact replaces, in place, the values of secret fields. It reports whether
// there were any.
func (c *Crossing) redact(value any) bool {
	found := false
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			found = c.redact(item) || found
		}
	case map[string]any:
		for name, member := range v {
			if member != nil && c.entry.redaction.Has(name) {
				v[name] = c.registry.marker(member)
				found = true
				continue
			}
			found = c.redact(member) || found
		}
	}
	return found
}

// Redacted stands for a secret of which nothing is told, see [Backend.RedactionKey].
const Redacted = "[redacted]"

// marker stands for a secret. Equal secrets have equal markers under one key,
// so that a reader can still compare them.
func (r *Registry) marker(secret any) string {
	if len(r.backend.RedactionKey) == 0 {
		return Redacted
	}
	mac := hmac.New(sha256.New, r.backend.RedactionKey)
	mac.Write(jsonvalue.AppendCanonical(nil, secret))
	return "[redacted " + hex.EncodeToString(mac.Sum(nil)[:4]) + "]"
}

// credentialWords are what the name of a field says that holds a credential.
var credentialWords = []string{
	"password", "passwd", "pwd", "passphrase", "secret", "token", "jwt", "apikey", "accesskey", "privatekey",
	"credential", "authorization", "cookie", "sessionid",
}

// joined is a name without what stands between its parts.
var joined = strings.NewReplacer("-", "", "_", "", ".", "", "/", "", " ", "")

// NamesCredential reports whether a field of this name is taken to hold a
// credential: whether it has one of a few words in it, in any case and with any
// of - _ . / and space between its parts.
func NamesCredential(name string) bool {
	folded := joined.Replace(strings.ToLower(name))
	for _, word := range credentialWords {
		if strings.Contains(folded, word) {
			return true
		}
	}
	return false
}

// redacted returns a JSON document without the secrets that the contract of the
// call names, by the names of their fields.
func (c *Crossing) redacted(document json.RawMessage) json.RawMessage {
	if c.entry == nil || !c.entry.redaction.Any() {
		return document
	}
	value, err := jsonvalue.Decode(document)
	if err != nil || !c.redact(value) {
		return document
	}
	return jsonvalue.AppendCanonical(nil, value)
}
