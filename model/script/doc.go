// Package script is a model that plays a fixed script: a real provider, for
// demonstrations, tests and simulations. It understands nothing, and its Info
// says that it is scripted.
//
// A script is a list of steps, each a reply or a failure:
//
//	steps:
//	  - calls: [{id: call_1, name: multiply, args: '{"a":248,"b":15}'}]
//	    usage: {input_tokens: 20, output_tokens: 5}
//	  - fail: {kind: status, status: 529, retry_after: 1s}
//	  - any:
//	      - if: {last_result_contains: "3720"}
//	        text: 248 × 15 = 3720
//	      - text: It could not be computed.
//
// # Which step is played
//
// The request itself says how far a conversation is. Each assistant message of
// its history is one reply of the script that was taken, together with the
// steps before that reply. Failures and replies that the output limit cut leave
// no message behind: the request's attempt says how many of them were played
// since. So a script that many runs share needs no memory of them, and a run
// goes on at the same place after a restart. A second question of a session is
// answered by the steps that follow; where the run before it ended without a
// reply, its failures are played again.
package script
