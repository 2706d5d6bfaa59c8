package ticket

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// TypedName names the surface of five tools behind the registry.
const TypedName = "typed-registry-v2"

// Typed is the candidate of the experiment: five narrow tools whose contracts
// the registry enforces.
type Typed struct{}

func (Typed) Name() string { return TypedName }

func (Typed) Definitions() []tool.Definition { return catalog().Definitions() }

func (Typed) Open(context.Context) (tool.Session, error) {
	if b, ok := benches.Get().(*bench); ok {
		return &typedSession{b, &benches}, nil
	}
	b, err := newBench(catalog(), registry.Variant{})
	return &typedSession{b, &benches}, err
}

// Contracts are those of the surface.
func (Typed) Contracts() []contract.Contract { return Contracts() }

// Vary returns the surface with some of its parts exchanged.
func (Typed) Vary(v registry.Variant) (tool.Surface, error) {
	compiled, err := v.Compiled(Contracts())
	if err != nil {
		return nil, err
	}
	return &typedVariant{compiled, v}, nil
}

// typedVariant is [Typed] with some of its parts exchanged.
type typedVariant struct {
	catalog *registry.Catalog
	variant registry.Variant
}

func (t *typedVariant) Name() string { return TypedName }

func (t *typedVariant) Definitions() []tool.Definition { return t.catalog.Definitions() }

func (t *typedVariant) Open(context.Context) (tool.Session, error) {
	b, err := newBench(t.catalog, t.variant)
	return &typedSession{b, nil}, err // what a variant remembers ends with its session
}

func newBench(catalog *registry.Catalog, v registry.Variant) (*bench, error) {
	s := &bench{store: NewStore(), receipts: new(receipt.Memory)}
	r, err := registry.New(catalog, v.Prepared(registry.Backend{
		Handlers:  s.handlers(),
		Receipts:  s.receipts,
		Clock:     registry.NewSimulated(time.Unix(0, 0)),
		Latencies: latencies,
		// What the contracts do not ask for is not in the traces either.
		Controls: slices.Clone(classicControls),
	}))
	s.Registry = r
	return s, err
}

// benches are those of closed sessions, as good as fresh ones: binding five
// handlers to a store takes longer than most cases.
var benches sync.Pool

// typedSession is the use of a bench, until it is closed.
type typedSession struct {
	*bench
	pool *sync.Pool // which the bench is given back to; nil: to none
}

// bench is a registry before a store of its own.
type bench struct {
	*registry.Registry
	store    *Store
	receipts *receipt.Memory
}

func (s *typedSession) Effects() int { return s.store.EffectCount() }

// classicControls are those of version 2.
var classicControls = registry.Without("budget", "rate")

func (s *typedSession) Close() error {
	b := s.bench
	if b == nil {
		return nil // it may be closed more than once
	}
	s.bench = nil
	if s.pool == nil {
		return nil
	}
	b.store.Reset()
	b.receipts.Reset()
	b.Reset()
	s.pool.Put(b)
	return nil
}

// catalog compiles the contracts when they are first needed.
var catalog = sync.OnceValue(func() *registry.Catalog {
	compiled, err := registry.Compile(Contracts()...)
	if err != nil {
		panic(err) // the contracts are part of the program
	}
	return compiled
})

// latencies are the simulated clock of the backend: only the slow lookup takes
// any time, and as much as it was asked to.
var latencies = map[string]registry.Latency{
	"slow_ticket_lookup": func(_ context.Context, arguments json.RawMessage) time.Duration {
		var in struct {
			Latency json.Number `json:"simulated_latency_ms"`
		}
		if json.Unmarshal(arguments, &in) != nil {
			return 0
		}
		milliseconds, err := strconv.ParseInt(in.Latency.String(), 10, 64)
		if err != nil || milliseconds > maxLatency.Milliseconds() {
			return maxLatency
		}
		return time.Duration(milliseconds) * time.Millisecond
	},
}

// maxLatency stands for every latency that a Duration cannot hold.
const maxLatency = time.Duration(math.MaxInt64 / int64(time.Millisecond) * int64(time.Millisecond))

