package pin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentlab/lab/tool"
)

func TestDecodeRefuses(t *testing.T) {
	whole := string(Of([]tool.Definition{{Name: "a/b", Description: "d", InputSchema: raw(`{"type":"object"}`)}}).Encode())
	for _, c := range []struct{ old, new, want string }{
		{whole, ``, `not a lock: no JSON document (byte 0)`},
		{whole, `[]`, `not a lock: it must be an object`},
		{whole, `{}`, `not a lock: /version: it must be 1`},
		{whole, `{"version":1,"catalog":"","tools":[]}`, `not a lock: /tools: it must be an object`},
		{`"version": 1`, `"version": 2, "new": 3`, `not a lock: /version: it must be 1`},
		{`"version": 1`, `"version": "1"`, `not a lock: /version: it must be 1`},
		{`"version": 1`, `"version": 1, "more": 2`, `not a lock: /more: it is not known here; known are version, catalog, tools`},
		{`"version": 1`, `"version": 1, "version": 1`, `not a lock: /version: duplicate key (byte 18)`},
		{`"description": {`, `"descriptoin": {`, `not a lock: /tools/a~1b/descriptoin: it is not known here; known are description, inputSchema, outputSchema, annotations`},
		{`"text": "d"`, `"text": "D"`, `not a lock: /tools/a~1b/description/digest: it does not fit what it stands for: the file was edited by hand`},
		{`"text": "d"`, `"text": 7`, `not a lock: /tools/a~1b/description/text: it must be a string`},
		{`"text": "d"`, `"value": "d"`, `not a lock: /tools/a~1b/description: it must have a digest and what it stands for`},
		{`"text": "d"`, `"text": "d", "value": "d"`, `not a lock: /tools/a~1b/description: it must have a digest and what it stands for`},
		{`"text": "d"`, `"text": "d", "why": 1`, `not a lock: /tools/a~1b/description/why: it is not known here; known are digest, text, value`},
		{`"type": "object"`, `"type": "array"`, `not a lock: /tools/a~1b/inputSchema/digest: it does not fit what it stands for: the file was edited by hand`},
		{`"sha256:18ac3e73`, `"sha256:18ac3e74`, `not a lock: /tools/a~1b/description/digest: it does not fit what it stands for: the file was edited by hand`},
		{`"a/b"`, `"a/c"`, `not a lock: /catalog: it does not fit what it stands for: the file was edited by hand`},
		{`"a/b": {`, `"a/b": null, "b": {`, `not a lock: /tools/a~1b: it must be an object`},
		{`"a/b": {`, `"a/a": {}, "a/b": {`, `not a lock: /tools/a~1a: it has no description`},
		{`"a/b": {`, `"a/b": {"description": null}, "b": {`, `not a lock: /tools/a~1b: it has no description`},
		{`"d"`, `"` + "\xff" + `"`, `not a lock: /tools/a~1b/description/text: invalid UTF-8 (byte `},
	} {
		text := strings.Replace(whole, c.old, c.new, 1)
		if text == whole {
			t.Errorf("%s is not there in %s", c.old, whole)
		}
		_, err := Decode([]byte(text))
		if fault := (*Error)(nil); !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
	if _, err := Decode([]byte(strings.Repeat(" ", MaxFile+1))); err == nil || err.Error() != "not a lock: it is longer than 32 MiB" {
		t.Error(err)
	}
}

// TestDecodeNamesShortly holds that an error is bounded whatever the file is.
func TestDecodeNamesShortly(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	for _, text := range []string{
		`{"version":1,"` + long + `":1}`,
		`{"version":1,"tools":{"` + long + `":{"` + long + `":1}}}`,
		`{"version":1,"tools":{"` + long + `":{"a":1,"a":2}}}`,
		`{"version":1` + long,
	} {
		if _, err := Decode([]byte(text)); err == nil || len(err.Error()) > 2000 {
			t.Errorf("%.100v", err)
		}
	}
}

func TestDecodeTakesOtherWhiteSpaceAndOrder(t *testing.T) {
	const text = `{"tools":{"a":{"description":{"text":"b","digest":"sha256:3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"}}},"version":1,` + "\r\n" +
		`"catalog":"CATALOG"}`
	want := Of([]tool.Definition{{Name: "a", Description: "b"}})
	got, err := Decode([]byte(strings.Replace(text, "CATALOG", want.Digest(), 1)))
	if err != nil || string(got.Encode()) != string(want.Encode()) {
		t.Errorf("%s, %v", got.Encode(), err)
	}
	none, err := Decode(Lock{}.Encode())
	if err != nil || len(none.Names()) != 0 || none.Changes(nil) != nil {
		t.Errorf("%v, %v", none, err)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "catalog.lock")
	if _, err := ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := ReadFile(dir); err == nil || err.Error() != "read "+dir+": not a regular file" {
		t.Error(err)
	}
	want := Of(catalog())
	if err := os.WriteFile(path, want.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(path)
	if err != nil || string(got.Encode()) != string(want.Encode()) {
		t.Errorf("%s, %v", got.Encode(), err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat(" ", MaxFile+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || err.Error() != "not a lock: it is longer than 32 MiB" {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Of(catalog()).Encode())
	f.Add(Of(catalog()[:1]).Encode())
	f.Add(Lock{}.Encode())
	f.Add([]byte(`{"version":1,"catalog":"sha256:","tools":{"a":{"description":{"digest":"sha256:","text":"\ud800"}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Decode(text)
		if err != nil {
			if _, ok := err.(*Error); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		written := l.Encode()
		again, err := Decode(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if string(again.Encode()) != string(written) || again.Digest() != l.Digest() {
			t.Fatal("another file the second time")
		}
	})
}
