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
// The history itself says how far a conversation is: each assistant message in
// it is one reply of the script that was taken. So a script that many runs
// share needs no session, a run goes on at the same place after a restart, and
// a second question of a session is answered by the steps that follow.
//
// Failures and replies that the output limit cut leave no message behind. How
// many of them were played is remembered for the message that the request ends
// with: all attempts of one turn end with the same *kernel.Message, and no
// other run has it. It is held weakly, so that what is remembered goes away
// with the conversation. After a restart the failures of a turn are played
// again.
package script
