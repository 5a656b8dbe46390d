package kernel

// A run's beginning is written by hand as well: reflection would take longer
// over it than over all the other events of a short run.

func (e *RunStarted) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"at":`, e.At)
	b = e.Spec.appendJSON(append(b, `,"spec":`...))
	return append(b, '}')
}

func (s *Spec) appendJSON(b []byte) []byte {
	b = appendText(b, `{"profile":`, s.Profile)
	b = appendNumber(b, `,"max_tokens":`, s.MaxTokens)
	b = appendCount(b, `,"max_tokens_cap":`, s.MaxTokensCap)
	b = s.Limits.appendJSON(append(b, `,"limits":`...))
	b = s.Retry.appendJSON(append(b, `,"retry":`...))
	if s.Price != nil {
		b = s.Price.appendJSON(append(b, `,"price":`...))
	}
	b = appendSome(b, `,"verify":`, s.Verify)
	b = appendTrue(b, `,"continue":true`, s.Continue)
	b = appendSome(b, `,"unknown":`, s.Unknown)
	b = appendTrue(b, `,"observe":true`, s.Observe)
	b = appendTrue(b, `,"shrink":true`, s.Shrink)
	b = appendCount(b, `,"summary_tokens":`, s.SummaryTokens)
	return append(b, '}')
}

func (l *Limits) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"turns":`, l.Turns)
	b = appendNumber(b, `,"calls":`, l.Calls)
	b = appendNumber(b, `,"deadline":`, l.Deadline)
	b = appendNumber(b, `,"repeat":`, l.Repeat)
	b = appendCount(b, `,"tokens":`, l.Tokens)
	b = appendCount(b, `,"cost":`, l.Cost)
	b = appendSome(b, `,"last_turn":`, l.LastTurn)
	return append(b, '}')
}

func (r *Retry) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"attempts":`, r.Attempts)
	b = appendNumber(b, `,"per_run":`, r.PerRun)
	b = appendNumber(b, `,"wait":`, r.Wait)
	return append(b, '}')
}

func (p *Price) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"input":`, p.Input)
	b = appendNumber(b, `,"output":`, p.Output)
	b = appendNumber(b, `,"cache_read":`, p.CacheRead)
	b = appendNumber(b, `,"cache_write":`, p.CacheWrite)
	return append(b, '}')
}
