package jsonvalue_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"agentlab/lab/jsonvalue"
)

// doubles spells finite doubles as the shortest decimal that denotes them, in
// full or with an exponent.
var doubles = rapid.Custom(func(t *rapid.T) string {
	value := rapid.OneOf(
		rapid.Float64(),
		rapid.Map(rapid.Uint64(), math.Float64frombits),
		rapid.Map(rapid.Int64(), func(i int64) float64 { return float64(i) }),
		rapid.Map(rapid.IntRange(-1000, 1000), func(i int) float64 { return float64(i) / 10 }),
	).Filter(func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }).Draw(t, "double")
	format := rapid.SampledFrom([]byte("efgEG")).Draw(t, "format")
	return strconv.FormatFloat(value, format, -1, 64)
})

// numbers spells numbers within the limits of Decode.
var numbers = rapid.OneOf(
	doubles,
	rapid.Map(rapid.Int64(), func(i int64) string { return strconv.FormatInt(i, 10) }),
	rapid.Map(rapid.Uint64(), func(i uint64) string { return strconv.FormatUint(i, 10) }),
	rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?`),
	rapid.StringMatching(`-?(0|[1-9][0-9]{0,2})(\.0{0,3}[0-9]{1,2})?[eE][+-]?0{0,2}([0-3][0-9]{2}|400)`),
	rapid.StringMatching(`-?[1-9][0-9]{370,390}(\.[0-9]{1,9})?`),
)

// respelt spells the same number in another way.
func respelt(t *rapid.T, literal string) string {
	mantissa, power, _ := strings.Cut(strings.ToLower(literal), "e")
	exponent, _ := strconv.Atoi(power)
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	coefficient := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	if coefficient == "" {
		coefficient = "0"
	}
	zeros := rapid.IntRange(0, 5).Draw(t, "zeros")
	if coefficient != "0" {
		coefficient += strings.Repeat("0", zeros)
		exponent -= zeros
	}
	if point := rapid.IntRange(1, len(coefficient)).Draw(t, "point"); point < len(coefficient) {
		exponent += len(coefficient) - point
		coefficient = coefficient[:point] + "." + coefficient[point:]
	}
	if len(coefficient) > jsonvalue.MaxDigits || max(exponent, -exponent) > jsonvalue.MaxExponent {
		return literal
	}
	if negative {
		coefficient = "-" + coefficient
	}
	format := rapid.SampledFrom([]string{"%se%d", "%sE%+d", "%se%+05d"}).Draw(t, "format")
	return fmt.Sprintf(format, coefficient, exponent)
}

// near changes one digit.
func near(t *rapid.T, literal string) string {
	mantissa, _, _ := strings.Cut(strings.ToLower(literal), "e")
	changed := []byte(literal)
	at := len(mantissa) - 1 - rapid.IntRange(0, min(2, len(mantissa)-1)).Draw(t, "digits from the end")
	if changed[at] < '1' || changed[at] > '8' {
		return literal
	}
	changed[at]++
	return string(changed)
}

func exactly(t rapid.TB, literal string) *big.Rat {
	t.Helper()
	value, ok := new(big.Rat).SetString(literal)
	if !ok {
		t.Fatalf("%s is not a number", literal)
	}
	return value
}

func TestNumbersShareAFormExactlyWhenEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := numbers.Draw(t, "a")
		var b string
		switch rapid.IntRange(0, 2).Draw(t, "how b is drawn") {
		case 0:
			b = respelt(t, a)
		case 1:
			b = respelt(t, near(t, a))
		default:
			b = numbers.Draw(t, "b")
		}
		formA, formB := canonicalNumber(t, a), canonicalNumber(t, b)
		if exactly(t, a).Cmp(exactly(t, formA)) != 0 {
			t.Errorf("%s became %s, another number", a, formA)
		}
		if equal := exactly(t, a).Cmp(exactly(t, b)) == 0; equal != (formA == formB) {
			t.Errorf("%s = %s is %t, but the forms are %s and %s", a, b, equal, formA, formB)
		}
		if jsonvalue.IsDouble(number(a)) {
			double, _ := strconv.ParseFloat(a, 64)
			if want, err := jcs.NumberToJSON(double); err != nil || want != formA {
				t.Errorf("%s is a double, %s, but the form is %s", a, want, formA)
			}
		} else if strings.ContainsAny(formA, "eE") {
			t.Errorf("%s is no double, but the form %s is not written in full", a, formA)
		}
	})
}

func canonicalNumber(t *rapid.T, literal string) string {
	tree, err := jsonvalue.Decode([]byte(literal))
	if err != nil {
		t.Fatalf("Decode(%s): %v", literal, err)
	}
	return string(jsonvalue.AppendCanonical(nil, tree))
}

var texts = rapid.StringOf(rapid.OneOf(
	rapid.Rune(),
	rapid.RuneFrom([]rune("abc/~\"\\<>&")),
	rapid.RuneFrom([]rune("\x00\b\t\n\f\r\x1f\x7f\u0080\u2028\u2029\ufeff\ufffd")),
	rapid.RuneFrom([]rune("\ud7ff\ue000\uffff\U00010000😀\U0010ffff\u00e9e\u0301")),
))

// trees draws trees as Decode returns them.
func trees(levels int, numbers *rapid.Generator[string]) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := []string{"null", "bool", "number", "string"}
		if levels > 0 {
			kinds = append(kinds, "array", "array", "object", "object", "object", "object")
		}
		switch rapid.SampledFrom(kinds).Draw(t, "kind") {
		case "null":
			return nil
		case "bool":
			return rapid.Bool().Draw(t, "bool")
		case "number":
			return number(numbers.Draw(t, "number"))
		case "string":
			return texts.Draw(t, "string")
		case "array":
			return rapid.SliceOfN(trees(levels-1, numbers), 0, 4).Draw(t, "array")
		default:
			return rapid.MapOfN(texts, trees(levels-1, numbers), 0, 5).Draw(t, "object")
		}
	})
}

// write writes a tree as JSON with white space, key order and escapes drawn,
// and its numbers as spell has them.
func write(t *rapid.T, tree any, spell func(*rapid.T, string) string) string {
	var out strings.Builder
	space := func() {
		out.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r\n  "}).Draw(t, "space"))
	}
	quote := func(s string) {
		out.WriteByte('"')
		for _, r := range s {
			must := r < 0x20 || r == '"' || r == '\\'
			switch how := rapid.IntRange(0, 3).Draw(t, "escape"); {
			case !must && how > 0:
				out.WriteRune(r)
			case r > 0xffff:
				r -= 0x10000
				fmt.Fprintf(&out, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			default:
				fmt.Fprintf(&out, `\u%04X`, r)
			}
		}
		out.WriteByte('"')
	}
	var value func(any)
	value = func(tree any) {
		space()
		switch v := tree.(type) {
		case number:
			out.WriteString(spell(t, string(v)))
		case string:
			quote(v)
		case array:
			out.WriteByte('[')
			for i, item := range v {
				if i > 0 {
					out.WriteByte(',')
				}
				value(item)
			}
			out.WriteByte(']')
		case object:
			out.WriteByte('{')
			keys := slices.Sorted(maps.Keys(v))
			if len(keys) > 1 {
				keys = rapid.Permutation(keys).Draw(t, "keys")
			}
			for i, key := range keys {
				if i > 0 {
					out.WriteByte(',')
				}
				space()
				quote(key)
				space()
				out.WriteByte(':')
				value(v[key])
			}
			out.WriteByte('}')
		default:
			fmt.Fprint(&out, map[any]string{nil: "null", true: "true", false: "false"}[v])
		}
		space()
	}
	value(tree)
	return out.String()
}

func asWritten(_ *rapid.T, literal string) string { return literal }

func TestDecodeReadsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := trees(3, numbers).Draw(t, "tree")
		text := write(t, tree, asWritten)
		got, err := jsonvalue.Decode([]byte(text))
		if err != nil {
			t.Fatalf("Decode(%s): %v", text, err)
		}
		if !reflect.DeepEqual(tree, got) {
			t.Errorf("Decode(%s) = %v, want %v", text, got, tree)
		}
	})
}

func TestSpellingMakesNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := trees(3, numbers).Draw(t, "tree")
		text := write(t, tree, respelt)
		got, err := jsonvalue.Decode([]byte(text))
		if err != nil {
			t.Fatalf("Decode(%s): %v", text, err)
		}
		a, b := jsonvalue.AppendCanonical(nil, tree), jsonvalue.AppendCanonical(nil, got)
		if diff := cmp.Diff(string(a), string(b)); diff != "" {
			t.Errorf("(-tree +text):\n%s", diff)
		}
	})
}

func TestCanonicalFormIsItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkOwnForm(t, trees(3, numbers).Draw(t, "tree"))
	})
}

// checkOwnForm reads the canonical form of a tree back. An exact decimal in
// full can have more digits than Decode takes; then, and only then, there is
// nothing to read.
func checkOwnForm(t rapid.TB, tree any) {
	t.Helper()
	form := jsonvalue.AppendCanonical(nil, tree)
	if !json.Valid(form) {
		t.Fatalf("%s is not JSON", form)
	}
	again, err := jsonvalue.Decode(form)
	if tooLong := hasTooLongForm(tree); tooLong || err != nil {
		if tooLong != (err != nil) {
			t.Errorf("a form with too many digits: %t, but Decode(%s): %v", tooLong, form, err)
		}
		return
	}
	if !sameValue(tree, again) {
		t.Errorf("%s says %v, not %v", form, again, tree)
	}
	if diff := cmp.Diff(string(form), string(jsonvalue.AppendCanonical(nil, again))); diff != "" {
		t.Errorf("the form has another form (-form +its form):\n%s", diff)
	}
}

// sameValue compares trees, and their numbers by exact arithmetic. It walks
// them itself because go-cmp takes exponential time on deep ones.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case number:
		b, ok := b.(number)
		if !ok {
			return false
		}
		x, okX := new(big.Rat).SetString(string(a))
		y, okY := new(big.Rat).SetString(string(b))
		return okX && okY && x.Cmp(y) == 0
	case array:
		b, ok := b.(array)
		return ok && slices.EqualFunc(a, b, sameValue)
	case object:
		b, ok := b.(object)
		return ok && maps.EqualFunc(a, b, sameValue)
	default:
		return a == b
	}
}

func hasTooLongForm(tree any) bool {
	return slices.ContainsFunc(numbersOf(tree), func(n number) bool {
		form := string(jsonvalue.AppendCanonical(nil, n))
		return len(strings.Trim(form, "-"))-strings.Count(form, ".") > jsonvalue.MaxDigits
	})
}

func numbersOf(tree any) []number {
	var found []number
	switch v := tree.(type) {
	case number:
		found = append(found, v)
	case array:
		for _, item := range v {
			found = append(found, numbersOf(item)...)
		}
	case object:
		for _, item := range v {
			found = append(found, numbersOf(item)...)
		}
	}
	return found
}

func TestDoublesTakeTheFormOfTheRFC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := trees(3, doubles).Draw(t, "tree")
		for _, n := range numbersOf(tree) {
			if !jsonvalue.IsDouble(n) {
				t.Errorf("IsDouble(%s) = false", n)
			}
		}
		checkFormOfTheRFC(t, write(t, tree, respelt))
	})
}

func checkFormOfTheRFC(t rapid.TB, text string) {
	t.Helper()
	want, err := jcs.Transform([]byte(text))
	if err != nil {
		t.Fatalf("jcs.Transform(%s): %v", text, err)
	}
	tree, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		t.Fatalf("Decode(%s): %v", text, err)
	}
	if diff := cmp.Diff(string(want), string(jsonvalue.AppendCanonical(nil, tree))); diff != "" {
		t.Errorf("canonical form of %s (-want +got):\n%s", text, diff)
	}
}
