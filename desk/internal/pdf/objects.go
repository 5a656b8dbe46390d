package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// file is a PDF that is being read, and what may be spent on it, in all and still.
type file struct {
	ctx   context.Context
	table *model.XRefTable
	most  bounds
	left  bounds
	fonts map[types.IndirectRef]*font
	names map[string]rune
	fault error // of a font: nothing more can be shown
}

// bounded reads until so many bytes were read in all, however often somebody goes
// back, or until ctx ends.
type bounded struct {
	*bytes.Reader

	ctx  context.Context
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errors.New("it leads round in circles")
	}
	return b.Reader.Read(p)
}

// spend counts an operator, an operand or a glyph.
func (f *file) spend() error {
	switch f.left.operations--; {
	case f.left.operations < 0:
		return errors.New("it draws too much")
	case f.fault != nil:
		return f.fault
	case f.left.operations%1024 == 0 && f.ctx.Err() != nil:
		return errors.New("it took too long to read")
	}
	return nil
}

// learn counts a code that a font tells something of, and reports whether there is
// room for it.
func (f *file) learn() bool {
	if f.left.codes--; f.left.codes < 0 {
		f.fault = errors.New("its fonts have too many characters")
	}
	return f.left.codes >= 0
}

func (f *file) tooLong() error { return fmt.Errorf("it has over %d bytes of text", f.most.text) }

// object follows a reference. What a reference leads to that is not there is nil.
func (f *file) object(o types.Object) types.Object {
	for range maxDepth {
		if _, ok := o.(types.IndirectRef); !ok {
			return o
		}
		next, err := f.table.Dereference(o)
		if err != nil {
			return nil
		}
		o = next
	}
	return nil
}

// dict is a dictionary, also that of a stream; nil: there is none.
func (f *file) dict(o types.Object) types.Dict {
	switch o := f.object(o).(type) {
	case types.Dict:
		return o
	case types.StreamDict:
		return o.Dict
	}
	return nil
}

func (f *file) name(o types.Object) string {
	name, ok := f.object(o).(types.Name)
	if !ok {
		return ""
	}
	return name.Value()
}

func (f *file) number(o types.Object) (float64, bool) {
	switch o := f.object(o).(type) {
	case types.Integer:
		return float64(o.Value()), true
	case types.Float:
		return o.Value(), true
	}
	return 0, false
}

// numbers are those of an array, with 0 for what is none.
func (f *file) numbers(o types.Object) []float64 {
	array, ok := f.object(o).(types.Array)
	if !ok {
		return nil
	}
	numbers := make([]float64, len(array))
	for i := range array {
		numbers[i], _ = f.number(array[i])
	}
	return numbers
}

// stream unpacks a stream. One that ends before it says so is an error: part of a
// text is no text.
func (f *file) stream(o types.Object) ([]byte, error) {
	stream, ok := f.object(o).(types.StreamDict)
	if !ok {
		return nil, errors.New("a part of it is missing")
	}
	if err := f.whole(&stream); err != nil {
		return nil, err
	}
	if err := stream.DecodeWithLimit(f.left.decoded); err != nil {
		return nil, fmt.Errorf("a part of it cannot be unpacked: %w", err)
	}
	if f.left.decoded -= int64(len(stream.Content)); f.left.decoded < 0 {
		return nil, fmt.Errorf("it has over %d bytes once it is unpacked", f.most.decoded)
	}
	return stream.Content, nil
}

// whole checks that packed data have an end, which the library does not ask for.
func (f *file) whole(stream *types.StreamDict) error {
	if len(stream.FilterPipeline) == 0 || stream.FilterPipeline[0].Name != "FlateDecode" || len(stream.Raw) == 0 {
		return nil
	}
	packed, err := zlib.NewReader(bytes.NewReader(stream.Raw))
	if err != nil {
		return fmt.Errorf("a part of it cannot be unpacked: %w", err)
	}
	unpacked, err := io.Copy(io.Discard, io.LimitReader(packed, f.left.decoded+1))
	switch {
	case unpacked > f.left.decoded:
		return fmt.Errorf("it has over %d bytes once it is unpacked", f.most.decoded)
	case err != nil && !errors.Is(err, zlib.ErrChecksum): // a wrong sum at the end of the right data is common
		return fmt.Errorf("a part of it cannot be unpacked: %w", err)
	}
	return nil
}

// box is a rectangle; the zero box is everywhere.
type box struct{ left, bottom, right, top float64 }

func (f *file) box(o types.Object) box {
	n := f.numbers(o)
	if len(n) != 4 {
		return box{}
	}
	return box{min(n[0], n[2]), min(n[1], n[3]), max(n[0], n[2]), max(n[1], n[3])}
}

func (b box) has(x, y float64) bool {
	return b == box{} || (x >= b.left && x <= b.right && y >= b.bottom && y <= b.top)
}
