package jsonvalue_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/jsonvalue"
)

func canonical(t testing.TB, text string) string {
	t.Helper()
	return string(jsonvalue.AppendCanonical(nil, mustDecode(t, text)))
}

func TestAppendCanonical(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"null", " null ", "null"},
		{"booleans", "[ true , false ]", "[true,false]"},
		{"empty containers", `[ { } , [ ] , "" ]`, `[{},[],""]`},
		{"array order", "[3,1,2]", "[3,1,2]"},
		{"object order", `{"b":1,"a":{"d":2,"c":3},"":4}`, `{"":4,"a":{"c":3,"d":2},"b":1}`},
		{"prefix first", `{"ab":1,"a":2,"abc":3}`, `{"a":2,"ab":1,"abc":3}`},
		{"capitals first", `{"a":1,"B":2,"_":3}`, `{"B":2,"_":3,"a":1}`},
		{"digits by text", `{"10":1,"9":2,"1":3}`, `{"1":3,"10":1,"9":2}`},
		{"many keys", `{"k":1,"j":2,"i":3,"h":4,"g":5,"f":6,"e":7,"d":8,"c":9,"b":10}`,
			`{"b":10,"c":9,"d":8,"e":7,"f":6,"g":5,"h":4,"i":3,"j":2,"k":1}`},

		{"surrogates before private use", `{"\ue000":1,"\ud83d\ude00":2}`, "{\"😀\":2,\"\ue000\":1}"},
		{"surrogates before the last of the plane", `{"\uffff":1,"\ud83d\ude00":2}`, "{\"😀\":2,\"\uffff\":1}"},
		{"surrogates after what is below them", `{"\ud800\udc00":1,"\ud7ff":2}`, "{\"\ud7ff\":2,\"\U00010000\":1}"},
		{"all planes", `{"\uffff":1,"\udbff\udfff":2,"\ue000":3,"\ud83d\ude00":4,"\ud7ff":5,"z":6}`,
			"{\"z\":6,\"\ud7ff\":5,\"😀\":4,\"\U0010ffff\":2,\"\ue000\":3,\"\uffff\":1}"},
		{"planes within a key", `{"a\uffff":1,"a\ud83d\ude00":2,"a":3}`, "{\"a\":3,\"a😀\":2,\"a\uffff\":1}"},
		{"runes that share bytes", `{"\ud83d\ude01":1,"\ud83d\ude00":2,"\u20ad":3,"\u20ac":4}`, `{"€":4,"₭":3,"😀":2,"😁":1}`},

		{"short escapes", `"\b\t\n\f\r\"\\"`, `"\b\t\n\f\r\"\\"`},
		{"short escapes spelt long", `"\u0008\u0009\u000a\u000C\u000D\u0022\u005c"`, `"\b\t\n\f\r\"\\"`},
		{"control characters", `"\u0000\u0001\u000b\u000e\u001F"`, `"\u0000\u0001\u000b\u000e\u001f"`},
		{"solidus", `"\/"`, `"/"`},
		{"letters", `"\u0041\u00e9\u20AC\ud83d\ude00"`, `"Aé€😀"`},
		{"not for HTML", `"\u003c>\u0026'"`, `"<>&'"`},
		{"line and paragraph separators", `"\u2028\u2029"`, "\"\u2028\u2029\""},
		{"DEL and C1", `"\u007F\u0080\u009f"`, "\"\u007f\u0080\u009f\""},
		{"byte order mark", `"\ufeff"`, "\"\ufeff\""},
		{"NFC stays", `"\u00e9"`, "\"\u00e9\""},
		{"NFD stays", `"e\u0301"`, "\"e\u0301\""},
		{"escapes in keys", `{"\u0061\n\u2028":"\u0062"}`, "{\"a\\n\u2028\":\"b\"}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, canonical(t, tt.text)); diff != "" {
				t.Errorf("canonical form of %q (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

// The examples of RFC 8785, but that its 333333333.33333329 is spelt here as
// the number that its double is written as; see TestCanonicalNumbers.
func TestAppendCanonicalByTheRFC(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"3.2.2 serialization", `{
			"numbers": [333333333.33333330, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
			"literals": [null, true, false]
		}`, `{"literals":[null,true,false],` +
			`"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
			`"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{"3.2.3 sorting", `{
			"\u20ac": "Euro Sign",
			"\r": "Carriage Return",
			"\ufb33": "Hebrew Letter Dalet With Dagesh",
			"1": "One",
			"\ud83d\ude00": "Emoji: Grinning Face",
			"\u0080": "Control",
			"\u00f6": "Latin Small Letter O With Diaeresis"
		}`, `{"\r":"Carriage Return",` +
			`"1":"One",` +
			"\"\u0080\":\"Control\"," +
			"\"\u00f6\":\"Latin Small Letter O With Diaeresis\"," +
			"\"\u20ac\":\"Euro Sign\"," +
			"\"\U0001f600\":\"Emoji: Grinning Face\"," +
			"\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, canonical(t, tt.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// RFC 8785, appendix B, without its NaN and Infinity, which JSON cannot spell.
func TestCanonicalDoubles(t *testing.T) {
	tests := []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	}
	for _, tt := range tests {
		double := math.Float64frombits(tt.bits)
		for _, format := range []byte("efgG") {
			text := strconv.FormatFloat(double, format, -1, 64)
			t.Run(strconv.FormatUint(tt.bits, 16)+string(format), func(t *testing.T) {
				if got := canonical(t, text); got != tt.want {
					t.Errorf("canonical form of %s = %s, want %s", text, got, tt.want)
				}
				if !jsonvalue.IsDouble(json.Number(text)) {
					t.Errorf("IsDouble(%s) = false", text)
				}
			})
		}
	}
}

func TestCanonicalNumbers(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("0", n) }
	const (
		isDouble = true
		isExact  = false
	)
	tests := []struct {
		want      string
		double    bool
		spellings []string
	}{
		{"0", isDouble, []string{"0", "-0", "0.0", "-0.000", "0e0", "-0E+400", "0e-400"}},
		{"1", isDouble, []string{"1", "1.0", "1e0", "1E-0", "10e-1", "0.1e1", "0.001e+3", "1.000"}},
		{"-1", isDouble, []string{"-1", "-1.0", "-10E-01"}},
		{"100", isDouble, []string{"100", "1e2", "1E+02", "100.0", "1000e-1"}},
		{"0.1", isDouble, []string{"0.1", "1e-1", "0.10", "10E-2"}},
		{"0.1000000000000000055511151231257827", isExact, []string{
			"0.1000000000000000055511151231257827", "1000000000000000055511151231257827e-34"}},
		{"0.000001", isDouble, []string{"0.000001", "1e-6"}},
		{"1e-7", isDouble, []string{"0.0000001", "1e-7"}},
		{"123456789012345", isDouble, []string{"123456789012345", "123456789012345.0"}},
		{"9007199254740991", isDouble, []string{"9007199254740991"}},
		{"9007199254740992", isDouble, []string{"9007199254740992", "9007199254740992.0", "9.007199254740992e15"}},
		{"9007199254740993", isExact, []string{"9007199254740993", "9007199254740993.0", "9.007199254740993e15"}},
		{"-9007199254740993", isExact, []string{"-9007199254740993"}},
		{"9223372036854775807", isExact, []string{"9223372036854775807"}},
		{"18446744073709551615", isExact, []string{"18446744073709551615", "1844674407370955161.5e1"}},
		{"18446744073709552000", isDouble, []string{"18446744073709552000"}},
		// A double holds 2^68 exactly, but RFC 8785 writes that double as
		// 295147905179352830000, which is another number.
		{"295147905179352825856", isExact, []string{"295147905179352825856"}},
		{"123456789012345678901234567890", isExact, []string{"123456789012345678901234567890", "12345678901234567890123456789e1"}},
		{"1e+21", isDouble, []string{"1E21", "1e+21", "1000000000000000000000", "1000000000000000000000.0"}},
		{"1000000000000000000001", isExact, []string{"1000000000000000000001"}},
		{"100000000000000000000", isDouble, []string{"1e20", "100000000000000000000"}},
		{"333333333.3333333", isDouble, []string{"333333333.3333333"}},
		{"333333333.33333329", isExact, []string{"333333333.33333329"}},
		{"1.7976931348623157e+308", isDouble, []string{"1.7976931348623157e308"}},
		{"2" + zeros(308), isExact, []string{"2e308", "0.2E309"}},
		{"1" + zeros(400), isExact, []string{"1e400", "10e399", "1E+0400"}},
		{"-1" + zeros(400), isExact, []string{"-1e400", "-10e399"}},
		{"0." + zeros(399) + "1", isExact, []string{"1e-400", "0.1e-399", "0.01e-398"}},
		{"-0." + zeros(399) + "1", isExact, []string{"-1e-400"}},
		{"5e-324", isDouble, []string{"5e-324", "0.5e-323"}},
		{"0." + zeros(323) + "4", isExact, []string{"4e-324"}},
		{"0." + zeros(323) + "49", isExact, []string{"4.9e-324"}},
		{"12.5", isDouble, []string{"12.5", "1.25e1", "125e-1", "12.50"}},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if seen[tt.want] {
			t.Errorf("%s stands for two rows", tt.want)
		}
		seen[tt.want] = true
		for _, spelling := range tt.spellings {
			if got := canonical(t, spelling); got != tt.want {
				t.Errorf("canonical form of %s = %s, want %s", spelling, got, tt.want)
			}
			if got := jsonvalue.IsDouble(json.Number(spelling)); got != tt.double {
				t.Errorf("IsDouble(%s) = %t", spelling, got)
			}
		}
	}
}

func TestCanonicalStringsStayApart(t *testing.T) {
	tests := []struct{ name, a, b string }{
		{"NFC and NFD", `"\u00e9"`, `"e\u0301"`},
		{"NFC and NFD keys", `{"\u00e9":1}`, `{"e\u0301":1}`},
		{"ligature", `"\ufb01"`, `"fi"`},
		{"capital", `"a"`, `"A"`},
		{"trailing space", `"a"`, `"a "`},
		{"string and number", `"1"`, `1`},
		{"string and null", `"null"`, `null`},
		{"missing and null", `{}`, `{"a":null}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a, b := canonical(t, tt.a), canonical(t, tt.b); a == b {
				t.Errorf("%s and %s are both %s", tt.a, tt.b, a)
			}
		})
	}
}

