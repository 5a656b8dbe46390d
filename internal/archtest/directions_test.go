package archtest

import (
	"path"
	"slices"
	"strings"
)

// layer says what the product's packages below a folder may import of this
// module. Of several that fit a package the one with the longest folder counts.
type layer struct {
	dir string
	may []string // folders; those ending in /... with everything below
	// parts are what the folders below dir may import besides: what starts
	// processes for them, and what looks at the disk.
	parts []string
}

// contracts are the siblings between the kernel and the engine.
func contracts() []string {
	return []string{"model", "tool", "policy", "prompt", "journal", "verify"}
}

// layers is the order of the module: kernel, contracts, engine, library,
// surfaces.
func layers() []layer {
	below := append(contracts(), "kernel")
	public := append([]string{".", "engine"}, below...)
	return append([]layer{
		{dir: "kernel"},
		{dir: "model/internal", may: []string{"kernel", "model", "model/internal/..."}},
		{dir: "engine", may: append([]string{"internal/leash"}, below...)},
		{dir: ".", may: append([]string{"engine", "engine/local", "journal/memory", "journal/sqlite"}, below...)},
		{dir: "console", may: public},
		{dir: "desk", may: append([]string{"desk/internal/ranking", "desk/internal/unseen", "model/...", "tool/...", "journal/...", "verify/...", "engine/..."}, public...)},
		{dir: "desk/examples", may: append([]string{"desk", "desk/sqlite", "model/...", "tool/..."}, public...)},
		{dir: "internal/cli", may: []string{"..."}},
		{dir: "internal/cli/config", may: below},
		{dir: "cmd/holdfast", may: []string{"internal/cli"}},
		{dir: "sim", may: []string{"..."}},
		{dir: "internal/archtest"},
		{dir: "internal/leash"},
		{dir: "internal/process"},
		{dir: "internal/room"},
		{dir: "internal/sandbox", may: []string{"internal/process", "internal/room"}},
	}, siblings()...)
}

func siblings() []layer {
	var out []layer
	for _, c := range contracts() {
		l := layer{dir: c, may: []string{"kernel"}}
		if c == "tool" {
			l.may = append(l.may, "internal/leash")
		}
		switch c {
		case "tool":
			l.parts = []string{"internal/process", "internal/sandbox", "internal/room"}
		case "policy":
			l.parts = []string{"internal/process", "internal/sandbox"}
		case "journal", "prompt":
			l.parts = []string{"internal/room"}
		}
		out = append(out, l)
	}
	return out
}

// directions: dependencies point from the surfaces to the kernel and never
// back; a contract knows none of its implementations, siblings do not know one
// another, and only the library, the command line and the desk name
// implementations. Tests and test-support packages are free. Import cycles need
// no rule: the compiler refuses them.
func directions(t *tree) []string {
	var found []string
	for _, s := range t.sources {
		if s.test || isTestSupport(s.dir) {
			continue
		}
		for imported, node := range s.imports() {
			dir, ours := t.local(imported)
			if !ours {
				continue
			}
			switch l, ok := layerOf(s.dir); {
			case !ok:
				found = append(found, t.at(node)+": "+s.dir+" is in no layer; give it one in directions_test.go")
			case isTestSupport(dir):
				found = append(found, t.at(node)+": "+dir+" is for tests alone")
			case !l.allows(s.dir, dir):
				found = append(found, t.at(node)+": "+s.dir+" must not import "+dir)
			}
		}
	}
	return found
}

func layerOf(dir string) (layer, bool) {
	var best layer
	for _, l := range layers() {
		if within(dir, l.dir) && len(l.dir) > len(best.dir) {
			best = l
		}
	}
	return best, best.dir != ""
}

func (l layer) allows(from, to string) bool {
	listed := slices.ContainsFunc(l.may, func(may string) bool {
		parent, tree := strings.CutSuffix(may, "...")
		return to == may || tree && (parent == "" || within(to, strings.TrimSuffix(parent, "/")))
	})
	if listed || from == l.dir {
		return listed
	}
	// An implementation knows its contract, its own parts, and what its
	// contract's implementations share.
	return to == l.dir || slices.Contains(l.parts, to) || within(to, path.Join(l.dir, "internal")) || within(to, implementation(l.dir, from))
}

// implementation is the folder directly below contract that dir belongs to.
func implementation(contract, dir string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(dir, contract+"/"), "/")
	return path.Join(contract, name)
}

// kernelImports: the kernel is pure, so it imports only what can do no I/O and
// knows no time, no chance and no other goroutine. ("time" is there for
// Duration; sources of time are ruled out by name.)
func kernelImports(t *tree) []string {
	pure := []string{
		"bytes", "crypto/sha256", "encoding/hex", "encoding/json", "errors", "fmt", "math", "math/big", "math/bits",
		"slices", "maps", "cmp", "sort", "strconv", "strings", "time", "unicode", "unicode/utf16", "unicode/utf8",
	}
	var found []string
	for _, s := range t.sources {
		if s.test || !within(s.dir, "kernel") {
			continue
		}
		for imported, node := range s.imports() {
			if !slices.Contains(pure, imported) {
				found = append(found, t.at(node)+": the kernel must not import "+imported)
			}
		}
		for _, call := range t.selectors(s, "time", "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker") {
			found = append(found, call+": the kernel reads no clock; time arrives inside events")
		}
	}
	return found
}
