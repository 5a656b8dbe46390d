package cli

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

// agents makes the agents of runs that are taken over, each from the
// configuration that is kept with its run. Runs of one configuration share one,
// and have the skills as they were when each was taken over.
// It is safe for concurrent use.
type agents struct {
	env     func(string) string
	journal string // its path

	mu   sync.Mutex
	made map[string]*made
	desk *sqlite.DB // beside the journal, once a question at it was taken over
}

type made struct {
	agent   *engine.Agent  // without the skills of the configuration
	config  *config.Config // nil: a question at the desk
	release func()
	skills  equipped
}

// of returns the agent of a run and the configuration that it was made of.
// What cannot be made is tried again the next time: a key may be there by then.
func (m *agents) of(_ context.Context, s *engine.Stored) (*engine.Agent, *config.Config, error) {
	kept := s.Question.Config
	if kept == nil {
		return nil, nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "no configuration is kept with the run", Hint: "it was not started by this program: the program that did can go on with it; holdfast runs cancel ends it"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.made[string(kept)]
	if x == nil {
		var err error
		if x, err = m.make(kept); err != nil {
			return nil, nil, err
		}
		if m.made == nil {
			m.made = map[string]*made{}
		}
		m.made[string(kept)] = x
	}
	agent, err := x.current()
	return agent, x.config, err
}

func (m *agents) make(kept json.RawMessage) (*made, error) {
	if k, ok := deskKeptOf(kept); ok {
		return m.question(k)
	}
	c, err := config.FromStored(kept)
	if err != nil {
		return nil, err
	}
	if err := c.Complete(m.env); err != nil {
		return nil, err
	}
	agent, release, err := buildWithoutSkills(c, m.journal, nil)
	if err != nil {
		return nil, err
	}
	return &made{agent: agent, config: c, release: release}, nil
}

// question makes the agent of a question at the desk.
func (m *agents) question(k *deskKept) (*made, error) {
	if m.desk == nil {
		db, err := deskBeside(m.journal)
		if err != nil {
			return nil, err
		}
		m.desk = db
	}
	agent, err := k.agent(m.env, m.desk)
	if err != nil {
		return nil, err
	}
	return &made{agent: agent, release: func() {}}, nil
}

// release kills the programs that the agents run, and closes what they hold
// open. It may be called again.
func (m *agents) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.made {
		x.end()
	}
	if m.desk != nil {
		_ = m.desk.Close() // nothing is under way in it any more
	}
}
