package cli

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/desk/retrieval"
	"github.com/holdfast-run/holdfast/kernel"
)

// docs/cli.md has each command, each flag and each field of what --json prints,
// and nothing else: others script against them.
func TestDocumentedCommandLine(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"id": true, "name": true, "arguments": true} // of a call, and of a check
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && c.HasParent() && !c.HasSubCommands() {
			known["holdfast "+strings.TrimPrefix(c.CommandPath()+strings.TrimPrefix(c.Use, c.Name()), "holdfast ")] = true
		}
		for _, flag := range regexp.MustCompile(`(?m)^ +(-\w)?,? +(--[\w-]+)`).FindAllStringSubmatch(c.Flags().FlagUsages()+c.PersistentFlags().FlagUsages(), -1) {
			known[flag[1]], known[flag[2]] = true, true
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{stdout: &output{}}).rootCommand())
	for _, v := range []any{report{}, tokens{}, record{}, trace{}, event{}, message{}, kernel.Call{}, head{}, waits{}, check{}, build{},
		approval{}, approvers{}, vote{}, effect{}, resolution{}, delivered{}, sessionLine{}, session{}, removed{}, waiting{}, archived{}, left{}, worked{}, verified{}, flaw{}, checkedFile{}, remembered{}, skillRow{}, skillDetail{}, skillFile{},
		explained{}, ruleLook{}, tested{}, policyMiss{}, rechecked{}, policyDifference{}, suggested{}, pastMatch{},
		deskReport{}, deskEntry{}, deskTaken{}, deskTicket{}, deskDraft{}, searchReport{}, retrieval.Figures{}, retrieval.Leak{}, deskImport{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				known[name] = true
			}
		}
	}
	for _, name := range []string{"checks", "target", "head", "already_submitted", "cancelled", "file", "fixtures"} { // of objects without a name
		known[name] = true
	}

	inText := map[string]bool{}
	span := regexp.MustCompile("`([^`]+)`")
	for line := range strings.SplitSeq(string(text), "\n") {
		for _, m := range span.FindAllStringSubmatch(line, -1) {
			inText[m[1]] = true
		}
		if first, _, row := strings.Cut(line, " | "); row && strings.HasPrefix(line, "| `") {
			for _, m := range span.FindAllStringSubmatch(first, -1) {
				if !known[m[1]] {
					t.Errorf("docs/cli.md has a row for %s, which there is not", m[1])
				}
			}
		}
	}
	for name := range known {
		if !inText[name] && name != "" {
			t.Errorf("docs/cli.md has no %s", name)
		}
	}
}
