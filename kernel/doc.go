// Package kernel is the state machine of a run: facts go in as events, orders
// come out as commands.
//
// # What Step promises
//
// [Step] is a pure function of its two arguments. It does no I/O, reads no
// clock, draws no random number, starts no goroutine, writes no log and takes
// no context. Time, identifiers and jitter arrive inside events. The same
// events give the same states and the same commands, byte for byte. An event
// that the state does not allow is an error and changes nothing: the State
// that went in is still good, because Step never writes through a slice or a
// pointer that it was given.
//
// The kernel decides on facts about messages (identifiers, names, argument
// bytes, digests, sizes, stop reasons, usage). The text of a question, of a
// reply or of a result stays with the driver, beside the event that reports
// it, so that the state stays small however long a conversation grows.
//
// # What the driver must do
//
// A driver executes commands and feeds events. Its duties:
//
//  1. The driver MUST append an event, with what rebuilds the state it leads
//     to and the commands it causes, in one transaction. Step is
//     deterministic, so the event itself rebuilds both: replaying a run's
//     events gives its state and every command again.
//  2. The driver MUST NOT execute a command with an effect outside the process
//     before that commit. PrepareContext and DecideCall only compute when
//     their inputs are in memory, and may then run first so that their event
//     shares the transaction.
//  3. The driver MUST report the outcome of each command as one event that
//     carries the command's number. It MUST drop an event that Step refuses
//     with DUPLICATE_REPORT or RUN_STOPPED: a second delivery, or a reply that
//     came too late.
//  4. The driver MUST have CallStarted accepted and committed before the
//     effect of a RunTool begins, and MUST NOT run the tool when it is not: a
//     start is refused after an abort, and after the deadline.
//     After a restart, the commands of the replayed events that no event
//     reports are outstanding; a call that may have begun is handled by its
//     effect class.
//  5. The driver MUST NOT let display, logging, tracing or an observer change
//     an event.
//  6. The driver MUST execute Commit commands in order and change the
//     canonical history in no other way.
//  7. The driver MUST answer an Abort of a model request, of a started tool or
//     of a lookup with that command's own report (ModelFailed, CallReturned,
//     Reconciled), in bounded time. Aborts of anything else need no report.
//
// # Reading order
//
// state.go names the phases; step.go is the one switch; each sub-machine has
// its own file: admit.go (a whole reply), recover.go (the request), decide.go
// (calls of a turn, and what comes next), effect.go (what ran, and once),
// budget.go, verify.go, cancel.go (every way to an early end).
package kernel
