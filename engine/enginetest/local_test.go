package enginetest_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/engine/enginetest"
	"github.com/holdfast-run/holdfast/engine/local"
)

// process is the local engine as the suite wants it.
type process struct{ *local.Engine }

func (p process) Work(ctx context.Context) error {
	return p.Engine.Work(ctx, local.Workload{Once: true})
}

func subject(c enginetest.Config) (enginetest.Engine, error) {
	e, err := local.New(local.Config{Journal: c.Journal, Agents: c.Agents, Lease: c.Lease})
	return process{e}, err
}

func TestMain(m *testing.M) {
	enginetest.Main(subject)
	goleak.VerifyTestMain(m)
}

func TestLocal(t *testing.T) { enginetest.Test(t, subject) }
