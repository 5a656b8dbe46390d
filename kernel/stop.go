package kernel

// standing is how a run stands between two turns.
type standing struct {
	verified, fatal    bool
	turn, turns        int   // sent, allowed
	tokens, tokenLimit int64 // charged, allowed; 0: off
	cost, costLimit    int64
	late               bool
	repeats, repeat    int // most occurrences of one action, allowed; 0: off
}

func (m *machine) standing() standing {
	charged := m.Budget.charged(m.Spec.Price)
	return standing{
		verified:   m.Judged && m.Verdict == VerdictTrue,
		fatal:      m.Fatal != "",
		turn:       m.Turn,
		turns:      m.Spec.Limits.Turns,
		tokens:     charged.Tokens,
		tokenLimit: m.Spec.Limits.Tokens,
		cost:       charged.Micros,
		costLimit:  m.Spec.Limits.Cost,
		late:       m.Now >= m.Deadline,
		repeats:    m.Repeat.most(),
		repeat:     m.Spec.Limits.Repeat,
	}
}

// judge names the stop that holds, the first in order of priority, or none.
// tool_limit depends on what is asked for, and is judged on the reply; a
// request that the tokens or the cost left do not cover is judged when it is
// reserved.
func (s standing) judge() Stop {
	switch {
	case s.verified:
		return StopVerified
	case s.fatal:
		return StopFatal
	case s.turn >= s.turns:
		return StopTurnLimit
	case s.tokenLimit > 0 && s.tokens >= s.tokenLimit:
		return StopTokenLimit
	case s.costLimit > 0 && s.cost >= s.costLimit:
		return StopCostLimit
	case s.late:
		return StopDeadline
	case s.repeat > 0 && s.repeats >= s.repeat:
		return StopRepeated
	}
	return ""
}
