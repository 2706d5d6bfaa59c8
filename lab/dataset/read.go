package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// MaxLine is the longest line, in bytes without its end.
const MaxLine = 16 << 20

// batchSize is about how many bytes of lines a batch holds: enough to make the
// hand-over between goroutines cheap, little enough to keep few of them.
const batchSize = 128 << 10

// Source is one dataset file. Open may be called more than once.
type Source struct {
	Name string // in reports: a base name, the same on every machine
	Path string // in faults: where its user finds it
	Open func() (io.ReadCloser, error)
}

// ErrUnreadable is wrapped by the error of a source that cannot be read.
var ErrUnreadable = errors.New("read cases")

// Settings say how sources are read. The zero value reads any case.
type Settings struct {
	// Surfaces are the names that the calls of a case may give to a surface; nil
	// allows any.
	Surfaces []string
	// Baseline and Candidate name the surfaces that are replayed: a case with
	// calls has some for each. Baseline is empty where one is replayed alone.
	Baseline, Candidate string
	// BatchLines is how many lines a batch has at most, for surfaces that take
	// so long that what a batch costs is nothing beside them; 0 is as many as
	// stand in about 128 KiB.
	BatchLines int
}

// Open returns a reader over sources, one after the other. It reads nothing
// yet.
func (s Settings) Open(sources ...Source) *Reader {
	return &Reader{settings: s, sources: sources, digest: sha256.New()}
}

// Open is [Settings.Open] of the zero settings.
func Open(sources ...Source) *Reader { return Settings{}.Open(sources...) }

// Reader cuts sources into batches of whole lines. It holds one batch.
type Reader struct {
	settings Settings
	sources  []Source
	digest   hash.Hash
	ends     [][]byte // the digest at the end of each source
	checked  [][]byte // what ends has to be; nil where nobody checked

	current io.ReadCloser
	source  int    // index of the current source
	line    int    // lines of it that were handed out
	rest    []byte // read, but not yet a whole line
	ended   bool   // the current source has no more bytes
	handing Batch  // of which the last lines are still to be handed out
}

// Replay says which surfaces are replayed. It comes before the first Next.
func (r *Reader) Replay(baseline, candidate string) {
	r.settings.Baseline, r.settings.Candidate = baseline, candidate
}

// Name joins the names of the sources.
func (r *Reader) Name() string {
	return strings.Join(r.Files(), " + ")
}

// Files are the names of the sources.
func (r *Reader) Files() []string {
	names := make([]string, len(r.sources))
	for i, s := range r.sources {
		names[i] = s.Name
	}
	return names
}

// Paths are where the user finds the sources.
func (r *Reader) Paths() []string {
	paths := make([]string, len(r.sources))
	for i, s := range r.sources {
		paths[i] = s.Path
	}
	return paths
}

// SHA256 returns the digest of all bytes read so far, in hex: of all sources
// one after the other, once Next has returned io.EOF.
func (r *Reader) SHA256() string { return hex.EncodeToString(r.digest.Sum(nil)) }

// Close lets go of the source that is being read.
func (r *Reader) Close() error {
	if r.current == nil {
		return nil
	}
	err := r.current.Close()
	r.current = nil
	return err
}

// Batch is some whole lines of one source.
type Batch struct {
	settings  *Settings
	source    int
	name      string
	path      string
	firstLine int // counted from 1
	lines     []byte
	tooLong   bool // stands for one line that is too long to be kept
	last      bool // the source ends with this batch
}

// Next returns the next batch, or io.EOF itself at the end of the last source.
// A source that cannot be read is an error, which may wrap io.EOF.
func (r *Reader) Next() (Batch, error) {
	if r.settings.BatchLines <= 0 {
		return r.read()
	}
	if len(r.handing.lines) == 0 {
		b, err := r.read()
		if err != nil {
			return b, err
		}
		r.handing = b
	}
	return r.handOut(r.settings.BatchLines), nil
}

// handOut takes some lines off the batch that is being handed out.
func (r *Reader) handOut(lines int) Batch {
	piece, end := r.handing, 0
	for range lines {
		i := bytes.IndexByte(piece.lines[end:], '\n')
		if i < 0 {
			end = len(piece.lines)
			break
		}
		end += i + 1
	}
	rest := piece.lines[end:]
	piece.lines = piece.lines[:end:end]
	piece.last = piece.last && len(rest) == 0
	r.handing.lines = rest
	r.handing.firstLine += bytes.Count(piece.lines, []byte("\n"))
	return piece
}

