package kernel

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pureImports is all that the state machine may use.
var pureImports = []string{
	"bytes", "crypto/sha256", "encoding/hex", "encoding/json", "errors", "fmt", "math", "math/bits",
	"slices", "strconv", "strings", "time", "unicode", "unicode/utf16", "unicode/utf8",
}

// impureTime is what package time offers beyond arithmetic.
var impureTime = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"}

// TestPurity holds what Step promises: no I/O, clock, randomness, goroutine,
// logger or shared state in any file of the package.
func TestPurity(t *testing.T) {
	set, files := sources(t)
	for _, f := range files {
		for _, fault := range impurities(f) {
			t.Errorf("%s: %s", set.Position(fault.at), fault.what)
		}
	}
}

// TestPurityFindsFaults proves that the check above can fail.
func TestPurityFindsFaults(t *testing.T) {
	const bad = `package p
import ("os"; "time"; _ "unsafe")
var shared = map[string]int{}
func init() {}
func f(c chan int) { go f(nil); c <- 1; <-c; select {}; _ = time.Now(); _ = os.Args; for range c {} }
`
	f, err := parser.ParseFile(token.NewFileSet(), "bad.go", bad, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fault := range impurities(f) {
		got = append(got, fault.what)
	}
	want := []string{
		"import os", "import unsafe", "package-level var", "func init", "channel type", "go statement",
		"channel send", "channel receive", "select", "time.Now",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

type impurity struct {
	at   token.Pos
	what string
}

func impurities(f *ast.File) (found []impurity) {
	add := func(n ast.Node, what string) { found = append(found, impurity{n.Pos(), what}) }
	for _, spec := range f.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); !slices.Contains(pureImports, path) {
			add(spec, "import "+path)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				add(d, "package-level var")
			}
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				add(d, "func init")
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add(n, "go statement")
		case *ast.SendStmt:
			add(n, "channel send")
		case *ast.SelectStmt:
			add(n, "select")
		case *ast.ChanType:
			add(n, "channel type")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				add(n, "channel receive")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(impureTime, n.Sel.Name) {
				add(n, "time."+n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// sources parses the package's files that are no tests.
func sources(t *testing.T) (*token.FileSet, []*ast.File) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if len(files) < 10 {
		t.Fatalf("found %d files", len(files))
	}
	return set, files
}

// receivers are the types that have a method of that name.
func receivers(t *testing.T, method string) []string {
	t.Helper()
	var names []string
	_, files := sources(t)
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != method {
				continue
			}
			if id, ok := fn.Recv.List[0].Type.(*ast.Ident); ok {
				names = append(names, id.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}