type ticketInput struct {
	TicketID string `json:"ticket_id"`
}

type noteInput struct {
	TicketID string `json:"ticket_id"`
	Note     string `json:"note"`
}

type recordInput struct {
	noteInput
	ActionID string `json:"action_id"`
}

type pageInput struct {
	Limit  int     `json:"limit"`
	Cursor *string `json:"cursor"`
}

type ticketOutput struct {
	Ticket Ticket `json:"ticket"`
}

type previewOutput struct {
	TicketID    string `json:"ticket_id"`
	WouldAppend string `json:"would_append"`
	SideEffects int    `json:"side_effects"`
}

type recordOutput struct {
	ReceiptID string `json:"receipt_id"`
	TicketID  string `json:"ticket_id"`
	Status    string `json:"status"`
}

type summary struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Subject string `json:"subject"`
}

type pageOutput struct {
	Items      []summary `json:"items"`
	NextCursor *string   `json:"next_cursor"`
}

func (s *bench) handlers() map[string]registry.Handler {
	all := reads(inMemory{s.store})
	all["record_ticket_followup"] = registry.Typed(func(_ context.Context, in noteInput) (recordOutput, error) {
		effect := s.store.Append(in.TicketID, in.Note)
		if effect == 0 {
			return recordOutput{}, notFound(in.TicketID)
		}
		return recorded(effect, in.TicketID), nil
	})
	return all
}

// reads are the handlers of the tools that change nothing.
func reads(from tickets) map[string]registry.Handler {
	return map[string]registry.Handler{
		"get_ticket": registry.Typed(func(ctx context.Context, in ticketInput) (ticketOutput, error) {
			t, err := existing(ctx, from, in.TicketID)
			return ticketOutput{t}, err
		}),
		"slow_ticket_lookup": registry.Typed(func(ctx context.Context, in ticketInput) (ticketOutput, error) {
			t, err := existing(ctx, from, in.TicketID)
			return ticketOutput{t}, err
		}),
		"preview_ticket_followup": registry.Typed(func(ctx context.Context, in noteInput) (previewOutput, error) {
			_, err := existing(ctx, from, in.TicketID)
			return previewOutput{TicketID: in.TicketID, WouldAppend: in.Note}, err
		}),
		"list_tickets": registry.Typed(func(ctx context.Context, in pageInput) (pageOutput, error) {
			list, err := from.List(ctx)
			if err != nil {
				return pageOutput{}, err
			}
			return page(list, in)
		}),
	}
}

// existing reads one ticket, and refuses the id of none.
func existing(ctx context.Context, from tickets, id string) (Ticket, error) {
	t, ok, err := from.Get(ctx, id)
	if err == nil && !ok {
		err = notFound(id)
	}
	return t, err
}

const noTicket = "There is no ticket of this id."

func notFound(id string) error {
	return tool.Refusal(tool.TicketNotFound, struct {
		TicketID string `json:"ticket_id"`
	}{id}, noTicket)
}

// page cuts one page out of the tickets. A cursor is the number of tickets
// before the page, written as this function writes it; no other is taken.
func page(tickets []Ticket, in pageInput) (pageOutput, error) {
	start := 0
	if in.Cursor != nil {
		var err error
		start, err = strconv.Atoi(*in.Cursor)
		if err != nil || strconv.Itoa(start) != *in.Cursor || start < 1 || start >= len(tickets) {
			return pageOutput{}, tool.Refusal(tool.InvalidCursor, struct {
				Cursor string `json:"cursor"`
			}{*in.Cursor}, "The cursor was not issued by list_tickets.")
		}
	}
	end := min(start+in.Limit, len(tickets))
	out := pageOutput{Items: make([]summary, 0, end-start)}
	for _, t := range tickets[start:end] {
		out.Items = append(out.Items, summary{t.ID, t.Status, t.Subject})
	}
	if end < len(tickets) {
		next := strconv.Itoa(end)
		out.NextCursor = &next
	}
	return out, nil
}

