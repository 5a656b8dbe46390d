package skill_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool/skill"
)

// entry is one of an archive, in order.
type entry struct {
	name, text string
	mode       fs.FileMode
	link       string
}

func zipped(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode | 0o644)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, e.text+e.link); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.text)), Typeflag: tar.TypeReg, Linkname: e.link}
		switch {
		case e.mode&fs.ModeDir != 0:
			h.Typeflag = tar.TypeDir
		case e.mode&fs.ModeSymlink != 0:
			h.Typeflag = tar.TypeSymlink
		case e.mode&fs.ModeDevice != 0:
			h.Typeflag = tar.TypeChar
		case e.link != "":
			h.Typeflag = tar.TypeLink
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []io.Closer{w, g} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func write(t testing.TB, b []byte) string {
	t.Helper()
	place := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(place, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return place
}

// left names what lies in a folder.
func left(t testing.TB, dir string) string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

var good = []entry{{name: "one/SKILL.md", text: front("one", "")}, {name: "one/sub/run.sh", text: "echo", mode: 0o755}}

func TestInstall(t *testing.T) {
	for form, b := range map[string][]byte{
		"zip": zipped(t, good...), "tar": tarred(t, append([]entry{{name: "./", mode: fs.ModeDir}, {name: "./one/", mode: fs.ModeDir}}, good...)...),
	} {
		dir := filepath.Join(t.TempDir(), "new", "skills")
		s, place, err := skill.Install(t.Context(), write(t, b), dir, skill.InstallOptions{})
		if err != nil || s.Name != "one" || place != filepath.Join(dir, "one") || left(t, dir) != "one" {
			t.Fatalf("%s: %v, %s, %v, %s", form, s, place, err, left(t, dir))
		}
		if loaded, there := open(t, dir).Skill("one"); !there || loaded.Digest != s.Digest {
			t.Errorf("%s: what lies there is something else", form)
		}
		// A second one takes nobody's place unasked.
		if _, _, err := skill.Install(t.Context(), write(t, b), dir, skill.InstallOptions{}); kernel.CodeOf(err) != kernel.CodeConflict {
			t.Errorf("%s: %v", form, err)
		}
		other := zipped(t, entry{name: "one/SKILL.md", text: front("one", "license: new\n")})
		s, _, err = skill.Install(t.Context(), write(t, other), dir, skill.InstallOptions{Replace: true})
		if err != nil || s.License != "new" || left(t, dir) != "one" || left(t, filepath.Join(dir, "one")) != "SKILL.md" {
			t.Errorf("%s: %v, %v, %s", form, s, err, left(t, dir))
		}
	}
}

// hostile are archives that must leave nothing behind, whatever their form.
func hostile() map[string][]entry {
	many := append([]entry{}, good...)
	for i := range skill.MaxFiles {
		many = append(many, entry{name: fmt.Sprintf("one/f%d", i)})
	}
	folders := append([]entry{}, good...)
	for i := range 2 * skill.MaxFiles {
		folders = append(folders, entry{name: fmt.Sprintf("one/d%d/", i), mode: fs.ModeDir})
	}
	with := func(e ...entry) []entry { return append(append([]entry{}, good...), e...) }
	return map[string][]entry{
		"leads upwards":        with(entry{name: "one/../../evil", text: "x"}),
		"is absolute":          with(entry{name: "/etc/evil", text: "x"}),
		"holds a backslash":    with(entry{name: `one\..\evil`, text: "x"}),
		"shortest form":        with(entry{name: "one//evil", text: "x"}),
		"neither a file":       with(entry{name: "one/link", mode: fs.ModeSymlink, link: "/etc/passwd"}),
		"neither a file nor":   with(entry{name: "one/dev", mode: fs.ModeDevice | fs.ModeCharDevice}),
		"holds two folders":    with(entry{name: "two/SKILL.md", text: front("two", "")}),
		"lies beside":          with(entry{name: "evil", text: "x"}),
		"twice":                with(entry{name: "one/sub/run.sh", text: "x"}),
		"are one name":         with(entry{name: "one/SUB/other", text: "x"}),
		"one name on some":     with(entry{name: "one/\u00e9", text: "x"}, entry{name: "one/e\u0301", text: "x"}),
		"do not show":          with(entry{name: "one/a\u202eb", text: "x"}),
		"is a file and":        with(entry{name: "one/sub/run.sh/x", text: "x"}),
		"not named like":       {{name: "One/SKILL.md", text: front("One", "")}},
		"no skill":             {{name: "one/README", text: "x"}},
		"the folder is":        {{name: "two/SKILL.md", text: front("one", "")}},
		`(".env" begins with`:  with(entry{name: "one/.env", text: "KEY=x"}),
		`(".git" begins with`:  with(entry{name: "one/.git/", mode: fs.ModeDir}, entry{name: "one/.git/hooks/pre-commit", text: "x", mode: 0o755}),
		`(".x" begins with`:    with(entry{name: "one/sub/.x/y", text: "x"}),
		"it is empty":          {},
		"refused: it is empty": {{name: "__MACOSX/._one", text: "x"}},
		"unpacks to over":      with(entry{name: "one/bomb", text: strings.Repeat("\x00", skill.MaxSize+1)}),
		"holds over 1000":      many,
		"holds over 2000":      folders,
	}
}

func TestHostileArchives(t *testing.T) {
	for want, entries := range hostile() {
		for form, pack := range map[string]func(testing.TB, ...entry) []byte{"zip": zipped, "tar": tarred} {
			above := t.TempDir()
			dir := filepath.Join(above, "skills")
			_, _, err := skill.Install(t.Context(), write(t, pack(t, entries...)), dir, skill.InstallOptions{Replace: true})
			if kernel.CodeOf(err) != kernel.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v", form, want, err)
			}
			if left(t, dir) != "" || left(t, above) != "skills" {
				t.Errorf("%s, %s: it left %q and %q", form, want, left(t, dir), left(t, above))
			}
		}
	}
}

// What macOS adds to an archive of its own accord is passed over, and said, and
// everything else that is there is in the list and the digest.
func TestMacArchives(t *testing.T) {
	litter := []entry{
		{name: "__MACOSX/", mode: fs.ModeDir}, {name: "__MACOSX/._one", text: "x"}, {name: "__MACOSX/one/._SKILL.md", text: "x"},
		{name: ".DS_Store", text: "x"}, {name: "one/sub/.DS_Store", text: "x"}, {name: "./._one", text: "x"}, {name: "one/._SKILL.md", text: "x"},
	}
	for form, b := range map[string][]byte{"zip": zipped(t, append(slices.Delete(slices.Clone(litter), 5, 6), good...)...), "tar": tarred(t, append(litter, good...)...)} {
		dir := t.TempDir()
		s, place, err := skill.Install(t.Context(), write(t, b), dir, skill.InstallOptions{})
		if err != nil {
			t.Fatal(form, err)
		}
		if len(s.Notes) != 1 || !strings.HasPrefix(s.Notes[0], `what macOS adds to an archive was passed over: "__MACOSX", "__MACOSX/._one"`) {
			t.Errorf("%s: %q", form, s.Notes)
		}
		if left(t, dir) != "one" || left(t, place) != "SKILL.md sub" || left(t, filepath.Join(place, "sub")) != "run.sh" {
			t.Errorf("%s: %s, %s", form, left(t, dir), left(t, place))
		}
		plain, _, err := skill.Install(t.Context(), write(t, zipped(t, good...)), t.TempDir(), skill.InstallOptions{})
		if err != nil || plain.Digest != s.Digest {
			t.Errorf("%s: %v, another digest", form, err)
		}
	}
}

func TestTornArchives(t *testing.T) {
	hard := tarred(t, append(append([]entry{}, good...), entry{name: "one/hard", link: "one/SKILL.md"})...)
	whole := map[string][]byte{"zip": zipped(t, good...), "tar": tarred(t, good...)}
	for name, b := range map[string][]byte{
		"hard link": hard, "nothing": nil, "text": []byte("hello"), "half a zip": whole["zip"][:100], "half a tar": whole["tar"][:len(whole["tar"])-9],
	} {
		dir := t.TempDir()
		if _, _, err := skill.Install(t.Context(), write(t, b), dir, skill.InstallOptions{}); kernel.CodeOf(err) != kernel.CodeInvalidArgument || left(t, dir) != "" {
			t.Errorf("%s: %v, %q is left", name, err, left(t, dir))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, _, err := skill.Install(ctx, write(t, whole["zip"]), dir, skill.InstallOptions{}); err == nil || left(t, dir) != "" {
		t.Errorf("%v, %q is left", err, left(t, dir))
	}
}

// What a killed installation left is swept away once nobody can be at it.
func TestDraftsAreSwept(t *testing.T) {
	dir := lay(t, map[string]string{".install-old/x": "", ".install-new/x": "", "kept/SKILL.md": front("kept", "")})
	long := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, ".install-old"), long, long); err != nil {
		t.Fatal(err)
	}
	if _, _, err := skill.Install(t.Context(), write(t, zipped(t, good...)), dir, skill.InstallOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := left(t, dir); got != ".install-new kept one" {
		t.Errorf("it left %q", got)
	}
}

// Whatever an archive names, nothing is written beside the skill: it is there
// whole, or not at all.
func TestWholeOrNot(t *testing.T) {
	piece := rapid.SampledFrom([]string{"one", "two", "..", ".", "", "a", "A", "SKILL.md", "b\u0000", ".hidden", "é"})
	rapid.Check(t, func(r *rapid.T) {
		entries := append([]entry{}, good...)
		for range rapid.IntRange(0, 4).Draw(r, "more") {
			name := strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(r, "path"), "/")
			if strings.HasSuffix(name, "/") {
				name += "x" // a folder has no text
			}
			entries = append(entries, entry{name: name, text: rapid.StringN(0, 20, -1).Draw(r, "text")})
		}
		above := t.TempDir()
		archive, dir := filepath.Join(above, "archive"), filepath.Join(above, "skills")
		if err := os.WriteFile(archive, zipped(t, entries...), 0o600); err != nil {
			r.Fatal(err)
		}
		_, _, err := skill.Install(t.Context(), archive, dir, skill.InstallOptions{})
		want := "one"
		if err != nil {
			want = ""
		}
		if left(t, dir) != want || left(t, above) != "archive skills" {
			r.Fatalf("%v: it left %q and %q", err, left(t, dir), left(t, above))
		}
	})
}
