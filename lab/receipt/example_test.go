package receipt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agentlab/lab/receipt"
)

// A refund is booked once, however often it is asked for.
func ExampleSQLite_Claim() {
	folder, err := os.MkdirTemp("", "receipts")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	store, err := receipt.OpenSQLite(ctx, filepath.Join(folder, "receipts.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	refund := func() error {
		key := receipt.Key{Tool: "refund", Caller: "clerk", Value: "order-7"}
		claim, known, err := store.Claim(ctx, key, time.Now())
		if err != nil {
			return err
		}
		if known != nil {
			fmt.Printf("before: %s\n", known.Output)
			return nil
		}
		err = store.Update(claim.Context(ctx), func(r receipt.Records) error {
			_, err := r.Append("refunds", []byte("order-7"))
			return err
		})
		if err != nil {
			_ = claim.Free()
			return err
		}
		fmt.Println("booked")
		return claim.Keep(receipt.Receipt{State: receipt.Applied, Output: []byte(`{"refunded":true}`)})
	}
	for range 2 {
		if err := refund(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// booked
	// before: {"refunded":true}
}
