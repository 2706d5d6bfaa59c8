package mcp_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlab/lab/mcp"
	"agentlab/lab/process"
	"agentlab/lab/tool"
)

// BenchmarkCall compares a call with the SDK's own, by turns, on servers that
// answer in a millisecond. "ratio" is the median of the one over that of the
// other; 1.05 is the most that it may be.
func BenchmarkCall(b *testing.B) {
	b.Run("stdio", func(b *testing.B) {
		s := bare("before", "odd", "millisecond")
		p, err := process.Start(process.Command{Args: s.Command, Env: process.Environment("", s.Env)})
		if err != nil {
			b.Fatal(err)
		}
		defer p.End(time.Second)
		byTurns(b, s, &sdk.IOTransport{Reader: readCloser{p}, Writer: p.Stdin()})
	})
	b.Run("http", func(b *testing.B) {
		s := scripted(b, `{"tools":[]}`, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}`)
		byTurns(b, s, &sdk.StreamableClientTransport{Endpoint: s.URL})
	})
}

type readCloser struct{ p *process.Process }

func (r readCloser) Read(b []byte) (int, error) { return r.p.Stdout().Read(b) }
func (r readCloser) Close() error               { r.p.End(time.Second); return nil }

func byTurns(b *testing.B, s *mcp.Server, transport sdk.Transport) {
	s.MaxMessage = mcp.DefaultMaxMessage
	c := connect(b, s)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil).Connect(b.Context(), transport, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	if _, err := c.Tools(b.Context()); err != nil {
		b.Fatal(err)
	}
	arguments := json.RawMessage(addition.Arguments)
	var ours, theirs []time.Duration
	for b.Loop() {
		started := time.Now()
		r := c.Call(b.Context(), tool.Proposal{Name: "add", Arguments: arguments})
		between := time.Now()
		bareResult, err := session.CallTool(b.Context(), &sdk.CallToolParams{Name: "add", Arguments: arguments})
		theirs = append(theirs, time.Since(between))
		ours = append(ours, between.Sub(started))
		if string(r.Output) != `{"sum":3}` || err != nil || bareResult.StructuredContent == nil {
			b.Fatal(r.Error, err)
		}
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	lab, sdkAlone := ours[len(ours)/2], theirs[len(theirs)/2]
	b.ReportMetric(float64(lab)/float64(sdkAlone), "ratio")
	b.ReportMetric(float64(lab.Nanoseconds()), "lab-ns/op")
	b.ReportMetric(float64(sdkAlone.Nanoseconds()), "sdk-ns/op")
}
