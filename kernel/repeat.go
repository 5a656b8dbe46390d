package kernel

// observation is an action together with what the model was told came of it.
func observation(c *CallState, result string) key128 { return digest128(string(c.Action[:]), result) }

// repeatWatch counts repeated actions: the same tool with the same canonical
// arguments and the same result. An action that the run has not seen before is
// progress, and counting starts again.
type repeatWatch struct {
	Seen   index[struct{}] `json:"seen"`
	Recent []repeatCount   `json:"recent,omitempty"` // since the last progress
}

type repeatCount struct {
	Action key128 `json:"action"`
	Count  int    `json:"count"`
}

// maxRecent bounds the length of a cycle that is recognised.
const maxRecent = 64

func (w repeatWatch) note(action key128) repeatWatch {
	if !w.Seen.has(action) {
		return repeatWatch{Seen: w.Seen.put(action, struct{}{}), Recent: []repeatCount{{action, 1}}}
	}
	recent := make([]repeatCount, len(w.Recent), len(w.Recent)+1)
	copy(recent, w.Recent)
	w.Recent = recent
	for i := range recent {
		if recent[i].Action == action {
			recent[i].Count++
			return w
		}
	}
	if len(recent) == maxRecent {
		recent = recent[1:]
	}
	w.Recent = append(recent, repeatCount{action, 1})
	return w
}

func (w repeatWatch) most() int {
	most := 0
	for _, r := range w.Recent {
		most = max(most, r.Count)
	}
	return most
}
