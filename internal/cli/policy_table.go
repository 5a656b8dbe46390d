package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// expectation is a row of a table for `policy test`.
type expectation struct {
	Tool   string        `yaml:"tool"`
	Args   yaml.Node     `yaml:"args"`
	User   string        `yaml:"user"`
	Tenant string        `yaml:"tenant"`
	Want   kernel.Answer `yaml:"want"`
	Rule   int           `yaml:"rule"` // its position; 0: any
}

func (a *app) policyTestCommand() *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Compare the rules with a table of expected answers",
		Long: "Test reads a list of calls, as YAML or one JSON object a line, each with tool, args, user, tenant and want (allow, ask\n" +
			"or deny), and optionally rule, the position of the rule that has to decide. It exits with 1 when an answer differs.",
		Args: exactly(1, "one FILE", "a line is such as {tool: read_file, args: {path: a.txt}, want: allow}"),
		RunE: func(_ *cobra.Command, args []string) error { return a.testPolicy(file, asJSON, args[0]) },
	}
	addRuleFlags(cmd, &file, &asJSON, oneObject)
	return cmd
}

// tested is what `policy test --json` prints.
type tested struct {
	Tested int          `json:"tested"`
	Failed []policyMiss `json:"failed"`
}

type policyMiss struct {
	Row  int    `json:"row"` // from 1
	Tool string `json:"tool"`
	Args string `json:"args"`
	Want string `json:"want"`
	Got  string `json:"got"`
	Rule string `json:"rule"` // that decided
}

func (a *app) testPolicy(file string, asJSON bool, table string) error {
	rows, err := readTable(table)
	if err != nil {
		return err
	}
	b, _, err := a.openRules(file)
	if err != nil {
		return err
	}
	defer b.release()
	out := tested{Tested: len(rows), Failed: []policyMiss{}}
	for i, row := range rows {
		miss, fits, err := b.try(&row)
		if err != nil {
			return tableError(table, i+1, err.Error())
		}
		if !fits {
			miss.Row = i + 1
			out.Failed = append(out.Failed, miss)
		}
	}
	if asJSON {
		err = writeJSON(a.stdout, out)
	} else {
		newDisplay(a.stdout).tested(&out)
	}
	if err == nil && len(out.Failed) > 0 {
		err = exitError(exitFailure)
	}
	return err
}

func (d *display) tested(t *tested) {
	for _, m := range t.Failed {
		d.printf("FAIL  row %d: %s %s: want %s, got %s by %s\n", m.Row, safeLine(m.Tool), safeLine(m.Args), m.Want, m.Got, safeLine(m.Rule))
	}
	d.printf("%d rows, %d differ\n", t.Tested, len(t.Failed))
}

// try decides on a row, and says how the answer is another one.
func (b *ruleBook) try(row *expectation) (miss policyMiss, fits bool, err error) {
	args := json.RawMessage(`{}`)
	if row.Args.Kind != 0 {
		args, err = jsonOf(&row.Args)
	}
	switch {
	case err != nil:
		return miss, false, err
	case row.Args.Kind != 0 && row.Args.Kind != yaml.MappingNode:
		return miss, false, errors.New("args is a mapping of arguments")
	case row.Tool == "":
		return miss, false, errors.New("tool is missing")
	case row.Want != kernel.Allow && row.Want != kernel.Ask && row.Want != kernel.Deny:
		return miss, false, errors.New("want is allow, ask or deny")
	}
	e := b.rules.Explain(context.Background(), b.request(row.Tool, args, identity{row.User, row.Tenant}))
	position := 0
	for _, l := range e.Rules {
		if l.Decided {
			position = l.Position
		}
	}
	if e.Answer == row.Want && (row.Rule == 0 || row.Rule == position) {
		return miss, true, nil
	}
	want := string(row.Want)
	if row.Rule != 0 {
		want += fmt.Sprintf(" by rule %d", row.Rule)
	}
	return policyMiss{Tool: row.Tool, Args: string(args), Want: want, Got: string(e.Answer), Rule: e.Rule}, false, nil
}

// maxTable bounds a table of expectations, in bytes.
const maxTable = 4 << 20

// readTable reads a list, or one object after the other.
func readTable(path string) ([]expectation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("the table %.200q cannot be read", path), Hint: "name a file", Err: err}
	}
	if len(text) > maxTable {
		return nil, tableError(path, 0, "it is over 4 MiB")
	}
	if strings.HasSuffix(path, ".jsonl") {
		text = bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\n"), []byte("\n---\n"))
	}
	var rows []expectation
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	for n := 1; ; n++ {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF) && len(rows) > 0:
			return rows, nil
		case errors.Is(err, io.EOF):
			return nil, tableError(path, 0, "it holds no rows")
		case err != nil:
			return nil, tableError(path, n, oneLine(err.Error()))
		}
		more, err := rowsOf(&doc)
		if err != nil {
			return nil, tableError(path, n, oneLine(err.Error()))
		}
		rows = append(rows, more...)
	}
}

func rowsOf(doc *yaml.Node) ([]expectation, error) {
	b, err := yaml.Marshal(doc)
	if err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if len(doc.Content) == 1 && doc.Content[0].Kind == yaml.SequenceNode {
		var rows []expectation
		return rows, dec.Decode(&rows)
	}
	var row expectation
	err = dec.Decode(&row)
	return []expectation{row}, err
}

// jsonOf is a value as JSON, its numbers as they are written: a model's are not
// rounded either.
func jsonOf(n *yaml.Node) (json.RawMessage, error) {
	switch n.Kind {
	case yaml.MappingNode:
		fields := make(map[string]json.RawMessage, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			value, err := jsonOf(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			fields[n.Content[i].Value] = value
		}
		return tool.Encode(fields)
	case yaml.SequenceNode:
		items := make([]json.RawMessage, len(n.Content))
		for i, item := range n.Content {
			var err error
			if items[i], err = jsonOf(item); err != nil {
				return nil, err
			}
		}
		return tool.Encode(items)
	case yaml.ScalarNode:
		switch plain := n.Tag; {
		case plain == "!!null":
			return json.RawMessage("null"), nil
		case (plain == "!!int" || plain == "!!float" || plain == "!!bool") && json.Valid([]byte(n.Value)):
			return json.RawMessage(n.Value), nil
		case plain == "!!int" || plain == "!!float" || plain == "!!bool":
			return nil, fmt.Errorf("%.40q is not how JSON writes a number, true or false", n.Value)
		}
		return tool.Encode(n.Value) // a date is a text there
	}
	return nil, errors.New("args has no JSON form")
}

func tableError(path string, row int, why string) error {
	at := path
	if row > 0 {
		at = fmt.Sprintf("%s, row %d", path, row)
	}
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("%s: %s", at, why), Hint: "a row is such as {tool: read_file, args: {path: a.txt}, want: allow}"}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
