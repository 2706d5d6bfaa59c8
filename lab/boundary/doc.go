// Package boundary derives calls from what a tool says of itself: a plain call
// that its input schema allows, calls that it forbids, and calls on both sides of
// every line that it draws.
//
// Start with [Cases], which writes the first cases file for a list of tools.
// [Plain] and [Refused] are its two halves. [Probes] goes to every keyword of the
// schema, and counts which of them it has met from both sides.
//
// One invariant: no call is handed out by reasoning alone. A plain call was
// found valid and a refused call invalid by lab/schema, under the tool's own
// input schema; where that cannot be had, there is an error or no call. A probe
// is what it was found to be, whatever it was made for.
//
// It calls no tool, and it knows nothing of what a tool does: whether a plain
// call succeeds and what it changes is for a person to say.
//
// # Values
//
// A plain call is the smallest that says something: the required properties
// and what they bring with them, no optional one. An array of no stated length
// gets one item, an object only what it must have. At every place the order of
// choice is const and enum, then examples and default, then a value made from
// the bounds. An example of the whole call, at the root, is taken whole.
//
// No value points at anything real. A text whose property is named like a path
// (path, file, dir, source, ...) lies in ${SANDBOX}, which stands for the fresh
// folder of the case, and an example or a default that is absolute or climbs
// out with .. is not used for it; only const and enum, which leave no choice,
// are. Addresses end in example.test, which resolves nowhere. A flag is false,
// except where its name asks for a rehearsal (dry_run, preview).
//
// Calls are checked with a stand-in for ${SANDBOX}, as a tool would see them.
// Refused calls are invalid both ways, and probes of one verdict both ways.
//
// # Probes
//
// A probe is the base call, or one that has a value at the place in question, with
// one change. An invalid one is told of the keyword that lab/schema blames, or,
// behind an anyOf, oneOf or not, which does not tell, of the one that it was made
// for. An optional property is absent but where it is probed. Names of properties
// that the schema does not know lie inside of an open schema: that a misspelt
// property is let through is no fault of who takes it. What only the limits of
// lab/jsonvalue refuse, deeper nesting or longer numbers, is left out.
//
// # Bounds
//
// Schemas are foreign. The depth, the size and the number of attempts are
// bounded, and so is the work: by counting, never by a clock, so that the same
// definition always gives the same bytes.
//
// # Shape
//
// document.go reads a schema, demand.go gathers what it asks of one place,
// value.go and its neighbours make a value of that, choice.go remembers what
// else could have been chosen, search.go tries until the check is content.
// wrong.go makes values that are wrong in one way, and cases.go writes.
//
// Of the probes, row.go lists the keywords, spot.go and descend.go walk over the places of the
// data, edge.go, measure.go, crowd.go, odd.go and pairs.go list what may stand there, and
// judge.go asks and labels.
package boundary
