package registry_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

type transferInput struct {
	Account string `json:"account"`
	Cents   int    `json:"cents"`
}

type transferOutput struct {
	Balance int `json:"balance"`
}

// transfer writes in the transaction of the claim, which also holds the receipt.
func transfer(ctx context.Context, in transferInput) (out transferOutput, err error) {
	tx, ok := receipt.Tx(ctx)
	if !ok {
		return out, errors.New("there is no transaction")
	}
	err = tx.QueryRow(`UPDATE accounts SET cents = cents + ? WHERE name = ? RETURNING cents`, in.Cents, in.Account).Scan(&out.Balance)
	return out, err
}

// A team that has a database of its own keeps its write and the receipt in one
// transaction: after a crash either both are there or neither.
func Example_receiptsInTheTeamsOwnTransaction() {
	folder, err := os.MkdirTemp("", "accounts")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "accounts.db")+"?_pragma=journal_mode(wal)")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE accounts (name TEXT PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents >= 0)); INSERT INTO accounts VALUES ('a', 100)`); err != nil {
		panic(err)
	}
	receipts, err := receipt.OnDB(context.Background(), db)
	if err != nil {
		panic(err)
	}
	catalog, err := registry.Compile(contract.Contract{
		Definition: tool.Definition{
			Name: "transfer",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"account":{"type":"string"},"cents":{"type":"integer"},"action_id":{"type":"string"}},
				"required":["account","cents","action_id"]}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"balance":{"type":"integer"}},"required":["balance"]}`),
		},
		Permission: "accounts:write", Effect: contract.Write, IdempotencyKey: "action_id",
	})
	if err != nil {
		panic(err)
	}
	r, err := registry.New(catalog, registry.Backend{
		Handlers: map[string]registry.Handler{"transfer": registry.Typed(transfer)},
		Receipts: receipts,
	})
	if err != nil {
		panic(err)
	}

	for _, arguments := range []string{
		`{"account":"a","cents":-30,"action_id":"1"}`,
		`{"account":"a","cents":-30,"action_id":"1"}`, // the same action: answered, not done
		`{"account":"a","cents":-90,"action_id":"2"}`, // the database says no: nothing is left of it
	} {
		result := r.Call(context.Background(), tool.Call{
			Proposal: tool.Proposal{Name: "transfer", Arguments: json.RawMessage(arguments)},
			Caller:   tool.Caller{ID: "agent", Permissions: []string{"accounts:write"}},
		})
		if result.OK() {
			fmt.Printf("%s replayed: %t\n", result.Output, result.Replayed)
		} else {
			fmt.Println(result.Error.Code, result.Error.Outcome)
		}
	}
	var cents, kept int
	if err := db.QueryRow(`SELECT cents, (SELECT count(*) FROM lab_receipts_v1) FROM accounts`).Scan(&cents, &kept); err != nil {
		panic(err)
	}
	fmt.Println("cents:", cents, "receipts:", kept)
	// Output:
	// {"balance":70} replayed: false
	// {"balance":70} replayed: true
	// handler_failed not_applied
	// cents: 70 receipts: 1
}
