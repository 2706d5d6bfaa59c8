package stream

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// A value is whole up to the last byte that there is room for.
func TestValuesUpToTheBound(t *testing.T) {
	value := []byte(`"` + strings.Repeat("x", MaxValue-2) + `"`)
	if got := appendValue(nil, value, true); !bytes.Equal(got, value) {
		t.Errorf("%.100s", got)
	}
	longer := append(value, ' ')
	digest := sha256.Sum256(longer)
	if want, got := fmt.Sprintf(`{"truncated_bytes":%d,"sha256":"%x"}`, MaxValue+1, digest), string(appendValue(nil, longer, true)); got != want {
		t.Errorf("%.100s, want %s", got, want)
	}
	if got := appendValue(nil, longer, false); !bytes.Equal(got, longer) {
		t.Errorf("of the lab's own: %.100s", got)
	}
}
