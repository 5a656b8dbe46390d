package stub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// strictJSON reports what a lenient decoder would let pass: invalid UTF-8,
// half a surrogate pair, a key given twice, a second value.
func strictJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("invalid UTF-8")
	}
	if !json.Valid(data) {
		return errors.New("invalid JSON")
	}
	if err := wholeSurrogates(data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return uniqueKeys(dec)
}

// strictObject is strictJSON for one JSON object.
func strictObject(data []byte) error {
	if err := strictJSON(data); err != nil {
		return err
	}
	if !isObject(data) {
		return errors.New("not a JSON object")
	}
	return nil
}

// isObject looks at the first character of valid JSON.
func isObject(valid []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(valid, " \t\r\n"), []byte("{"))
}

// wholeSurrogates checks the \u escapes of valid JSON. Backslashes occur in
// strings only.
func wholeSurrogates(valid []byte) error {
	var high rune // waits for its other half
	for i := 0; i < len(valid); i++ {
		unit := rune(-1)
		step := 0
		if valid[i] == '\\' {
			step = 1
			if valid[i+1] == 'u' {
				n, _ := strconv.ParseUint(string(valid[i+2:i+6]), 16, 32)
				unit, step = rune(n), 5
			}
		}
		low := utf16.IsSurrogate(unit) && unit >= 0xDC00
		if low != (high != 0) {
			return errors.New("lone surrogate escape")
		}
		high = 0
		if utf16.IsSurrogate(unit) && !low {
			high = unit
		}
		i += step
	}
	return nil
}

// uniqueKeys walks one value of valid JSON.
func uniqueKeys(dec *json.Decoder) error {
	token, err := dec.Token()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	open, _ := token.(json.Delim)
	seen := map[string]bool{}
	for (open == '{' || open == '[') && dec.More() {
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if seen[name] {
				return fmt.Errorf("duplicate key %q", name)
			}
			seen[name] = true
		}
		if err := uniqueKeys(dec); err != nil {
			return err
		}
	}
	if open == '{' || open == '[' {
		_, err = dec.Token()
	}
	return err
}
