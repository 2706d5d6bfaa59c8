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
	"slices"
	"strings"
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

// Effects are all of them, the more careful ones later.
func Effects() []Effect { return []Effect{Read, Write, Destructive} }

// Changes reports whether a call can leave the backend different.
func (e Effect) Changes() bool { return e != Read }

// Approval says what kind of confirmation a call needs.
type Approval string

const (
	ApprovalNever Approval = "never"
	// ApprovalRequired asks that the calls of the task were confirmed.
	ApprovalRequired Approval = "required"
	// ApprovalBound asks for a grant of this very call, see [CallDigest].
	ApprovalBound Approval = "bound"
)

// Approvals are all of them, those that ask for more later.
func Approvals() []Approval { return []Approval{ApprovalNever, ApprovalRequired, ApprovalBound} }

// Retry says which failures of a tool a repeat could help.
type Retry string

const (
	RetryNever     Retry = "never"
	RetryTransient Retry = "transient"
)

// Retries are all of them.
func Retries() []Retry { return []Retry{RetryNever, RetryTransient} }

// maxSpan bounds what is added to a time, so that no time overflows.
const maxSpan = 100 * 365 * 24 * time.Hour

// DefaultTimeout holds where a contract names none.
const DefaultTimeout = 500 * time.Millisecond

// Contract is a tool definition and the runtime's side of it. Fields left
// empty take the careful default: a read that needs its permission, no
// approval, no key, no retry and [DefaultTimeout]. What is a pointer or a list
// is not asked for where it is empty.
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

	Version    string      `json:"version,omitempty"`
	Cost       int         `json:"cost,omitempty"` // in units of a budget
	Visibility *Visibility `json:"visibility,omitempty"`
	Lifecycle  *Lifecycle  `json:"lifecycle,omitempty"`
	// Resources are what a call works on; the caller needs access to each of them.
	Resources []Resource `json:"resources,omitempty"`
	// Precondition asks that what a call works on is as it was when the call was
	// confirmed: as the person who granted it was shown it, or, where the calls of
	// a task were confirmed as a whole, as the session saw it last, which is at its
	// first call on it and after each of its own. Calls of a session that overlap
	// cannot be told from each other's changes, but for those that wait for a turn.
	Precondition bool `json:"precondition,omitempty"`
	// Concurrency is how many calls of the tool may be under way at once in a
	// session; zero means any number. One that nobody waits for any more is under
	// way until it has ended. A further call waits, in the order in which they came,
	// as long as the timeout; on a simulated clock nothing waits.
	Concurrency int `json:"concurrency,omitempty"`
	// Turn names what Concurrency is of: tools of one Turn wait for each other, as
	// those that write to one file have to. Without it each tool has its own.
	Turn string `json:"turn,omitempty"`
	// Foreign says that somebody else wrote the schemas: what is not known in them
	// is an annotation, they are of 2020-12 where they do not say, and there may be
	// none of the output.
	Foreign  bool      `json:"foreign,omitempty"`
	Approver *Approver `json:"approver,omitempty"`
	Rate     *Rate     `json:"rate,omitempty"`
	// ReceiptTTL is how long a repeat is recognised; zero means for ever.
	ReceiptTTL time.Duration `json:"receipt_ttl_ns,omitempty"`
	Errors     []ErrorRule   `json:"errors,omitempty"`
	Output     *Output       `json:"output,omitempty"`
}

// Visibility restricts who may know of a tool. Each list that is not empty must
// hold what the caller has. It replaces no permission.
type Visibility struct {
	Permissions  []string `json:"permissions,omitempty"` // the caller needs one of them
	Tasks        []string `json:"tasks,omitempty"`
	Environments []string `json:"environments,omitempty"`
}

// Admits reports whether the caller may know of the tool.
func (v *Visibility) Admits(caller tool.Caller) bool {
	if v == nil {
		return true
	}
	holds := func(wanted []string, has ...string) bool {
		return len(wanted) == 0 || slices.ContainsFunc(has, func(h string) bool { return slices.Contains(wanted, h) })
	}
	return holds(v.Permissions, caller.Permissions...) &&
		holds(v.Tasks, caller.Task) && holds(v.Environments, caller.Environment)
}

// Lifecycle says that a tool is on its way out.
type Lifecycle struct {
	Retired    bool   `json:"retired"`     // refused; otherwise deprecated, which still works
	ReplacedBy string `json:"replaced_by"` // the successor, which is never called in its place
}

// Resource names what a call works on.
type Resource struct {
	// Argument identifies it: a string, or a list of strings, each of which is one.
	// An empty list names none, and is refused: a tool may take it for all.
	Argument string `json:"argument"`
	// HiddenAs is the code for a caller that may not even know that the
	// resource exists: the one for a resource that does not.
	HiddenAs tool.Code `json:"hidden_as,omitempty"`
	// HiddenMessage is what the refusal then says: word for word what it says of
	// a resource that does not exist.
	HiddenMessage string `json:"hidden_message,omitempty"`
}

