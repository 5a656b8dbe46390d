package config

import (
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// Hooks are programs that look at calls.
type Hooks struct {
	Before []Hook
	After  []Hook
}

// Hook is a program that looks at the calls of some tools.
type Hook struct {
	Tool    string // a name or a pattern
	Command []string
	Timeout time.Duration
}

// maxHooks bounds the hooks before calls, and those after them.
const maxHooks = policy.MaxHooks

func (c *Config) decodeHooks(v value, known []string) error {
	list := func(v value) ([]Hook, error) { return c.decodeHookList(v, known) }
	return v.mapping(fields{
		"before": into(&c.Hooks.Before, list),
		"after":  into(&c.Hooks.After, list),
	})
}

func (c *Config) decodeHookList(v value, known []string) (list []Hook, err error) {
	err = v.list(func(item value) error {
		c.noted(item)
		h, err := decodeHook(item)
		list = append(list, h)
		if err != nil {
			return err
		}
		return aboutSomething(item, policy.Rule{Tool: h.Tool}, known)
	})
	if err == nil && len(list) > maxHooks {
		err = v.fail("let one program look at more", "lists %d hooks; at most %d are possible", len(list), maxHooks)
	}
	return list, err
}

func decodeHook(v value) (Hook, error) {
	h := Hook{Timeout: policy.DefaultHookTimeout}
	err := v.mapping(fields{
		"tool":    into(&h.Tool, toolPattern),
		"timeout": into(&h.Timeout, duration(time.Millisecond, policy.MaxHookTimeout)),
		"command": func(v value) error {
			var p Program
			err := p.decodeArgv(v)
			h.Command = p.Argv
			return err
		},
	})
	switch {
	case err != nil:
		return h, err
	case h.Tool == "":
		return h, v.fail(`write {tool: "*", command: [./check.sh]}`, "tool is missing")
	case len(h.Command) == 0:
		return h, v.fail(`write {tool: "*", command: [./check.sh]}`, "command is missing")
	}
	return h, nil
}

// toolPattern reads a tool's name, or a pattern for it.
func toolPattern(v value) (string, error) {
	s, err := v.text()
	if err != nil {
		return "", err
	}
	if bad := (policy.Rule{Answer: kernel.Deny, Tool: s}).Validate(); bad != nil {
		return "", v.fail(bad.Hint, "%s", bad.Message)
	}
	return s, nil
}

type storedHooks struct {
	Before []storedHook `json:"before,omitempty"`
	After  []storedHook `json:"after,omitempty"`
}

type storedHook struct {
	Tool    string   `json:"tool"`
	Command []string `json:"command"`
	Timeout span     `json:"timeout"`
}

func storeHooks(h *Hooks) *storedHooks {
	if len(h.Before)+len(h.After) == 0 {
		return nil
	}
	list := func(hooks []Hook) (stored []storedHook) {
		for _, one := range hooks {
			stored = append(stored, storedHook{one.Tool, one.Command, span(one.Timeout)})
		}
		return stored
	}
	return &storedHooks{list(h.Before), list(h.After)}
}

func (s *storedHooks) hooks() (h Hooks) {
	if s == nil {
		return h
	}
	list := func(stored []storedHook) (hooks []Hook) {
		for _, one := range stored {
			hooks = append(hooks, Hook{one.Tool, one.Command, time.Duration(one.Timeout)})
		}
		return hooks
	}
	return Hooks{list(s.Before), list(s.After)}
}
