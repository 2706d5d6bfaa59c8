package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// floorCase has the shape of a case; its arguments are left as they came.
type floorCase struct {
	ID          string      `json:"case_id"`
	Intent      string      `json:"intent"`
	Permissions []string    `json:"actor_permissions"`
	Approved    bool        `json:"approved"`
	Baseline    []floorCall `json:"baseline_calls"`
	Candidate   []floorCall `json:"candidate_calls"`
	Expected    struct {
		OK              bool     `json:"ok"`
		SideEffectCount int      `json:"side_effect_count"`
		ErrorCode       *string  `json:"error_code"`
		Retryable       *bool    `json:"retryable"`
		Replayed        *bool    `json:"replayed"`
		OutputKeys      []string `json:"output_keys"`
		OutputCount     *int     `json:"output_count"`
		HasNextCursor   *bool    `json:"has_next_cursor"`
	} `json:"expected"`
}

type floorCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// floor reads a dataset line by line and writes so many bytes: the least that
// a program does that reads the cases and writes the reports.
func floor(dataset, out string, size int64) error {
	in, err := os.Open(dataset)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer file.Close()
	// Ready-made bytes are handed over line by line, in step with the reading.
	perByte := float64(size) / float64(info.Size())
	ready := bytes.Repeat([]byte("x"), 1<<20)
	writer := bufio.NewWriterSize(file, 64<<10)
	lines := bufio.NewReaderSize(in, 64<<10)
	var written int64
	var due float64
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var c floorCase
			if err := json.Unmarshal(line, &c); err != nil {
				return fmt.Errorf("floor: %w", err)
			}
			due += perByte * float64(len(line))
			n, err := writer.Write(ready[:int64(due)-written])
			if err != nil {
				return err
			}
			written += int64(n)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if _, err := io.CopyN(writer, bytes.NewReader(ready), max(0, size-written)); err != nil {
		return err
	}
	return writer.Flush()
}
