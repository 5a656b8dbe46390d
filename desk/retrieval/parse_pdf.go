package retrieval

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/holdfast-run/holdfast/desk/internal/pdf"
)

// readPDF reads the text that the pages show. A PDF says nothing of a policy: its
// id is the name of the file, unless somebody gives another, and the title that
// it has for itself, or else that name, stands in for one.
func readPDF(ctx context.Context, name string, raw []byte) (found, error) {
	document, err := pdf.Read(ctx, raw)
	if err != nil {
		return found{}, err
	}
	id := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	title, err := legible(document.Title)
	if err != nil || title == "" {
		title = id
	}
	return found{front: Front{ID: id}, body: document.Text, title: title}, nil
}
