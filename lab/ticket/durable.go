package ticket

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"agentlab/lab/receipt"
)

// tickets is what the surfaces behind the registry ask of a store. The context
// of a write may carry the claim that it belongs to.
type tickets interface {
	Get(ctx context.Context, id string) (Ticket, bool, error)
	List(ctx context.Context) ([]Ticket, error)
	Record(ctx context.Context, f followup, version string) (int, error)
	Recorded(ctx context.Context, wanted followup) (int, error)
	Version(ctx context.Context, id string) (string, error)
	State(ctx context.Context) (State, error)
}

// inMemory is a [Store] as those surfaces ask for it.
type inMemory struct{ store *Store }

func (m inMemory) Get(_ context.Context, id string) (Ticket, bool, error) {
	t, ok := m.store.Get(id)
	return t, ok, nil
}

func (m inMemory) List(context.Context) ([]Ticket, error) { return m.store.List(), nil }

func (m inMemory) Record(_ context.Context, f followup, version string) (int, error) {
	return m.store.record(f, version)
}

func (m inMemory) Recorded(_ context.Context, wanted followup) (int, error) {
	return m.store.recorded(wanted), nil
}

func (m inMemory) Version(_ context.Context, id string) (string, error) {
	return m.store.Version(id), nil
}

func (m inMemory) State(context.Context) (State, error) { return m.store.State(), nil }

// durable keeps the tickets in the file of the receipts. What changes of them
// is one log: an entry a follow-up, whose sequence number is that of its
// effect.
type durable struct{ db *receipt.SQLite }

const followupLog = "followups"

// readLog reads the follow-ups, oldest first.
func readLog(records receipt.Records) ([]followup, error) {
	entries, err := records.All(followupLog)
	if err != nil {
		return nil, err
	}
	log := make([]followup, len(entries))
	for i, e := range entries {
		if err := json.Unmarshal(e.Value, &log[i]); err != nil {
			return nil, err
		}
	}
	return log, nil
}

func (d durable) log(ctx context.Context) (log []followup, err error) {
	err = d.db.View(ctx, func(records receipt.Records) error {
		log, err = readLog(records)
		return err
	})
	return log, err
}

// ticketOf is the ticket at an index of the seed, with what the log adds.
func ticketOf(i int, log []followup) Ticket {
	t := seed[i]
	t.Followups = []string{}
	for _, f := range log {
		if f.Ticket == t.ID {
			t.Followups = append(t.Followups, f.Note)
		}
	}
	return t
}

func (d durable) Get(ctx context.Context, id string) (Ticket, bool, error) {
	i := find(id)
	if i < 0 {
		return Ticket{}, false, nil
	}
	log, err := d.log(ctx)
	return ticketOf(i, log), err == nil, err
}

func (d durable) List(ctx context.Context) ([]Ticket, error) {
	log, err := d.log(ctx)
	list := make([]Ticket, Size)
	for i := range list {
		list[i] = ticketOf(i, log)
	}
	return list, err
}

func (d durable) Record(ctx context.Context, f followup, version string) (int, error) {
	i := find(f.Ticket)
	if i < 0 {
		return 0, nil
	}
	var effect int64
	err := d.db.Update(ctx, func(records receipt.Records) error {
		log, err := readLog(records)
		if err != nil {
			return err
		}
		if version != "" && version != versionOf(len(ticketOf(i, log).Followups)) {
			return ErrChanged
		}
		effect, err = records.Append(followupLog, encode(f))
		return err
	})
	return int(effect), err
}

func (d durable) Recorded(ctx context.Context, wanted followup) (int, error) {
	log, err := d.log(ctx)
	for i, f := range slices.Backward(log) {
		if f.is(wanted) {
			return i + 1, err
		}
	}
	return 0, err
}

func (d durable) Version(ctx context.Context, id string) (string, error) {
	t, _, err := d.Get(ctx, id)
	return versionOf(len(t.Followups)), err
}

func (d durable) State(ctx context.Context) (State, error) {
	log, err := d.log(ctx)
	state := State{make(map[string][]string), len(log)}
	for _, f := range log {
		state.Followups[f.Ticket] = append(state.Followups[f.Ticket], f.Note)
	}
	return state, err
}

func versionOf(changes int) string { return "v" + strconv.Itoa(changes) }
