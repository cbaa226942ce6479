// Package checker judges a history: it says whether the lock kept its promise,
// whether the counter behind it lost anything, and whose fault it was.
//
// It reads a history.History and nothing else, so a saved history gives the
// same verdict years later. The way through it:
//
//	events ─► record (ops, grants, ledger, faults) ─► spans and steps
//	spans and steps ─► the sweep, Porcupine       ─► OracleReport, must agree
//	record          ─► findings, reasons          ─► Verdict
//
// # Order
//
// Everything is ordered by position. The event with sequence number s has the
// position 2s; an instant t that no event marks, such as the end of a lease,
// has the position 2s-1 of the first event s that is not before t. So no two
// events share a position, and a deadline lies strictly between two events.
//
// # Inner bounds
//
// A call is recorded before the request leaves and a return after the reply
// came, so what an interval says is always less than what really happened: a
// promise starts at the return of the acquire and is counted from its call.
// A slow harness can hide a violation. It can never invent one.
package checker
