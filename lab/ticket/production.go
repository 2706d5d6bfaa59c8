package ticket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// ProductionName names the surface of the same five tools with the controls
// that production needs.
const ProductionName = "typed-registry-v3"

// Production is [Typed] with contracts that ask for every control: bound
// approvals, budgets, rates, resources, receipts that expire, error rules,
// bounded and redacted outputs.
//
// The zero value keeps tickets and receipts in memory, fresh for every session;
// see [OnSQLite].
type Production struct {
	db *receipt.SQLite
	// turn is held by the one session that a file has at a time.
	turn chan struct{}
	// catalog is nil where it is that of [ProductionContracts].
	catalog *registry.Catalog
	variant registry.Variant
}

// OnSQLite returns the surface with tickets and receipts in one SQLite file,
// which every session empties first, as a session starts from a fresh backend.
// One session is open at a time, and the file holds what the last one did.
func OnSQLite(ctx context.Context, path string) (*Production, error) {
	db, err := receipt.OpenSQLite(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Production{db: db, turn: make(chan struct{}, 1)}, nil
}

// Close closes the file, if there is one.
func (p *Production) Close() error {
	if p.db == nil {
		return nil
	}
	return p.db.Close()
}

func (p *Production) Name() string { return ProductionName }

func (p *Production) Definitions() []tool.Definition { return p.contracts().Definitions() }

func (p *Production) ToolVersion(name string) string { return p.contracts().ToolVersion(name) }

// Contracts are those of the surface.
func (p *Production) Contracts() []contract.Contract { return ProductionContracts() }

// Vary returns the surface with some of its parts exchanged. Over a file the two
// share it, and its one session.
func (p *Production) Vary(v registry.Variant) (tool.Surface, error) {
	compiled, err := v.Compiled(ProductionContracts())
	if err != nil {
		return nil, err
	}
	return &Production{p.db, p.turn, compiled, v}, nil
}

func (p *Production) contracts() *registry.Catalog {
	if p.catalog != nil {
		return p.catalog
	}
	return productionCatalog()
}

func (p *Production) Open(ctx context.Context) (tool.Session, error) {
	s := &productionSession{clock: registry.NewSimulated(start), variant: p.variant}
	if p.db == nil {
		s.tickets, s.receipts = inMemory{NewStore()}, new(receipt.Memory)
	} else {
		select {
		case p.turn <- struct{}{}:
			s.done = func() { <-p.turn }
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		s.tickets, s.receipts = durable{p.db}, p.db
		if err := p.db.Clear(ctx); err != nil {
			s.done()
			return nil, err
		}
	}
	r, err := registry.New(p.contracts(), p.variant.Prepared(s.backend()))
	s.Registry = r
	return s, err
}

// start is when the simulated clock of a session starts.
var start = time.Unix(0, 0).UTC()

var productionCatalog = sync.OnceValue(func() *registry.Catalog {
	compiled, err := registry.Compile(ProductionContracts()...)
	if err != nil {
		panic(err) // the contracts are part of the program
	}
	return compiled
})

// Permissions of the demo. A caller without [restrictedPermission] may not touch
// the tickets of Restricted, and may not even know of those of Hidden.
const (
	approvePermission    = "ticket:approve"
	restrictedPermission = "ticket:restricted"

	firstRestricted = "T-121"
	firstHidden     = "T-124"
)

func access(_ context.Context, caller tool.Caller, _, id string) registry.Access {
	for _, held := range caller.Permissions {
		if held == restrictedPermission {
			return registry.Allowed
		}
	}
	switch i := find(id); {
	case i >= find(firstHidden):
		return registry.Hidden
	case i >= find(firstRestricted):
		return registry.Forbidden
	}
	return registry.Allowed // also what does not exist: the handler says so
}

// ProductionContracts returns the contracts of the five tools, and of the wide
// tool that they have replaced.
func ProductionContracts() []contract.Contract {
	contracts := Contracts()
	for i := range contracts {
		c := &contracts[i]
		c.Version = "3"
		c.Cost = 1
		c.Errors = []contract.ErrorRule{
			{Backend: "no such ticket", Code: tool.TicketNotFound},
			{Backend: "unavailable", Code: tool.ToolTimeout},
		}
		if c.Name != "list_tickets" {
			c.Resources = []contract.Resource{{Argument: "ticket_id", HiddenAs: tool.TicketNotFound, HiddenMessage: noTicket}}
		}
		switch c.Name {
		case "get_ticket":
			c.OutputSchema = json.RawMessage(ticketWithRequesterSchema)
			c.Output = &contract.Output{MaxBytes: 400, Credentials: true, Secret: []string{"phone"}}
			c.Rate = &contract.Rate{Burst: 4, Every: time.Second}
		case "list_tickets":
			c.Cost = 2
			c.Output = &contract.Output{MaxBytes: 320, NarrowBy: []string{"limit", "cursor"}}
		case "record_ticket_followup":
			c.Cost = 5
			c.Approval = contract.ApprovalBound
			c.Approver = &contract.Approver{Permission: approvePermission, NotCaller: true}
			c.Precondition = true
			c.Rate = &contract.Rate{Burst: 3, Every: time.Second}
			c.ReceiptTTL = time.Hour
		case "slow_ticket_lookup":
			c.Visibility = &contract.Visibility{Tasks: []string{"diagnosis"}}
			c.Lifecycle = &contract.Lifecycle{ReplacedBy: "get_ticket"}
		}
	}
	return append(contracts, contract.Contract{
		Definition: tool.Definition{
			Name:         wideDefinition.Name,
			Description:  wideDefinition.Description,
			InputSchema:  wideDefinition.InputSchema,
			OutputSchema: json.RawMessage(`{}`),
		},
		Permission: writePermission,
		Effect:     contract.Destructive,
		Lifecycle:  &contract.Lifecycle{Retired: true, ReplacedBy: "record_ticket_followup"},
	})
}

// Requester is who asked for support: made up, but for the report that must
// not show them.
type requester struct {
	Name        string `json:"name"`
	Phone       string `json:"phone"`
	AccessToken string `json:"access_token"`
}

type ticketWithRequester struct {
	Ticket
	Requester requester `json:"requester"`
}

var ticketWithRequesterSchema = object(`{"ticket":`+object(`{"id":{"type":"string"},"status":{"type":"string","enum":["open","waiting"]},"subject":{"type":"string"},"followups":{"type":"array","items":{"type":"string"}},"requester":`+
	object(`{"name":{"type":"string"},"phone":{"type":"string"},"access_token":{"type":"string"}}`, `["name","phone","access_token"]`)+`}`, `["id","status","subject","followups","requester"]`)+`}`, `["ticket"]`)

// PlantedSecret is in every access token that the demo backend hands to its
// tools. No report may hold it.
const PlantedSecret = "planted-secret"

func requesterOf(id string) requester {
	return requester{"Requester of " + id, "555-0100", PlantedSecret + "-" + id}
}

type productionSession struct {
	*registry.Registry
	tickets  tickets
	receipts receipt.Store
	clock    *registry.Simulated
	variant  registry.Variant
	done     func() // ends the session's turn; nil where there are no turns
}

func (s *productionSession) Effects() int { return s.state().Effects }

func (s *productionSession) Close() error {
	if s.done != nil {
		s.done()
		s.done = nil // it may be closed more than once
	}
	return nil
}

// state reads the store. One that cannot be read is no bad grade: whoever
// replays contains the panic and says that the case could not run.
func (s *productionSession) state() State {
	state, err := s.tickets.State(context.Background())
	if err != nil {
		panic(err)
	}
	return state
}

// Arrange implements [tool.Staged].
func (s *productionSession) Arrange(budget tool.Budget) { s.SetBudget(s.variant.Allowed(budget)) }

// SetTime implements [tool.Staged].
func (s *productionSession) SetTime(sinceStart time.Duration) { s.clock.Set(start.Add(sinceStart)) }

// Now implements [tool.Staged].
func (s *productionSession) Now() time.Time { return s.clock.Now() }

// CallWith implements [tool.Staged].
func (s *productionSession) CallWith(ctx context.Context, call tool.Call, fault tool.Fault) tool.Result {
	return s.Call(context.WithValue(ctx, faultKey{}, fault), call)
}

// State implements [tool.Staged].
func (s *productionSession) State() json.RawMessage { return encode(s.state()) }

// Receipts implements [tool.Staged].
func (s *productionSession) Receipts() json.RawMessage {
	entries, err := s.receipts.List(context.Background())
	if err != nil {
		panic(err) // see state
	}
	return encode(entries)
}

// encode writes values that cannot fail to be written as JSON, with the keys of
// maps in order.
func encode(v any) json.RawMessage {
	text, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return text
}

type faultKey struct{}

func faultOf(ctx context.Context) tool.Fault {
	fault, _ := ctx.Value(faultKey{}).(tool.Fault)
	return fault
}

func (s *productionSession) backend() registry.Backend {
	b := registry.Backend{
		Handlers:  s.handlers(),
		Receipts:  s.receipts,
		Clock:     s.clock,
		Latencies: make(map[string]registry.Latency),
		Access:    make(map[string]func(context.Context, tool.Caller, string, string) registry.Access),
		Versions: map[string]func(context.Context, json.RawMessage) (registry.Version, error){
			"record_ticket_followup": s.version,
		},
		Previews: map[string]func(context.Context, json.RawMessage) string{
			"record_ticket_followup": func(_ context.Context, arguments json.RawMessage) string {
				var in noteInput
				if json.Unmarshal(arguments, &in) != nil {
					return ""
				}
				return fmt.Sprintf("Append to ticket %s: %q", in.TicketID, in.Note)
			},
		},
		Reconcile:    map[string]registry.Reconcile{"record_ticket_followup": s.reconcile},
		RedactionKey: []byte("the demo's reports are public"),
	}
	for name, work := range b.Handlers {
		b.Handlers[name] = faulty(work)
		b.Access[name] = access
		own := latencies[name]
		b.Latencies[name] = func(ctx context.Context, arguments json.RawMessage) time.Duration {
			took := faultOf(ctx).Latency
			if own != nil {
				took += own(ctx, arguments)
			}
			return took
		}
	}
	return b
}

// faulty makes a handler go wrong as the harness asks.
func faulty(work registry.Handler) registry.Handler {
	return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		fault := faultOf(ctx)
		switch {
		case fault.Panic:
			panic("the handler was made to panic, password=" + PlantedSecret)
		case fault.Error != "":
			return nil, &registry.BackendError{Word: fault.Error, Err: errors.New("token=" + PlantedSecret)}
		case fault.Crash:
			// What a process had not committed when it died was never applied,
			// and its caller does not know that.
			return nil, fmt.Errorf("the process died: %w", registry.ErrResponseLost)
		}
		output, err := work(ctx, arguments)
		switch {
		case err != nil:
			return nil, err
		case fault.LostResponse:
			return nil, registry.ErrResponseLost
		case fault.BadOutput:
			return json.RawMessage(`{"unexpected":true}`), nil
		case fault.Output != "":
			return json.RawMessage(fault.Output), nil
		}
		return output, nil
	}
}

func (s *productionSession) handlers() map[string]registry.Handler {
	all := reads(s.tickets)
	all["get_ticket"] = registry.Typed(func(ctx context.Context, in ticketInput) (any, error) {
		t, err := existing(ctx, s.tickets, in.TicketID)
		return struct {
			Ticket ticketWithRequester `json:"ticket"`
		}{ticketWithRequester{t, requesterOf(t.ID)}}, err
	})
	all["list_tickets"] = registry.Typed(func(ctx context.Context, in pageInput) (pageOutput, error) {
		list, err := s.tickets.List(ctx)
		if err != nil {
			return pageOutput{}, err
		}
		caller := registry.CallerOf(ctx)
		return page(slices.DeleteFunc(list, func(t Ticket) bool {
			return access(ctx, caller, "ticket_id", t.ID) == registry.Hidden
		}), in)
	})
	all["record_ticket_followup"] = registry.Typed(s.record)
	return all
}

func (s *productionSession) record(ctx context.Context, in recordInput) (recordOutput, error) {
	f := followup{in.TicketID, in.Note, Action{registry.CallerOf(ctx).ID, in.ActionID}, s.clock.Now()}
	effect, err := s.tickets.Record(ctx, f, registry.ExpectedVersion(ctx))
	switch {
	case errors.Is(err, ErrChanged):
		return recordOutput{}, tool.Refusal(tool.ApprovalStale, nil, "The ticket has changed since the call was confirmed.")
	case err != nil:
		return recordOutput{}, err
	case effect == 0:
		return recordOutput{}, notFound(in.TicketID)
	}
	return recorded(effect, in.TicketID), nil
}

// version tells the version of the ticket that a call would write to.
func (s *productionSession) version(ctx context.Context, arguments json.RawMessage) (registry.Version, error) {
	var in ticketInput
	if err := json.Unmarshal(arguments, &in); err != nil {
		return registry.Version{}, err
	}
	is, err := s.tickets.Version(ctx, in.TicketID)
	return registry.Version{Of: in.TicketID, Is: is}, err
}

func recorded(effect int, id string) recordOutput {
	return recordOutput{"R-" + strconv.Itoa(effect), id, "recorded"}
}

func (s *productionSession) reconcile(ctx context.Context, attempt registry.Attempt) (json.RawMessage, bool, error) {
	var in recordInput
	if err := json.Unmarshal(attempt.Arguments, &in); err != nil {
		return nil, false, err
	}
	effect, err := s.tickets.Recorded(ctx, followup{in.TicketID, in.Note, Action{attempt.Caller.ID, in.ActionID}, attempt.Since})
	if err != nil || effect == 0 {
		return nil, false, err
	}
	return encode(recorded(effect, in.TicketID)), true, nil
}
