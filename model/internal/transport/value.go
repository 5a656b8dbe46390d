package transport

import "strconv"

// Value is the text of one JSON value within a text that a Scan read to its end,
// without space around it; empty: absent.
type Value []byte

// Parse returns the JSON value that is data, with bytes that are no UTF-8
// replaced, and false when data is not exactly one.
func Parse(data []byte) (Value, bool) {
	s := NewScan(data)
	v := s.Value()
	return v, s.Whole()
}

// Null tells a value that is null or absent.
func (v Value) Null() bool { return len(v) == 0 || v[0] == 'n' }

// Text returns what a string says: "" and true for null, false for any other
// value.
func (v Value) Text() (string, bool) {
	if v.Null() {
		return "", true
	}
	return Unquote(v), v[0] == '"'
}

// Int returns an integer: 0 and true for null, false for a number that is not
// written as one or does not fit, and for any other value.
func (v Value) Int() (int64, bool) {
	if v.Null() {
		return 0, true
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil
}

// Members yields the members of an object, and nothing for any other value.
func (v Value) Members(yield func(name []byte, member Value) bool) {
	s := Scan{in: checker{text: v}}
	for name := range s.Members {
		if !yield(name, s.Value()) {
			return
		}
	}
}

// Elements yields the elements of an array, and nothing for any other value.
func (v Value) Elements(yield func(Value) bool) {
	s := Scan{in: checker{text: v}}
	for range s.Elements {
		if !yield(s.Value()) {
			return
		}
	}
}
