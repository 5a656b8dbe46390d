package kernel

import "sort"

// The naive files are a second implementation of the rules that are easy to get
// subtly wrong. It was written from the design and from the comments of spec.go,
// event.go and outcome.go, before its author had read the first one (approvals,
// losses and pauses: after), and shares no code with it: slow and plain. Where
// the two disagreed, the documents decided.

// naiveFacts is what holds at the end of a turn's calls.
type naiveFacts struct {
	verified   bool
	fatal      bool
	turnLimit  bool
	toolLimit  bool
	tokenLimit bool
	costLimit  bool
	deadline   bool
	repeated   bool
}

// naiveStop is the stop that wins, and "" when the run goes on.
func naiveStop(f naiveFacts) Stop {
	table := []struct {
		rank  int
		stop  Stop
		holds bool
	}{
		{8, StopRepeated, f.repeated},
		{7, StopDeadline, f.deadline},
		{6, StopCostLimit, f.costLimit},
		{5, StopTokenLimit, f.tokenLimit},
		{4, StopToolLimit, f.toolLimit},
		{3, StopTurnLimit, f.turnLimit},
		{2, StopFatal, f.fatal},
		{1, StopVerified, f.verified},
	}
	sort.Slice(table, func(i, j int) bool { return table[i].rank < table[j].rank })
	for _, row := range table {
		if row.holds {
			return row.stop
		}
	}
	return ""
}
