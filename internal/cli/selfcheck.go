package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/kernel"
)

func (a *app) selfcheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "selfcheck",
		Short: "Prove the rules that can be proved on this machine; needs no key and no network",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.selfcheck(cmd.Context()) },
	}
}

// proof is one rule and the experiment that would show it broken.
type proof struct {
	rule string
	try  func(ctx context.Context, dir string) error
}

// proofs lists the rules in the order in which a call meets them.
func proofs() []proof {
	return []proof{
		{"arguments: multiply takes two integers within its range, and nothing that merely looks like them", proveArguments},
		{"OpenAI wire: each call is answered under its own id before the next request", proveOpenAI},
		{"Anthropic wire: each call is answered under its own id before the next request", proveAnthropic},
		{"admission: a reply that was cut off runs nothing and is no answer", proveTruncation},
		{"limits: the turn limit is met exactly, and one more request is never sent", proveTurnLimit},
		{"policy: a call that no rule names is denied, and deny beats allow", provePolicy},
		{"approval: without a person an ask waits, and nothing runs", proveApproval},
		{"files: a path that leaves the workspace is refused", proveFiles},
		{"files: the configuration and the journal belong to the host, under whatever name", proveProtection},
		{"verdict: it comes from what was recorded, not from what the model says", proveVerdict},
		{"journal: a run reads back from its file as it was, and its events alone rebuild it", proveJournal},
		{"secrets: the key is in no output and not in the journal", proveSecrets},
	}
}

// unproved is what no check on this machine can show.
const unproved = `what this cannot prove:
  - that a provider keeps to its protocol, or answers at all: only a request to it shows that
  - that a real model calls tools sensibly, or tells the truth
  - that the key is valid, and what a request costs
  - that a disk keeps what it says it has written when the power fails
`

// selfcheckRoom is twice what the proofs write. With less of it rules would seem
// not to hold that nobody has tried.
const selfcheckRoom = 4 << 20

func (a *app) selfcheck(ctx context.Context) error {
	ground, err := temporary("holdfast-selfcheck-", selfcheckRoom)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(ground) }() // what is left is in a temporary place
	d := newDisplay(a.stdout)
	failed := 0
	for _, p := range proofs() {
		if err := p.run(ctx, ground); err != nil {
			failed++
			d.printf("FAILED  %s\n        %s\n", p.rule, safeLine(err.Error()))
			continue
		}
		d.printf("ok      %s\n", p.rule)
	}
	d.printf("\n%s\n", unproved)
	if failed > 0 {
		return &kernel.Error{Code: kernel.CodeInternal, Message: fmt.Sprintf("%d of the rules do not hold in this build", failed), Hint: "do not use it; report the lines marked FAILED"}
	}
	d.printf("self-check passed\n")
	return nil
}

// run tries a proof in a directory of its own below ground. A panic is a failed
// proof.
func (p *proof) run(ctx context.Context, ground string) (err error) {
	dir, err := os.MkdirTemp(ground, "proof-")
	if err != nil {
		return err
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %T", v)
		}
	}()
	workspace := filepath.Join(dir, "workspace")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		return err
	}
	return p.try(ctx, workspace)
}
