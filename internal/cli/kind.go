package cli

import (
	"errors"
	"regexp"

	"github.com/holdfast-run/holdfast/kernel"
)

// kind is what an id is of, as people say it; the zero value is of an id that
// may be of anything.
type kind string

const (
	ofRun      kind = "a run"
	ofSession  kind = "a session"
	ofArchive  kind = "an archive"
	ofApproval kind = "an approval"
	ofEffect   kind = "an effect"
	ofMemory   kind = "a memory"
)

// kindOf goes by the exact form of the ids that are made here: sessions and
// runs may have been named by whoever started them.
func kindOf(id string) kind {
	if len(id) > 100 {
		return ""
	}
	const made = `[0-9A-HJKMNP-TV-Z]{26}`
	for _, form := range []struct {
		of   kind
		form string
	}{
		{ofRun, "run_" + made},
		{ofSession, "ses_" + made},
		{ofArchive, `run_(` + made + `|[0-9a-f]{64})\.[0-9]+`},
		{ofApproval, "apr_[0-9a-f]{20}"},
		{ofEffect, "eff_[0-9a-f]{32}"},
	} {
		if regexp.MustCompile("^" + form.form + "$").MatchString(id) {
			return form.of
		}
	}
	return ""
}

// show is the command that shows what a kind's ids are of, and list the one that
// lists such ids.
func (k kind) show() string { show, _ := k.commands(); return show }

func (k kind) list() string { _, list := k.commands(); return list }

func (k kind) commands() (show, list string) {
	switch k {
	case ofRun:
		return "holdfast runs show", "holdfast runs ls"
	case ofSession:
		return "holdfast sessions show", "holdfast sessions ls"
	case ofArchive:
		return "holdfast sessions archive", "holdfast sessions show SESSION"
	case ofApproval:
		return "holdfast approvals show", "holdfast approvals ls --all"
	case ofEffect:
		return "holdfast effects show", "holdfast effects ls"
	case ofMemory:
		return "holdfast memory show", "holdfast memory ls --all"
	}
	return "", ""
}

// mistaken is the hint for an id that is of another kind than the one wanted;
// empty where it may be of that.
func mistaken(id string, want kind) string {
	if is := kindOf(id); is != "" && is != want {
		return "that is the id of " + string(is) + ": " + is.show() + " " + id + " shows it if it is there"
	}
	return ""
}

// listedBy says, where something of an id is not there, which list has what is,
// or that the id is of something else.
func listedBy(err error, id string, want kind) error {
	missing, ok := errors.AsType[*kernel.Error](err)
	if !ok || missing.Code != kernel.CodeNotFound || missing.Hint != "" {
		return err
	}
	said := *missing
	if said.Hint = mistaken(id, want); said.Hint == "" {
		said.Hint = want.list() + " lists what is there; --user and --tenant narrow it"
	}
	return &said
}
