package kernel

// show books that a call was answered: it is to be shown next.
func (a *auditor) show(call string) {
	a.check(a.observing == 0 || a.ending(), "call %s is answered while another is observed", call)
	if a.shown != "" {
		a.check(a.ending(), "call %s was answered, and not shown", a.shown)
	}
	if a.spec.Observe {
		a.shown = call
	}
}

// observe checks that the call which was answered just now is shown.
func (a *auditor) observe(c Observe) {
	a.goesOn("an observation")
	a.check(a.spec.Observe, "an observation that nobody asked for")
	if !a.repeated {
		a.check(a.observing == 0 && a.shown == c.Call.ID, "shows call %s, and %s was answered", c.Call.ID, a.shown)
		a.shown = ""
	}
	a.observing = c.Cmd
}

func (a *auditor) observed(e Observed) {
	a.check(e.Cmd == a.observing, "command %d was observed, %d is out", e.Cmd, a.observing)
	a.observing = 0
}

// seen checks what waits for the observers.
func (a *auditor) seen(what string) {
	a.check(a.observing == 0 && (a.shown == "" || a.ending()), "%s before call %s was observed", what, a.shown)
}

// ending reports whether this event may have ended the run, or a former one
// did: then nobody waits for observers.
func (a *auditor) ending() bool {
	if a.cancelled || a.late || a.now >= a.deadline {
		return true
	}
	switch a.event.(type) {
	case HostFailed, ModelReplied: // the calls of a reply over the limit are not shown
		return true
	}
	return a.closing
}

// nothingUnseen checks that an answer which was not shown belongs to a run that
// is ending.
func (a *auditor) nothingUnseen(s *State) {
	over := s.Ending.Stop != "" || s.Outcome != nil || a.late
	a.check(a.shown == "" || over, "call %s was answered, and not shown", a.shown)
	a.check(a.observing == s.Observing, "an observation %d is out, the state says %d", a.observing, s.Observing)
	a.check(s.Observing == 0 || s.Phase == PhaseActing, "an observation in phase %s", s.Phase)
	a.shown = ""
	a.closing = over
}
