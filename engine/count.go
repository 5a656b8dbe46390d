package engine

import (
	"github.com/holdfast-run/holdfast/model"
)

// count corrects the estimate by the model's own tokenizer, where it has one.
// Counting is slow, and is left out where the estimate is far below the window,
// and where a provider has reported what it counts itself. A count counts for this
// one preparation.
func (p *preparation) count(total int64) {
	counter, ok := p.x.agent.Model.(model.Counter)
	if !ok || p.sheet.share != 0 || p.c.Shrink || total <= 0 || total < p.limit()/2 {
		return
	}
	var counted int64
	err := func() (err error) {
		defer p.x.contain("the model's tokenizer", &err)
		counted, ok = p.counted(counter)
		return nil
	}()
	if err == nil && ok && counted > 0 {
		p.sheet.share = min(max((counted*1000+total-1)/total, leastShare), mostShare)
	}
}

// counted is the request in tokens, of the bytes as they are sent where the model keeps
// them.
func (p *preparation) counted(c model.Counter) (n int64, ok bool) {
	texts := []string{string(p.snap.head), p.front}
	if p.snap.head == nil {
		texts[0] = p.snap.system
		for i := range p.snap.defs {
			texts = append(texts, p.snap.defs[i].Name, p.snap.defs[i].Description, string(p.snap.defs[i].Schema))
		}
	}
	for i := range p.notices {
		texts = append(texts, p.notices[i].text)
	}
	for i := range p.encoded {
		m := &p.encoded[i]
		if m.Encoded.Before != nil {
			texts = append(texts, string(m.Encoded.Append(nil)))
			continue
		}
		for _, b := range m.Blocks {
			texts = append(texts, b.Text)
			if b.Call != nil {
				texts = append(texts, b.Call.Name, b.Call.Arguments)
			}
		}
	}
	for _, text := range texts {
		tokens, known := c.CountTokens(text)
		if !known {
			return 0, false
		}
		n += tokens
	}
	return n, true
}
