package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/prompt"
)

// maxSummaries is how many summaries by the model are tried for a request.
const maxSummaries = 2

// preparation makes the next request. It works on what there was when it began,
// since the run may be told of other things meanwhile, and changes nothing: what
// it comes to takes effect with its event.
type preparation struct {
	x        *Execution
	c        kernel.PrepareContext
	messages []kernel.Message
	encoded  []model.Message // the same
	sheet    sheet
	question int
	summary  summary
	notices  []notice // that are pending
	snap     *snapshot
	warned   []string // what the run was warned of before
	defined  []Definition
	fault    *kernel.Error // why no request can be made

	warnings []string

	attached []prompt.Attachment
	front    string
	ahead    int64         // tokens of it
	wire     model.Encoded // of it, where it has changed
	back     int64         // tokens of the notices
}

// prepare answers PrepareContext. A preparation that fails leaves everything as
// it was.
func (x *Execution) prepare(c kernel.PrepareContext) Task {
	p := &x.preparing
	if !x.Pure(c) { // else it is over before the next one begins
		p = new(preparation)
	}
	*p = preparation{
		x: x, c: c, messages: x.History.Messages(), sheet: x.sheet.frozen(), question: x.question,
		summary: x.summary, notices: x.pending(), snap: x.snap, warned: x.State.Warnings, defined: x.defined, fault: x.fault,
		front: x.sheet.front, ahead: x.sheet.ahead,
	}
	p.encoded = p.sheet.history()
	return p
}

// Do makes it.
func (p *preparation) Do(ctx context.Context, instead Report) (kernel.Event, Content) {
	if p.x.sources != nil {
		p.snap, p.warnings = p.x.sources.take(ctx, p.c.Cmd)
	}
	switch {
	case p.snap.ambiguous != "":
		return p.failed(kernel.ContextClarification, p.snap.ambiguous)
	case p.snap.missing != nil:
		return p.failed(kernel.ContextBroken, p.snap.missing.Message)
	case p.fault != nil:
		return p.failed(kernel.ContextBroken, p.fault.Message)
	}
	if err := p.attach(ctx, instead); err != nil {
		return p.failed(kernel.ContextBroken, describe(err))
	}
	if err := p.notify(); err != nil {
		return p.failed(kernel.ContextTooLarge, describe(err))
	}
	return p.fit()
}

func (p *preparation) failed(fault kernel.ContextFault, detail string) (kernel.Event, Content) {
	return kernel.ContextFailed{At: p.x.at(), Cmd: p.c.Cmd, Fault: fault, Detail: kernel.Clip(detail, maxWords)}, Content{}
}

// fixed is what the request holds beside the history, in tokens.
func (p *preparation) fixed() int64 { return p.snap.tokens + p.ahead + p.back }

// fit makes the request small enough.
func (p *preparation) fit() (kernel.Event, Content) {
	total := p.sheet.tokens + p.fixed()
	p.count(total)
	limit := p.limit()
	if p.c.Shrink { // whatever the estimate says
		limit = min(limit, total-max(1, total/4))
	}
	if total <= limit {
		return p.prepared(total)
	}
	held := p.held()
	if p.x.agent.Context.Summarize {
		return p.summarized(held, limit)
	}
	smaller := held.Compact(limit)
	if !p.does(smaller, limit) {
		return p.tooLarge(total, smaller)
	}
	return p.compacted(smaller, kernel.SummaryDigest)
}

// limit is how many tokens, as they are estimated without correction, the
// request may hold.
func (p *preparation) limit() int64 {
	room := p.x.agent.Context.room(p.x.spec.MaxTokens)
	if room == 0 {
		return 1 << 62
	}
	return p.sheet.uncorrected(room)
}

// does reports whether a compaction is enough. What a provider refused has to
// become smaller; by how much, nobody knows.
func (p *preparation) does(s *prompt.Smaller, limit int64) bool {
	return s != nil && (s.After <= limit || p.c.Shrink && s.After <= p.limit())
}

func (p *preparation) held() *prompt.Held {
	h := &prompt.Held{
		Messages: p.messages, Tokens: make([]int64, len(p.encoded)), Fixed: p.fixed(), Question: p.question,
		Archive: ArchiveID(p.x.Run, p.c.Cmd),
	}
	for i := range p.encoded {
		h.Tokens[i] = messageTokens(&p.encoded[i])
	}
	return h
}

