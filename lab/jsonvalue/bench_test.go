package jsonvalue_test

import (
	"testing"

	"agentlab/lab/jsonvalue"
)

var ticketArguments = []byte(`{"ticket_id":"T-102","note":"Customer asked for a callback.","action_id":"act-000123"}`)

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(ticketArguments)))
	for b.Loop() {
		if _, err := jsonvalue.Decode(ticketArguments); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendCanonical(b *testing.B) {
	tree, err := jsonvalue.Decode(ticketArguments)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(ticketArguments)))
	var dst []byte
	for b.Loop() {
		dst = jsonvalue.AppendCanonical(dst[:0], tree)
	}
}
