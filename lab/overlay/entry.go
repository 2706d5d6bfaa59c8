package overlay

import (
	"encoding/json"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/yamlfile"
)

// entry is a tool as it stands in the file.
type entry struct {
	Tool                       // but for its definition
	at        place            // its name
	places    map[string]place // of its keys, and of some below them
	input     json.RawMessage  // keywords that tighten; nil for none
	describes bool             // the description is the file's
	arguments []named
}

// named is an argument that the file names, and what it has to be.
type named struct {
	at       place
	argument string
	as       role
}

type role int

const (
	anything  role = iota
	aKey           // a string that is required
	aResource      // a string or a list of strings that is required
)

var toolFields = table[entry]{
	yamlfile.Required("permission", func(r *reader, p place, e *entry) { e.Contract.Permission, _ = r.Filled(p, "a permission") }).
		Being("what a caller needs, such as items:read"),
	yamlfile.Optional("effect", func(r *reader, p place, e *entry) {
		e.Contract.Effect, _ = yamlfile.Choice(&r.Reader, p, contract.Effects()...)
	}),
	yamlfile.Optional("approval", func(r *reader, p place, e *entry) {
		e.Contract.Approval, _ = yamlfile.Choice(&r.Reader, p, contract.Approvals()...)
	}),
	yamlfile.Optional("approver", func(r *reader, p place, e *entry) {
		e.Contract.Approver = new(contract.Approver)
		yamlfile.ObjectSuch(r, p, "{permission: items:admin}", approverFields, e.Contract.Approver)
	}),
	yamlfile.Optional("resource", func(r *reader, p place, e *entry) { r.resources(p, e) }),
	yamlfile.Optional("idempotency", func(r *reader, p place, e *entry) {
		yamlfile.ObjectSuch(r, p, "{key: action_id, add: true}", idempotencyFields, e)
	}),
	yamlfile.Optional("precondition", func(r *reader, p place, e *entry) { r.precondition(p, e) }),
	yamlfile.Optional("timeout", func(r *reader, p place, e *entry) {
		e.Contract.Timeout, _ = r.Duration(p, time.Millisecond, 10*time.Minute, "from 1ms to 10m, such as 2s")
	}),
	yamlfile.Optional("retry", func(r *reader, p place, e *entry) {
		e.Contract.Retry, _ = yamlfile.Choice(&r.Reader, p, contract.Retries()...)
	}),
	yamlfile.Optional("rate", func(r *reader, p place, e *entry) {
		e.Contract.Rate = new(contract.Rate)
		yamlfile.ObjectSuch(r, p, "{burst: 5, every: 1s}", rateFields, e.Contract.Rate)
	}),
	yamlfile.Optional("concurrency", func(r *reader, p place, e *entry) {
		if p.Kind() == yamlfile.Mapping {
			yamlfile.Object(r, p, concurrencyFields, e)
			return
		}
		e.Contract.Concurrency, _ = r.Count(p, 1, most)
	}),
	yamlfile.Optional("cost", func(r *reader, p place, e *entry) { e.Contract.Cost, _ = r.Count(p, 0, 1_000_000) }),
	yamlfile.Optional("visibility", func(r *reader, p place, e *entry) {
		e.Contract.Visibility = new(contract.Visibility)
		yamlfile.ObjectSuch(r, p, "{tasks: [review]}", visibilityFields, e.Contract.Visibility)
	}),
	yamlfile.Optional("input", func(r *reader, p place, e *entry) { e.input, _ = r.JSONObject(p, yamlfile.WithoutSandbox) }),
	yamlfile.Optional("output", func(r *reader, p place, e *entry) { r.output(p, e) }),
	yamlfile.Optional("errors", func(r *reader, p place, e *entry) { e.Rules = r.rules(p) }),
	yamlfile.Optional("description", func(r *reader, p place, e *entry) {
		e.Contract.Description, e.describes = r.Filled(p, "a description")
	}),
}

// most is more than any number of calls that a contract could mean.
const most = 10_000

var approverFields = table[contract.Approver]{
	yamlfile.Required("permission", func(r *reader, p place, a *contract.Approver) { a.Permission, _ = r.Filled(p, "a permission") }),
	yamlfile.Optional("not_caller", func(r *reader, p place, a *contract.Approver) { a.NotCaller, _ = r.Flag(p) }),
}

var rateFields = table[contract.Rate]{
	yamlfile.Required("burst", func(r *reader, p place, rate *contract.Rate) { rate.Burst, _ = r.Count(p, 1, most) }),
	yamlfile.Required("every", func(r *reader, p place, rate *contract.Rate) {
		rate.Every, _ = r.Duration(p, time.Millisecond, 24*time.Hour, "from 1ms to 24h, such as 1s")
	}),
}

var visibilityFields = table[contract.Visibility]{
	yamlfile.Optional("permissions", func(r *reader, p place, v *contract.Visibility) { v.Permissions, _ = r.Names(p, "a permission") }),
	yamlfile.Optional("tasks", func(r *reader, p place, v *contract.Visibility) { v.Tasks, _ = r.Names(p, "a task") }),
	yamlfile.Optional("environments", func(r *reader, p place, v *contract.Visibility) { v.Environments, _ = r.Names(p, "an environment") }),
}

