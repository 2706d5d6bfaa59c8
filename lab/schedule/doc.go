// Package schedule tries the orders that a person never writes: several calls of
// one action, taken through the controls of a registry one step at a time, in
// every order that matters, with a crash, a lost answer or a jump of the clock
// between any two steps.
//
// Start with [Run]. [Patterns] are who calls with what, [Hazards] what goes wrong
// meanwhile, [Steps] where a call is stopped, [Invariants] what must hold after
// each step; all of them are data. [Replay] plays one schedule again.
//
// One invariant: exactly one call runs at a time, and which one is decided by the
// schedule alone, so that a schedule is the same whenever it is played.
//
// The package tries a registry on a simulated clock, where nothing waits. It is
// not for a server outside, whose steps nobody can stop.
package schedule
