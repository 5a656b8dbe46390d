package retrieval

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// style are the declarations of a style attribute, by property.
type style map[string]string

// The properties that decide whether a text is seen: those that move it, cut it,
// bound it, and show it or not.
const (
	placing = " left right top bottom inset text-indent margin margin-left margin-right margin-top margin-bottom "
	cutting = " clip clip-path mask mask-image transform translate scale filter "
	sizing  = " overflow overflow-x overflow-y width height max-width max-height "
	showing = " display visibility content-visibility mso-hide color -webkit-text-fill-color text-decoration text-decoration-line opacity font-size font "
)

// isOneOf reports whether a property is in a list.
func isOneOf(list, property string) bool { return strings.Contains(list, " "+property+" ") }

// styleOf reads a style attribute, of which it keeps what decides whether a text
// is seen. Which of two declarations counts depends on what a browser understands.
func styleOf(attribute string) (style, error) {
	if strings.ContainsAny(attribute, `\`) || strings.Contains(attribute, "/*") {
		return nil, fmt.Errorf("it has a style with a comment or an escape, %.60q: what it shows cannot be told", attribute)
	}
	all := style{}
	for said := range strings.SplitSeq(strings.ToLower(attribute), ";") {
		property, value, _ := strings.Cut(said, ":")
		value = strings.TrimSuffix(strings.Join(strings.Fields(value), " "), "!important")
		property, value = strings.TrimSpace(property), strings.TrimSpace(value)
		if !isOneOf(placing+cutting+sizing+showing, property) {
			continue
		}
		if before, twice := all[property]; twice && before != value {
			return nil, fmt.Errorf("it has a style that says %s twice, %.60q: which of them counts cannot be told", property, attribute)
		}
		all[property] = value
	}
	return all, nil
}

// hides reports whether nobody sees a text in this style, or sees it struck out.
func (s style) hides() bool {
	for property, values := range map[string][]string{
		"display": {"none"}, "visibility": {"hidden", "collapse"}, "content-visibility": {"hidden"}, "mso-hide": {"all"},
		"color": {"transparent"}, "-webkit-text-fill-color": {"transparent"},
	} {
		if slices.Contains(values, s[property]) {
			return true
		}
	}
	if strings.Contains(s["text-decoration"], "line-through") || strings.Contains(s["text-decoration-line"], "line-through") {
		return true
	}
	if opacity, unit, ok := measure(s["opacity"]); ok && opacity <= 0.05*percent(unit) {
		return true
	}
	return less(s["font-size"], 1) || less(s["font"], 1) || s.shut()
}

// shut reports whether an element is too small for what is in it, and cuts it off.
func (s style) shut() bool {
	overflow := s["overflow"] + s["overflow-x"] + s["overflow-y"]
	cut := strings.Contains(overflow, "hidden") || strings.Contains(overflow, "clip")
	return cut && (less(s["width"], 2) || less(s["height"], 2) || less(s["max-width"], 2) || less(s["max-height"], 2))
}

// untold names the property of which it cannot be told whether people see what it
// moves or cuts; nothing: there is none.
func (s style) untold() string {
	for _, property := range slices.Sorted(maps.Keys(s)) {
		value := s[property]
		computed := strings.Contains(value, "(")
		switch {
		case isOneOf(cutting, property) && value != "none" && value != "auto",
			isOneOf(placing, property) && (computed || slices.ContainsFunc(strings.Fields(value), far)),
			isOneOf(showing, property) && computed && property != "color",
			isOneOf(sizing, property) && strings.Contains(value, "var("):
			return property
		}
	}
	return ""
}

// far reports whether a length leads off a page.
func far(length string) bool {
	n, unit, ok := measure(length)
	if n *= pixels(unit); unit == "%" {
		n *= 100 // of the page, which is wider than a letter
	}
	return ok && (n < -200 || n > 2000)
}

// less reports whether the first length in a value is less than so many pixels.
func less(value string, most float64) bool {
	for length := range strings.FieldsSeq(value) {
		length, _, _ = strings.Cut(length, "/")
		n, unit, ok := measure(length)
		if ok && (unit != "" || n == 0) { // a number alone is the weight of a font
			return n*pixels(unit) < most
		}
	}
	return false
}

// measure cuts a number from its unit.
func measure(length string) (n float64, unit string, ok bool) {
	digits := strings.TrimRight(length, "%abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.ParseFloat(digits, 64)
	return n, length[len(digits):], err == nil
}

// pixels are about what a unit is in pixels, where letters have 16 of them.
func pixels(unit string) float64 {
	switch unit {
	case "", "px":
		return 1
	case "pt":
		return 4.0 / 3
	case "mm":
		return 4
	case "%":
		return 0.16
	case "ex", "ch":
		return 8
	case "cm":
		return 38
	case "in":
		return 96
	}
	return 16
}

func percent(unit string) float64 {
	if unit == "%" {
		return 100
	}
	return 1
}
