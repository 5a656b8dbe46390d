package engine

import (
	"fmt"

	"github.com/holdfast-run/holdfast/kernel"
)

// The values of what a Context leaves open, and the most that it may say.
const (
	DefaultNotices       = 4
	DefaultNoticeChars   = 240
	DefaultSummaryTokens = 1024
	maxNotices           = 64   // that a run keeps
	maxNoticeChars       = 4096 // bytes that one may have
	maxWindow            = 1 << 40
)

// check reports what no request could be made under, as CONFIGURATION.
func (c *Context) check(maxTokens int) error {
	bad := func(format string, args ...any) error {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case c.Window < 0 || c.Reserve < 0 || c.Window > maxWindow || c.Reserve > maxWindow:
		return bad("context.window and context.reserve must be from 0 to 2^40")
	case c.Window > 0 && c.room(maxTokens) <= 0:
		return bad("context.window (%d) must be more than the output limit (%d) and context.reserve (%d) together", c.Window, maxTokens, c.Reserve)
	case c.SummaryTokens < 0 || c.SummaryTokens > 1_000_000:
		return bad("context.summary_tokens must be from 0 to 1,000,000")
	case c.Notices.Max < 0 || c.Notices.Max > maxNotices:
		return bad("context.notices.max must be from 0 to %d", maxNotices)
	case c.Notices.Chars < 0 || c.Notices.Chars > maxNoticeChars:
		return bad("context.notices.chars must be from 0 to %d", maxNoticeChars)
	}
	return nil
}

// room is how many tokens of input a request may have; 0: not known.
func (c *Context) room(maxTokens int) int64 {
	if c.Window == 0 {
		return 0
	}
	return c.Window - c.Reserve - int64(maxTokens)
}

// summaryTokens is the output limit of a request for a summary; 0: the model
// makes none.
func (c *Context) summaryTokens() int {
	switch {
	case !c.Summarize:
		return 0
	case c.SummaryTokens == 0:
		return DefaultSummaryTokens
	}
	return c.SummaryTokens
}

// withDefaults fills what nobody set.
func (n NoticeLimits) withDefaults() NoticeLimits {
	if n.Max == 0 {
		n.Max = DefaultNotices
	}
	if n.Chars == 0 {
		n.Chars = DefaultNoticeChars
	}
	return n
}
