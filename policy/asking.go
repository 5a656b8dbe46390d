package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of how people are asked, and what a rule means that sets nothing.
const (
	MinExpires     = time.Second
	MaxExpires     = 30 * 24 * time.Hour
	DefaultExpires = 24 * time.Hour
	MinGrant       = time.Second
	MaxGrant       = 7 * 24 * time.Hour
	DefaultGrant   = 15 * time.Minute
	MaxQuorum      = 10
	MaxApprovers   = 100            // names in one list
	MaxApprover    = kernel.MaxName // bytes of a name
)

// CheckAsking reports what is wrong with how people are to be asked, as
// CONFIGURATION, or nil. It holds for the decisions of every policy: durations
// are within the bounds above, or 0 for no end; a list has at most
// MaxApprovers different names, and as many as must agree where it has any; who is asked
// after the expiry is named exactly where OnExpiry is escalate.
func CheckAsking(a *kernel.Asking) *kernel.Error {
	switch {
	case a.Expires != 0 && (a.Expires < MinExpires || a.Expires > MaxExpires):
		return invalid("an ask expires after 1s to 720h, not "+a.Expires.String(), "give a time from 1s to 720h")
	case a.Grant != 0 && (a.Grant < MinGrant || a.Grant > MaxGrant):
		return invalid("a grant holds for 1s to 168h, not "+a.Grant.String(), "give a time from 1s to 168h")
	case a.OnExpiry != "" && a.OnExpiry != kernel.ExpiryRefuse && a.OnExpiry != kernel.ExpiryEscalate:
		return invalid(fmt.Sprintf("unknown outcome of an expiry %.80q", a.OnExpiry), "an expiry means refuse or escalate")
	}
	return checkApprovers(&a.Approvers, a.OnExpiry == kernel.ExpiryEscalate)
}

func checkApprovers(a *kernel.Approvers, escalates bool) *kernel.Error {
	if a.Quorum < 0 || a.Quorum > MaxQuorum {
		return invalid(fmt.Sprintf("a quorum is from 1 to %d, not %d", MaxQuorum, a.Quorum), "say how many people must agree")
	}
	for _, list := range []struct {
		name  string
		names []string
	}{{"from", a.From}, {"escalate", a.Escalate}} {
		if err := checkNames(list.name, list.names); err != nil {
			return err
		}
		if len(list.names) > 0 && a.Quorum > len(list.names) {
			return invalid(fmt.Sprintf("%d people must agree, and %s names %d", a.Quorum, list.name, len(list.names)),
				"name more people, or lower the quorum")
		}
	}
	switch {
	case escalates && len(a.Escalate) == 0:
		return invalid("nobody is named to escalate to", "name them in escalate, or let an expiry refuse")
	case !escalates && len(a.Escalate) > 0:
		return invalid("people are named to escalate to, and an expiry does not escalate", "write on_expiry: escalate, or take escalate out")
	}
	return nil
}

func checkNames(list string, names []string) *kernel.Error {
	if len(names) > MaxApprovers {
		return invalid(fmt.Sprintf("%s names %d people; at most %d are possible", list, len(names), MaxApprovers), "shorten it")
	}
	for i, name := range names {
		switch {
		case strings.TrimSpace(name) != name:
			return invalid(fmt.Sprintf("%s: the name %.80q has white space around it", list, name), "take it out: names are compared to the byte")
		case !kernel.IsName(name):
			return invalid(fmt.Sprintf("%s: a name is printable text of 1 to %d bytes", list, MaxApprover), "write the names that people decide under")
		case slices.Contains(names[:i], name):
			return invalid(fmt.Sprintf("%s names %.80q twice", list, name), "one person decides once: name each once")
		}
	}
	return nil
}
