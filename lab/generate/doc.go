// Package generate writes the cases that a person forgets: what has to come of a
// call follows from the contract of its tool, and from nothing else.
//
// Start with [Cases], which takes a [Source] (the contracts of a surface, how much of
// it a case can arrange, and calls that are known to succeed on it) and returns
// lines for lab/dataset. [KnownCalls] finds such calls in cases that exist.
//
// One invariant: every case names the clause of the contract that it tests, and what
// it expects is reasoned from that clause. A surface of the lab's own may be asked
// what a schema cannot know (whether a call succeeds, which cursors a list issues,
// how large an answer is), and never what a control should say.
//
// It judges nothing, and it calls no server: only a [Source.Trial], whose backend is
// made up and fresh for every session.
//
// # Clauses
//
// A clause is TOOL CONTROL PLACE SIDE. PLACE is a field of the contract, or a JSON
// Pointer that ends with the keyword: into the input schema, or behind outputSchema into
// that of the answers. SIDE is inside, on (just on the bound, and valid) or outside.
//
// # What is left out
//
// Where a case would have to know what nobody has told (a call that succeeds, a
// second one, what two of them come to), it is left out, and [Set.Left] says so. A
// surface on the real clock has no cases about milliseconds and none about faults: a
// dataset cannot arrange them there. A server without controls has no codes, and its
// words do not tell whether it took the arguments for valid: only what has to be
// refused is asked of it.
package generate
