package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// selectors finds uses of a standard package's names, however the package is
// called in the file.
func (t *tree) selectors(s *source, pkg string, names ...string) []string {
	local := path.Base(pkg)
	imported := false
	for _, spec := range s.Imports {
		if spec.Path.Value == `"`+pkg+`"` {
			imported = true
			if spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}
	if !imported {
		return nil
	}
	var found []string
	ast.Inspect(s.File, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && slices.Contains(names, sel.Sel.Name) {
			found = append(found, t.at(sel))
		}
		return true
	})
	return found
}

// catchAllNames: a package is named for what it is about.
func catchAllNames(t *tree) []string {
	vague := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib", "core"}
	var found []string
	for _, dir := range t.dirs() {
		if slices.Contains(vague, path.Base(dir)) {
			found = append(found, dir+": the name says nothing about what is inside")
		}
	}
	return found
}

// initFunctions: wiring is written out; nothing happens because of an import.
func initFunctions(t *tree) []string {
	var found []string
	for _, s := range t.sources {
		for _, d := range s.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				found = append(found, t.at(f)+": init function")
			}
		}
	}
	return found
}

// packageVariables: the product has no package-level state. Tests and
// test-support packages are free. What else is allowed:
//   - _ : an interface guard holds nothing;
//   - errors.New(…): a sentinel, compared and never written;
//   - regexp.MustCompile(…): immutable, and costly to make anew;
//   - //go:embed: a file of the source, which Go allows only in a variable.
func packageVariables(t *tree) []string {
	var found []string
	for _, s := range t.sources {
		if s.test || isTestSupport(s.dir) {
			continue
		}
		for _, d := range s.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				v := spec.(*ast.ValueSpec)
				embedded := strings.Contains(directives(group.Doc)+directives(v.Doc), "//go:embed")
				for i, name := range v.Names {
					if name.Name != "_" && !embedded && !(i < len(v.Values) && isFixed(v.Values[i])) {
						found = append(found, t.at(name)+": package-level variable "+name.Name)
					}
				}
			}
		}
	}
	return found
}

func directives(doc *ast.CommentGroup) string {
	var b strings.Builder
	if doc != nil {
		for _, c := range doc.List {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

func isFixed(value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains([]string{"errors.New", "regexp.MustCompile"}, pkg.Name+"."+sel.Sel.Name)
}

// contextValues: what a function needs stands in its signature.
func contextValues(t *tree) []string {
	var found []string
	for _, s := range t.sources {
		for _, place := range t.selectors(s, "context", "WithValue") {
			found = append(found, place+": a value travels through a context")
		}
	}
	return found
}

// packageComments: each package says once what it is.
func packageComments(t *tree) []string {
	var found []string
	for _, dir := range t.dirs() {
		product := 0
		var commented []string
		for _, s := range t.sources {
			if s.dir != dir || s.test {
				continue
			}
			product++
			if s.Doc != nil {
				commented = append(commented, s.path)
			}
		}
		switch {
		case product > 0 && len(commented) == 0:
			found = append(found, dir+": no file has the package comment")
		case len(commented) > 1:
			found = append(found, dir+": several package comments: "+strings.Join(commented, ", "))
		}
	}
	return found
}

// maxLines is where a file holds more than one idea.
const maxLines = 600

// fileLength: a file holds one idea.
func fileLength(t *tree) []string {
	var found []string
	for _, s := range t.sources {
		if s.lines > maxLines {
			found = append(found, fmt.Sprintf("%s: %d lines, more than %d", s.path, s.lines, maxLines))
		}
	}
	return found
}

// unfinishedWork: what is left to do stands in an issue, not in the source.
func unfinishedWork(t *tree) []string {
	marks := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}
	var found []string
	for _, s := range t.sources {
		for _, group := range s.Comments {
			for _, c := range group.List {
				words := strings.FieldsFunc(c.Text, func(r rune) bool { return r < 'A' || r > 'Z' })
				if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(marks, w) }) {
					found = append(found, t.at(c)+": unfinished work")
				}
			}
		}
	}
	return found
}

// sleeps: nothing waits by guessing how long another takes. Inside
// testing/synctest time is virtual, and sleeping is exact.
func sleeps(t *tree) []string {
	var found []string
	for _, s := range t.sources {
		if _, virtual := s.imports()["testing/synctest"]; virtual {
			continue
		}
		for _, place := range t.selectors(s, "time", "Sleep") {
			found = append(found, place+": time.Sleep")
		}
	}
	return found
}

// cgo: the product builds without a C compiler.
func cgo(t *tree) []string {
	var found []string
	for _, s := range t.sources {
		if node, ok := s.imports()["C"]; ok {
			found = append(found, t.at(node)+`: import "C"`)
		}
	}
	return found
}

// testingInProduct: no product package imports what is made for tests.
func testingInProduct(t *tree) []string {
	var found []string
	for _, s := range t.sources {
		if s.test || isTestSupport(s.dir) {
			continue
		}
		for imported, node := range s.imports() {
			if within(imported, "testing") {
				found = append(found, t.at(node)+": "+s.dir+" imports "+imported)
			}
		}
	}
	return found
}

// processEnvironment: only the command line and the programs in folders cmd read
// the environment, arguments and standard streams of the process; a library is
// told what it needs. The package that starts programs looks up the few
// variables that they get, and packages for tests may be processes of their own.
func processEnvironment(t *tree) []string {
	var found []string
	for _, s := range t.sources {
		if s.test || isTestSupport(s.dir) || slices.Contains(strings.Split(s.dir, "/"), "cmd") || s.dir == "internal/cli" {
			continue
		}
		names := []string{"Getenv", "LookupEnv", "Environ", "Setenv", "Args", "Stdin", "Stdout", "Stderr", "Exit"}
		if s.dir == "internal/process" {
			names = []string{"Environ", "Setenv", "Stdin", "Stdout", "Stderr", "Exit"}
		}
		for _, place := range t.selectors(s, "os", names...) {
			found = append(found, place+": the process belongs to the command line")
		}
	}
	return found
}
