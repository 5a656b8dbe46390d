package transport

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestValueText(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`: "plain", `""`: "", `null`: "", ``: "",
		`"a\"b\\c\/d\be\ff\ng\rh\ti"`: "a\"b\\c/d\be\ff\ng\rh\ti",
		`"\n中\u4e2d\ud83d\ude00"`:     "\n中中😀", `"\ud83d"`: "\uFFFD",
	} {
		if got, ok := Value(in).Text(); !ok || got != want {
			t.Errorf("%s: %q, %t", in, got, ok)
		}
	}
	for _, in := range []string{`7`, `true`, `{}`, `["a"]`} {
		if got, ok := Value(in).Text(); ok || got != "" {
			t.Errorf("%s is text: %q", in, got)
		}
	}
}

// Report A08: digits stay digits.
func TestValueInt(t *testing.T) {
	for in, want := range map[string]int64{`0`: 0, `-7`: -7, `9007199254740993`: 9007199254740993, `null`: 0, ``: 0} {
		if got, ok := Value(in).Int(); !ok || got != want {
			t.Errorf("%s: %d, %t", in, got, ok)
		}
	}
	for _, in := range []string{`1.0`, `1e3`, `"1"`, `9223372036854775808`, `true`, `[1]`} {
		if _, ok := Value(in).Int(); ok {
			t.Errorf("%s is an integer", in)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{``, ` `, `{`, `{}{}`, `{"a":1,}`, `nul`, `"a`, `[1 2]`} {
		if v, ok := Parse([]byte(in)); ok {
			t.Errorf("%q is %q", in, v)
		}
	}
}

// The lists that a reader opens count, as those within a value do: a value lies
// no deeper in an accepted text than in one that json.Valid accepts.
func TestScanDepth(t *testing.T) {
	for _, within := range []int{maxDepth - 3, maxDepth - 2, maxDepth - 1} {
		text := []byte(`{"a":[],"b":[7,{}],"c":[` + strings.Repeat("[", within) + strings.Repeat("]", within) + `]}`)
		s := NewScan(text)
		for range s.Members {
			for range s.Elements {
				s.Value()
			}
		}
		if got, want := s.Whole(), json.Valid(text); got != want {
			t.Errorf("%d lists below two: %t, json.Valid says %t", within, got, want)
		}
	}
}

// FuzzValue reads every value of a text in both ways: where it lies, and
// through the decoder.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		` {"a" : [1, -2.5e3 ,null,true ,false], "b":{"c":"x\"]}","d":{}},"e" :[ ] } `,
		`[[],[[]],{"":""},"\\",""]`, `"\ud83d\ude00\ud83d\u0041\udc00\ud83d\ud83d\ude00\ud83d\\n"`, `"\u00e9\n"`, `0`, `{"a\u0062":1}`, `["中",{"k":[{"l":"}"}]}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, ok := Parse(data)
		if ok != json.Valid(ValidUTF8(data)) {
			t.Fatalf("accepted: %t", ok)
		}
		if !ok {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(v))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := whole(v); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %#v\nwant %#v", v, got, want)
		}
	})
}

// whole is v as the decoder gives it: the last of members of one name counts.
func whole(v Value) any {
	switch v[0] {
	case '{':
		m := map[string]any{}
		for name, member := range v.Members {
			m[Unquote(append(append([]byte{'"'}, name...), '"'))] = whole(member)
		}
		return m
	case '[':
		list := []any{}
		for e := range v.Elements {
			list = append(list, whole(e))
		}
		return list
	case '"':
		return Unquote(v)
	case 't', 'f':
		return v[0] == 't'
	case 'n':
		return nil
	}
	return json.Number(v)
}
