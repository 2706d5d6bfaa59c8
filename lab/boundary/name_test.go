package boundary

import "testing"

// The last word of a name counts: what is in a file is no path.
func TestNamesPath(t *testing.T) {
	for name, want := range map[string]bool{
		"path": true, "filePath": true, "src": true, "target_dir": true, "paths": true, "cwd": true, "outputFile": true, "DEST": true,
		"file_content": false, "pathology": false, "source_text": false, "url": false, "name": false, "": false, "_": false,
	} {
		if NamesPath(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
