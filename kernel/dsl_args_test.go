package kernel

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// args are the words of a line behind its verb: name=value, and bare words in
// order. Every word has to be asked for; done reports those that were not.
type args struct {
	named map[string]string
	bare  []string
	err   error
}

func newArgs(words []string) *args {
	a := &args{named: map[string]string{}}
	for _, w := range words {
		name, value, named := strings.Cut(w, "=")
		if named && !strings.ContainsAny(name, "\"{[") {
			value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
			a.named[name] = value
		} else {
			a.bare = append(a.bare, w)
		}
	}
	return a
}

// splitWords splits at blanks that stand in no quotes, brackets or braces.
func splitWords(line string) ([]string, error) {
	var words []string
	depth, quoted, word := 0, false, strings.Builder{}
	for i, r := range line {
		switch {
		case r == '"' && (i == 0 || line[i-1] != '\\'):
			quoted = !quoted
		case quoted:
		case strings.ContainsRune("[{", r):
			depth++
		case strings.ContainsRune("]}", r):
			depth--
		case r == ' ' && depth <= 0:
			if word.Len() > 0 {
				words = append(words, word.String())
				word.Reset()
			}
			continue
		}
		word.WriteRune(r)
	}
	if word.Len() > 0 {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("nothing here")
	}
	return words, nil
}

func (a *args) done() error {
	if a.err != nil {
		return a.err
	}
	if len(a.bare) > 0 || len(a.named) > 0 {
		return fmt.Errorf("not understood: %q %q", a.bare, a.named)
	}
	return nil
}

// next takes the next bare word.
func (a *args) next(def string) string {
	if len(a.bare) == 0 {
		return def
	}
	w := a.bare[0]
	a.bare = a.bare[1:]
	return literal(w)
}

// flag takes a bare word if it is there.
func (a *args) flag(name string) bool {
	for i, w := range a.bare {
		if w == name {
			a.bare = append(a.bare[:i:i], a.bare[i+1:]...)
			return true
		}
	}
	return false
}

func (a *args) has(name string) bool {
	_, ok := a.named[name]
	return ok
}

func (a *args) or(name, def string) string {
	v, ok := a.named[name]
	if !ok {
		return def
	}
	delete(a.named, name)
	if name == "calls" || name == "blocks" {
		return v
	}
	return literal(v)
}

func (a *args) text(name string) string { return a.or(name, "") }

func (a *args) list(name string) []string {
	if v := a.text(name); v != "" {
		return strings.Split(v, ",")
	}
	return nil
}

// number reads a named value, or the next bare word where name is empty.
func (a *args) number(name string, def int64) int64 {
	var s string
	if name == "" {
		s = a.next("")
	} else {
		s = a.text(name)
	}
	if s == "" {
		return def
	}
	n, err := strconv.ParseInt(s, 10, 64)
	a.err = errors.Join(a.err, err)
	return n
}

func (a *args) integer(name string, def int) int { return int(a.number(name, int64(def))) }

func (a *args) duration(name string, def time.Duration) time.Duration {
	s := a.text(name)
	if s == "" {
		return def
	}
	d, err := time.ParseDuration(s)
	a.err = errors.Join(a.err, err)
	return d
}

// usage reads IN/OUT, IN/OUT/READ/WRITE or none.
func (a *args) usage(def string) *Usage {
	s := a.or("usage", def)
	if s == "none" {
		return nil
	}
	n := a.four("usage", s)
	return &Usage{n[0], n[1], n[2], n[3]}
}

func (a *args) four(what, s string) (n [4]int64) {
	for i, part := range strings.Split(s, "/") {
		if i == len(n) {
			a.err = errors.Join(a.err, fmt.Errorf("%s has more than four parts", what))
			return n
		}
		var err error
		n[i], err = strconv.ParseInt(part, 10, 64)
		a.err = errors.Join(a.err, err)
	}
	return n
}

// spec reads a run's settings; what is not said is the default.
func (a *args) spec() Spec {
	l, r := DefaultLimits(), DefaultRetry()
	s := Spec{
		Profile:      Profile(a.text("profile")),
		MaxTokens:    a.integer("max_tokens", 1000),
		MaxTokensCap: a.integer("cap", 0),
		Limits: Limits{
			Turns: a.integer("turns", l.Turns), Calls: a.integer("calls", l.Calls),
			Deadline: a.duration("deadline", l.Deadline), Repeat: a.integer("repeat", l.Repeat),
			Tokens: a.number("tokens", 0), Cost: a.number("cost", 0), LastTurn: LastTurn(a.text("last_turn")),
		},
		Retry:    Retry{Attempts: a.integer("attempts", r.Attempts), PerRun: a.integer("per_run", r.PerRun), Wait: a.duration("wait", r.Wait)},
		Verify:   VerifyFor(a.text("verify")),
		Continue: a.flag("continue"),
		Unknown:  OnUnknown(a.text("unknown")),
		Observe:  a.flag("observe"),
		Shrink:   a.flag("shrink"),

		SummaryTokens: a.integer("summary", 0),
	}
	if price := a.text("price"); price != "" {
		n := a.four("price", price)
		s.Price = &Price{n[0], n[1], n[2], n[3]}
	}
	return s
}

// compaction reads ARCHIVE/REMOVED/SPILLED/BEFORE/AFTER/BY; nil where the line
// has none.
func (a *args) compaction() *Compaction {
	s := a.text("compacted")
	if s == "" {
		return nil
	}
	parts := strings.Split(s, "/")
	if len(parts) != 6 {
		a.err = errors.Join(a.err, fmt.Errorf("a compaction of %d parts", len(parts)))
		return nil
	}
	n := a.four("compacted", strings.Join(parts[1:5], "/"))
	return &Compaction{Archive: parts[0], Removed: int(n[0]), Spilled: int(n[1]), Before: n[2], After: n[3], Summary: SummaryBy(parts[5])}
}

// asking reads how a person is asked; nil where nothing is said of it.
func (a *args) asking() *Asking {
	q := Asking{
		Expires: a.duration("expires", 0), OnExpiry: OnExpiry(a.text("on_expiry")), Grant: a.duration("grant", 0),
		Approvers: Approvers{NotAsker: a.flag("not_asker"), Quorum: a.integer("quorum", 0), From: a.list("from"), Escalate: a.list("escalate")},
	}
	if reflect.DeepEqual(q, Asking{}) {
		return nil
	}
	return &q
}
