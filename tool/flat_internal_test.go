package tool

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// pick returns one of some texts.
func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// randomSchema is flat most of the time.
func randomSchema(r *rand.Rand) string {
	var properties, required []string
	for _, name := range []string{"a", "b", "größe", "long_name", "e"}[:r.IntN(6)] {
		properties = append(properties, fmt.Sprintf("%q:%s", name, randomProperty(r)))
		if r.IntN(2) == 0 {
			required = append(required, fmt.Sprintf("%q", name))
		}
	}
	more := pick(r, "", "", "", "", `,"description":"d"`, `,"minProperties":1`, `,"dependentRequired":{"a":["b"]}`, `,"not":{"required":["e"]}`)
	return fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false%s}`,
		strings.Join(properties, ","), strings.Join(required, ","), more)
}

func randomProperty(r *rand.Rand) string {
	bounds := func(least, most string) string {
		return pick(r, "", "", `,"`+least+`":`+pick(r, "0", "1", "2"), `,"`+most+`":`+pick(r, "2", "3", "10"), `,"`+least+`":1,"`+most+`":3`)
	}
	switch r.IntN(8) {
	case 0, 1:
		return `{"type":"string","title":"t"` + bounds("minLength", "maxLength") + pick(r, "", "", `,"enum":["x","yy","ö"]`, `,"enum":["x",1]`, `,"pattern":"^x"`) + `}`
	case 2, 3:
		return `{"type":"integer"` + bounds("minimum", "maximum") + pick(r, "", "", "", `,"multipleOf":2`, `,"exclusiveMinimum":1`) + `}`
	case 4, 5:
		return `{"type":"number"` + pick(r, bounds("minimum", "maximum"), bounds("minimum", "maximum"), `,"maximum":2.5`) + pick(r, "", "", "", `,"enum":[1,2.5]`) + `}`
	case 6:
		return `{"type":"boolean"` + pick(r, "", `,"default":true`, `,"const":true`) + `}`
	}
	return pick(r, `{"type":["string","null"]}`, `true`, `{}`, `{"type":"array","items":{"type":"integer"}}`, `{"type":"object"}`)
}

// randomArguments are often near to what raw, a random schema, lets through.
func randomArguments(r *rand.Rand, raw string) string {
	var members []string
	for _, name := range []string{"a", "b", "größe", "long_name", "e"} {
		_, property, named := strings.Cut(raw, `"`+name+`":{"type":"`)
		if named && r.IntN(4) > 0 {
			kind, _, _ := strings.Cut(property, `"`)
			members = append(members, `"`+name+pick(r, `":`, `":`, `": `, `" : `)+randomValue(r, kind))
		}
	}
	if r.IntN(4) == 0 {
		members = append(members, pick(r, `"a"`, `"b"`, `"other"`, `"\u0061"`, `"tenant"`)+pick(r, ":", "")+randomValue(r, ""))
	}
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return pick(r, "", "", " ") + pick(r, "{", "{", "{", "{", "{", "") + strings.Join(members, pick(r, ",", ",", ",", " , ", ",,")) +
		pick(r, "}", "}", "}", "}", "}", "") + pick(r, "", "", "", "\n", "x", "{}")
}

func randomValue(r *rand.Rand, kind string) string {
	if r.IntN(5) == 0 {
		kind = pick(r, "string", "integer", "number", "boolean", "other")
	}
	switch kind {
	case "string":
		return pick(r, `"x"`, `"yy"`, `"ö"`, `""`, `"xxxx"`, `"汉字"`, `"a\"b"`, `"\n"`, `"\u00f6"`, `"\ud800"`, "\"\xff\"", "\"\x01\"", `"\q"`, `"open`)
	case "integer":
		return pick(r, "0", "-0", "1", "2", "3", "11", "-1", "01", "-", "+1", "999999999999999999", "9999999999999999999", strings.Repeat("9", 600))
	case "number":
		return pick(r, "0", "2", "1.0", "1.5", "2.5", "3.5", "10.5", "-0.5", "1.", ".5", "1e0", "1E400", "1.5e3", "1e999", "1."+strings.Repeat("0", 30))
	case "boolean":
		return pick(r, "true", "false", "tru", "truex")
	}
	return pick(r, "null", "[1]", "{}", `{"a":1}`)
}

// What the quick check accepts is valid: over random schemas and arguments,
// many of which are no JSON at all.
func TestFlatAcceptsWhatIsValidAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	schemas, accepted, valid := 0, 0, 0
	for range 600 {
		raw := randomSchema(r)
		s, err := compileSchema([]byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if s.flat == nil {
			continue
		}
		schemas++
		for range 300 {
			args := randomArguments(r, raw)
			err := s.validate([]byte(args))
			if err == nil {
				valid++
			}
			if !s.flat.accepts([]byte(args)) {
				continue
			}
			accepted++
			if err != nil {
				t.Fatalf("%s\naccepts %s\nwhich is not valid: %v", raw, args, err)
			}
		}
	}
	if schemas < 100 || accepted < 5000 || accepted < valid*3/4 {
		t.Errorf("%d schemas are flat and accept %d of %d valid arguments: too few to show anything", schemas, accepted, valid)
	}
}

// Ordinary arguments of ordinary tools take the quick way.
func TestFlatAccepts(t *testing.T) {
	s, err := compileSchema([]byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{
		"path":{"type":"string","description":"where","minLength":1,"maxLength":8},
		"mode":{"type":"string","enum":["fast","slow"],"default":"fast"},
		"count":{"type":"integer","minimum":-3,"maximum":100},
		"ratio":{"type":"number"},
		"deep":{"type":"boolean"}},"required":["path","count"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	if s.flat == nil {
		t.Fatal("it is not flat")
	}
	for _, args := range []string{
		`{"path":"a","count":1}`,
		` { "count" : -3 , "path" : "größe\n\"x" , "mode":"slow","deep" : true,"ratio":-0.25 } ` + "\n",
		`{"ratio":12,"path":"汉字汉字汉字汉字","count":100,"deep":false}`,
	} {
		if !s.flat.accepts([]byte(args)) {
			t.Errorf("%s is left to the validator", args)
		}
	}
}

// Every byte that is cut off or changed leaves the judgement to the validator,
// or is as valid as before.
func TestFlatOfDamage(t *testing.T) {
	s, err := compileSchema([]byte(`{"type":"object","properties":{"a":{"type":"string","maxLength":3},"b":{"type":"integer","maximum":12},"c":{"type":"boolean"}},"required":["a"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	whole := `{"a":"x\ny","b":12,"c":true}`
	check := func(args string) {
		if s.flat.accepts([]byte(args)) {
			if err := s.validate([]byte(args)); err != nil {
				t.Errorf("%q is accepted: %v", args, err)
			}
		}
	}
	for i := range whole {
		check(whole[:i])
		for c := range 256 {
			check(whole[:i] + string([]byte{byte(c)}) + whole[i+1:])
			check(whole[:i] + string([]byte{byte(c)}) + whole[i:])
		}
	}
}

func BenchmarkCheckFlat(b *testing.B) {
	s, err := compileSchema([]byte(`{"type":"object","properties":{"n":{"type":"integer","description":"number of the entry"}},"required":["n"],"additionalProperties":false}`))
	if err != nil {
		b.Fatal(err)
	}
	args := []byte(`{"n":12}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.check(args); err != nil {
			b.Fatal(err)
		}
	}
}
