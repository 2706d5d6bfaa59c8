// Package stream is the stream of an eval's results, tool-runs.jsonl: what was
// compared, every run as it came, and how it ended. Every report can be made of it,
// at the time or later.
//
// Start with [AppendHead], [AppendPair] and [AppendEnd], which write it, and with
// [NewReader], which reads it.
//
// One invariant: what is read of a stream makes the same reports as what was
// written to it, and the same stream again.
//
// The package renders nothing for a person and judges nothing.
package stream

import (
	_ "embed"
	"strconv"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Version is borne by every line as its schema_version; it changes when a reader of
// the old form would misread the new one.
const Version = 2

// Schema is the JSON Schema (draft 07) of a line.
//
//go:embed schemas/tool-runs.schema.json
var Schema []byte

// The events of a stream: one of the first, any number of runs, one of the last.
const (
	eventEval = "eval"
	eventRun  = "run"
	eventEnd  = "end"
)

func appendStart(dst []byte, event string) []byte {
	dst = append(dst, `{"schema_version":`...)
	dst = strconv.AppendInt(dst, Version, 10)
	dst = append(dst, `,"event":`...)
	return appendWord(dst, event)
}

// AppendHead appends the first line: what is compared, as it is known before the
// first case.
func AppendHead(dst []byte, c *eval.Comparison) []byte {
	dst = appendStart(dst, eventEval)
	dst = append(dst, `,"version":`...)
	dst = appendWord(dst, eval.Version)
	dst = append(dst, `,"dataset":{"name":`...)
	dst = jsonvalue.AppendString(dst, c.Dataset.Name)
	if c.Dataset.Selection != nil {
		dst = append(dst, `,"selection":`...)
		dst = appendTexts(dst, c.Dataset.Selection)
	}
	if c.Dataset.Files != nil {
		dst = append(dst, `,"files":`...)
		dst = appendTexts(dst, c.Dataset.Files)
	}
	dst = append(dst, '}')
	if shard := c.Dataset.Shard; shard != nil {
		dst = append(dst, `,"shard":{"index":`...)
		dst = strconv.AppendInt(dst, int64(shard.Index), 10)
		dst = append(dst, `,"of":`...)
		dst = strconv.AppendInt(dst, int64(shard.Of), 10)
		dst = append(dst, '}')
	}
	if c.Repeat > 0 {
		dst = append(dst, `,"repeat":`...)
		dst = strconv.AppendInt(dst, int64(c.Repeat), 10)
	}
	if c.Baseline != nil {
		dst = appendSurface(dst, "baseline", c.Baseline)
	}
	dst = appendSurface(dst, "candidate", &c.Candidate)
	return append(dst, "}\n"...)
}

func appendSurface(dst []byte, role string, s *eval.Summary) []byte {
	dst = append(dst, ',')
	dst = appendWord(dst, role)
	dst = append(dst, `:{"strategy":`...)
	dst = jsonvalue.AppendString(dst, s.Strategy)
	if s.Foreign {
		dst = append(dst, `,"foreign":true`...)
	}
	if s.Blind {
		dst = append(dst, `,"blind":true`...)
	}
	dst = append(dst, `,"model_schema_bytes":`...)
	if s.CatalogUnknown {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, int64(s.ModelSchemaBytes), 10)
	}
	dst = append(dst, `,"tools":[`...)
	for i, t := range s.Tools {
		dst = appendComma(dst, i)
		dst = append(dst, `{"name":`...)
		dst = jsonvalue.AppendString(dst, t.Name)
		dst = append(dst, `,"bytes":`...)
		dst = strconv.AppendInt(dst, int64(t.Bytes), 10)
		if t.Version != "" {
			dst = append(dst, `,"version":`...)
			dst = jsonvalue.AppendString(dst, t.Version)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// AppendEnd appends the last line, without which a stream is not whole.
func AppendEnd(dst []byte, c *eval.Comparison) []byte {
	dst = appendStart(dst, eventEnd)
	dst = append(dst, `,"sha256":`...)
	dst = appendWord(dst, c.Dataset.SHA256)
	dst = append(dst, `,"cases":`...)
	dst = strconv.AppendInt(dst, int64(c.Dataset.Cases), 10)
	dst = append(dst, `,"todo":`...)
	dst = strconv.AppendInt(dst, int64(c.Dataset.Todo), 10)
	dst = append(dst, `,"gate_passed":`...)
	dst = strconv.AppendBool(dst, c.GatePassed())
	return append(dst, "}\n"...)
}

func appendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		dst = appendComma(dst, i)
		dst = jsonvalue.AppendString(dst, text)
	}
	return append(dst, ']')
}

// appendOf appends what else is told of a case.
func appendOf(dst []byte, c *dataset.Case) []byte {
	if len(c.Tags) > 0 {
		dst = append(dst, `,"tags":`...)
		dst = appendTexts(dst, c.Tags)
	}
	if c.Clause != "" {
		dst = append(dst, `,"clause":`...)
		dst = jsonvalue.AppendString(dst, c.Clause)
	}
	if c.Stage != nil {
		dst = append(dst, `,"staged":true`...)
	}
	return dst
}

// appendProposal appends a proposal as the case has it, and who makes it where that
// is another than the caller of the case.
func appendProposal(dst []byte, p *dataset.Proposal) []byte {
	if p.Setting != nil && p.Raw != nil {
		dst = append(dst, `{"raw":`...)
		dst = jsonvalue.AppendString(dst, *p.Raw)
		if p.Format != "" {
			dst = append(dst, `,"format":`...)
			dst = jsonvalue.AppendString(dst, p.Format)
		}
	} else {
		dst = append(dst, `{"name":`...)
		dst = jsonvalue.AppendString(dst, p.Name)
		dst = append(dst, `,"arguments":`...)
		dst = append(dst, p.Arguments...)
	}
	if p.Setting != nil && p.Caller != nil {
		dst = append(dst, `,"caller":`...)
		dst = jsonvalue.AppendString(dst, p.Caller.ID)
	}
	return append(dst, '}')
}

// appendEarlier appends what has to be known of an attempt that was not the last.
func appendEarlier(dst []byte, a *eval.Attempt) []byte {
	if a.OK() {
		dst = append(dst, `,"output_bytes":`...)
		dst = strconv.AppendInt(dst, int64(len(a.Output)), 10)
	} else {
		dst = append(dst, `,"category":`...)
		dst = jsonvalue.AppendString(dst, tool.Cut(string(a.Error.Category), MaxValue))
	}
	if a.Replayed {
		dst = append(dst, `,"replayed":true`...)
	}
	if a.Reply != nil {
		dst = appendReply(dst, a.Reply)
	}
	dst = append(dst, ',')
	return appendDecisions(dst, a.Trace.Decisions)
}

// appendUnshown appends the approvals that nobody gave, as they could not be shown.
func appendUnshown(dst []byte, run *eval.Run) []byte {
	if len(run.Unshown) == 0 {
		return dst
	}
	dst = append(dst, `,"unshown":[`...)
	for i, u := range run.Unshown {
		dst = appendComma(dst, i)
		dst = append(dst, `{"approval":`...)
		dst = strconv.AppendInt(dst, int64(u.Approval), 10)
		dst = append(dst, `,"error":`...)
		dst = appendError(dst, u.Error, run.Observed())
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
