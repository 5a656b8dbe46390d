package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

// constants returns the product's constants of a type, such as Code of the
// package kernel, that have a value: value to place.
func (t *tree) constants(pkg, name string) map[string]string {
	found := map[string]string{}
	for _, s := range t.sources {
		if s.test || isTestSupport(s.dir) {
			continue
		}
		want := pkg + "." + name
		if s.Name.Name == pkg {
			want = name
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || expression(v.Type) != want || len(v.Values) != 1 {
				return true
			}
			if value, ok := literal(v.Values[0]); ok && value != "" {
				found[value] = t.at(v)
			}
			return true
		})
	}
	return found
}

// expression is an identifier or a selector as text.
func expression(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return expression(e.X) + "." + e.Sel.Name
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	return constant.StringVal(constant.MakeFromLiteral(lit.Value, lit.Kind, 0)), true
}

// docErrors: docs/errors.md has a row for each code, each stop, each link and
// each exit code, and no row for anything else.
func docErrors(t *tree) []string {
	const file = "docs/errors.md"
	known := map[string]string{}
	for _, name := range []string{"Code", "Stop", "Link"} {
		maps.Copy(known, t.constants("kernel", name))
	}
	maps.Copy(known, t.exitCodes())
	return t.compareRows(file, known)
}

// compareRows compares the first column of a document's tables with what there
// is.
func (t *tree) compareRows(file string, known map[string]string) []string {
	var found []string
	d := read(file, t.text(file))
	rows := map[string]bool{}
	for _, row := range d.firstColumn(t.text(file)) {
		if _, ok := known[row.text]; !ok {
			found = append(found, d.at(row.line)+": the code has no "+row.text)
		}
		rows[row.text] = true
	}
	for value, place := range known {
		if !rows[value] {
			found = append(found, place+": "+file+" has no row for "+value)
		}
	}
	return found
}

// exitCodes are the constants exit… of the command line.
func (t *tree) exitCodes() map[string]string {
	found := map[string]string{}
	for _, s := range t.sources {
		if s.dir != "internal/cli" || s.test {
			continue
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || !regexp.MustCompile(`^exit[A-Z]`).MatchString(v.Names[0].Name) || len(v.Values) != 1 {
				return true
			}
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.INT {
				found[lit.Value] = t.at(v)
			}
			return true
		})
	}
	return found
}

// docConfiguration: docs/configuration.md has a row for each key that the
// decoder takes, by its path, and no row for another.
func docConfiguration(t *tree) []string {
	const file = "docs/configuration.md"
	known := map[string]string{}
	for _, key := range decoderKeys("", "%s") {
		known[key] = "internal/cli/config"
	}
	return t.compareRows(file, known)
}

// decoderKeys asks the decoder itself: an unknown key is answered with the
// known ones. shape is a document in which %s is the value at path.
func decoderKeys(path, shape string) []string {
	var keys []string
	for _, key := range knownKeys(fmt.Sprintf(shape, "{zzzzzzzz: 0}")) {
		full := strings.TrimPrefix(path+"."+key, ".")
		keys = append(keys, full)
		for suffix, form := range map[string]string{"": "{%s: %%s}", "[]": "{%s: [%%s]}", ".NAME": "{%s: {main: %%s}}"} {
			inner := fmt.Sprintf(shape, fmt.Sprintf(form, key))
			keys = append(keys, decoderKeys(full+suffix, inner)...)
		}
	}
	return keys
}

var knownHint = regexp.MustCompile(`known here: ([a-z_, ]+)$`)

// knownKeys returns the keys that the decoder names when it meets zzzzzzzz as
// a key, and none when it does not take a mapping there.
func knownKeys(text string) []string {
	dir, err := os.MkdirTemp("", "archtest")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "holdfast.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil
	}
	_, err = config.Read(file, nil)
	var refusal *kernel.Error
	if !errors.As(err, &refusal) || !strings.HasSuffix(refusal.Message, `unknown key "zzzzzzzz"`) {
		return nil
	}
	m := knownHint.FindStringSubmatch(refusal.Hint)
	if m == nil {
		return nil
	}
	return strings.Split(m[1], ", ")
}

