// Package tool is the vocabulary of the lab: what a model sees of a tool, what
// it proposes, who asks, and what came of it.
//
// Start with [Surface], which opens a [Session] that takes a [Call] and
// answers with a [Result].
//
// One invariant: everything that came from a model or a tool (arguments,
// outputs, details) stays raw JSON here. It is data that was bounded by
// whoever decoded it, never code and never an alias into a backend.
//
// The package does no I/O and decides nothing. Controls live in
// lab/registry, grading in lab/eval.
package tool
