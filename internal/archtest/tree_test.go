package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tree is a repository as the rules see it: the Go files of one module, and
// everything else through files.
type tree struct {
	files   fs.FS
	module  string
	fset    *token.FileSet
	sources []*source
}

// source is one Go file.
type source struct {
	path  string // slashes, from the root
	dir   string // "." for the root
	test  bool   // a _test.go file
	lines int
	*ast.File
}

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// load reads the module at the root of files. Nested modules, testdata and
// hidden folders are not part of it.
func load(files fs.FS) (*tree, error) {
	mod, err := fs.ReadFile(files, "go.mod")
	if err != nil {
		return nil, err
	}
	name := moduleLine.FindSubmatch(mod)
	if name == nil {
		return nil, fmt.Errorf("go.mod names no module")
	}
	t := &tree{files: files, module: string(name[1]), fset: token.NewFileSet()}
	err = fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && t.outside(p, d.Name()):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(p, ".go"):
			return t.add(p)
		}
		return nil
	})
	return t, err
}

func (t *tree) outside(p, name string) bool {
	if p == "." {
		return false
	}
	_, err := fs.Stat(t.files, path.Join(p, "go.mod"))
	return err == nil || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func (t *tree) add(p string) error {
	text, err := fs.ReadFile(t.files, p)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(t.fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.sources = append(t.sources, &source{
		path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"),
		lines: bytes.Count(text, []byte("\n")), File: file,
	})
	return nil
}

// text returns a file's content, and "" when there is none.
func (t *tree) text(p string) string {
	text, err := fs.ReadFile(t.files, p)
	if err != nil {
		return ""
	}
	return string(text)
}

func (t *tree) exists(p string) bool {
	_, err := fs.Stat(t.files, p)
	return err == nil
}

// at is the place of a node, for findings.
func (t *tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

// dirs returns the folders that hold Go files, in order.
func (t *tree) dirs() []string {
	var dirs []string
	for _, s := range t.sources {
		dirs = append(dirs, s.dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// imports returns the paths that a file imports, with their places.
func (s *source) imports() map[string]ast.Node {
	found := map[string]ast.Node{}
	for _, spec := range s.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			found[p] = spec
		}
	}
	return found
}

// local returns the folder of an import of this module.
func (t *tree) local(imported string) (dir string, ok bool) {
	if imported == t.module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.module+"/")
}

// within reports whether dir is parent or lies below it.
func within(dir, parent string) bool {
	return dir == parent || strings.HasPrefix(dir, parent+"/")
}

// isTestSupport reports whether a package exists for tests alone, such as
// journal/journaltest.
func isTestSupport(dir string) bool {
	return strings.HasSuffix(path.Base(dir), "test")
}
