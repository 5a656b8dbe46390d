package kernel

// Risk says how grave a call is. It decides nothing in the kernel.
type Risk string

// The tiers. A tool that names none has the tier of its effect class.
const (
	RiskLow    Risk = "low"    // of the class read
	RiskMedium Risk = "medium" // of the classes idempotent and reconcilable
	RiskHigh   Risk = "high"   // of the class once
)

// RiskOf is the tier of an effect class.
func RiskOf(c EffectClass) Risk {
	switch c {
	case Read:
		return RiskLow
	case Idempotent, Reconcilable:
		return RiskMedium
	}
	return RiskHigh
}
