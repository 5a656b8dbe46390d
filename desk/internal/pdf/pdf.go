// Package pdf reads the text that the pages of a PDF show. The file's objects are
// read by a library; which characters they show, and in which lines, is told
// here, because a policy must not come in as characters that it does not have:
// what cannot be told for certain is an error.
//
// Text that nobody sees (invisible, beside the page) is left out. Pictures,
// annotations and the fields of forms are not read; colours are not looked at,
// and layers count as shown.
package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// The bounds of a file that is read.
const (
	MaxPages      = 2000
	MaxDecoded    = 64 << 20   // bytes of streams once they are unpacked, all together
	MaxOperations = 16_000_000 // operators, operands and glyphs of all pages together
	MaxCodes      = 1 << 21    // that fonts tell something of, each time that one is read
	MaxText       = 4 << 20    // bytes of text
	maxDepth      = 12         // of forms within forms, and of the tree of pages
	maxOperands   = 1 << 18    // of one operator; a table of codes is written as one
	maxString     = 1 << 16    // bytes of a string or a word
	maxShown      = 1 << 16    // glyphs of one operator
	maxLines      = 1 << 16    // of one page
)

// Document is what was read. The title is the one that the file has for itself,
// which may be empty.
type Document struct {
	Title string
	Text  string
}

// Read reads a file. Its errors say what is wrong with the file, for whoever
// brought it; the end of ctx is one of them. It may panic on a file that is made
// to be hostile: the caller recovers.
func Read(ctx context.Context, raw []byte) (Document, error) {
	return read(ctx, raw, bounds{decoded: MaxDecoded, operations: MaxOperations, codes: MaxCodes, text: MaxText})
}

// bounds are what may be spent on a file.
type bounds struct {
	decoded    int64
	operations int
	codes      int
	text       int
}

func read(ctx context.Context, raw []byte, most bounds) (Document, error) {
	if !bytes.Contains(raw[:min(len(raw), 1024)], []byte("%PDF-")) {
		return Document{}, errors.New("it does not begin as a PDF does")
	}
	if !bytes.Contains(raw[max(0, len(raw)-1024):], []byte("%%EOF")) {
		return Document{}, errors.New("it is cut off: a PDF has a mark at its end")
	}
	library, err := pdfcpu.ReadWithContext(ctx, &bounded{ctx: ctx, Reader: bytes.NewReader(raw), left: 16*int64(len(raw)) + 16<<20}, configuration(most))
	switch {
	case ctx.Err() != nil:
		return Document{}, errors.New("it took too long to read")
	case errors.Is(err, pdfcpu.ErrEncrypted):
		return Document{}, errors.New("it is encrypted: save it without a password")
	case err != nil:
		return Document{}, fmt.Errorf("it is damaged: %w", err)
	}
	f := &file{ctx: ctx, table: library.XRefTable, most: most, left: most, fonts: map[types.IndirectRef]*font{}, names: glyphNames()}
	text, err := f.text()
	return Document{Title: f.title(), Text: text}, err
}

// configuration has the library go without its own files, and bounds it.
func configuration(most bounds) *model.Configuration {
	return &model.Configuration{
		Reader15:       true,
		ValidationMode: model.ValidationRelaxed,
		Offline:        true,
		Cmd:            model.MERGECREATE, // one of those for which an encrypted file is an error, even without a password
		Limits: model.ResourceLimits{
			MaxStreamBytes: most.decoded, MaxDecodeBytes: most.decoded / 4, MaxImagePixels: 1, MaxImageBytes: 1, MaxObjectCount: 500_000,
			MaxObjectStreamCount: 50_000, MaxObjectStreamFirst: 1 << 20, MaxXRefEntries: 500_000, MaxRecursionDepth: 60,
		},
	}
}

// text reads all pages.
func (f *file) text() (string, error) {
	root, err := f.table.Catalog()
	if err != nil {
		return "", fmt.Errorf("it is damaged: %w", err)
	}
	pages, err := f.pages(root["Pages"], attributes{}, maxDepth, map[types.IndirectRef]bool{})
	switch {
	case err != nil:
		return "", err
	case len(pages) == 0:
		return "", errors.New("it has no pages")
	}
	var all strings.Builder
	var unseen bool
	for i, p := range pages {
		c := &content{file: f, box: p.box}
		if err := c.page(p); err != nil {
			return "", fmt.Errorf("page %d: %w", i+1, err)
		}
		text := c.lines.text()
		if text == "" && c.pictures {
			return "", fmt.Errorf("page %d is a picture without text, such as a scan: have its characters recognised, read them over and import the text", i+1)
		}
		if strings.Contains(text, unreadable) {
			return "", fmt.Errorf("page %d shows characters whose text the file does not tell: make the PDF anew with it, or import the text", i+1)
		}
		unseen = unseen || c.unseen
		if all.WriteString(text + "\n"); all.Len() > f.most.text {
			return "", f.tooLong()
		}
	}
	if strings.TrimSpace(all.String()) == "" && unseen {
		return "", errors.New("nobody sees its text, as in a scan whose characters were recognised: read them over and import the text")
	}
	return all.String(), nil
}

// attributes are what a page may have from the nodes above it.
type attributes struct {
	resources types.Object
	box       types.Object
}

// leaf is a page.
type leaf struct {
	contents  types.Object
	resources types.Dict
	box       box
}

func (f *file) pages(node types.Object, above attributes, depth int, seen map[types.IndirectRef]bool) ([]leaf, error) {
	ref, isRef := node.(types.IndirectRef)
	d := f.dict(node)
	if d == nil || depth == 0 || (isRef && seen[ref]) {
		return nil, errors.New("its tree of pages is damaged")
	}
	if isRef {
		seen[ref] = true
	}
	if own := d["Resources"]; own != nil {
		above.resources = own
	}
	for _, name := range []string{"CropBox", "MediaBox"} {
		if own := d[name]; own != nil {
			above.box = own
			break
		}
	}
	kids, inner := f.object(d["Kids"]).(types.Array)
	if !inner {
		return []leaf{{d["Contents"], f.dict(above.resources), f.box(above.box)}}, nil
	}
	var pages []leaf
	for _, kid := range kids {
		more, err := f.pages(kid, above, depth-1, seen)
		if err != nil {
			return nil, err
		}
		if pages = append(pages, more...); len(pages) > MaxPages {
			return nil, fmt.Errorf("it has over %d pages", MaxPages)
		}
	}
	return pages, nil
}

// title is what the file calls itself; whatever is wrong with it, it has none.
func (f *file) title() string {
	if f.table.Info == nil {
		return ""
	}
	title, err := f.table.DereferenceText(f.dict(*f.table.Info)["Title"])
	if err != nil {
		return ""
	}
	return title
}
