package eval

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"time"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Stamp    string      `xml:"timestamp,attr"`
	Facts    []junitFact `xml:"properties>property"`
	Cases    []junitCase `xml:"testcase"`
}

type junitFact struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class    string         `xml:"classname,attr"`
	Name     string         `xml:"name,attr"`
	Time     string         `xml:"time,attr"`
	Failures []junitFailure `xml:"failure"`
	Output   string         `xml:"system-out"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
}

// WriteJUnit writes the report in the form that test runners read: a suite a
// kind, a case a trial, a failure a class.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: "holdfast desk eval", Tests: r.Overall.Trials, Failures: r.Overall.Trials - r.Overall.Passed, Time: seconds(r.Finished.Sub(r.Started))}
	for _, kind := range Kinds() {
		rate, ok := r.Kinds[kind]
		if !ok {
			continue
		}
		suite := junitSuite{
			Name: string(kind), Tests: rate.Trials, Failures: rate.Trials - rate.Passed, Stamp: r.Started.Format(time.RFC3339),
			Facts: []junitFact{{"mode", r.Mode}, {"provider", r.Setup.Model.Provider}, {"model", r.Setup.Model.Name}, {"tasks_hash", r.Setup.Tasks.Hash}},
		}
		for i := range r.Trials {
			if t := &r.Trials[i]; t.Kind == kind {
				suite.Cases = append(suite.Cases, junitCaseOf(t))
			}
		}
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitCaseOf(t *Trial) junitCase {
	c := junitCase{
		Class: "desk." + string(t.Kind), Name: fmt.Sprintf("%s/%d", t.Task, t.Number),
		Time:   seconds(time.Duration(t.Elapsed * float64(time.Millisecond))),
		Output: fmt.Sprintf("run %s\nstop %s\nstatus %s\nanswer %s", t.Run, t.Stop, t.Status, t.Answer),
	}
	for _, f := range t.Failures {
		c.Failures = append(c.Failures, junitFailure{string(f.Class), fmt.Sprintf("%s (%s)", f.Detail, f.Basis)})
	}
	return c
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
