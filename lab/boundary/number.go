package boundary

import (
	"encoding/json"
	"math/big"
	"strings"

	"agentlab/lab/jsonvalue"
)

// interval is where a number may lie: the ends that are stated, and a step of
// which it must be a multiple.
type interval struct {
	low, high         *big.Rat // nil where there is no end
	lowOpen, highOpen bool     // the end itself is left out
	step              *big.Rat
}

// maxBits bounds the exact arithmetic.
const maxBits = 4096

// interval reads the bounds of a place: draft-04's flags and the numbers of
// later drafts alike.
func (d *demand) interval() interval {
	var n interval
	for _, part := range d.parts {
		if at, ok := rational(part["minimum"]); ok {
			n.raise(at, part["exclusiveMinimum"] == true)
		}
		if at, ok := rational(part["exclusiveMinimum"]); ok {
			n.raise(at, true)
		}
		if at, ok := rational(part["maximum"]); ok {
			n.lower(at, part["exclusiveMaximum"] == true)
		}
		if at, ok := rational(part["exclusiveMaximum"]); ok {
			n.lower(at, true)
		}
		if step, ok := rational(part["multipleOf"]); ok && step.Sign() > 0 {
			n.multiple(step)
		}
	}
	return n
}

func (n *interval) raise(at *big.Rat, open bool) {
	if n.low == nil || at.Cmp(n.low) > 0 || at.Cmp(n.low) == 0 && open {
		n.low, n.lowOpen = at, open
	}
}

func (n *interval) lower(at *big.Rat, open bool) {
	if n.high == nil || at.Cmp(n.high) < 0 || at.Cmp(n.high) == 0 && open {
		n.high, n.highOpen = at, open
	}
}

// multiple takes the least common multiple of two steps.
func (n *interval) multiple(step *big.Rat) {
	if n.step == nil {
		n.step = step
		return
	}
	over := new(big.Int).GCD(nil, nil, n.step.Num(), step.Num())
	num := new(big.Int).Mul(n.step.Num(), step.Num())
	num.Quo(num, over)
	n.step = new(big.Rat).SetFrac(num, new(big.Int).GCD(nil, nil, n.step.Denom(), step.Denom()))
}

func (b *builder) number(at site, d *demand, isWhole bool) (any, error) {
	n := d.interval()
	if isWhole {
		n.multiple(big.NewRat(1, 1))
	}
	nth := b.choices.choose(at.place, "number", 4) + b.salt
	var exact *big.Rat
	if n.step != nil {
		if n.step.Num().BitLen()+n.step.Denom().BitLen() > maxBits {
			return nil, unmet(at.place, "its steps are too large to be multiplied")
		}
		exact = n.onStep(nth)
	} else {
		exact = n.between(nth)
	}
	if exact == nil {
		return nil, unmet(at.place, "no number is within all its bounds")
	}
	literal, ok := spell(exact)
	if !ok {
		return nil, unmet(at.place, "the number is longer than %d digits", jsonvalue.MaxDigits)
	}
	return b.taken(at.place, literal)
}

// onStep returns a multiple of the step within the bounds, nil where there is
// none: the step itself where it fits, else the nearest, and others of it by
// turns.
func (n *interval) onStep(nth int) *big.Rat {
	var first, last *big.Int
	one := big.NewInt(1)
	if n.low != nil {
		first = floor(new(big.Rat).Quo(n.low, n.step))
		if at := n.times(first); at.Cmp(n.low) < 0 || n.lowOpen && at.Cmp(n.low) == 0 {
			first.Add(first, one)
		}
	}
	if n.high != nil {
		last = floor(new(big.Rat).Quo(n.high, n.step))
		if n.highOpen && n.times(last).Cmp(n.high) == 0 {
			last.Sub(last, one)
		}
	}
	if first != nil && last != nil && first.Cmp(last) > 0 {
		return nil
	}
	at := one
	switch {
	case first != nil && first.Cmp(at) > 0:
		at = first
	case last != nil && last.Cmp(at) < 0:
		at = last
	}
	next := new(big.Int).Add(at, big.NewInt(int64(nth)))
	if last != nil && next.Cmp(last) > 0 {
		// Below instead of above, as far as there is room.
		next.Sub(at, next.Sub(next, last))
		if first != nil && next.Cmp(first) < 0 {
			next = at
		}
	}
	return n.times(next)
}

func (n *interval) times(count *big.Int) *big.Rat {
	return new(big.Rat).Mul(n.step, new(big.Rat).SetInt(count))
}

func floor(r *big.Rat) *big.Int {
	return new(big.Int).Div(r.Num(), r.Denom()) // rounds down: the denominator is positive
}

// between returns a number of no step: one that has a fraction, where it can.
func (n *interval) between(nth int) *big.Rat {
	half := big.NewRat(1, 2)
	turn := new(big.Rat).SetInt64(int64(nth))
	switch {
	case n.low != nil && n.high != nil:
		order := n.low.Cmp(n.high)
		if order > 0 || order == 0 && (n.lowOpen || n.highOpen) {
			return nil
		}
		// low + width / 2^(nth+1), which never is an end unless both are one.
		at := new(big.Rat).Sub(n.high, n.low)
		at.Mul(at, new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), uint(min(nth, 1000)+1))))
		return at.Add(at, n.low)
	case n.low != nil:
		return turn.Add(turn, new(big.Rat).Add(n.low, half))
	case n.high != nil:
		return new(big.Rat).Sub(new(big.Rat).Sub(n.high, half), turn)
	}
	return turn.Add(turn, big.NewRat(3, 2))
}

// spell writes a number exactly, if it has a spelling that jsonvalue reads.
func spell(exact *big.Rat) (json.Number, bool) {
	digits, finite := exact.FloatPrec()
	if !finite || digits > jsonvalue.MaxDigits {
		return "", false
	}
	literal := exact.FloatString(digits)
	if len(strings.TrimPrefix(literal, "-")) > jsonvalue.MaxDigits {
		return "", false
	}
	return json.Number(literal), true
}