// Approver says whose grant counts.
type Approver struct {
	Permission string `json:"permission"`
	NotCaller  bool   `json:"not_caller"` // nobody confirms their own call
}

// Rate is a token bucket for each caller of a tool.
type Rate struct {
	Burst int           `json:"burst"`    // calls that may come at once
	Every time.Duration `json:"every_ns"` // one more call after each such time
}

// ErrorRule gives a backend's error a stable code.
type ErrorRule struct {
	Backend string    `json:"backend"` // the backend's own word for it, exactly
	Code    tool.Code `json:"code"`
}

// Output bounds what a tool may answer.
type Output struct {
	MaxBytes int      `json:"max_bytes,omitempty"` // zero means no limit
	NarrowBy []string `json:"narrow_by,omitempty"` // the arguments that make an answer smaller
	// Secret names fields, at any depth, whose values never leave the runtime.
	Secret []string `json:"secret,omitempty"`
	// Credentials redacts fields whose names say that they hold one.
	Credentials bool `json:"credentials,omitempty"`
}

// Complete returns the contract with its defaults filled in, or an error that
// names every field that does not hold together. It does not compile the
// schemas.
func (c Contract) Complete() (Contract, error) {
	c.Effect = orDefault(c.Effect, Read)
	c.Approval = orDefault(c.Approval, ApprovalNever)
	c.Retry = orDefault(c.Retry, RetryNever)
	c.Timeout = orDefault(c.Timeout, DefaultTimeout)

	faults := []error{among("effect", c.Effect, Effects()), among("approval", c.Approval, Approvals()), among("retry", c.Retry, Retries())}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Name == "" {
		fault("name is empty")
	}
	if c.Permission == "" {
		fault("permission is empty: a tool that anyone may call has to say so with a permission that everyone holds")
	}
	if c.Timeout < time.Millisecond {
		fault("timeout %v is below one millisecond", c.Timeout)
	}
	if c.Approver != nil && c.Approval != ApprovalBound {
		fault("approver is set, but approval is not bound")
	}
	if c.Precondition && c.Approval == ApprovalNever {
		fault("precondition is set, but approval is never: it is about what was confirmed")
	}
	for _, r := range c.Resources {
		if r.Argument == "" {
			fault("resources: argument is empty")
		}
		if r.HiddenAs != "" {
			if _, known := tool.Lookup(r.HiddenAs); !known {
				fault("resources: hidden_as: %q is no known code", r.HiddenAs)
			}
		}
	}
	if c.Approver != nil && c.Approver.Permission == "" {
		fault("approver.permission is empty: nobody could approve")
	}
	if c.Rate != nil && (c.Rate.Burst < 1 || c.Rate.Every <= 0 || time.Duration(c.Rate.Burst) > maxSpan/c.Rate.Every) {
		fault("rate: a burst of %d and one more every %v cannot be kept", c.Rate.Burst, c.Rate.Every)
	}
	if c.ReceiptTTL > maxSpan || c.Timeout > maxSpan {
		fault("timeout and receipt_ttl are at most %v", maxSpan)
	}
	if c.Cost < 0 || c.Concurrency < 0 || c.ReceiptTTL < 0 || c.Output != nil && c.Output.MaxBytes < 0 {
		fault("cost, concurrency, receipt_ttl and output.max_bytes are not negative")
	}
	if c.Turn != "" && c.Concurrency == 0 {
		fault("turn is set, but concurrency is not")
	}
	for _, rule := range c.Errors {
		if _, known := tool.Lookup(rule.Code); !known {
			fault("errors: %q is no known code", rule.Code)
		}
	}
	if c.InputSchema == nil {
		fault("the input schema is missing")
	}
	if c.OutputSchema == nil && !c.Foreign {
		fault("the output schema is missing")
	}
	if err := errors.Join(faults...); err != nil {
		return Contract{}, fmt.Errorf("contract of tool %q: %w", c.Name, err)
	}
	return c, nil
}

// among is why a word is none of those that there are, or nil.
func among[T ~string](what string, word T, all []T) error {
	if slices.Contains(all, word) {
		return nil
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	return fmt.Errorf("%s %q is not one of %s", what, word, strings.Join(names, ", "))
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

// CallDigest identifies one call as a person confirms it: the tool, the version
// of its contract and the canonical arguments.
func CallDigest(name, version string, canonical []byte) string {
	// Strings in JSON form cannot run into each other.
	call := append([]byte{'['}, jsonvalue.AppendString(nil, name)...)
	call = append(call, ',')
	call = jsonvalue.AppendString(call, version)
	call = append(call, ',')
	call = append(call, canonical...)
	return digest(append(call, ']'))
}

func digest(canonical []byte) string {
	const prefix = "sha256:"
	sum := sha256.Sum256(canonical)
	var text [len(prefix) + 2*sha256.Size]byte
	copy(text[:], prefix)
	hex.Encode(text[len(prefix):], sum[:])
	return string(text[:])
}
