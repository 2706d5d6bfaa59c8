package boundary

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// limit gives numbers around a bound; sign is the direction inwards.
func (w *walk) limit(s *spot, part object, c clause, sign int64) {
	end, number := rational(part[c.keyword])
	open := strings.HasPrefix(c.keyword, "exclusive")
	if !number { // the flag of draft-04
		if end, number = rational(part[strings.ToLower(strings.TrimPrefix(c.keyword, "exclusive"))]); !number {
			return
		}
	} else if flag := "exclusive" + capital(c.keyword); part[flag] == true {
		open = true
	}
	if end.Num().BitLen()+end.Denom().BitLen() > maxBits {
		return
	}
	kind := strings.ToLower(strings.TrimPrefix(c.keyword, "exclusive"))
	say := func(aim Side, r rank, words string, exact *big.Rat) {
		if literal, ok := spell(exact); ok {
			w.add(s, c, aim, r, w.whose(s)+" is "+words+" its "+kind, literal)
		}
	}
	on := On
	if open {
		on = Outside
	}
	say(on, bound, "exactly", end)
	grid := s.full.interval().step
	steps := []*big.Rat{grid}
	switch {
	case s.full.kinds&fraction == 0:
		n := interval{step: grid}
		n.multiple(big.NewRat(1, 1))
		if n.step.Num().BitLen()+n.step.Denom().BitLen() > maxBits {
			return
		}
		steps[0] = n.step
	case grid == nil:
		steps = []*big.Rat{big.NewRat(1, 1), big.NewRat(1, 1000)}
	}
	one := big.NewRat(sign, 1)
	for i, step := range steps {
		r := bound + rank(min(i, 1))
		by := new(big.Rat).Mul(step, one)
		if grid != nil || s.full.kinds&fraction == 0 {
			// The nearest that are multiples of the step.
			out := beyond(end, step, -int(sign))
			say(Outside, r, "one step outside of", out)
			inner := new(big.Rat).Add(out, by)
			if inner.Cmp(end) != 0 {
				say(Inside, r, "the nearest within", inner)
			}
			say(Inside, near, "one step within", new(big.Rat).Add(inner, by))
			continue
		}
		far := "one"
		if i > 0 {
			far = "a thousandth"
		}
		say(Outside, r, far+" outside of", new(big.Rat).Sub(end, by))
		say(Inside, r, far+" within", new(big.Rat).Add(end, by))
	}
}

func (w *walk) multiple(s *spot, part object, c clause) {
	step, ok := rational(part["multipleOf"])
	good, number := rational(s.value)
	if !ok || !number || step.Num().BitLen()+step.Denom().BitLen() > maxBits {
		return
	}
	say := func(aim Side, words string, exact *big.Rat) {
		if literal, ok := spell(exact); ok {
			w.add(s, c, aim, bound, w.whose(s)+" is "+words, literal)
		}
	}
	say(Inside, "one step on", new(big.Rat).Add(good, step))
	say(Inside, "one step back", new(big.Rat).Sub(good, step))
	say(Inside, "nothing", new(big.Rat))
	for _, off := range []*big.Rat{new(big.Rat).Mul(step, big.NewRat(1, 2)), big.NewRat(1, 1), new(big.Rat).Mul(step, big.NewRat(1, 1000))} {
		if s.full.kinds&fraction == 0 && !off.IsInt() {
			continue
		}
		say(Outside, "just above a multiple", new(big.Rat).Add(good, off))
		say(Outside, "just below a multiple", new(big.Rat).Sub(good, off))
	}
}

// counted gives values with exactly as many characters, items or properties as
// a bound says, with one more and one fewer.
func (w *walk) counted(s *spot, part object, c clause) {
	exact, ok := rational(part[c.keyword])
	if !ok || !exact.IsInt() || !exact.Num().IsInt64() || exact.Num().Int64() > maxText {
		return
	}
	n, inwards := int(exact.Num().Int64()), 1
	low, high := strings.Replace(c.keyword, "max", "min", 1), strings.Replace(c.keyword, "min", "max", 1)
	if c.keyword == high {
		inwards = -1
	}
	for _, row := range []struct {
		aim   Side
		count int
		words string
	}{
		{On, n, "exactly at its "}, {Outside, n - inwards, "one outside of its "}, {Inside, n + inwards, "one within its "},
	} {
		if row.count < 0 {
			continue
		}
		literal := json.Number(strconv.Itoa(row.count))
		d := &demand{place: s.full.place, kinds: s.full.kinds}
		for _, p := range s.full.parts {
			if row.aim == Outside && identify(p) == identify(part) {
				p = without(p, c.keyword)
			}
			d.parts = append(d.parts, p)
		}
		d.parts = append(d.parts, object{low: literal, high: literal})
		b := w.builder(s)
		var value any
		var err error
		switch {
		case strings.HasSuffix(c.keyword, "Length"):
			value, err = b.text(s.site, d)
			if err != nil && !s.isPath() {
				value, err = resized(s.value, row.count), nil
			}
		case strings.HasSuffix(c.keyword, "Items"):
			value, err = b.array(s.site, d)
		case row.aim == Outside && inwards > 0:
			value = smaller(s.value, row.count)
		default:
			value, err = b.record(s.site, d, s.schemas)
		}
		if err == nil {
			w.add(s, c, row.aim, bound, w.whose(s)+" is "+row.words+c.keyword, value)
		}
	}
}

// resized cuts a text or makes it longer.
func resized(value any, count int) string {
	old, _ := value.(string)
	runes := []rune(old)
	if len(runes) >= count {
		return string(runes[:count])
	}
	return old + strings.Repeat("x", count-len(runes))
}

// smaller takes properties away.
func smaller(value any, count int) any {
	members, _ := value.(object)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(members))) {
		if len(members) <= count {
			break
		}
		members = without(members, name)
	}
	return members
}