// read reads the next batch of about batchSize.
func (r *Reader) read() (Batch, error) {
	for r.current == nil {
		if r.source == len(r.sources) {
			return Batch{}, io.EOF
		}
		opened, err := r.sources[r.source].Open()
		if err != nil {
			return Batch{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		r.current, r.line, r.rest, r.ended = opened, 0, nil, false
	}
	b := Batch{settings: &r.settings, source: r.source, name: r.sources[r.source].Name, path: r.sources[r.source].Path, firstLine: r.line + 1}
	buffer := append(make([]byte, 0, max(batchSize, 2*len(r.rest))), r.rest...)
	r.rest = nil
	for scanned := 0; ; scanned = len(buffer) {
		if err := r.fill(&buffer); err != nil {
			return Batch{}, fmt.Errorf("%w: %s: %w", ErrUnreadable, b.path, err)
		}
		end := 0
		if i := bytes.LastIndexByte(buffer[scanned:], '\n'); i >= 0 {
			end = scanned + i + 1
		}
		if r.ended {
			end = len(buffer)
		}
		if end > 0 || r.ended {
			b.lines, r.rest = buffer[:end:end], bytes.Clone(buffer[end:])
			break
		}
		// The last byte may be the carriage return of the line's end.
		if len(buffer) > MaxLine+1 {
			if err := r.skipLine(); err != nil {
				return Batch{}, fmt.Errorf("%w: %s: %w", ErrUnreadable, b.path, err)
			}
			b.tooLong = true
			r.line++
			break
		}
		if len(buffer) == cap(buffer) {
			buffer = append(make([]byte, 0, 2*cap(buffer)), buffer...)
		}
	}
	r.line += bytes.Count(b.lines, []byte("\n"))
	if r.ended && len(r.rest) == 0 {
		b.last = true
		if err := r.sourceEnds(b.path); err != nil {
			return Batch{}, err
		}
		r.source++
		if err := r.Close(); err != nil {
			return Batch{}, fmt.Errorf("%w: %s: %w", ErrUnreadable, b.path, err)
		}
	}
	return b, nil
}

// maxEmptyReads is how often a source may have neither bytes nor an error.
const maxEmptyReads = 100

// fill reads some bytes into the room that buffer has left.
func (r *Reader) fill(buffer *[]byte) error {
	b := *buffer
	for range maxEmptyReads {
		n, err := r.current.Read(b[len(b):cap(b)])
		r.digest.Write(b[len(b) : len(b)+n])
		*buffer = b[:len(b)+n]
		// An error that only wraps io.EOF is not the end of the source.
		if err == io.EOF {
			r.ended = true
			return nil
		}
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// skipLine reads to the end of a line of which no byte is kept.
func (r *Reader) skipLine() error {
	scratch := make([]byte, 0, batchSize)
	for !r.ended {
		scratch = scratch[:0]
		if err := r.fill(&scratch); err != nil {
			return err
		}
		if i := bytes.IndexByte(scratch, '\n'); i >= 0 {
			r.rest = bytes.Clone(scratch[i+1:])
			return nil
		}
	}
	return nil
}

// Line is the line of that number, counted from 1 in its file, without its end; nil
// where the batch has none.
func (b Batch) Line(number int) []byte {
	rest := b.lines
	for at := b.firstLine; len(rest) > 0; at++ {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		if at == number {
			return bytes.TrimSuffix(line, []byte("\r"))
		}
		rest = after
	}
	return nil
}

// ID is a case_id and the line that it stands on.
type ID struct {
	Number int
	Text   string
}

// Line is one case and where it stands.
type Line struct {
	Number int // counted from 1
	Case   *Case
}

// Name is that of the source which the lines of the batch are of.
func (b Batch) Name() string { return b.name }

// Source is the index of that source among those of the reader.
func (b Batch) Source() int { return b.source }

// Decoded is a batch that was read: its cases, and its faults in the order of
// their lines. A line with a fault gives no case.
type Decoded struct {
	Batch  Batch
	Lines  []Line
	IDs    []ID // of all lines that have one, with a fault or without
	Faults []Fault
	Total  int // faults found, of which Faults holds the first MaxFaults
}

var byteOrderMark = []byte("\xef\xbb\xbf")

const whiteSpace = " \t\r\n" // of JSON

// Decode reads the cases of the batch. It is safe to decode several batches at
// once.
func (b Batch) Decode() Decoded {
	d := Decoded{Batch: b}
	number := b.firstLine
	faulty := false
	note := func(field, reason string) {
		faulty = true
		d.Total++
		if len(d.Faults) < MaxFaults {
			d.Faults = append(d.Faults, Fault{b.source, b.path, number, field, reason})
		}
	}
	if b.tooLong {
		note("", fmt.Sprintf("the line is longer than %d bytes", MaxLine))
		return d
	}
	reader := lineReader{note: note, settings: b.settings}
	rest := b.lines
	for len(rest) > 0 {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		rest = after
		line = bytes.TrimSuffix(line, []byte("\r"))
		switch {
		case len(line) > MaxLine:
			note("", fmt.Sprintf("the line is longer than %d bytes", MaxLine))
		case number == 1 && bytes.HasPrefix(line, byteOrderMark):
			note("", "the file starts with a byte-order mark")
		case len(bytes.TrimLeft(line, whiteSpace)) > 0:
			faulty = false
			c := reader.decode(line)
			if c.ID != "" {
				d.IDs = append(d.IDs, ID{number, c.ID})
			}
			if !faulty {
				d.Lines = append(d.Lines, Line{number, c})
			}
		}
		number++
	}
	return d
}
