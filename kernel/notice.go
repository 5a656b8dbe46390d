package kernel

import (
	"fmt"
	"slices"
)

// MaxNotices is how many notices of a run may be pending.
const MaxNotices = 64

func (m *machine) onNoticed(e Noticed) error {
	switch {
	case !IsName(e.Notice):
		return invalid("a notice whose id is no name")
	case slices.Contains(m.Notices, e.Notice):
		return &Error{Code: CodeDuplicateReport, Message: "notice " + show(e.Notice, 80) + " is pending already"}
	case len(m.Notices) == MaxNotices:
		return invalid(fmt.Sprintf("more than %d notices", MaxNotices))
	}
	m.Notices = append(slices.Clip(m.Notices), e.Notice)
	return nil
}

// attach takes the notices that go with the request.
func (m *machine) attach(ids []string) error {
	for i, id := range ids {
		if !slices.Contains(m.Notices, id) || slices.Contains(ids[:i], id) {
			return invalid("notice " + show(id, 80) + " goes with the request, and is not pending")
		}
	}
	if len(ids) > 0 {
		m.Attached = slices.Clone(ids)
	}
	return nil
}

// acknowledge lets go of the notices that went with the request: its reply
// enters the history with the same event.
func (m *machine) acknowledge() {
	if len(m.Attached) == 0 {
		return
	}
	seen := m.Attached
	m.Attached = nil
	m.Notices = slices.DeleteFunc(slices.Clone(m.Notices), func(id string) bool { return slices.Contains(seen, id) })
}
