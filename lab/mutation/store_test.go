package mutation

import (
	"context"
	"testing"
	"time"

	"agentlab/lab/receipt"
)

// What a weaker store told of a receipt is found again when it is settled.
func TestStoreResolvesWhatItToldOtherwise(t *testing.T) {
	s := &store{Store: new(receipt.Memory), tool: "put"}
	s.known = func(_ context.Context, _ receipt.Key, r *receipt.Receipt) { r.Fingerprint = "another" }
	key, now := receipt.Key{Tool: "put", Value: "k"}, time.Unix(0, 0)
	claim, _, err := s.Claim(t.Context(), key, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.Keep(receipt.Receipt{State: receipt.Unknown, Fingerprint: "one", SettledAt: now}); err != nil {
		t.Fatal(err)
	}
	_, seen, err := s.Claim(t.Context(), key, now)
	if err != nil || seen == nil || seen.Fingerprint != "another" {
		t.Fatalf("%+v, %v", seen, err)
	}
	if err := s.Resolve(t.Context(), key, *seen, nil); err != nil {
		t.Fatal(err)
	}
	if known, err := s.Peek(t.Context(), key, now); err != nil || known != nil {
		t.Errorf("%+v is left, %v", known, err)
	}
}
