package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Reports A07, A08, A09, A10, A40; case 2.
func TestCanonicalArguments(t *testing.T) {
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for _, c := range []struct{ text, want string }{
		{``, `{}`},
		{" \t\r\n", `{}`},
		{`{}`, `{}`},
		{` { } `, `{}`},
		{`{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{`{"a": [1, {"z":1,"y":[ ]}, "s" ] }`, `{"a":[1,{"y":[],"z":1},"s"]}`},
		{`{"id":9007199254740993,"max":9223372036854775807,"d":0.1}`, `{"d":0.1,"id":9007199254740993,"max":9223372036854775807}`},
		{`{"n":[-0,0.0,1e5,1E+5,1.50,123456789012345678901234567890]}`, `{"n":[-0,0.0,1e5,1E+5,1.50,123456789012345678901234567890]}`},
		{`{"s":"\ud83d\ude00"}`, `{"s":"😀"}`},
		{`{"s":"\u4e2d\/\"\\\b\f\n\r\t\u0000\u007f"}`, `{"s":"中/\"\\\b\f\n\r\t\u0000` + "\x7f" + `"}`},
		{`{"\u0061":1}`, `{"a":1}`},
		{`{"":null,"t":true,"f":false}`, `{"":null,"f":false,"t":true}`},
		{"{\"s\":\"\u2028<&>\"}", "{\"s\":\"\u2028<&>\"}"},
		{deep(maxArgumentDepth), deep(maxArgumentDepth)},
	} {
		got, err := canonicalArguments(c.text)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.text, got, err, c.want)
		}
	}
}

func TestCanonicalArgumentsRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		cut  bool // the text ended too early
	}{
		{`{`, true}, {`{"a`, true}, {`{"a"`, true}, {`{"a":`, true}, {`{"a":1`, true}, {`{"a":1,`, true}, {`{"a":[1`, true}, {`{"a":"\u12`, true},
		{`{"a":"\ud83d`, true}, {`{"a":"\ud83d\`, true}, {`{"a":"\`, true}, {`{"a":tr`, true}, {`{"a":-`, true}, {`{"a":1.`, true}, {`{"a":1e`, true}, {`{"a":1e+`, true},
		{`[1]`, false}, {`null`, false}, {`"a"`, false}, {`1`, false}, {`x`, false},
		{`{"a":1}{"a":2}`, false}, {`{"add":["s"]}</tool_call>`, false}, {`{"a":1}}`, false},
		{`{"a":1,"a":2}`, false}, {`{"a":1,"\u0061":2}`, false}, {`{"x":{"a":1,"a":2}}`, false},
		{`{a:1}`, false}, {`{"a":1,}`, false}, {`{"a":[1,]}`, false}, {`{"a" 1}`, false}, {`{'a':1}`, false},
		{`{"a":01}`, false}, {`{"a":+1}`, false}, {`{"a":.5}`, false}, {`{"a":1.x}`, false}, {`{"a":NaN}`, false}, {`{"a":Infinity}`, false}, {`{"a":tru1}`, false},
		{"{\"a\":\"\n\"}", false}, {`{"a":"\x"}`, false}, {`{"a":"\u12g4"}`, false}, {"{\"a\":\"\\u00\x10\x11\"}", false},
		{`{"a":"\ud83d"}`, false}, {`{"a":"\ude00"}`, false}, {`{"a":"\ud83dx"}`, false}, {`{"a":"\ud83d\u0061"}`, false},
		{"{\"a\":\"\xff\"}", false}, {"{\"a\":\"\xe4\xb8\"}", false}, {"\ufeff{}", false}, {"\u00a0{}", false},
		{`{"a":` + strings.Repeat("[", maxArgumentDepth+1) + strings.Repeat("]", maxArgumentDepth+1) + `}`, false},
	} {
		got, err := canonicalArguments(c.text)
		if err == nil {
			t.Errorf("%q is taken as %s", c.text, got)
			continue
		}
		if isTruncated(err) != c.cut {
			t.Errorf("%q: %v, cut %t", c.text, err, isTruncated(err))
		}
		if err := err.Error(); !oneLine(err) {
			t.Errorf("%q: the error is no line: %q", c.text, err)
		}
	}
}

// checkArguments compares with encoding/json, which differs in what it forgives:
// repeated names, lone surrogates, invalid UTF-8 and great depth.
func checkArguments(t failer, text string) {
	t.Helper()
	got, err := canonicalArguments(text)
	oracle, valid := decodeObject(text)
	if err != nil {
		var e *argumentError
		if !errors.As(err, &e) || e.at < 0 || e.at > len(text) {
			t.Fatalf("%q: %v", text, err)
		}
		if valid && !forgiven(text, oracle) {
			t.Fatalf("%q: %v, but it is an object", text, err)
		}
		return
	}
	if strings.TrimLeft(text, " \t\r\n") == "" {
		return
	}
	if !valid {
		t.Fatalf("%q is taken as %q, but is no object", text, got)
	}
	again, ok := decodeObject(string(got))
	if !ok || !reflect.DeepEqual(again, oracle) {
		t.Fatalf("%q became %q, which says something else", text, got)
	}
	if twice, err := canonicalArguments(string(got)); err != nil || !bytes.Equal(twice, got) {
		t.Fatalf("%q is not canonical: %q, %v", got, twice, err)
	}
}

func decodeObject(text string) (map[string]any, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if d.Decode(&v) != nil || v == nil {
		return nil, false
	}
	_, err := d.Token()
	return v, err == io.EOF
}

// forgiven reports whether encoding/json may have taken what we refuse.
func forgiven(text string, v map[string]any) bool {
	repeated := len(v) == 0 || countMembers(v) != strings.Count(outsideStrings(text), ":")
	surrogate := strings.Contains(text, `\u`) // a lone one; too wide, but safe
	return repeated || surrogate || !utf8.ValidString(text) || depth(text) > maxArgumentDepth
}

func countMembers(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n += 1 + countMembers(e)
		}
	case []any:
		for _, e := range v {
			n += countMembers(e)
		}
	}
	return n
}

// outsideStrings is a JSON text without what stands in quotes.
func outsideStrings(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case quoted && text[i] == '\\':
			i++
		case !quoted:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

func depth(text string) (most int) {
	open := 0
	for _, r := range outsideStrings(text) {
		switch r {
		case '{', '[':
			open++
			most = max(most, open-1)
		case '}', ']':
			open--
		}
	}
	return most
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		"", " ", `{}`, `{"a":1}`, `{"b":[1.5e-3,"\u00e9\ud83d\ude00",{"c":null}],"a":{"":true}}`, `{"a":1,"a":2}`, `{"a":"\ud83d"}`,
		`{"a":1}x`, `{"a":`, `[1]`, "{\"a\":\"\xff\"}", `{"a":9007199254740993}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkArguments(t, text) })
}

// Any value, spelt in any order and with any white space and escapes, has one
// canonical form.
func TestCanonicalFormIgnoresSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawObject(t, 3)
		seed := rapid.Uint64().Draw(t, "spelling")
		r := rand.New(rand.NewPCG(seed, 1))
		var forms []string
		for range 2 {
			var b bytes.Buffer
			spell(&b, r, v)
			checkArguments(t, b.String())
			form, err := canonicalArguments(b.String())
			if err != nil {
				t.Fatalf("%s: %v", b.String(), err)
			}
			forms = append(forms, string(form))
		}
		if forms[0] != forms[1] {
			t.Fatalf("two forms: %s and %s", forms[0], forms[1])
		}
	})
}

func drawObject(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		m[rapid.OneOf(rapid.StringN(0, 3, -1), rapid.SampledFrom([]string{"a", "b", "汉", "\n"})).Draw(t, "name")] = drawValue(t, depth)
	}
	return m
}

func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind = min(kind, 4)
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return json.Number(strconv.FormatInt(rapid.Int64().Draw(t, "number"), 10))
	case 3:
		return json.Number(rapid.SampledFrom([]string{"0.1", "-0", "1e400", "1E-5", "12345678901234567890.5"}).Draw(t, "number"))
	case 4:
		return rapid.String().Draw(t, "text")
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	}
	return drawObject(t, depth-1)
}

// spell writes v with white space, order and escapes as chance will have it.
func spell(b *bytes.Buffer, r *rand.Rand, v any) {
	space := func() { b.WriteString([]string{"", "", " ", "\n\t"}[r.IntN(4)]) }
	space()
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case json.Number:
		b.WriteString(v.String())
	case string:
		spellString(b, r, v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			spell(b, r, e)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		first := true
		for k, e := range v { // in the map's own random order
			if !first {
				b.WriteByte(',')
			}
			first = false
			space()
			spellString(b, r, k)
			space()
			b.WriteByte(':')
			spell(b, r, e)
		}
		b.WriteByte('}')
	}
	space()
}

func spellString(b *bytes.Buffer, r *rand.Rand, s string) {
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\' || c < 0x20 || c < 0x10000 && r.IntN(3) == 0:
			b.WriteString(`\u` + strconv.FormatInt(0x10000+int64(c), 16)[1:])
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
}
