package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/prompt"
)

// The bounds of what is attached to a request.
const (
	maxAttachments = 256
	maxAttached    = 1 << 20         // bytes of all together
	attachTime     = 5 * time.Second // that an Attacher has
	maxWarning     = 500             // bytes of what one has people know, as a run keeps it
)

// attach asks for what goes in front of the history. Whatever is wrong with a
// part of it fails the whole.
func (p *preparation) attach(ctx context.Context, instead Report) error {
	if len(p.x.agent.Attach) == 0 {
		return nil
	}
	all := []prompt.Attachment{}
	for i, a := range p.x.agent.Attach {
		some, err := p.ask(ctx, a, instead)
		if err != nil {
			return &kernel.Error{Code: kernel.CodeInternal, Message: fmt.Sprintf("what is attached to a request (%d of %d) could not be had: %s", i+1, len(p.x.agent.Attach), describe(err))}
		}
		all = append(all, some...)
	}
	if err := checkAttachments(all); err != nil {
		return err
	}
	front := prompt.Front(all)
	if front == p.front {
		return nil
	}
	p.attached, p.front, p.ahead = all, front, 0
	if front == "" {
		return nil
	}
	message := prompt.UserText(front)
	if p.x.encode != nil {
		wire, err := p.x.encodeMessage(&message, nil)
		if err != nil {
			return err
		}
		p.wire = wire
	}
	encoded := p.x.encoded(&message, p.wire)
	p.ahead = messageTokens(&encoded)
	return nil
}

// ask calls code of the embedding program, which has its time.
func (p *preparation) ask(ctx context.Context, a prompt.Attacher, instead Report) (some []prompt.Attachment, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer p.x.Clock.AfterFunc(attachTime, cancel).Stop()
	lost := func() {
		instead(p.failed(kernel.ContextBroken, "what is attached to a request could not be had: it did not return"))
	}
	s, told := &p.x.start, &complaints{}
	err = p.x.foreign(ctx, "an attacher", lost, func() (err error) {
		some, err = a.Attach(ctx, prompt.AttachRequest{Run: p.x.Run, Session: s.Session, Tenant: s.Tenant, User: s.User, Turn: p.c.Turn, Warn: told.add})
		return err
	})
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	p.warnings = append(p.warnings, told.take()...)
	return slices.Clone(some), err
}

// complaints are what an attacher would have people know. It may go on telling
// after it returned, and nobody listens then.
type complaints struct {
	mu   sync.Mutex
	all  []string
	over bool
}

func (c *complaints) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD"); text != "" && !c.over && len(c.all) < maxNews {
		c.all = append(c.all, kernel.Clip(text, maxWarning))
	}
}

func (c *complaints) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	return c.all
}

// checkAttachments holds what is attached to its bounds: nothing is cut in
// silence.
func checkAttachments(all []prompt.Attachment) error {
	bad := func(format string, args ...any) error {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf(format, args...)}
	}
	size := 0
	for i := range all {
		a := &all[i]
		size += len(a.Text)
		switch {
		case !kernel.IsName(a.Kind) || len(a.Kind) > 200 || len(a.ID) > 1000:
			return bad("an attachment has no short kind and id")
		case !utf8.ValidString(a.Text) || !utf8.ValidString(a.ID):
			return bad("the attachment %.200q is not valid UTF-8", a.ID)
		case strings.TrimSpace(a.Text) == "":
			return bad("the attachment %.200q is blank", a.ID)
		}
	}
	if len(all) > maxAttachments || size > maxAttached {
		return bad("%d attachments of %d bytes are too much: at most %d, of %d bytes together, go with a request", len(all), size, maxAttachments, maxAttached)
	}
	return nil
}

// pending are the notices that the next request takes along.
func (x *Execution) pending() (due []notice) {
	for _, id := range x.State.Notices {
		due = append(due, x.notice(id))
	}
	return due
}

func (r *Replay) notice(id string) notice {
	i := slices.IndexFunc(r.notices, func(n notice) bool { return n.id == id })
	if i < 0 {
		return notice{id: id} // blank: no request takes it
	}
	return r.notices[i]
}

// notify holds the notices to their bounds.
func (p *preparation) notify() error {
	if len(p.notices) == 0 {
		return nil
	}
	limits := p.x.agent.Context.Notices.withDefaults()
	bad := func(format string, args ...any) error {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf(format, args...)}
	}
	if n := len(p.notices); n > limits.Max {
		return bad("%d notices wait, and a request takes at most %d: raise context.notices.max", n, limits.Max)
	}
	for _, n := range p.notices {
		switch chars := utf8.RuneCountInString(n.text); {
		case chars > limits.Chars:
			return bad("notice %.100q has %d characters; at most %d are allowed: raise context.notices.chars", n.id, chars, limits.Chars)
		case !utf8.ValidString(n.text) || strings.TrimSpace(n.text) == "":
			return bad("notice %.100q is blank", n.id)
		}
	}
	message := prompt.UserText(noticesText(p.notices))
	encoded := p.x.encoded(&message, model.Encoded{})
	p.back = messageTokens(&encoded)
	return nil
}

func noticesText(all []notice) string {
	texts := make([]prompt.Attachment, len(all))
	for i, n := range all {
		texts[i] = prompt.Attachment{Kind: "notice", ID: n.id, Text: n.text}
	}
	return prompt.Notices(texts)
}

// followed takes in what an event says of the request.
func (x *Execution) followed(e kernel.Event, c Content) {
	switch e := e.(type) {
	case kernel.ContextPrepared:
		x.installed(e.Cmd)
		x.lay(e, c.Prepared)
	case kernel.ModelReplied:
		x.sheet.learn(e.Reply.Usage)
	case kernel.CallDecided:
		x.rate(&e)
	}
}

// lay makes the sheet that of a prepared request.
func (x *Execution) lay(e kernel.ContextPrepared, content *Prepared) {
	s := &x.sheet
	if content != nil && content.Front != nil {
		text := prompt.Front(*content.Front)
		message := prompt.UserText(text)
		s.attach(text, x.encoded(&message, content.wire))
	}
	s.back = nil
	behind := int64(0)
	if len(e.Attached) > 0 {
		due := make([]notice, len(e.Attached))
		for i, id := range e.Attached {
			due[i] = x.notice(id)
		}
		message := prompt.UserText(noticesText(due))
		back := x.encoded(&message, model.Encoded{})
		s.back, behind = &back, messageTokens(&back)
	}
	s.sent = s.tokens + x.headTokens() + s.ahead + behind
}
