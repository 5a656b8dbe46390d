package cli

import (
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
