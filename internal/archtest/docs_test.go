package archtest

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// document is a Markdown file, taken apart.
type document struct {
	path   string
	blocks []block
	spans  []span // code spans outside blocks
	links  []span // targets of links
}

// block is a fenced code block.
type block struct {
	language string
	line     int // of its first line
	text     string
}

type span struct {
	line int
	text string
}

func (d *document) at(line int) string { return d.path + ":" + strconv.Itoa(line) }

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	linkSpan = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// documents returns the Markdown files of the root and of docs, in order.
func (t *tree) documents() []*document {
	var found []*document
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files, err := fs.Glob(t.files, pattern)
		if err != nil {
			continue // only a bad pattern fails
		}
		for _, file := range files {
			found = append(found, read(file, t.text(file)))
		}
	}
	return found
}

func read(file, text string) *document {
	d := &document{path: file}
	var open *block
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && open == nil:
			open = &block{language: fence, line: i + 2}
		case isFence:
			d.blocks = append(d.blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		default:
			for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
				d.spans = append(d.spans, span{i + 1, m[1]})
			}
			for _, m := range linkSpan.FindAllStringSubmatch(line, -1) {
				d.links = append(d.links, span{i + 1, m[1]})
			}
		}
	}
	return d
}

// mentions reports whether text stands in d as a whole code span.
func (d *document) mentions(text string) bool {
	return slices.ContainsFunc(d.spans, func(s span) bool { return s.text == text })
}

// firstColumn returns the code spans that begin the rows of tables.
func (d *document) firstColumn(text string) []span {
	row := regexp.MustCompile("^\\| `([^`]+)` \\|")
	var found []span
	for i, line := range strings.Split(text, "\n") {
		if m := row.FindStringSubmatch(line); m != nil {
			found = append(found, span{i + 1, m[1]})
		}
	}
	return found
}

var repositoryPath = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.*-]+)*/?$`)

// docPaths: every link within the repository leads somewhere, and so does
// every code span that reads like a path: one that begins with a folder of the
// root or names a Markdown file.
func docPaths(t *tree) []string {
	var found []string
	for _, d := range t.documents() {
		for _, l := range d.links {
			target, _, _ := strings.Cut(l.text, "#")
			if target != "" && !strings.Contains(target, "://") && !t.exists(path.Join(path.Dir(d.path), target)) {
				found = append(found, d.at(l.line)+": there is no "+target)
			}
		}
		for _, s := range d.spans {
			if t.isPath(s.text) && !t.matches(s.text) {
				found = append(found, d.at(s.line)+": there is no "+s.text)
			}
		}
	}
	return found
}

func (t *tree) isPath(text string) bool {
	if !repositoryPath.MatchString(text) {
		return false
	}
	first, _, deep := strings.Cut(text, "/")
	return deep && t.exists(first) || strings.HasSuffix(text, ".md") || strings.HasSuffix(text, "/")
}

func (t *tree) matches(text string) bool {
	files, err := fs.Glob(t.files, strings.TrimSuffix(text, "/"))
	return err == nil && len(files) > 0
}