// summarized makes the history smaller where the model itself summarizes what
// has to go: by results alone if that is enough, else by the summary that it
// gave, or by one that it is asked for now.
func (p *preparation) summarized(held *prompt.Held, limit int64) (kernel.Event, Content) {
	if s := held.Shorten(limit); p.does(s, limit) {
		return p.compacted(s, "")
	}
	total := p.sheet.tokens + p.fixed()
	if p.summary.text != "" {
		if s := held.Summarized(limit, p.summary.messages, p.summary.text); p.does(s, limit) {
			return p.compacted(s, kernel.SummaryModel)
		}
	}
	removed := held.Turns(limit)
	shortest := held.Summarized(limit, removed, ".")
	if !p.does(shortest, limit) || p.c.Tries >= maxSummaries { // no summary would be of use, or none was
		return p.tooLarge(total, shortest)
	}
	system, record := held.Request(removed, p.x.recordRoom())
	tokens := prompt.EstimateTokens(system) + prompt.EstimateTokens(record)
	return kernel.ContextOver{At: p.x.at(), Cmd: p.c.Cmd, InputTokens: p.sheet.corrected(tokens)}, Content{Over: &Over{Messages: removed}}
}

// prepared is a request that fits as it is.
func (p *preparation) prepared(tokens int64) (kernel.Event, Content) {
	e, content := p.request(tokens, nil)
	return e, content
}

func (p *preparation) request(tokens int64, smaller *prompt.Smaller) (kernel.ContextPrepared, Content) {
	e := kernel.ContextPrepared{
		At: p.x.at(), Cmd: p.c.Cmd,
		InputTokens: max(tokens, p.sheet.corrected(tokens)),
		Messages:    len(p.messages),
		Tools:       p.snap.tools.Digest(),
		Warnings:    news(p.warnings, p.warned),
	}
	for _, n := range p.notices {
		e.Attached = append(e.Attached, n.id)
	}
	if smaller != nil {
		e.Messages -= smaller.Removed
	}
	for _, also := range []bool{
		p.front != "", len(p.notices) > 0,
		smaller != nil && smaller.Removed > 0, smaller != nil && smaller.Question > 0, // summary and question
	} {
		if also {
			e.Messages++
		}
	}
	return e, p.content(smaller)
}

// content is what a request brings along beside its event.
func (p *preparation) content(smaller *prompt.Smaller) Content {
	tools, fronted := p.snap.defines(p.x.base, p.defined), p.front != p.sheet.front
	if tools == nil && !fronted && smaller == nil {
		return Content{}
	}
	content := &Prepared{Tools: tools}
	if fronted {
		content.Front, content.wire = &p.attached, p.wire
	}
	if smaller != nil {
		content.Compaction = &smaller.Compaction
	}
	return Content{Prepared: content}
}

// compacted is a request that fits since its history became smaller.
func (p *preparation) compacted(s *prompt.Smaller, by kernel.SummaryBy) (kernel.Event, Content) {
	e, content := p.request(s.After, s)
	if s.Removed == 0 {
		by = ""
	}
	before, removed := p.sheet.corrected(s.Before), s.Removed
	if s.Question > 0 {
		removed-- // it stays
	}
	e.Compacted = &kernel.Compaction{
		Archive: s.Archive, Removed: removed, Spilled: len(s.Spills), Summary: by,
		Before: before, After: min(p.sheet.corrected(s.After), before-1),
	}
	return e, content
}

// tooLarge says why no request could be made, and what to do. smaller is the
// best that could be done; nil: nothing.
func (p *preparation) tooLarge(total int64, smaller *prompt.Smaller) (kernel.Event, Content) {
	set := &p.x.agent.Context
	var b strings.Builder
	if p.c.Shrink {
		b.WriteString(string(kernel.FailContext) + ": ")
	}
	fmt.Fprintf(&b, "the request has about %d tokens", p.sheet.corrected(total))
	if smaller != nil {
		fmt.Fprintf(&b, ", %d with the history made as small as may be", p.sheet.corrected(smaller.After))
	}
	if room := set.room(p.x.spec.MaxTokens); room > 0 {
		fmt.Fprintf(&b, "; %d are allowed (window %d, less the output limit %d and the reserve %d)", room, set.Window, p.x.spec.MaxTokens, set.Reserve)
	} else {
		b.WriteString("; the provider refused it as too long")
	}
	fmt.Fprintf(&b, ": instructions and tools %d, attached %d, messages %d, of them the largest ", p.snap.tokens, p.ahead+p.back, p.sheet.tokens)
	b.WriteString(strings.Join(p.largest(3), ", "))
	b.WriteString("; raise context.window if the model takes more, or bound what tools return")
	return p.failed(kernel.ContextTooLarge, b.String())
}

// largest names the largest messages and their tokens.
func (p *preparation) largest(n int) (names []string) {
	type part struct {
		name   string
		tokens int64
	}
	parts := make([]part, len(p.messages))
	for i := range p.messages {
		name := "a reply"
		switch m := &p.messages[i]; {
		case i == p.question:
			name = "the question"
		case m.Role == kernel.RoleUser:
			name = "a user's message"
		case m.Role == kernel.RoleTool:
			name = "the result of " + kernel.Clip(m.Blocks[0].CallID, 40)
		}
		parts[i] = part{name, messageTokens(&p.encoded[i])}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return int(b.tokens - a.tokens) })
	for _, part := range parts[:min(n, len(parts))] {
		names = append(names, fmt.Sprintf("%s (%d)", part.name, part.tokens))
	}
	return names
}