// keyName is the form of an argument that is added: what every model's interface
// takes for a name.
var keyName = yamlfile.Grammar(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

var concurrencyFields = table[entry]{
	yamlfile.Required("of", func(r *reader, p place, e *entry) {
		e.Contract.Turn, _ = r.Filled(p, "a name for what the tools share")
		e.places["concurrency.of"] = p
	}),
	yamlfile.Required("limit", func(r *reader, p place, e *entry) { e.Contract.Concurrency, _ = r.Count(p, 1, most) }),
}

var idempotencyFields = table[entry]{
	yamlfile.Required("key", func(r *reader, p place, e *entry) {
		e.Contract.IdempotencyKey, _ = r.Filled(p, "the name of an argument")
		e.places["idempotency.key"] = p
	}),
	yamlfile.Optional("add", func(r *reader, p place, e *entry) {
		if add, _ := r.Flag(p); add {
			e.places["idempotency.add"] = p
		}
	}),
	yamlfile.Optional("expires", func(r *reader, p place, e *entry) {
		e.Contract.ReceiptTTL, _ = r.Duration(p, time.Second, 365*24*time.Hour, "from 1s to 8760h, such as 24h")
	}),
}

// entry reads one tool.
func (r *reader) entry(m yamlfile.Member) *entry {
	e := &entry{at: m.Key, places: make(map[string]place)}
	e.Contract = contract.Contract{
		Foreign: true, Effect: contract.Read, Approval: contract.ApprovalNever, Retry: contract.RetryNever, Timeout: DefaultTimeout,
	}
	e.Contract.Name = m.Name
	given, ok := yamlfile.ObjectSuch(r, m.Value, "{permission: items:write, effect: write}", toolFields, e)
	if !ok {
		return nil
	}
	for name, p := range given {
		e.places[name] = p
	}
	r.holds(e)
	return e
}

// holds checks what the keys of a tool say of each other.
func (r *reader) holds(e *entry) {
	c := &e.Contract
	if p, given := e.places["approver"]; given && c.Approval != contract.ApprovalBound {
		r.Fault(p, "may only stand beside approval: bound")
	}
	if p, given := e.places["precondition"]; given {
		if c.Precondition = true; c.Approval == contract.ApprovalNever {
			r.Fault(p, "needs an approval: it is about what was confirmed")
		}
	}
	if p, given := e.places["idempotency"]; given && c.Effect == contract.Read {
		r.Fault(p, "has no place with effect: read, as a tool has without an effect: a repeat would be told what was read before")
	}
	_, add := e.places["idempotency.add"]
	switch key := c.IdempotencyKey; {
	case key == "":
	case add && !keyName().MatchString(key):
		r.Fault(e.places["idempotency.key"], "must be a name of 1 to 64 letters, digits and _ -, not a digit or - first, as it is added")
	case add:
		e.AddedKey = key
	default:
		e.arguments = append(e.arguments, named{e.places["idempotency.key"], key, aKey})
	}
}

type resource struct{ argument, within string }

var resourceFields = table[resource]{
	yamlfile.Required("argument", func(r *reader, p place, x *resource) { x.argument, _ = r.Filled(p, "the name of an argument") }),
	yamlfile.Required("within", func(r *reader, p place, x *resource) { x.within = r.folder(p) }),
}

// resources reads a resource or a list of them.
func (r *reader) resources(p place, e *entry) {
	items := []place{p}
	if p.Kind() == yamlfile.List {
		if items, _ = r.Items(p, ""); len(items) == 0 {
			r.Fault(p, "must name at least one argument")
		}
	}
	e.Within = make(map[string]string)
	for _, item := range items {
		var x resource
		given, ok := yamlfile.ObjectSuch(r, item, `{argument: path, within: "${SANDBOX}"}`, resourceFields, &x)
		if !ok || x.argument == "" {
			continue
		}
		at := given["argument"]
		if _, again := e.Within[x.argument]; again {
			r.Fault(at, "is named twice")
			continue
		}
		e.Within[x.argument] = x.within
		e.Contract.Resources = append(e.Contract.Resources, contract.Resource{Argument: x.argument})
		e.arguments = append(e.arguments, named{at, x.argument, aResource})
	}
}

var outputFields = table[entry]{
	yamlfile.Optional("max_bytes", func(r *reader, p place, e *entry) { e.Contract.Output.MaxBytes, _ = r.Count(p, 1, 1<<30) }),
	yamlfile.Optional("narrow_by", func(r *reader, p place, e *entry) {
		names, places := r.Names(p, "the name of an argument")
		for i, name := range names {
			e.arguments = append(e.arguments, named{places[i], name, anything})
		}
		e.Contract.Output.NarrowBy = names
	}),
	yamlfile.Optional("redact", func(r *reader, p place, e *entry) { e.Contract.Output.Secret, _ = r.Names(p, "the name of a field") }),
	yamlfile.Optional("credentials", func(r *reader, p place, e *entry) { e.Contract.Output.Credentials, _ = r.Flag(p) }),
}

func (r *reader) output(p place, e *entry) {
	e.Contract.Output = new(contract.Output)
	given, _ := yamlfile.ObjectSuch(r, p, "{max_bytes: 20000, redact: [password]}", outputFields, e)
	_, bounded := given["max_bytes"]
	if narrow, has := given["narrow_by"]; has && !bounded {
		r.Fault(narrow, "may only stand beside max_bytes")
	}
}
