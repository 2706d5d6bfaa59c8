// Package boundary derives calls from what a tool says of itself: a plain call
// that its input schema allows, and calls that it forbids.
//
// Start with [Cases], which writes the first cases file for a list of tools.
// [Plain] and [Refused] are its two halves.
//
// One invariant: no call is handed out by reasoning alone. A plain call was
// found valid and a refused call invalid by lab/schema, under the tool's own
// input schema; where that cannot be had, there is an error or no call.
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
// Refused calls are invalid both ways.
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
package boundary