// Contracts returns the contracts of the five tools.
func Contracts() []contract.Contract {
	return []contract.Contract{
		{
			Definition: define("get_ticket",
				"Read one support ticket by its exact id, such as T-102, with its follow-ups. Use it when the id is known. Changes nothing. Do not use it to search or to list tickets.",
				`{"ticket_id":`+ticketIDSchema+`}`, `["ticket_id"]`, ticketOutputSchema),
			Permission: readPermission,
		},
		{
			Definition: define("list_tickets",
				"List support tickets as summaries (id, status and subject), a page at a time. Use it to find a ticket. To go on, pass the next_cursor of the last page unchanged. Changes nothing. Do not use it to read one whole ticket.",
				`{"limit":{"type":"integer","minimum":1,"maximum":5,"description":"how many tickets one page holds"},"cursor":{"type":"string","description":"next_cursor of the page before"}}`, `["limit"]`,
				object(`{"items":{"type":"array","maxItems":5,"items":`+object(`{"id":{"type":"string"},"status":{"type":"string"},"subject":{"type":"string"}}`, `["id","status","subject"]`)+`},"next_cursor":{"type":["string","null"]}}`, `["items","next_cursor"]`)),
			Permission: readPermission,
		},
		{
			Definition: define("preview_ticket_followup",
				"Show what record_ticket_followup would append to a support ticket. Use it before a person is asked to approve the follow-up. Changes nothing. Do not take its answer for a follow-up that was recorded.",
				`{"ticket_id":`+ticketIDSchema+`,"note":`+noteSchema+`}`, `["ticket_id","note"]`,
				object(`{"ticket_id":{"type":"string"},"would_append":{"type":"string"},"side_effects":{"type":"integer","minimum":0,"maximum":0}}`, `["ticket_id","would_append","side_effects"]`)),
			Permission: readPermission,
		},
		{
			Definition: define("record_ticket_followup",
				"Append one approved follow-up to a support ticket. This tool writes data, requires ticket:write, and deduplicates repeated calls by action_id. Do not use it for previews.",
				`{"ticket_id":`+ticketIDSchema+`,"note":`+noteSchema+`,"action_id":`+actionIDSchema+`}`, `["ticket_id","note","action_id"]`,
				object(`{"receipt_id":{"type":"string"},"ticket_id":{"type":"string"},"status":{"type":"string","enum":["recorded"]}}`, `["receipt_id","ticket_id","status"]`)),
			Permission:     writePermission,
			Effect:         contract.Write,
			Approval:       contract.ApprovalRequired,
			IdempotencyKey: "action_id",
		},
		{
			Definition: define("slow_ticket_lookup",
				"Read one support ticket through a slow dependency. Use it only to see how a timeout is told; it may be retried. Changes nothing. Do not use it for ordinary reads, which get_ticket serves.",
				`{"ticket_id":`+ticketIDSchema+`,"simulated_latency_ms":{"type":"integer","minimum":0,"description":"how long the dependency takes"}}`, `["ticket_id","simulated_latency_ms"]`, ticketOutputSchema),
			Permission: readPermission,
			Retry:      contract.RetryTransient,
		},
	}
}

const (
	readPermission  = "ticket:read"
	writePermission = "ticket:write"

	ticketIDSchema = `{"type":"string","minLength":5}`
	noteSchema     = `{"type":"string","minLength":1}`
	actionIDSchema = `{"type":"string","minLength":6,"description":"stable for one action and all its repeats"}`
)

var ticketOutputSchema = object(`{"ticket":`+object(`{"id":{"type":"string"},"status":{"type":"string","enum":["open","waiting"]},"subject":{"type":"string"},"followups":{"type":"array","items":{"type":"string"}}}`, `["id","status","subject","followups"]`)+`}`, `["ticket"]`)

// object writes the schema of an object that has these properties and no other.
func object(properties, required string) string {
	return `{"type":"object","properties":` + properties + `,"required":` + required + `,"additionalProperties":false}`
}

func define(name, description, properties, required, output string) tool.Definition {
	return tool.Definition{
		Name:         name,
		Description:  description,
		InputSchema:  json.RawMessage(object(properties, required)),
		OutputSchema: json.RawMessage(output),
		Strict:       true,
	}
}
