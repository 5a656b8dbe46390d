// Package sim runs many runs through crashes, stalls, lost leases, torn commits,
// races of people and lies of the network, and looks after each step whether
// what Holdfast promises still holds.
//
// The kernel, the engine, the tool border and the journal are the real ones. A
// seed decides everything else: what is asked, what the scripted model says,
// what tools do outside, when people decide, and which fault comes when.
// Everything happens on one thread of control, in virtual time, so that a seed
// gives the same simulation each time, on every machine.
//
// Closures that the engine would run on goroutines become entries of a queue.
// Each runs as a coroutine, which hands over control where a real one would
// wait: inside a model, a tool, a policy or a verifier, and while its process is
// held up in the middle of a journal operation. That is how a process can be
// asleep with its lease gone, and wake up behind another one that took over.
//
// A crash is a process whose every further deed is without effect: its journal
// answers nothing, its tools reach nothing, its timers never fire.
//
// The checks (watch.go and its parts) know the journal's entries, the outside
// world's own counters and the plan, and hold rules of their own against them:
// a ledger, approvals and leases are kept a second time, in the most naive way.
// beside.go adds observers, notices and requests that are too long: the first two
// change nothing of what a run comes to.
//
// reference.go says, without the kernel, what an undisturbed run comes to; where
// only work was lost that can be done again, a disturbed one must come to the
// same. A second recovery changes nothing, and a journal on file ends with the
// same hash as one in memory.
//
//	go test ./sim                    2,000 seeds
//	go test ./sim -v -seed 7         one seed, with its timeline
//	go test ./sim -timeout 0 -seeds 1000000
//
// A check that cannot fail proves nothing: Defects are put in on purpose, around
// the engine and not in it, and each is found by the check of what it breaks.
//
// Not simulated: code that outlives its grace and is abandoned, watchers, and
// what two goroutines do at the very same time.
package sim
