package remote

import (
	"context"
	"time"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

// The values of what a Config leaves open.
const (
	DefaultTimeout = 5 * time.Second
	DefaultSettle  = time.Minute
)

// Config is what Open needs. Drafts, Runs, Service and Promise are required.
type Config struct {
	Drafts  desk.DraftService
	Runs    string // the file of the journal; others may use it too
	Service string // the address of the ticket service
	Promise Promise
	// Timeout is how long the service may take to answer. 0: DefaultTimeout.
	Timeout time.Duration
	// Settle is how long a request can be under way: that the service has no ticket
	// proves something only after it. 0: DefaultSettle.
	Settle time.Duration
	Now    func() time.Time // nil: the system's clock
}

// Desk submits what people confirm. It is safe for concurrent use, by several
// processes on the same files too. Close it after use.
type Desk struct {
	config Config
	client *client
	tools  *tool.Set
	policy policy.Policy
	rt     *holdfast.Runtime
}

// Open returns a Desk. CONFIGURATION, and the errors of the journal.
func Open(ctx context.Context, c Config) (*Desk, error) {
	if c.Drafts == nil || c.Runs == "" {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "a desk with a remote ticket system needs drafts and a file for its runs", Hint: "set Config.Drafts and Config.Runs"}
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Settle == 0 {
		c.Settle = DefaultSettle
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	d := &Desk{config: c}
	var err error
	if d.client, err = newClient(c.Service, c.Timeout); err != nil {
		return nil, err
	}
	if d.tools, err = newTools(c, d.client); err != nil {
		return nil, err
	}
	if d.policy, err = allowed(); err != nil {
		return nil, err
	}
	d.rt, err = holdfast.Open(ctx, holdfast.Options{File: c.Runs, Agents: d.stored})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Close ends what is under way and closes the journal. What became of a
// submission that was cut off is Unknown.
func (d *Desk) Close() error { return d.rt.Close() }