func TestAppendCanonicalAppends(t *testing.T) {
	tree := mustDecode(t, `{"b":["x",1.0],"a":null}`)
	got := string(jsonvalue.AppendCanonical([]byte("before "), tree))
	if want := `before {"a":null,"b":["x",1]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAppendCanonicalLeavesTheTree(t *testing.T) {
	const text = `{"b":[3,1.0,2],"a":{"d":1e0,"c":-0}}`
	tree := mustDecode(t, text)
	jsonvalue.AppendCanonical(nil, tree)
	if diff := cmp.Diff(mustDecode(t, text), tree); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAppendCanonicalPanicsOnOtherTrees(t *testing.T) {
	for _, value := range []any{1, 1.5, []string{"a"}, map[string]string{}, []byte("{}"), struct{}{}, array{1}} {
		panicked := func() (panicked bool) {
			defer func() { panicked = recover() != nil }()
			jsonvalue.AppendCanonical(nil, value)
			return
		}()
		if !panicked {
			t.Errorf("%T was written", value)
		}
	}
}

func TestAppendString(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", `""`},
		{"plain", "a b", `"a b"`},
		{"escapes", "\"\\/\b\f\n\r\t\x00\x1f", `"\"\\/\b\f\n\r\t\u0000\u001f"`},
		{"no more than needed", "<>&'\u007f\u2028é😀", "\"<>&'\u007f\u2028é😀\""},
		{"invalid UTF-8", "a\xffb", "\"a\ufffdb\""},
		{"cut UTF-8", "a\xe2\x82", "\"a\ufffd\ufffd\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(jsonvalue.AppendString([]byte("> "), tt.in)); got != "> "+tt.want {
				t.Errorf("AppendString(%q) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}
