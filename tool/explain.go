package tool

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Bounds of a message about arguments. Names in it come from the model.
const (
	maxNames    = 20 // names listed
	maxShown    = 80 // bytes of one name or allowed value
	maxFindings = 5  // findings beside missing and unexpected arguments
)

// findings sorts what a validator found into what is told, in this order:
// what is missing, else what is unexpected, else what is wrong with a value.
type findings struct {
	missing    []string
	unexpected []string
	wrong      map[string]string // by argument; the type comes before any range
}

// explain says in one line of plain words what is wrong with arguments. It
// repeats no value that the model sent.
func explain(err *jsonschema.ValidationError) string {
	f := findings{wrong: map[string]string{}}
	f.collect(err)
	switch {
	case len(f.missing) > 0:
		return "missing arguments: " + listNames(f.missing)
	case len(f.unexpected) > 0:
		return "unexpected arguments: " + listNames(f.unexpected)
	}
	var lines []string
	for path, phrase := range f.wrong {
		lines = append(lines, path+" "+phrase)
	}
	slices.Sort(lines)
	if len(lines) > maxFindings {
		more := strconv.Itoa(len(lines) - maxFindings)
		lines = append(lines[:maxFindings], "and "+more+" more")
	}
	return strings.Join(lines, "; ")
}

func (f *findings) collect(e *jsonschema.ValidationError) {
	at := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		f.missing = append(f.missing, showPaths(at, k.Missing)...)
	case *kind.DependentRequired:
		f.missing = append(f.missing, showPaths(at, k.Missing)...)
	case *kind.AdditionalProperties:
		f.unexpected = append(f.unexpected, showPaths(at, k.Properties)...)
	case *kind.PropertyNames:
		f.unexpected = append(f.unexpected, showPaths(at, []string{k.Property})...)
	case *kind.FalseSchema:
		f.unexpected = append(f.unexpected, showPath(at))
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			f.collect(cause)
		}
	case *kind.Type, inexact:
		f.wrong[showPath(at)] = phrase(k)
	default:
		if path := showPath(at); f.wrong[path] == "" {
			f.wrong[path] = phrase(k)
		}
	}
}

// phrase completes the sentence "ARGUMENT …".
func phrase(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case inexact:
		return "must be an integer"
	case *kind.Type:
		return "must be " + typeWords(k.Want)
	case *kind.Enum:
		return "must be one of " + listValues(k.Want)
	case *kind.Const:
		return "must be " + showValue(k.Want)
	case *kind.Minimum:
		return "must be at least " + showNumber(k.Want)
	case *kind.Maximum:
		return "must be at most " + showNumber(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + showNumber(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + showNumber(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + showNumber(k.Want)
	case *kind.Pattern:
		return "must match " + showName(k.Want)
	case *kind.Not:
		return "has a value that is not allowed"
	case *kind.AnyOf:
		return "has none of the allowed forms"
	case *kind.OneOf:
		return "must have exactly one of the allowed forms"
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		return "has the wrong number of required items"
	case *kind.UniqueItems:
		return "must not hold an item twice"
	}
	return sizePhrase(k)
}

func sizePhrase(k jsonschema.ErrorKind) string {
	count := func(limit string, n int, noun string) string {
		if n != 1 {
			noun += "s"
		}
		return "must have at " + limit + " " + strconv.Itoa(n) + " " + noun
	}
	switch k := k.(type) {
	case *kind.MinLength:
		return count("least", k.Want, "character")
	case *kind.MaxLength:
		return count("most", k.Want, "character")
	case *kind.MinItems:
		return count("least", k.Want, "item")
	case *kind.MaxItems:
		return count("most", k.Want, "item")
	case *kind.MinProperties:
		return count("least", k.Want, "field")
	case *kind.MaxProperties:
		return count("most", k.Want, "field")
	}
	return "is not acceptable"
}

func typeWords(types []string) string {
	words := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "integer", "array", "object":
			words[i] = "an " + t
		case "number", "string":
			words[i] = "a " + t
		case "boolean":
			words[i] = "true or false"
		default:
			words[i] = t
		}
	}
	return strings.Join(words, " or ")
}

// listNames joins the distinct names in order, at most maxNames of them.
func listNames(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if rest := len(names) - maxNames; rest > 0 {
		names = append(names[:maxNames], "and "+strconv.Itoa(rest)+" more")
	}
	return strings.Join(names, ", ")
}

func listValues(values []any) string {
	var shown []string
	for i, v := range values {
		if i == maxNames {
			shown = append(shown, "and "+strconv.Itoa(len(values)-i)+" more")
			break
		}
		shown = append(shown, showValue(v))
	}
	return strings.Join(shown, ", ")
}

// showValue prints a value of the schema, never one of the model.
func showValue(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "the required value"
	}
	return cutHead(string(b), maxShown)
}

func showNumber(r *big.Rat) string {
	if r.IsInt() {
		return cutHead(r.Num().String(), maxShown)
	}
	return strings.TrimRight(r.FloatString(20), "0")
}

func showPaths(at, names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = showPath(append(slices.Clip(at), name))
	}
	return paths
}

// showPath prints where a value stands: "arguments" for the whole,
// "filter.tags[2]" below it. Like a name, it has at most maxShown bytes.
func showPath(at []string) string {
	if len(at) == 0 {
		return "arguments"
	}
	var b strings.Builder
	for i, token := range at {
		_, notIndex := strconv.Atoi(token)
		switch {
		case i == 0:
			b.WriteString(showName(token))
		case notIndex == nil:
			b.WriteString("[" + token + "]")
		default:
			b.WriteString("." + showName(token))
		}
	}
	return cutHead(b.String(), maxShown)
}

// showName prints a name that may come from a model: as it is where that
// cannot be misread, else quoted, in at most maxShown bytes.
func showName(name string) string {
	plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || r == ' ' || r == ',' || r == '"'
	})
	if !plain {
		name = strconv.Quote(name)
	}
	return cutHead(name, maxShown)
}
