package cli

import (
	"fmt"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
)

// buildContext bounds an agent's requests as configured.
func buildContext(c *config.Context) engine.Context {
	return engine.Context{
		Window: int64(c.Window), Reserve: int64(c.Reserve),
		Summarize: c.Summarize == config.ByModel, SummaryTokens: c.SummaryTokens,
		Notices: engine.NoticeLimits{Max: c.Notices.Max, Chars: c.Notices.Chars},
	}
}

// checkContext looks whether anything fits into the window.
func checkContext(c *config.Config) check {
	x := &c.Context
	if x.Window == 0 {
		return check{Name: "context", Status: checkOK, Detail: "no window is configured: the history is made smaller when the provider refuses a request as too long"}
	}
	if err := c.CheckWindow(); err != nil {
		return broken("context", err)
	}
	return check{Name: "context", Status: checkOK, Detail: fmt.Sprintf("at most %d tokens of input, summaries by %s", x.Window-x.Reserve-c.Model.MaxTokens, x.Said().Summarize)}
}
