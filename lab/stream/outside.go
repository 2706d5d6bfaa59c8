package stream

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// What a server outside answers may be of any size, and what changed behind it
// any number of things. The stream of runs holds so much of them:
const (
	MaxValue   = 64 << 10 // bytes of an output, of details, of a text
	MaxEffects = 1000     // of one call; their count is told in any case
)

// appendValue appends a JSON value as it is. In place of a long one that came
// from outside stands how long it was, and its digest.
func appendValue(dst, value []byte, outside bool) []byte {
	if !outside || len(value) <= MaxValue {
		return append(dst, value...)
	}
	digest := sha256.Sum256(value)
	dst = append(dst, `{"truncated_bytes":`...)
	dst = strconv.AppendInt(dst, int64(len(value)), 10)
	dst = append(dst, `,"sha256":"`...)
	dst = hex.AppendEncode(dst, digest[:])
	return append(dst, `"}`...)
}

// Bounded is a run as the stream holds it: that of a server outside with no long
// value in it.
func Bounded(run *eval.Run) *eval.Run {
	if !run.Observed() {
		return run
	}
	short := *run
	short.Steps = slices.Clone(run.Steps)
	for i := range short.Steps {
		s := &short.Steps[i]
		if s.Error != nil {
			s.Error = bounded(s.Error)
		} else {
			s.Output = appendValue(nil, s.Output, true)
		}
		s.Effects = s.Effects[:min(len(s.Effects), MaxEffects)]
	}
	short.Grades = slices.Clone(run.Grades)
	for i := range short.Grades {
		if short.Grades[i].Name == eval.Repeated {
			short.Grades[i].Expected = appendValue(nil, short.Grades[i].Expected, true)
		}
		short.Grades[i].Actual = appendValue(nil, short.Grades[i].Actual, true)
	}
	return &short
}

// bounded is an error with no long text in it.
func bounded(e *tool.Error) *tool.Error {
	short := *e
	short.Code = tool.Code(tool.Cut(string(e.Code), MaxValue))
	short.Category = tool.Category(tool.Cut(string(e.Category), MaxValue))
	short.Message, short.NextAction = tool.Cut(e.Message, MaxValue), tool.Cut(e.NextAction, MaxValue)
	short.Details = appendValue(nil, e.Details, true)
	return &short
}

// appendReply tells of an answer what is not in the result that was made of it.
func appendReply(dst []byte, reply *tool.Reply) []byte {
	dst = append(dst, `,"reply":{"is_error":`...)
	dst = strconv.AppendBool(dst, reply.IsError)
	dst = append(dst, `,"bytes":`...)
	dst = strconv.AppendInt(dst, int64(reply.Bytes), 10)
	if reply.SchemaValid != nil {
		dst = append(dst, `,"schema_valid":`...)
		dst = strconv.AppendBool(dst, *reply.SchemaValid)
	}
	return append(dst, '}')
}

func appendEffects(dst []byte, effects []tool.Effect) []byte {
	dst = append(dst, `,"effects":[`...)
	for i, e := range effects[:min(len(effects), MaxEffects)] {
		dst = appendComma(dst, i)
		dst = append(dst, `{"resource":`...)
		dst = jsonvalue.AppendString(dst, tool.Cut(e.Resource, MaxValue))
		dst = append(dst, `,"change":`...)
		dst = jsonvalue.AppendString(dst, e.Change)
		if e.Before != 0 {
			dst = append(dst, `,"before_bytes":`...)
			dst = strconv.AppendInt(dst, e.Before, 10)
		}
		if e.After != 0 {
			dst = append(dst, `,"after_bytes":`...)
			dst = strconv.AppendInt(dst, e.After, 10)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
