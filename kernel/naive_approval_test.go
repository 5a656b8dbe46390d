package kernel

import "math"

// naiveLog is everything that happened to one call, oldest first. Each question
// about the call is answered by reading it from the start.
type naiveLog []naiveFact

type naiveFact struct {
	what   string // takeover, allow, ask, no, question, yes, close, begun, lost, over, absent
	cmd    Seq    // question, yes, close
	asking *Asking
	at     Time // yes: when it was given
	class  EffectClass
	left   Disposition // over: what the attempt says that it left behind
}

// mayRun reports whether a call may run now, and the yes that this uses: policy
// has to have answered since the latest take-over and the latest yes; where it
// said ask, a yes has to be there that holds, or to have been spent on an
// attempt in this process.
func (l naiveLog) mayRun(now Time) (ok bool, approval Seq) {
	answer, spent := "", false
	for i, f := range l {
		switch f.what {
		case "takeover":
			answer, spent = "", false
		case "allow", "ask", "no":
			answer = f.what
		case "yes":
			answer = ""
		case "begun":
			spent = spent || l[:i].yes(math.MinInt64) != 0
		}
	}
	approval = l.yes(now)
	if approval == 0 && l.yes(math.MinInt64) != 0 {
		return false, 0 // it has lapsed: policy may see that differently
	}
	switch answer {
	case "allow":
		return true, approval
	case "ask":
		return approval != 0 || spent, approval
	}
	return false, 0
}

// yes is the question whose yes is there to be used, and 0 when there is none.
func (l naiveLog) yes(now Time) (approval Seq) {
	var asking, asked *Asking
	var given Time
	for _, f := range l {
		switch f.what {
		case "ask":
			asking = f.asking
		case "question":
			asked = asking
		case "yes":
			approval, given = f.cmd, f.at
		case "begun", "close":
			approval = 0
		}
	}
	if approval == 0 || asked == nil || asked.Grant == 0 {
		return approval
	}
	if end := given + Time(asked.Grant); now >= end {
		return 0
	}
	return approval
}

// class is the gravest that the answers which were no no said of the tool.
func (l naiveLog) class() (gravest EffectClass) {
	for _, f := range l {
		if (f.what == "allow" || f.what == "ask") && naiveGraver(f.class, gravest) {
			gravest = EffectClass(orElse(string(f.class), string(Once)))
		}
	}
	return gravest
}

// naiveGraver compares two classes; none at all is lighter than any.
func naiveGraver(a, b EffectClass) bool {
	weight := map[EffectClass]int{Read: 1, Idempotent: 2, Reconcilable: 3, Once: 4}
	return b == "" || weight[EffectClass(orElse(string(a), string(Once)))] > weight[b]
}

// mayBecome reports whether a call can take a class: one that began as less, and
// may have left something behind, cannot. A read says of itself that it leaves nothing,
// which is worth nothing once it turns out to be none.
func (l naiveLog) mayBecome(class EffectClass) bool {
	was := l.class()
	if was == "" || !naiveGraver(class, was) {
		return true
	}
	left := false
	for _, f := range l {
		switch f.what {
		case "lost":
			left = true
		case "over":
			left = left || f.left != DidNotHappen && f.left != "" || was == Read && l.count("begun") > 0
		case "absent":
			left = false
		}
	}
	return !left
}

// running reports whether an attempt is under way.
func (l naiveLog) running() (under bool) {
	for _, f := range l {
		switch f.what {
		case "begun":
			under = true
		case "lost", "over":
			under = false
		}
	}
	return under
}

func (l naiveLog) count(what string) (n int) {
	for _, f := range l {
		if f.what == what {
			n++
		}
	}
	return n
}

// naiveLoss is what has to become of a call whose attempt was lost, the lost-th
// time, as design section 5 says.
func naiveLoss(class EffectClass, lost int, ending, late, waits bool) string {
	switch {
	case class == Reconcilable:
		return "look up"
	case (class == Read || class == Idempotent) && lost < 3 && !ending:
		if late {
			return "answer"
		}
		return "decide"
	case class != Read && waits && !ending:
		return "await"
	}
	return "answer"
}

// naiveGiven is when a yes was given.
func naiveGiven(e ApprovalDecided, now Time) Time {
	if e.Given != 0 && e.Given < now {
		return e.Given
	}
	return now
}
