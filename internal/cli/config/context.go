package config

import (
	"cmp"
	"fmt"

	"github.com/holdfast-run/holdfast/kernel"
)

// Context bounds what a request holds. Zero is unset.
type Context struct {
	Window  int // tokens that the model takes, input and output together
	Reserve int // tokens kept free for what the estimate misses
	Notices NoticeLimits
	// Summarize says who writes the summary of turns that have to go: Digest
	// (also unset) or ByModel, within SummaryTokens of output.
	Summarize     string
	SummaryTokens int
}

// NoticeLimits bound the notices of one request.
type NoticeLimits struct {
	Max   int
	Chars int // of each
}

// The authors of a summary.
const (
	Digest  = "digest"
	ByModel = "model"
)

// The values where nothing sets them, and the bounds.
const (
	defaultNotices       = 4
	defaultNoticeChars   = 240
	defaultSummaryTokens = 1024
	maxNotices           = 64
	maxNoticeChars       = 4096
	maxWindow            = 1_000_000_000
)

func (c *Config) decodeContext(v value) error {
	x := &c.Context
	err := v.mapping(fields{
		"window":         into(&x.Window, whole(1, maxWindow)),
		"reserve":        into(&x.Reserve, whole(0, maxWindow)),
		"summarize":      into(&x.Summarize, choice(Digest, ByModel)),
		"summary_tokens": into(&x.SummaryTokens, whole(MinMaxTokens, MaxMaxTokens)),
		"notices": func(v value) error {
			return v.mapping(fields{
				"max":   into(&x.Notices.Max, whole(1, maxNotices)),
				"chars": into(&x.Notices.Chars, whole(1, maxNoticeChars)),
			})
		},
	})
	if err == nil && x.Window > 0 && x.Window <= x.Reserve {
		err = v.fail("give the model's whole window, input and output together", "window (%d) leaves nothing beside reserve (%d)", x.Window, x.Reserve)
	}
	if x.Window > 0 {
		c.noted(v)
	}
	return err
}

// CheckWindow reports a window in which no request has room, as CONFIGURATION:
// the output limit of a complete configuration is known.
func (c *Config) CheckWindow() error {
	x := &c.Context
	if x.Window == 0 || x.Window-x.Reserve > c.Model.MaxTokens {
		return nil
	}
	place := ""
	if at := c.Places["context"]; at != "" { // it is not kept with a run
		place = at + ": "
	}
	return &kernel.Error{
		Code:    kernel.CodeConfiguration,
		Message: fmt.Sprintf("%scontext: window (%d) leaves nothing beside the output limit (%d) and reserve (%d)", place, x.Window, c.Model.MaxTokens, x.Reserve),
		Hint:    "give context.window all that the model takes, input and output together, or lower model.max_tokens",
	}
}

// storedContext is what is kept with a run.
type storedContext struct {
	Window        int                `json:"window"`
	Reserve       int                `json:"reserve"`
	Notices       storedNoticeLimits `json:"notices"`
	Summarize     string             `json:"summarize"`
	SummaryTokens int                `json:"summary_tokens"`
}

type storedNoticeLimits struct {
	Max   int `json:"max"`
	Chars int `json:"chars"`
}

// storeContext is nil for what says nothing.
func storeContext(c *Context) *storedContext {
	if *c == (Context{}) {
		return nil
	}
	return &storedContext{
		Window: c.Window, Reserve: c.Reserve, Notices: storedNoticeLimits(c.Notices),
		Summarize: c.Summarize, SummaryTokens: c.SummaryTokens,
	}
}

func (s *storedContext) context() Context {
	if s == nil {
		return Context{}
	}
	return Context{
		Window: s.Window, Reserve: s.Reserve, Notices: NoticeLimits(s.Notices),
		Summarize: s.Summarize, SummaryTokens: s.SummaryTokens,
	}
}

// Said is the context with what holds where nothing is said.
func (c Context) Said() Context {
	c.Notices.Max = cmp.Or(c.Notices.Max, defaultNotices)
	c.Notices.Chars = cmp.Or(c.Notices.Chars, defaultNoticeChars)
	c.Summarize = cmp.Or(c.Summarize, Digest)
	c.SummaryTokens = cmp.Or(c.SummaryTokens, defaultSummaryTokens)
	return c
}