// docEnvironment: the environment variables of the documents are those that
// the configuration asks for, and docs/configuration.md has them all.
func docEnvironment(t *tree) []string {
	asked := environmentNames()
	var found []string
	variable := regexp.MustCompile(`\b(?:OPENAI|ANTHROPIC|HOLDFAST)_[A-Z_]+\b`)
	for _, d := range t.documents() {
		for i, line := range strings.Split(t.text(d.path), "\n") {
			for _, name := range variable.FindAllString(line, -1) {
				if !slices.Contains(asked, name) {
					found = append(found, d.at(i+1)+": nothing reads "+name)
				}
			}
		}
	}
	reference := read("docs/configuration.md", t.text("docs/configuration.md"))
	for _, name := range asked {
		if !reference.mentions(name) {
			found = append(found, "docs/configuration.md: "+name+" is missing")
		}
	}
	return found
}

// environmentNames records what the configuration reads, whatever it finds.
func environmentNames() []string {
	asked := map[string]bool{}
	for _, provider := range []string{"", config.OpenAI, config.Anthropic} {
		c := config.Default("/")
		c.Model.Provider = provider
		// Only what is asked for matters, and not whether it is enough.
		_ = c.Complete(func(name string) string {
			asked[name] = true
			return ""
		})
	}
	return slices.Sorted(maps.Keys(asked))
}

// docDependencies: the table of docs/dependencies.md has exactly the direct
// requirements of go.mod, at their versions, and names the folders that import
// each: a product folder by its path, and tests as `tests`.
func docDependencies(t *tree) []string {
	const file = "docs/dependencies.md"
	var want []string
	for _, m := range requirement.FindAllStringSubmatch(t.text("go.mod"), -1) {
		if users := t.importers(m[1]); len(users) > 0 {
			want = append(want, "| `"+m[1]+"` | "+m[2]+" | "+strings.Join(users, ", ")+" |")
		}
	}
	row := regexp.MustCompile("(?m)^\\| `[^`]+` \\| v[^|]+ \\| [^|]+ \\|")
	got := row.FindAllString(t.text(file), -1)
	var found []string
	for _, w := range want {
		if !slices.Contains(got, w) {
			found = append(found, file+": missing: "+w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			found = append(found, file+": not so: "+g)
		}
	}
	return found
}

var requirement = regexp.MustCompile(`(?m)^\s+([a-z]\S+\.\S+) (v\S+)`)

// importers are the folders whose product code imports a module, and `tests`
// where only tests do.
func (t *tree) importers(module string) []string {
	users := map[string]bool{}
	tested := false
	for _, s := range t.sources {
		for imported := range s.imports() {
			switch {
			case !within(imported, module):
			case s.test || isTestSupport(s.dir):
				tested = true
			default:
				users["`"+s.dir+"`"] = true
			}
		}
	}
	if tested && len(users) == 0 {
		return []string{"tests"}
	}
	return slices.Sorted(maps.Keys(users))
}

// docArchitecture: docs/architecture.md names every phase, every event and
// every command of the kernel.
func docArchitecture(t *tree) []string {
	const file = "docs/architecture.md"
	text := t.text(file)
	var found []string
	for _, name := range []string{"Phase", "EventKind"} {
		for value, place := range t.constants("kernel", name) {
			if !regexp.MustCompile(`\b` + value + `\b`).MatchString(text) {
				found = append(found, place+": "+file+" does not name "+strconv.Quote(value))
			}
		}
	}
	for name, place := range t.commands() {
		if !strings.Contains(text, "`"+name+"`") {
			found = append(found, place+": "+file+" does not name the command "+name)
		}
	}
	return found
}

// commands are the types that close the kernel's set of commands.
func (t *tree) commands() map[string]string {
	found := map[string]string{}
	for _, s := range t.sources {
		if s.dir != "kernel" || s.test {
			continue
		}
		for _, d := range s.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "command" {
				found[expression(f.Recv.List[0].Type)] = t.at(f)
			}
		}
	}
	return found
}
