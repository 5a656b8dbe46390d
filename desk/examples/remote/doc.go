// Package remote attaches the ticket desk to a ticket system of somebody else,
// which is reached over a network: a working example of what to change.
//
// A person confirms a draft, and nobody else can: [Desk.Submit] confirms it at the
// desk and begins a run of its own that submits the ticket. No model takes
// part. The run's model is a script of one call, which the host writes from what
// was confirmed; the call goes through policy, ledger and journal like any other, so
// that it has a receipt, survives the process, and is never repeated blindly.
//
// Three barriers stand between two clicks and two tickets. The desk confirms a
// draft once. The ledger gives the key of a ticket to one call. And the service
// makes one ticket of a key, if it keeps keys: that is what its [Promise] says,
// and the effect class follows from it.
//
// What nobody knows is said: a submission whose outcome is unknown waits, as
// [Unknown], for a finding. [Desk.Check] is the job that asks the service later; where it
// cannot be asked a person looks and says what they found, with the command
// holdfast effects resolve on the same journal. Nothing is sent again by a
// finding: who wants that confirms again.
package remote
