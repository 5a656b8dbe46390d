package journal

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/holdfast-run/holdfast/kernel"
)

// noticed is what the events say of a notice that the run took up.
type noticed struct {
	by      string
	size    int
	content []byte // of the event, which holds the text
	seen    bool   // by the run's model
}

// seen takes in that a reply acknowledged notices: those that went with its
// request, and are not pending any more.
func (p *replay) seen(attached []string) {
	for _, id := range attached {
		if n := p.noticed[id]; n != nil && !slices.Contains(p.state.Notices, id) {
			n.seen = true
		}
	}
}

// notices holds the notices of the run's session to what the run took up and
// has seen, and each that it is said to have seen to that.
func (w *walk) notices(ctx context.Context) error {
	rows, err := w.v.r.AllNotices(ctx, w.head.SessionOf())
	if err != nil {
		return err
	}
	stored := map[string]bool{}
	for i := range rows {
		row := &rows[i]
		stored[row.ID] = true
		detail := w.facts.noticeDiffers(row)
		if detail == "" && row.SeenBy != "" && row.SeenBy != w.head.Run {
			detail, err = w.v.seenElsewhere(ctx, row)
		}
		if err != nil || detail != "" {
			w.rowFlawIf(err, FlawNotice, row.ID, detail)
			return err
		}
	}
	for _, id := range sortedKeys(w.facts.noticed) {
		if !stored[id] {
			w.rowFlaw(FlawNotice, id, "is gone")
			return nil
		}
	}
	return nil
}

// noticeDiffers says what of a row is not what the events of this run say.
func (p *replay) noticeDiffers(row *Notice) string {
	n := p.noticed[row.ID]
	here := row.SeenBy == p.head.Run
	switch {
	case n == nil && here:
		return "was never taken up by the run that is said to have seen it"
	case n == nil:
		return ""
	case row.By != n.by || len(row.Text) != n.size || !n.holds(row.Text):
		return "says something else"
	case n.seen && !here:
		return "was seen, and is said to wait or to have been seen elsewhere"
	case !n.seen && here:
		return "was not seen by the run that is said to have seen it"
	}
	return ""
}

// holds compares a text with that of the event, where its content is in the form
// that engines write.
func (n *noticed) holds(text string) bool {
	var content struct {
		Text *string `json:"text"`
	}
	return json.Unmarshal(n.content, &content) != nil || content.Text == nil || *content.Text == text
}

// seenElsewhere checks that the run which is said to have seen a notice is one of
// its session. What that run says of it is checked with it.
func (v *verifier) seenElsewhere(ctx context.Context, row *Notice) (detail string, err error) {
	of, known := v.read[row.SeenBy]
	if !known {
		head, err := v.r.Head(ctx, row.SeenBy)
		if err != nil && kernel.CodeOf(err) != kernel.CodeNotFound {
			return "", err
		}
		if of = head.SessionOf(); v.read == nil {
			v.read = map[string]SessionID{}
		}
		v.read[row.SeenBy] = of
	}
	if of != row.Of() {
		return "is said to have been seen by no run of its session", nil
	}
	return "", nil
}
