package desk

import (
	"context"
	"slices"
	"time"
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
	MaxImport     = 10_000  // policies that are kept in one transaction
	MaxImportText = 8 << 20 // bytes of their bodies
)

// Policy is one version of a rule of a company.
type Policy struct {
	ID        string // letters of ASCII, digits, Chinese characters, and between them -_.:/()〔〕
	Version   string // one line
	Title     string // one line
	Body      string
	ValidFrom time.Time // from 1970 to 2199; zero: always
	Viewers   []string  // who may see it; none: everybody of the tenant
	Everybody bool      // that there are no viewers is meant, also after a version that had some; it is not kept
	Source    string    // the file that it came from; empty: none
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

// Since is the instant from which the version is in force: 1970 where it always was.
func (p *Policy) Since() time.Time {
	if p.ValidFrom.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return p.ValidFrom
}

// Hash is the SHA-256 in hex of everything that the version says.
func (p *Policy) Hash() string {
	return digest([]any{p.ID, p.Version, p.Title, p.Body, p.Since().UnixNano(), slices.Sorted(slices.Values(p.Viewers))})
}
