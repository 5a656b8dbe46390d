package transport

// Scan reads JSON text and checks it in one pass: what is in the text is known
// before it is known whether the whole of it is JSON, which Whole tells at the
// end. Reading values where they lie costs a fraction of what decoding into
// structs does, which matters for a stream that wraps each word in an envelope.
//
// Value, Members and Elements each step over the value that is next. Behind what
// is no JSON there is none any more. A reader opens as many lists in one another
// as its wire has, which is a handful: only those in a Value can be too deep.
type Scan struct {
	in    checker
	depth int // of the lists that are open
	bad   bool
	lossy bool // bytes were replaced
}

// NewScan returns the scan of data, with bytes that are no UTF-8 replaced.
func NewScan(data []byte) Scan {
	text, lossy := validUTF8(data)
	return Scan{in: checker{text: text}, lossy: lossy}
}

// Whole tells, once its value was read, whether the text is that value and
// nothing else.
func (s *Scan) Whole() bool { return !s.bad && s.in.space() == 0 }

// Kind returns the first character of the value that is next, 0 without one.
func (s *Scan) Kind() byte {
	if s.bad {
		return 0
	}
	return s.in.space()
}

// Null tells whether the value that is next is null.
func (s *Scan) Null() bool { return s.Kind() == 'n' }

// At tells how much of the text was read.
func (s *Scan) At() int { return s.in.at }

// Lost tells whether what was read since from holds bytes that were replaced. It
// may take a U+FFFD that arrived for one.
func (s *Scan) Lost(from int) bool {
	return s.lossy && Lost(s.in.text[from:s.in.at])
}

// Value returns the value that is next.
func (s *Scan) Value() Value {
	s.Kind() // steps over the space before it
	from := s.in.at
	if s.bad || !s.in.value(maxDepth-s.depth) {
		s.bad = true
		return nil
	}
	return s.in.text[from:s.in.at]
}

// Members yields the names of an object, and nothing for any other value. The
// value of the name is next then, and is stepped over where it is not read. Of
// members that are there twice the reader decides; a name that is written with
// escapes is no name that anybody looks for. Who breaks off can read no more.
func (s *Scan) Members(yield func(name []byte) bool) {
	for more := s.open('{', '}'); more; more = s.next('}') {
		name := s.name()
		at := s.in.at
		if !s.bad && !yield(name) {
			s.bad = true
		}
		if s.in.at == at {
			s.Value()
		}
	}
}

// Elements yields for each element of an array, as Members does for each name of
// an object.
func (s *Scan) Elements(yield func() bool) {
	for more := s.open('[', ']'); more; more = s.next(']') {
		s.in.space()
		at := s.in.at
		if !yield() {
			s.bad = true
		}
		if s.in.at == at {
			s.Value()
		}
	}
}

// open steps over the bracket that opens a list, and tells whether something
// follows in it. It steps over a value that is no such list.
func (s *Scan) open(opening, closing byte) bool {
	if s.Kind() != opening {
		s.Value()
		return false
	}
	s.in.at++
	if s.in.space() == closing {
		s.in.at++
		return false
	}
	s.depth++
	return true
}

// next steps over what stands behind a member or an element, and tells whether
// it is a comma.
func (s *Scan) next(closing byte) bool {
	if s.bad {
		return false
	}
	behind := s.in.space()
	s.in.at++
	if behind == ',' {
		return true
	}
	s.depth--
	s.bad = behind != closing
	return false
}

// name steps over the name of a member and what stands between it and its value.
func (s *Scan) name() []byte {
	if s.bad = s.in.space() != '"'; s.bad {
		return nil
	}
	from := s.in.at + 1
	if s.bad = !s.in.str(); s.bad {
		return nil
	}
	name := s.in.text[from : s.in.at-1]
	if s.bad = s.in.space() != ':'; s.bad {
		return nil
	}
	s.in.at++
	s.in.space()
	return name
}
