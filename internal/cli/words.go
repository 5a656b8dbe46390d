package cli

import (
	"fmt"
	"text/tabwriter"
	"time"
)

// Small pieces of text that several commands share.

func pick(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

// colon puts a text behind what it explains.
func colon(s string) string { return pick(s != "", ": "+safeLine(s), "") }

func orNobody(name string) string { return pick(name != "", safeLine(name), "somebody without a name") }

// stampOrDash is an instant for people, to the second and in UTC.
func stampOrDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// orNull is an instant for JSON; the zero Time is none.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// table prints rows, whose cells end in tabs, below a header.
func (a *app) table(header string, rows func(d *display)) error {
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	d := newDisplay(t) // Flush reports what went wrong
	d.printf("%s\n", header)
	rows(d)
	return t.Flush()
}

// counted is a number of things.
func counted(n int64, thing string) string {
	return fmt.Sprintf("%d %s%s", n, thing, pick(n == 1, "", "s"))
}
