// Package eval judges the desk's agent on labelled tasks: a person, a question,
// the rows that are there, and what has to be true afterwards.
//
// Each trial of a task has a desk of its own, made anew, and is judged by what is
// stored: the calls that the run made and what came of each, the lines of the
// audit, the tickets, drafts and policies of everybody before and after, and the
// run's stop and status. Where nothing but the wording can tell, such as whether
// an answer claims an upload, a check reads the text; a [Failure] says which of the two it
// rests on.
//
// A suite is a file of JSON lines, see [Parse]. In script mode a task plays its
// own fixed steps, or one of the [Misbehaviours], which are there to show that
// the checks can fail.
package eval
