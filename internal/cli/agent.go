package cli

import (
	"path/filepath"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/anthropic"
	"github.com/holdfast-run/holdfast/model/openai"
	"github.com/holdfast-run/holdfast/model/script"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/verify"
)

// buildAgent makes the agent that a complete configuration describes, which
// is to be recorded in a journal at that path. It
// starts nothing and contacts nobody. Call release when the agent is not used
// any more; called earlier, and it may be called again, it kills the programs
// that the agent runs. ask answers what MCP servers want to know of a person; nil:
// nobody does. Errors are CONFIGURATION.
func buildAgent(c *config.Config, journal string, ask elicitor) (agent *engine.Agent, release func(), err error) {
	if agent, release, err = buildWithoutSkills(c, journal, ask); err != nil {
		return nil, nil, err
	}
	if release, err = withSkills(agent, c, release); err != nil {
		return nil, nil, err
	}
	return agent, release, nil
}

// buildWithoutSkills makes the agent without the skills that it has.
func buildWithoutSkills(c *config.Config, journal string, ask elicitor) (agent *engine.Agent, release func(), err error) {
	m, err := buildModel(c.Model)
	if err != nil {
		return nil, nil, err
	}
	rules, err := policy.NewRules(c.Policy)
	if err != nil {
		return nil, nil, err
	}
	if err := c.CheckWindow(); err != nil {
		return nil, nil, err
	}
	if err := checkStartable(c); err != nil {
		return nil, nil, err
	}
	protected, err := hostFiles(c, journal)
	if err != nil {
		return nil, nil, err
	}
	tools, release, err := buildTools(c, protected...)
	if err != nil {
		return nil, nil, err
	}
	agent = &engine.Agent{
		Model:          m,
		Instructions:   c.Instructions,
		Tools:          tools,
		Policy:         rules,
		Limits:         c.Limits,
		Retry:          c.Retry,
		RequestTimeout: c.RequestTimeout,
		Unknown:        c.Unknown,
		Context:        buildContext(&c.Context),
		Hooks:          buildHooks(c),
	}
	if err := attachMemory(agent, c); err != nil {
		release()
		return nil, nil, err
	}
	if v := c.Verify; v != nil {
		agent.Verifier = verify.Program{Tool: config.RunProgram, Program: v.Program, Args: v.Args, ExitCode: v.ExitCode, Stdout: v.Stdout}
		agent.VerifyEachTurn, agent.Continue = v.EachTurn, v.Continue
	}
	release, err = withMCP(agent, c, ask, release)
	return agent, release, err
}

func buildModel(m config.Model) (model.Model, error) {
	switch m.Provider {
	case config.OpenAI:
		return openai.New(openAIOf(&m))
	case config.Anthropic:
		return anthropic.New(anthropicOf(&m))
	case config.Script:
		s, err := script.Load(m.Name)
		if err != nil {
			return nil, err
		}
		return script.New(script.Config{Script: s, Name: filepath.Base(m.Name), Profile: m.Profile, MaxTokens: m.MaxTokens})
	}
	return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "no model is configured"}
}

func openAIOf(m *config.Model) openai.Config {
	return openai.Config{
		BaseURL: m.BaseURL, Key: m.Key.Reveal(), Name: m.Name, Profile: m.Profile, Stream: m.Stream, MaxTokens: m.MaxTokens,
	}
}

func anthropicOf(m *config.Model) anthropic.Config {
	return anthropic.Config{
		BaseURL: m.BaseURL, Key: m.Key.Reveal(), Name: m.Name, Profile: m.Profile, Stream: m.Stream, MaxTokens: m.MaxTokens,
	}
}

// keyInClear reports whether the model's key would leave this machine
// unencrypted.
func keyInClear(m *config.Model) bool {
	switch m.Provider {
	case config.OpenAI:
		return openAIOf(m).Cleartext()
	case config.Anthropic:
		return anthropicOf(m).Cleartext()
	}
	return false
}
