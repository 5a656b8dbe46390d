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
// pointer that it was given. [Advance] is the same in place: it writes to the one
// State that it is given, but not through it, and commands into the room behind
// others. Both are to be the caller's alone, and after an error that State is of
// no use.
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
//  4. The driver MUST have CallStarted accepted and committed, together with
//     its claim in the ledger, before the effect of a RunTool begins, and MUST
//     NOT run the tool when it is not: a start is refused after an abort, and
//     after the deadline. A claim that the ledger does not give is reported as
//     ClaimRefused instead.
//  5. The driver MUST NOT let display, logging, tracing or an observer change
//     an event.
//  6. The driver MUST execute Commit commands in order and change the
//     canonical history in no other way.
//  7. The driver MUST answer an Abort of a model request, of a started tool or
//     of a lookup with that command's own report (ModelFailed, Summarized,
//     CallReturned, Reconciled), in bounded time. Aborts of anything else need no
//     report.
//  8. A driver that takes a run over from its journal MUST feed Resumed before
//     anything else, and carry out what that orders and nothing that was
//     ordered before: what was out elsewhere is lost with its reports, and a
//     call that had begun goes by its effect class. What Resumed puts again has
//     the number that it had.
//  9. The driver MUST carry out Settle, AskHuman and CloseApproval, and spend
//     the Approval of a RunTool with its CallStarted, in the transaction of the
//     event that caused them; people see a question only after that.
//  10. The driver MUST show a call to its observers only after the commit that
//     answered it, and report what they say as warnings, in bounded time. An
//     observer may see a call twice, when a process dies meanwhile.
//
// # What goes with a request, and what is made smaller
//
// A notice is stored before anything else happens to it (Noticed), goes with a
// request by its id, and is let go of by the event that lets the reply enter the
// history: no crash lies between. A request without such a reply, be it failed,
// faulty, truncated or late, leaves its notices for the next. What is in
// [State.Notices] at the stop was seen by nobody.
//
// A preparation that makes the history smaller says so with the request it
// prepared (Compacted), and the Commit of that comes before the request. A
// preparation that fails commits nothing. Summarize is a request with a cost: it
// is reserved, counted among the requests and settled as one of a turn, but is
// of no turn and never sent again. There are two of them a turn at most; one
// whose process died counts, and stays charged.
//
// # What becomes of what was cut short
//
// A call that had begun when its process died, or whose tool cannot tell what
// became of it, is one of these:
//
//	read          run again; it changes nothing
//	idempotent    run again under the same key
//	reconcilable  looked up: absent, it runs again; present, its result is
//	              adopted; else it is as unknown as the next
//	once          never run again by itself. The model is told that it was
//	              interrupted and may have taken effect, or, with
//	              Spec.Unknown = wait, the run waits for an EffectResolved
//
// Before a call runs again policy is asked again, and a call whose run was lost
// three times is not run any more. Meanwhile its claim is in doubt in the ledger,
// which lets nothing equal begin.
//
// # Time that does not count
//
// While a run waits for people alone ([State.Waiting]) its deadline stands
// still: it moves on by exactly the time that they took. All other time counts,
// that of a dead process included.
//
// # Reading order
//
// state.go names the phases; step.go is the one switch; each sub-machine has
// its own file: prepare.go (what the next request needs), summarize.go (a
// summary by the model), notice.go (what goes with a request), admit.go (a whole reply), recover.go (the request), decide.go
// (calls of a turn, and what comes next), approve.go (what people are asked),
// effect.go (claims and starts), observe.go (who looks at calls that were
// answered), resume.go (take-overs, and effects in doubt),
// wait.go (the pause of the deadline), budget.go, verify.go, cancel.go (every
// way to an early end).
package kernel
