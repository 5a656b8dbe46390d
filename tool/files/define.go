//go:build linux || darwin

package files

import (
	_ "embed" // the descriptions and the schemas

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
	return err
}
