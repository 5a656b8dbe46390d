package eval

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
)

// WriteTable writes the report for people: what was evaluated, the rates, the
// classes that occurred, each trial that failed, and the gate.
func (r *Report) WriteTable(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	m := &r.Setup.Model
	fmt.Fprintf(w, "%s: %s %s, %d tasks, %d trials each\n", r.Mode, m.Provider, plain(m.Name), r.Setup.Tasks.N, r.Setup.Trials)
	if r.Notice != "" {
		fmt.Fprintln(w, r.Notice)
	}
	fmt.Fprint(w, "\nKIND\tPASSED\tTRIALS\tRATE\t95 %\n")
	for _, kind := range Kinds() {
		if rate, ok := r.Kinds[kind]; ok {
			rate.write(w, string(kind))
		}
	}
	r.Overall.write(w, "all")
	if len(r.Classes) > 0 {
		fmt.Fprint(w, "\nCLASS\tTRIALS\n")
		for _, class := range slices.Sorted(maps.Keys(r.Classes)) {
			fmt.Fprintf(w, "%s\t%d\n", class, r.Classes[class])
		}
		fmt.Fprint(w, "\nTRIAL\tCLASS\tBY\tDETAIL\n")
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		for _, f := range t.Failures {
			fmt.Fprintf(w, "%s/%d\t%s\t%s\t%s\n", plain(t.Task), t.Number, f.Class, f.Basis, plain(f.Detail))
		}
	}
	fmt.Fprintf(w, "\n%d requests, %d calls; %d input tokens, %d output tokens, reported by %d replies; a trial took %.0f ms (median), at most %.0f ms\n",
		r.Totals.Requests, r.Totals.Calls, r.Totals.Input, r.Totals.Output, r.Totals.Reported, r.Totals.Median, r.Totals.Longest)
	if r.Compared != nil {
		r.Compared.write(w)
	}
	r.writeGate(w)
	return w.Flush()
}

func (r Rate) write(w io.Writer, name string) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%.1f %%\t%.1f to %.1f %%\n", name, r.Passed, r.Trials, 100*r.Rate, 100*r.Low, 100*r.High)
}

func (r *Report) writeGate(w io.Writer) {
	if r.Gate.Met {
		fmt.Fprintln(w, "\ngate: met")
		return
	}
	fmt.Fprintln(w, "\ngate: not met")
	for _, miss := range r.Gate.Misses {
		fmt.Fprintln(w, "  "+plain(miss))
	}
}

// plain is a text on one line, without what steers a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, s)
}
