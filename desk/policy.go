package desk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of policies and of a search for them.
const (
	MaxQuery      = 100 // characters
	MaxFound      = 5   // policies
	MaxPolicyID   = 80
	MaxTitle      = 200
	MaxVersion    = 40
	MaxPolicyBody = 1 << 20
	MaxViewers    = 1000
)

// Policy is one version of a rule of a company.
type Policy struct {
	ID        string
	Version   string
	Title     string
	Body      string
	ValidFrom time.Time
	Viewers   []string // who may see it; none: everybody of the tenant
	Everybody bool     // that there are no viewers is meant, also after a version that had some; it is not kept
	Source    string   // the file that it came from; empty: none
	Imported  time.Time
}

// PolicyFinder finds policies. A person finds those of their tenant that they
// may see, in the version in force: the latest one that is valid. What they may
// not see leaves no trace in what they find, not even in its order.
type PolicyFinder interface {
	// FindPolicies returns at most MaxFound policies that have to do with a query,
	// best first; none where nothing has, or the query has no word. The query is literal
	// text: nothing in it is an operator. INVALID_ARGUMENT.
	FindPolicies(ctx context.Context, who Identity, query string) ([]Policy, error)
}

// PolicyService keeps policies.
type PolicyService interface {
	// Policy returns the version in force: INVALID_ARGUMENT or NOT_FOUND.
	Policy(ctx context.Context, who Identity, id string) (Policy, error)
	// Policies returns what the person may see, in force, by id, without bodies:
	// INVALID_ARGUMENT.
	Policies(ctx context.Context, who Identity) ([]Policy, error)
	// PutPolicy keeps a version for a tenant: what an operator does, and no tool.
	// The same version with the same content again changes nothing, and with another
	// content is CONFLICT. So is one without viewers that follows one with viewers,
	// or would come before the first of them, unless it says Everybody: INVALID_ARGUMENT.
	PutPolicy(ctx context.Context, tenant string, p Policy) (changed bool, err error)
}

// Check refuses a version that cannot be kept, as INVALID_ARGUMENT.
func (p *Policy) Check(tenant string) error {
	if !kernel.IsName(tenant) {
		return invalid("a policy belongs to a tenant")
	}
	for _, t := range []struct {
		text, name string
		most       int
	}{{p.ID, "the policy's id", MaxPolicyID}, {p.Version, "the version", MaxVersion}, {p.Title, "the title", MaxTitle}, {p.Body, "the body", MaxPolicyBody}} {
		if clean, err := Text(t.text, t.name, t.most); err != nil {
			return err
		} else if clean != t.text {
			return invalid(t.name + " has white space around it")
		}
	}
	if len(p.Viewers) > MaxViewers || slices.ContainsFunc(p.Viewers, func(v string) bool { return !kernel.IsName(v) }) {
		return invalid(fmt.Sprintf("viewers are at most %d names of people", MaxViewers))
	}
	if p.Everybody && len(p.Viewers) > 0 {
		return invalid("a policy is for everybody or for its viewers")
	}
	return nil
}

// Hash is the SHA-256 in hex of everything that the version says.
func (p *Policy) Hash() string {
	return digest([]any{p.ID, p.Version, p.Title, p.Body, p.ValidFrom.UnixNano(), slices.Sorted(slices.Values(p.Viewers))})
}
