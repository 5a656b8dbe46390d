//go:build linux || darwin

package files

import (
	_ "embed" // the descriptions and the schemas
	"encoding/json"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

//go:embed list_files.txt
var listDescription string

//go:embed list_files.json
var listSchema []byte

//go:embed read_file.txt
var readDescription string

//go:embed read_file.json
var readSchema []byte

//go:embed write_file.txt
var writeDescription string

//go:embed write_file.json
var writeSchema []byte

// define makes the tools of w.
func (w *Workspace) define() (err error) {
	limits := tool.Limits{Timeout: timeout, MaxResult: maxResult}
	if w.List, err = tool.Func(tool.Spec{
		Name: ListName, Description: listDescription, Schema: listSchema,
		Effect: kernel.Read, Capabilities: []string{"list_files"}, Limits: limits,
	}, w.list); err != nil {
		return err
	}
	if w.Read, err = tool.Func(tool.Spec{
		Name: ReadName, Description: readDescription, Schema: readSchema,
		Effect: kernel.Read, Capabilities: []string{"read_files"}, Limits: limits,
	}, w.read); err != nil {
		return err
	}
	w.Write, err = tool.Reconcilable(tool.Spec{
		Name: WriteName, Description: writeDescription, Schema: writeSchema,
		Capabilities: []string{"write_files"}, Limits: limits,
	}, w.write, w.lookup)
	if err != nil {
		return err
	}
	w.List, w.Read = spelled{w.List}, spelled{w.Read}
	if l, ok := w.Write.(tool.Lookuper); ok { // it is reconcilable
		w.Write = spelledWrite{spelled{w.Write}, l}
	}
	return nil
}

// spelled is a tool whose path has several spellings, of which rules compare the
// shortest: that under which its results name the file.
type spelled struct{ tool.Tool }

type spelledWrite struct {
	spelled
	tool.Lookuper
}

var (
	_ tool.Normalizer = spelled{}
	_ tool.Lookuper   = spelledWrite{}
)

// Normal returns the arguments with the path in its shortest form. A path that
// the tool will refuse stays as it is.
func (spelled) Normal(args json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	var written string
	if json.Unmarshal(args, &fields) != nil || json.Unmarshal(fields["path"], &written) != nil {
		return args
	}
	name, err := checkPath(written)
	if err != nil || name == written {
		return args
	}
	if fields["path"], err = tool.Encode(name); err != nil {
		return args
	}
	normal, err := tool.Encode(fields)
	if err != nil {
		return args
	}
	return normal
}
