// Package contract holds what the trusted runtime knows of a tool and a model
// does not: who may call it, what it does to the world, whether a call needs
// confirmation, how long it may take and when a repeat is the same call.
//
// Start with [Contract]. [Fingerprint] tells whether two calls ask for the same
// thing; [Contract.Digest] tells whether two contracts promise the same.
//
// One invariant: nothing here is sent to a model but the embedded
// [tool.Definition].
//
// The package enforces nothing; lab/registry does. Canonical JSON itself is in
// lab/jsonvalue, because lab/schema stands on it too.
package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Effect is what a tool does to its backend.
type Effect string

const (
	Read        Effect = "read"
	Write       Effect = "write"
	Destructive Effect = "destructive" // a write that cannot be taken back
)

// Changes reports whether a call can leave the backend different.
func (e Effect) Changes() bool { return e != Read }

// Approval says when a call must have been confirmed.
type Approval string

const (
	ApprovalNever    Approval = "never"
	ApprovalRequired Approval = "required"
)

// Retry says which failures of a tool a repeat could help.
type Retry string

const (
	RetryNever     Retry = "never"
	RetryTransient Retry = "transient"
)

// DefaultTimeout holds where a contract names none.
const DefaultTimeout = 500 * time.Millisecond

// Contract is a tool definition and the runtime's side of it. Fields left
// empty take the careful default: a read that needs its permission, no
// approval, no key, no retry and [DefaultTimeout].
type Contract struct {
	tool.Definition

	Permission string   `json:"permission"`
	Effect     Effect   `json:"effect"`
	Approval   Approval `json:"approval"`
	// IdempotencyKey names the string argument that makes a repeat the same
	// call. Empty means that every call is its own.
	IdempotencyKey string        `json:"idempotency_key"`
	Retry          Retry         `json:"retry"`
	Timeout        time.Duration `json:"timeout_ns"`
}

// Complete returns the contract with its defaults filled in, or an error that
// names every field that does not hold together. It does not compile the
// schemas.
func (c Contract) Complete() (Contract, error) {
	c.Effect = orDefault(c.Effect, Read)
	c.Approval = orDefault(c.Approval, ApprovalNever)
	c.Retry = orDefault(c.Retry, RetryNever)
	c.Timeout = orDefault(c.Timeout, DefaultTimeout)

	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Name == "" {
		fault("name is empty")
	}
	if c.Permission == "" {
		fault("permission is empty: a tool that anyone may call has to say so with a permission that everyone holds")
	}
	switch c.Effect {
	case Read, Write, Destructive:
	default:
		fault("effect %q is not one of read, write, destructive", c.Effect)
	}
	switch c.Approval {
	case ApprovalNever, ApprovalRequired:
	default:
		fault("approval %q is not one of never, required", c.Approval)
	}
	switch c.Retry {
	case RetryNever, RetryTransient:
	default:
		fault("retry %q is not one of never, transient", c.Retry)
	}
	if c.Timeout < time.Millisecond {
		fault("timeout %v is below one millisecond", c.Timeout)
	}
	if c.InputSchema == nil {
		fault("the input schema is missing")
	}
	if c.OutputSchema == nil {
		fault("the output schema is missing")
	}
	if err := errors.Join(faults...); err != nil {
		return Contract{}, fmt.Errorf("contract of tool %q: %w", c.Name, err)
	}
	return c, nil
}

func orDefault[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

// Digest identifies everything the contract promises, "sha256:" and 64 hex
// digits. The order of keys in its schemas makes no difference.
func (c Contract) Digest() (string, error) {
	encoded, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("contract of tool %q: %w", c.Name, err)
	}
	tree, err := jsonvalue.Decode(encoded)
	if err != nil {
		return "", fmt.Errorf("contract of tool %q: %w", c.Name, err)
	}
	return digest(jsonvalue.AppendCanonical(nil, tree)), nil
}

// Fingerprint identifies arguments by their canonical form, which
// [jsonvalue.AppendCanonical] wrote.
func Fingerprint(canonical []byte) string { return digest(canonical) }

func digest(canonical []byte) string {
	const prefix = "sha256:"
	sum := sha256.Sum256(canonical)
	var text [len(prefix) + 2*sha256.Size]byte
	copy(text[:], prefix)
	hex.Encode(text[len(prefix):], sum[:])
	return string(text[:])
}
