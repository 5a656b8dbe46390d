package skill

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the descriptions
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// The tools' names.
const (
	LoadName = "load_skill"
	ReadName = "read_skill_file"
)

//go:embed load_skill.txt
var loadDescription string

//go:embed read_skill_file.txt
var readDescription string

// define makes the tools of a catalog that has skills.
func (c *Catalog) define() error {
	if len(c.names) == 0 {
		return nil
	}
	revision := "\nRevision of the skills: " + c.digest[:shortDigest] + "."
	load, err := tool.Func(tool.Spec{
		Name: LoadName, Description: strings.TrimSpace(loadDescription) + revision, Schema: c.schema(""),
		Effect: kernel.Read, Risk: kernel.RiskLow, Capabilities: []string{LoadName},
		// A body is never cut: it has at most MaxManifest bytes, and what stands
		// above it fits into as many.
		Limits: tool.Limits{Timeout: timeout, MaxResult: 4 * MaxManifest},
	}, c.load)
	if err != nil {
		return err
	}
	read, err := tool.Func(tool.Spec{
		Name: ReadName, Description: strings.TrimSpace(readDescription) + revision,
		Schema: c.schema(fmt.Sprintf(`,"path":{"type":"string","minLength":1,"maxLength":%d,"description":"as the skill names it"}`, MaxPath)),
		Effect: kernel.Read, Risk: kernel.RiskLow, Capabilities: []string{ReadName},
		Limits: tool.Limits{Timeout: timeout, MaxResult: 8 * MaxShown},
	}, c.read)
	if err != nil {
		return err
	}
	c.tools = []tool.Tool{loader{load}, read}
	return nil
}

const timeout = 30 * time.Second

// schema names the skills: a call for another one is refused before any rule
// is asked.
func (c *Catalog) schema(more string) json.RawMessage {
	names, required := `"`+strings.Join(c.names, `","`)+`"`, `"name"`
	if more != "" {
		required += `,"path"`
	}
	return json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","enum":[` + names + `]}` + more +
		`},"required":[` + required + `],"additionalProperties":false}`)
}

// loader is load_skill, whose results may narrow.
type loader struct{ tool.Tool }

var _ tool.Narrower = loader{}

// loaded are the facts of a result of load_skill.
type loaded struct {
	Skill        string   `json:"skill"`
	Digest       string   `json:"digest"`
	AllowedTools []string `json:"allowed_tools,omitempty"`
}

// Narrows returns the allowed-tools of the skill that was loaded, and the tool
// that reads its files, without which it could not be followed.
func (loader) Narrows(data json.RawMessage) ([]string, bool) {
	var l loaded
	if json.Unmarshal(data, &l) != nil || len(l.AllowedTools) == 0 {
		return nil, false
	}
	return append([]string{ReadName}, l.AllowedTools...), true
}

type loadArguments struct {
	Name string `json:"name"`
}

func (c *Catalog) load(_ context.Context, _ tool.Call, in loadArguments) (tool.Result, error) {
	s := c.skills[in.Name]
	if s == nil {
		return tool.Result{}, c.unknown(in.Name)
	}
	data, err := tool.Encode(loaded{Skill: s.Name, Digest: s.Digest, AllowedTools: s.AllowedTools})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: s.text(), Data: data}, nil
}

// text is what a model is told of a skill.
func (s *Skill) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Skill %s (revision %s). It permits nothing: each call is decided as before.\n", s.Name, s.Digest[:shortDigest])
	if s.Compatibility != "" {
		b.WriteString("It needs: " + s.Compatibility + "\n")
	}
	if s.AllowedTools != nil {
		fmt.Fprintf(&b, "From now on only these tools can be called: %s, and %s and %s.\n", strings.Join(s.AllowedTools, ", "), LoadName, ReadName)
	}
	if len(s.Files) > 0 {
		fmt.Fprintf(&b, "Its files, for %s: %s\n", ReadName, s.listFiles())
	}
	if s.Body == "" {
		return b.String() + "\nIt has no instructions."
	}
	return b.String() + "\n" + s.Body
}

// maxListed bounds the files that are named at once.
const maxListed = 50

func (s *Skill) listFiles() string {
	if len(s.Files) == 0 {
		return "none"
	}
	var names []string
	for _, f := range s.Files[:min(maxListed, len(s.Files))] {
		names = append(names, f.Path)
	}
	if more := len(s.Files) - maxListed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

type readArguments struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

type document struct {
	Skill   string  `json:"skill"`
	Path    string  `json:"path"`
	Size    int64   `json:"size"` // bytes of the file
	Binary  bool    `json:"binary,omitempty"`
	Content *string `json:"content,omitempty"` // absent: binary
	Omitted int64   `json:"omitted_bytes,omitempty"`
}

func (c *Catalog) read(_ context.Context, _ tool.Call, in readArguments) (document, error) {
	s := c.skills[in.Name]
	if s == nil {
		return document{}, c.unknown(in.Name)
	}
	if err := checkPath(in.Path); err != nil {
		return document{}, refuse(kernel.CodeInvalidArgument, err.Error(), nil)
	}
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Path == in.Path })
	if i < 0 {
		return document{}, refuse(kernel.CodeNotFound, fmt.Sprintf("the skill %s has no file %q; its files: %s", s.Name, in.Path, s.listFiles()), nil)
	}
	f := s.Files[i]
	if f.Size > MaxFile {
		return document{}, refuse(kernel.CodeInvalidArgument, fmt.Sprintf("%s has %d bytes; files of at most %d can be read", f.Path, f.Size, MaxFile), nil)
	}
	b, err := s.bytes(f)
	if err != nil {
		return document{}, err
	}
	d := document{Skill: s.Name, Path: f.Path, Size: f.Size}
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		d.Binary = true
		return d, nil
	}
	content, omitted := tool.Bound(string(b), MaxShown)
	d.Content, d.Omitted = &content, omitted
	return d, nil
}

// bytes reads a file, which is still the one that the catalog was opened with.
func (s *held) bytes(f File) ([]byte, error) {
	file, _, err := openRegular(s.root, path.Join(s.Name, f.Path))
	switch {
	case errors.Is(err, fs.ErrClosed):
		return nil, refuse(kernel.CodeCancelled, "the skills are closed", err)
	case err != nil:
		return nil, changed(f.Path, err)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, f.Size+1))
	if err != nil {
		return nil, changed(f.Path, err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != f.Digest {
		return nil, changed(f.Path, nil)
	}
	return b, nil
}

func changed(name string, err error) error {
	return refuse(kernel.CodeConflict, name+" is not on disk any more as it was when the skills were read; a new run reads them anew", err)
}

func (c *Catalog) unknown(name string) error {
	return refuse(kernel.CodeNotFound, fmt.Sprintf("no skill is named %.80q; there are: %s", name, strings.Join(c.names, ", ")), nil)
}

func refuse(code kernel.Code, message string, err error) error {
	return &tool.Error{Code: code, Message: message, Disposition: kernel.DidNotHappen, Err: err}
}
