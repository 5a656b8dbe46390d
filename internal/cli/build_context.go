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
	room := x.Window - x.Reserve - c.Model.MaxTokens
	switch {
	case x.Window == 0:
		return check{Name: "context", Status: checkOK, Detail: "no window is configured: the history is made smaller when the provider refuses a request as too long"}
	case room <= 0:
		return check{Name: "context", Status: checkBroken, Detail: fmt.Sprintf("the window (%d) leaves nothing beside the output limit (%d) and the reserve (%d)", x.Window, c.Model.MaxTokens, x.Reserve),
			Hint: "give context.window all that the model takes, input and output together, or lower model.max_tokens"}
	}
	return check{Name: "context", Status: checkOK, Detail: fmt.Sprintf("at most %d tokens of input, summaries by %s", room, x.Said().Summarize)}
}
