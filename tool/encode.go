package tool

import (
	"bytes"
	"encoding/json"
)

// Encode marshals v the way that results are told to a model: in one line,
// without the escapes that only HTML needs, and with an escape for each control
// character, so that cleaning takes nothing away.
func Encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escapeControls(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// escapeControls escapes the control characters that encoding/json leaves as
// they are: U+007F to U+009F. In JSON they stand in strings alone.
func escapeControls(data []byte) []byte {
	const hexDigits = "0123456789abcdef"
	var out []byte
	kept := 0 // data[:kept] is in out
	for i := 0; i < len(data); i++ {
		size, code := 1, data[i]
		switch {
		case code == 0x7f:
		case code == 0xc2 && i+1 < len(data) && data[i+1] < 0xa0: // U+0080 to U+009F, in UTF-8
			size, code = 2, data[i+1]
		default:
			continue
		}
		out = append(append(out, data[kept:i]...), '\\', 'u', '0', '0', hexDigits[code>>4], hexDigits[code&15])
		kept = i + size
		i = kept - 1
	}
	if out == nil {
		return data
	}
	return append(out, data[kept:]...)
}
