package faultserver

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// notes are texts by key: files KEY.txt of a folder, or a map where there is no
// folder.
type notes struct {
	folder string

	mu     sync.Mutex
	texts  map[string]string
	seen   map[string]bool // the idempotency keys that were used
	change int             // how many writes there were

	pages   string // the fault of the pages; empty for none
	forget  bool   // idempotency keys are not looked at
	later   bool   // writes are saved by saveAll
	unsaved []func() error
}

const suffix = ".txt"

var noteKey = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

var errNoNote = errors.New("no such note")

// read returns a text, or errNoNote. The caller holds the lock.
func (n *notes) read(key string) (string, error) {
	if n.folder == "" {
		text, ok := n.texts[key]
		if !ok {
			return "", errNoNote
		}
		return text, nil
	}
	data, err := os.ReadFile(filepath.Join(n.folder, key+suffix))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoNote
	}
	return string(data), err
}

func (n *notes) write(key, text string) error {
	n.change++
	if n.later {
		n.unsaved = append(n.unsaved, func() error { return n.save(key, text) })
		return nil
	}
	return n.save(key, text)
}

func (n *notes) save(key, text string) error {
	if n.folder == "" {
		if n.texts == nil {
			n.texts = make(map[string]string)
		}
		n.texts[key] = text
		return nil
	}
	return os.WriteFile(filepath.Join(n.folder, key+suffix), []byte(text), 0o666)
}

// saveAll saves what was kept for later.
func (n *notes) saveAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, save := range n.unsaved {
		_ = save() // nobody is left to be told
	}
	n.unsaved = nil
}

func (n *notes) remove(key string) error {
	n.change++
	if n.folder == "" {
		delete(n.texts, key)
		return nil
	}
	return os.Remove(filepath.Join(n.folder, key+suffix))
}

func (n *notes) keys() ([]string, error) {
	if n.folder == "" {
		return slices.Sorted(maps.Keys(n.texts)), nil
	}
	entries, err := os.ReadDir(n.folder)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, e := range entries {
		if key, ok := strings.CutSuffix(e.Name(), suffix); ok && e.Type().IsRegular() {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// used says whether an idempotency key was used, and uses it.
func (n *notes) used(key string) bool {
	if key == "" || n.forget {
		return false
	}
	if n.seen[key] {
		return true
	}
	if n.seen == nil {
		n.seen = make(map[string]bool)
	}
	n.seen[key] = true
	return false
}
