package contract

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

func valid() Contract {
	return Contract{
		Definition: tool.Definition{
			Name:         "get",
			InputSchema:  json.RawMessage(`{"type":"object"}`),
			OutputSchema: json.RawMessage(`{}`),
		},
		Permission: "read",
	}
}

func TestCompleteFillsInTheCarefulDefaults(t *testing.T) {
	want := valid()
	want.Effect, want.Approval, want.Retry, want.Timeout = Read, ApprovalNever, RetryNever, 500*time.Millisecond
	got, err := valid().Complete()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Complete (-want +got):\n%s", diff)
	}
}

func TestCompleteKeepsWhatIsSaid(t *testing.T) {
	want := valid()
	want.Effect, want.Approval, want.Retry = Destructive, ApprovalRequired, RetryTransient
	want.Timeout, want.IdempotencyKey = 2*time.Second, "action_id"
	got, err := want.Complete()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Complete (-want +got):\n%s", diff)
	}
}

func TestCompleteRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*Contract)
		says  []string
	}{
		"no name":         {func(c *Contract) { c.Name = "" }, []string{"name is empty"}},
		"no permission":   {func(c *Contract) { c.Permission = "" }, []string{"permission is empty"}},
		"effect":          {func(c *Contract) { c.Effect = "wriet" }, []string{`effect "wriet"`, "read, write, destructive"}},
		"approval":        {func(c *Contract) { c.Approval = "maybe" }, []string{`approval "maybe"`}},
		"retry":           {func(c *Contract) { c.Retry = "always" }, []string{`retry "always"`}},
		"timeout":         {func(c *Contract) { c.Timeout = -1 }, []string{"timeout -1ns"}},
		"no input":        {func(c *Contract) { c.InputSchema = nil }, []string{"input schema is missing"}},
		"no output":       {func(c *Contract) { c.OutputSchema = nil }, []string{"output schema is missing"}},
		"rate":            {func(c *Contract) { c.Rate = &Rate{Burst: 1} }, []string{"rate: a burst of 1"}},
		"rate overflow":   {func(c *Contract) { c.Rate = &Rate{Burst: 1 << 40, Every: time.Hour} }, []string{"cannot be kept"}},
		"ttl":             {func(c *Contract) { c.ReceiptTTL = 1<<63 - 1 }, []string{"receipt_ttl are at most"}},
		"negative":        {func(c *Contract) { c.Cost = -1 }, []string{"not negative"}},
		"approver":        {func(c *Contract) { c.Approver = &Approver{Permission: "p"} }, []string{"approval is not bound"}},
		"nobody approves": {func(c *Contract) { c.Approval, c.Approver = ApprovalBound, &Approver{} }, []string{"nobody could approve"}},
		"precondition":    {func(c *Contract) { c.Precondition = true }, []string{"approval is never"}},
		"resource":        {func(c *Contract) { c.Resources = []Resource{{}} }, []string{"argument is empty"}},
		"hidden as":       {func(c *Contract) { c.Resources = []Resource{{Argument: "a", HiddenAs: "x"}} }, []string{`"x" is no known code`}},
		"turn":            {func(c *Contract) { c.Turn = "store" }, []string{"concurrency is not"}},
		"concurrency":     {func(c *Contract) { c.Concurrency = -1 }, []string{"not negative"}},
		"error rule":      {func(c *Contract) { c.Errors = []ErrorRule{{"gone", "x"}} }, []string{`"x" is no known code`}},
		"all that is bad": {func(c *Contract) { c.Permission, c.Effect = "", "x" }, []string{"permission is empty", `effect "x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			c := valid()
			test.spoil(&c)
			_, err := c.Complete()
			if err == nil {
				t.Fatal("Complete took it")
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func fingerprint(t *testing.T, arguments string) string {
	t.Helper()
	tree, err := jsonvalue.Decode([]byte(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return Fingerprint(jsonvalue.AppendCanonical(nil, tree))
}

func TestFingerprint(t *testing.T) {
	// The digest of {"a":1,"b":"x"}, from sha256sum.
	const want = "sha256:ecf9e98ec0641e23113ff3ce8bdc78d0ddd249886517fd4a7f68cc83d4e65667"
	for _, spelling := range []string{
		`{"a":1,"b":"x"}`, `{"b":"x","a":1}`, "{ \"b\" : \"\\u0078\",\n\"a\" : 1.0 }", `{"a":1e0,"b":"x"}`, `{"a":10E-1,"b":"x"}`,
	} {
		if got := fingerprint(t, spelling); got != want {
			t.Errorf("fingerprint of %s = %s, want %s", spelling, got, want)
		}
	}
	for _, other := range []string{
		`{"a":2,"b":"x"}`, `{"a":"1","b":"x"}`, `{"a":1,"b":"X"}`, `{"a":1}`, `{"a":1,"b":"x","c":null}`, `[1,"x"]`,
	} {
		if fingerprint(t, other) == want {
			t.Errorf("%s has the same fingerprint", other)
		}
	}
}

func TestFingerprintKeepsIdsApart(t *testing.T) {
	for _, pair := range [][2]string{
		{`{"id":9007199254740992}`, `{"id":9007199254740993}`},
		{`{"id":18446744073709551615}`, `{"id":18446744073709551614}`},
		{`{"id":0.1}`, `{"id":0.10000000000000000001}`},
		{`{"id":1e399}`, `{"id":1e400}`},
		{`{"name":"\u00e9"}`, `{"name":"e\u0301"}`},
	} {
		if fingerprint(t, pair[0]) == fingerprint(t, pair[1]) {
			t.Errorf("%s and %s have one fingerprint", pair[0], pair[1])
		}
	}
}

func TestDigest(t *testing.T) {
	base := valid()
	want, err := base.Digest()
	if err != nil {
		t.Fatal(err)
	}
	same := valid()
	same.InputSchema = json.RawMessage(`{ "type" : "object" }`)
	if got, err := same.Digest(); err != nil || got != want {
		t.Errorf("white space in a schema changed the digest: %s, %v", got, err)
	}
	for name, change := range map[string]func(*Contract){
		"name":        func(c *Contract) { c.Name = "put" },
		"description": func(c *Contract) { c.Description = "x" },
		"input":       func(c *Contract) { c.InputSchema = json.RawMessage(`{"type":"array"}`) },
		"output":      func(c *Contract) { c.OutputSchema = json.RawMessage(`true`) },
		"permission":  func(c *Contract) { c.Permission = "write" },
		"effect":      func(c *Contract) { c.Effect = Write },
		"approval":    func(c *Contract) { c.Approval = ApprovalRequired },
		"key":         func(c *Contract) { c.IdempotencyKey = "k" },
		"retry":       func(c *Contract) { c.Retry = RetryTransient },
		"timeout":     func(c *Contract) { c.Timeout = time.Second },
	} {
		c := valid()
		change(&c)
		got, err := c.Digest()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got == want {
			t.Errorf("another %s left the digest as it was", name)
		}
	}
	bad := valid()
	bad.InputSchema = json.RawMessage(`{`)
	if _, err := bad.Digest(); err == nil {
		t.Error("a schema that is not JSON has a digest")
	}
}
