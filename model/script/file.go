package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-run/holdfast/kernel"
)

// maxFile is the largest script file, in bytes.
const maxFile = 1 << 20

// Load reads a script from a YAML or JSON file of at most 1 MiB. What is wrong
// with it is CONFIGURATION, with file, line and hint.
func Load(path string) (*Script, error) {
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil, unreadable(path, err)
	case !info.Mode().IsRegular(): // of which opening may wait for a writer
		return nil, unreadable(path, errors.New("not a regular file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(data) > maxFile {
		return nil, invalid(filepath.Base(path)+": the script is larger than 1 MiB", "a script is a few steps")
	}
	return Parse(filepath.Base(path), data)
}

func unreadable(path string, err error) error {
	return &kernel.Error{
		Code:    kernel.CodeConfiguration,
		Message: "the script file cannot be read: " + path,
		Hint:    "model.name is the path of a script file, a regular one, when the provider is script",
		Err:     err,
	}
}

// Parse reads a script from YAML, of which JSON is a part. Unknown and doubled
// keys are refused. name stands in errors.
func Parse(name string, data []byte) (*Script, error) {
	var s Script
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return nil, unparsable(name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, invalid(name+": more than one document", "a script file is one document")
	}
	if i, err := s.validate(); err != nil {
		return nil, at(name, stepLine(data, i), err)
	}
	return &s, nil
}

// at puts file and line before an error's message.
func at(name string, line int, err error) error {
	var e *kernel.Error
	if !errors.As(err, &e) {
		return err
	}
	located := *e
	located.Message = fmt.Sprintf("%s:%d: %s", name, line, e.Message)
	return &located
}

// stepLine is the line of a step, and 1 when there is no such step.
func stepLine(data []byte, step int) int {
	var doc struct {
		Steps []yaml.Node `yaml:"steps"`
	}
	if err := yaml.Unmarshal(data, &doc); err != nil || step >= len(doc.Steps) {
		return 1
	}
	return doc.Steps[step].Line
}

// unparsable turns the first complaint of the YAML decoder into ours. Its
// texts begin with the line.
func unparsable(name string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var wrong *yaml.TypeError
	if errors.As(err, &wrong) && len(wrong.Errors) > 0 {
		text = wrong.Errors[0]
	}
	line := 1
	if number, rest, ok := strings.Cut(strings.TrimPrefix(text, "line "), ": "); ok {
		if n, err := strconv.Atoi(number); err == nil {
			line, text = n, rest
		}
	}
	hint := "a script is steps: a list of text, calls, stop, usage, reasoning, fail, hang or any"
	if field, ok := strings.CutPrefix(text, "field "); ok {
		key, _, _ := strings.Cut(field, " ")
		text = fmt.Sprintf("unknown key %q", key)
	} else if value, _, ok := strings.Cut(text, " into "); ok {
		text = value // what follows names a Go type
	}
	return at(name, line, invalid(text, hint))
}
