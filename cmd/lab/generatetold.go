package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"agentlab/lab/generate"
	"agentlab/lab/report"
)

// sides counts the cases of a keyword.
type sides struct {
	Pointer string `json:"pointer"`
	Keyword string `json:"keyword"`
	// Property is that of a keyword that lists properties.
	Property string `json:"property,omitempty"`
	Inside   int    `json:"inside"`
	On       int    `json:"on"`
	Outside  int    `json:"outside"`
}

func (s sides) both() bool { return s.Inside+s.On > 0 && s.Outside > 0 }

func (s sides) place() string {
	if s.Property == "" {
		return s.Pointer + "/" + s.Keyword
	}
	return s.Pointer + "/" + s.Keyword + " " + s.Property
}

type covered struct {
	Tool     string  `json:"tool"`
	Cases    int     `json:"cases"`
	Keywords []sides `json:"keywords"`
}

type leftOut struct {
	Tool string `json:"tool"`
	What string `json:"what"`
	Why  string `json:"why"`
}

// coverageOf counts by tool, in the order of the set.
func coverageOf(set *generate.Set) []covered {
	var all []covered
	at := make(map[string]int)
	find := func(name string) *covered {
		i, known := at[name]
		if !known {
			i = len(all)
			at[name] = i
			all = append(all, covered{Tool: name, Keywords: []sides{}})
		}
		return &all[i]
	}
	for _, c := range set.Cases {
		find(c.Tool).Cases++
	}
	for _, c := range set.Coverage {
		of := find(c.Tool)
		of.Keywords = append(of.Keywords, sides{c.Pointer, c.Keyword, c.Property, c.Inside, c.On, c.Outside})
	}
	return all
}

// coverageJSON is what --coverage writes.
func coverageJSON(set *generate.Set) []byte {
	left := []leftOut{}
	for _, l := range set.Left {
		left = append(left, leftOut(l))
	}
	text, err := json.MarshalIndent(struct {
		Tools []covered `json:"tools"`
		Left  []leftOut `json:"left_out"`
	}{coverageOf(set), left}, "", "  ")
	if err != nil {
		panic(err) // there is nothing in it that could not be written
	}
	return append(text, '\n')
}

// maxOneSided is how many keywords are told that have cases on one side alone.
const maxOneSided = 10

// tell says what was generated, and what is not covered.
func (o *generateCommand) tell(stderr io.Writer, set *generate.Set) {
	fmt.Fprintf(stderr, "%s\n", report.Counted(len(set.Cases), "case"))
	var oneSided []string
	w := tabwriter.NewWriter(stderr, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tool\tcases\tkeywords\ton both sides")
	for _, c := range coverageOf(set) {
		both := 0
		for _, k := range c.Keywords {
			if k.both() {
				both++
				continue
			}
			oneSided = append(oneSided, fmt.Sprintf("%s %s: %s", c.Tool, k.place(), missingSide(k)))
		}
		keywords, sided := strconv.Itoa(len(c.Keywords)), strconv.Itoa(both)
		if o.only == "runtime" {
			keywords, sided = "-", "-"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", report.Visible(c.Tool), c.Cases, keywords, sided)
	}
	w.Flush()
	for _, line := range first(oneSided, maxOneSided) {
		fmt.Fprintln(stderr, report.Visible("  "+line))
	}
	for _, l := range set.Left {
		fmt.Fprintln(stderr, report.Visible(fmt.Sprintf("left out: %s: %s: %s", l.Tool, l.What, l.Why)))
	}
}

func missingSide(k sides) string {
	switch {
	case k.Inside+k.On+k.Outside == 0:
		return "no case"
	case k.Outside == 0:
		return "no case outside"
	}
	return "no case inside"
}
