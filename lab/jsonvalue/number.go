package jsonvalue

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

// checkNumber says what is wrong with a JSON number, or nothing. The limits
// keep exact arithmetic on it cheap.
func checkNumber(literal string) string {
	mantissa, exponent := splitExponent(literal)
	digits := 0
	for i := range len(mantissa) {
		if mantissa[i] >= '0' && mantissa[i] <= '9' {
			digits++
		}
	}
	if digits > MaxDigits {
		return fmt.Sprintf("a number of more than %d digits", MaxDigits)
	}
	exponent = strings.TrimLeft(strings.TrimLeft(exponent, "+-"), "0")
	if len(exponent) > 3 || len(exponent) == 3 && exponent > strconv.Itoa(MaxExponent) {
		return fmt.Sprintf("a number with an exponent beyond ±%d", MaxExponent)
	}
	return ""
}

func splitExponent(literal string) (mantissa, exponent string) {
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		return literal[:i], literal[i+1:]
	}
	return literal, ""
}

// decimal is the exact value of a JSON number: ±0.digits × 10^point, where
// digits has no zero at either end. Zero has no digits and no sign.
type decimal struct {
	negative bool
	digits   string
	point    int
}

func parseDecimal(literal string) decimal {
	var d decimal
	mantissa, exponent := splitExponent(literal)
	mantissa, d.negative = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	// checkNumber has bounded the exponent.
	power, _ := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	significant := strings.TrimLeft(whole+fraction, "0")
	d.point = len(significant) - len(fraction) + power
	d.digits = strings.TrimRight(significant, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func (d decimal) append(dst []byte) []byte {
	if d.digits == "" {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	zeros := func(n int) { dst = append(dst, strings.Repeat("0", n)...) }
	switch n := len(d.digits); {
	case d.point <= 0:
		dst = append(dst, "0."...)
		zeros(-d.point)
		dst = append(dst, d.digits...)
	case d.point >= n:
		dst = append(dst, d.digits...)
		zeros(d.point - n)
	default:
		dst = append(dst, d.digits[:d.point]...)
		dst = append(dst, '.')
		dst = append(dst, d.digits[d.point:]...)
	}
	return dst
}

// canonicalNumber returns the canonical text of a number, and whether it is
// the text that RFC 8785 gives its double. Where the double says another
// number than the literal does, the text is the exact decimal, in full.
func canonicalNumber(literal string) (text string, isDouble bool) {
	// Up to 15 digits every integer is its own canonical form.
	if len(literal) <= 15 && strings.Trim(literal, "0123456789") == "" {
		return literal, true
	}
	exact := parseDecimal(literal)
	if double, err := strconv.ParseFloat(literal, 64); err == nil {
		// A finite double cannot fail to be written.
		written, _ := jcs.NumberToJSON(double)
		if parseDecimal(written) == exact {
			return written, true
		}
	}
	return string(exact.append(nil)), false
}

// IsDouble reports whether a number survives the way through a double: whether
// the shortest text of its double denotes the same number. 0.1 does,
// 9007199254740993 and 1e400 do not.
func IsDouble(n json.Number) bool {
	_, isDouble := canonicalNumber(string(n))
	return isDouble
}
