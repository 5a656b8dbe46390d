package desk

import _ "embed" // the labelled tasks

//go:embed testdata/tasks.jsonl
var tasks []byte

// LabelledTasks is the suite that comes with the desk: a file for eval.Parse.
func LabelledTasks() []byte { return tasks }
