package kernel

// metContext names what a walk met of preparations, summaries and notices.
func metContext(before *State, e Event, after *State) (all []string) {
	if before.Phase == PhaseSummarizing {
		all = append(all, "summarizing under "+interruption(before, e))
	}
	switch e := e.(type) {
	case ContextPrepared:
		if c := e.Compacted; c != nil {
			all = append(all, "compaction by "+string(c.Summary), pick(before.Shrunk, "compaction of a smaller request", ""))
		}
		all = append(all, pick(len(e.Attached) > 0 && len(e.Attached) < len(before.Notices), "notices in part", ""))
	case ContextOver:
		all = append(all, "over the window, tries "+string(rune('0'+before.Tries)))
	case Summarized:
		switch {
		case before.Awaiting != e.Cmd:
			all = append(all, "summary late")
		case after.Ending.Stop == StopDeadline || ending(*after) == StopDeadline:
			all = append(all, "summary after the deadline")
		case e.Failure != nil:
			all = append(all, "summary failed")
		default:
			all = append(all, "summary "+pick(e.Size > 0, "whole", "empty"))
		}
	case ModelFailed:
		if e.Failure.Kind == FailContext && before.Phase == PhaseRequesting {
			all = append(all, "too long and "+pick(after.Phase == PhasePreparing, "shrinks", "ends"))
		}
	case ModelReplied:
		all = append(all, pick(len(after.Notices) < len(before.Notices), "notices acknowledged", ""))
	}
	return all
}

// metObserver names what a walk met while a call was observed.
func metObserver(before *State, e Event, after *State) (all []string) {
	if before.Observing == 0 {
		return nil
	}
	what := interruption(before, e)
	all = append(all, "observing under "+what)
	last := before.Cursor == len(before.Batch)
	switch {
	case what == "deadline" && (before.Fatal != "" || last):
		all = append(all, "passed over "+pick(before.Fatal != "", "after a fatal", "at the end"))
	case e.Kind() != KindObserved:
	case before.Fatal != "":
		all = append(all, "observed after a fatal")
	case after.Phase == PhaseVerifying:
		all = append(all, "observed before the verifier")
	case after.Phase == PhasePreparing:
		all = append(all, "observed before the next turn")
	case after.Phase == PhaseActing && !last:
		all = append(all, "observed before the next call")
	}
	return all
}

func interruption(before *State, e Event) string {
	if t, ok := e.(TimerFired); ok && t.Cmd == before.DeadlineTimer {
		return "deadline"
	}
	return string(e.Kind())
}
