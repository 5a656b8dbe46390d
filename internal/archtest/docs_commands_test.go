package archtest

import (
	"bytes"
	"go/ast"
	"go/format"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/internal/cli"
)

// docCommands: every line of a block marked sh can be typed. A go command is
// one that .ci/run runs too, a holdfast command has the subcommand and the
// flags that it is shown with, and a make target exists. The same holds for
// holdfast commands in the text.
func docCommands(t *tree) []string {
	var found []string
	for _, d := range t.documents() {
		for _, b := range d.blocks {
			if b.language != "sh" {
				continue
			}
			for i, line := range strings.Split(strings.TrimSpace(b.text), "\n") {
				if problem := t.checkCommand(line); problem != "" {
					found = append(found, d.at(b.line+i)+": "+problem)
				}
			}
		}
		for _, s := range d.spans {
			if !strings.HasPrefix(s.text, "holdfast ") {
				continue
			}
			if problem := checkHoldfast(shellWords(s.text)[1:]); problem != "" {
				found = append(found, d.at(s.line)+": "+problem)
			}
		}
	}
	return found
}

var assignment = regexp.MustCompile(`^[A-Z_]+=`)

func (t *tree) checkCommand(line string) string {
	line, _, _ = strings.Cut(line, "  #")
	words := shellWords(line)
	for len(words) > 0 && assignment.MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return ""
	}
	switch words[0] {
	case "holdfast", "./holdfast":
		return checkHoldfast(words[1:])
	case "echo": // the answer to a question that a command asks
		_, command, _ := strings.Cut(line, " | ")
		return t.checkCommand(command)
	case "go":
		if len(words) == 5 && words[1] == "test" && words[2] == "-run" {
			return t.checkTests(words[3], path.Clean(words[4]))
		}
		if len(words) > 2 && words[1] == "run" && words[2] == "./cmd/holdfast" {
			if problem := checkHoldfast(words[3:]); problem != "" {
				return problem
			}
		}
		return t.checkRun(strings.Join(words, " "))
	case "make":
		return t.checkMake(words[1:])
	case "export", "unset", "git", "cd", ".ci/run":
		return ""
	case "remotedesk": // its own test types every line of its document
		return ""
	}
	return "nothing checks the command " + words[0]
}

// checkTests looks for tests that a go test command names, joined by |: they run
// with all the others.
func (t *tree) checkTests(names, dir string) string {
	for name := range strings.SplitSeq(names, "|") {
		if !t.hasFunction(dir, name) {
			return "there is no " + name + " in " + dir
		}
	}
	return ""
}

func (t *tree) hasFunction(dir, name string) bool {
	for _, s := range t.sources {
		for _, d := range s.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.dir == dir && f.Recv == nil && f.Name.Name == name {
				return true
			}
		}
	}
	return false
}

// checkRun looks for a command in .ci/run.
func (t *tree) checkRun(command string) string {
	if !strings.Contains(t.text(".ci/run"), command) {
		return ".ci/run does not run: " + command
	}
	return ""
}

func (t *tree) checkMake(targets []string) string {
	for _, target := range targets {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).MatchString(t.text("Makefile")) {
			return "the Makefile has no target " + target
		}
	}
	return ""
}

// checkHoldfast asks the command line itself for the help of a command and
// looks there for what args use.
func checkHoldfast(args []string) string {
	var words, flags []string
	for _, a := range args {
		if name, _, _ := strings.Cut(a, "="); strings.HasPrefix(a, "-") {
			flags = append(flags, name)
		} else if len(flags) == 0 && regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(a) {
			words = append(words, a)
		}
	}
	name, help := helpOf(words)
	if name == "holdfast" && len(words) > 0 {
		return "there is no command holdfast " + words[0]
	}
	if rest := words[strings.Count(name, " "):]; len(rest) > 0 && strings.Contains(help, "Available Commands:") {
		return "there is no command " + name + " " + rest[0]
	}
	for _, f := range flags {
		if !regexp.MustCompile(`(?m)^\s.*(^|\s)` + regexp.QuoteMeta(f) + `(,|\s|$)`).MatchString(help) {
			return name + " has no flag " + f
		}
	}
	return ""
}

// helpOf returns the longest command that words begin with, and its help.
func helpOf(words []string) (name, help string) {
	for n := len(words); ; n-- {
		var out, errs bytes.Buffer
		args := append(slices.Clone(words[:n]), "--help")
		name = strings.Join(append([]string{"holdfast"}, words[:n]...), " ")
		code := cli.Main(args, strings.NewReader(""), &out, &errs)
		usage := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(name) + `( |$)`)
		if code == 0 && usage.MatchString(out.String()) || n == 0 {
			return name, out.String()
		}
	}
}

var shellWord = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)

func shellWords(line string) []string {
	words := shellWord.FindAllString(line, -1)
	for i, w := range words {
		words[i] = strings.Trim(w, `"'`)
	}
	return words
}

// docExample: the README's program is the library's first example, letter for
// letter: what makes a program of it (package and main) apart.
func docExample(t *tree) []string {
	program := ""
	for _, d := range t.documents() {
		for _, b := range d.blocks {
			if d.path == "README.md" && b.language == "go" && strings.HasPrefix(b.text, "package main") {
				program = b.text
			}
		}
	}
	if program == "" {
		return []string{"README.md: there is no program in a go block"}
	}
	program = strings.Replace(program, "package main", "package holdfast_test", 1)
	program = strings.Replace(program, "func main()", "func Example()", 1)
	formatted, err := format.Source([]byte(program))
	if err != nil {
		return []string{"README.md: the program does not parse"}
	}
	var found []string
	if string(formatted) != program {
		found = append(found, "README.md: the program is not formatted")
	}
	if !t.hasFunction(".", "Example") {
		found = append(found, "example_test.go: there is no func Example")
	}
	if t.exampleProgram() != program {
		found = append(found, "README.md: the program differs from example_test.go")
	}
	return found
}

var expectedOutput = regexp.MustCompile(`(?m)^\t// Output:.*\n(\t//.*\n)*`)

// exampleProgram is example_test.go without its expected output.
func (t *tree) exampleProgram() string {
	return expectedOutput.ReplaceAllString(t.text("example_test.go"), "")
}
