package transport

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// Texts that JSON's grammar turns on, by which Valid is held to json.Valid.
func grammar() []string {
	return []string{
		"", " ", "\x00", "nul", "null", "true", "falsey", "tru", " null\n", "null null", "\ufeff1",
		"0", "-0", "-", "01", "1.", "1.5", ".5", "1e", "1e5", "1E+5", "1e-", "1.5e+07", "+1", "1 2", "0x1", "-a",
		`""`, `"`, `"a`, `"a"b`, "\"\n\"", "\"\x1f\"", "\"\x7f\xff\"", `"\"`, `"\\"`, `"\x"`, `"\u12"`, `"\u123g"`, `"\u12aF"`, `"\ud800"`, `"\`,
		"{}", "{ }", "{", "}", `{"a"}`, `{"a":}`, `{"a":1}`, `{"a":1,}`, `{"a":1,"a":2}`, `{"a":1 "b":2}`, `{a:1}`, `{"a" : 1 , "b" : [ ] }`, `{,}`, `{"a":1]`,
		"[]", "[ ]", "[", "]", "[1]", "[1,]", "[,1]", "[1 2]", "[1,2]x", "[[[]]]", "[[]", "[}", "[1\x00]", "[\v1]",
	}
}

func TestValid(t *testing.T) {
	for _, text := range grammar() {
		sameVerdict(t, []byte(text))
	}
	for _, depth := range []int{maxDepth - 1, maxDepth, maxDepth + 1} {
		sameVerdict(t, []byte(strings.Repeat("[", depth)+strings.Repeat("]", depth)))
		sameVerdict(t, []byte(strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth)))
		sameVerdict(t, []byte(strings.Repeat("[", depth)))
	}
}

// Whole texts with a byte changed, left out or put in between.
func TestValidOfDamage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	whole := []byte(`{"id":"c\"1\u00e9","choices":[{"index":0,"delta":{"content":null},"n":[-1.5e+3,true,false,{}]} ],` + "\n" + `"usage":{}}`)
	const bytes = "\"\\{}[],:0123-+.eEu tfn\x00\x1f\xff\n"
	for range 20_000 {
		text := append([]byte(nil), whole...)
		for range 1 + random.IntN(3) {
			at, b := random.IntN(len(text)), bytes[random.IntN(len(bytes))]
			switch random.IntN(3) {
			case 0:
				text[at] = b
			case 1:
				text = append(text[:at], text[at+1:]...)
			default:
				text = append(text[:at], append([]byte{b}, text[at:]...)...)
			}
		}
		sameVerdict(t, text)
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range grammar() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { sameVerdict(t, text) })
}

func sameVerdict(t *testing.T, text []byte) {
	t.Helper()
	if got, want := Valid(text), json.Valid(text); got != want {
		t.Fatalf("%.200q: %v, json.Valid says %v", text, got, want)
	}
}

func BenchmarkValid(b *testing.B) {
	text := []byte(`{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"scripted","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_000001","type":"function","function":{"name":"lookup","arguments":"{\"n\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if !Valid(text) {
			b.Fatal("not valid")
		}
	}
}
