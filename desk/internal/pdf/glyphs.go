package pdf

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// glyphNames are the characters of the names that fonts give to their glyphs, of
// those that the encodings of PDF have. Other names spell out a number.
func glyphNames() map[string]rune {
	names := map[string]rune{}
	for from, list := range map[rune]string{
		' ':    "space exclam quotedbl numbersign dollar percent ampersand quotesingle parenleft parenright asterisk plus comma hyphen period slash zero one two three four five six seven eight nine colon semicolon less equal greater question at",
		'[':    "bracketleft backslash bracketright asciicircum underscore grave",
		'{':    "braceleft bar braceright asciitilde",
		'\xa1': "exclamdown cent sterling currency yen brokenbar section dieresis copyright ordfeminine guillemotleft logicalnot sfthyphen registered macron degree plusminus twosuperior threesuperior acute mu paragraph periodcentered cedilla onesuperior ordmasculine guillemotright onequarter onehalf threequarters questiondown",
		'\xc0': "Agrave Aacute Acircumflex Atilde Adieresis Aring AE Ccedilla Egrave Eacute Ecircumflex Edieresis Igrave Iacute Icircumflex Idieresis Eth Ntilde Ograve Oacute Ocircumflex Otilde Odieresis multiply Oslash Ugrave Uacute Ucircumflex Udieresis Yacute Thorn germandbls agrave aacute acircumflex atilde adieresis aring ae ccedilla egrave eacute ecircumflex edieresis igrave iacute icircumflex idieresis eth ntilde ograve oacute ocircumflex otilde odieresis divide oslash ugrave uacute ucircumflex udieresis yacute thorn ydieresis",
	} {
		for name := range strings.FieldsSeq(list) {
			names[name] = from
			from++
		}
	}
	for name := range strings.FieldsSeq("quoteleft=\u2018 quoteright=\u2019 quotedblleft=\u201c quotedblright=\u201d quotesinglbase=\u201a quotedblbase=\u201e " +
		"guilsinglleft=\u2039 guilsinglright=\u203a endash=\u2013 emdash=\u2014 bullet=\u2022 ellipsis=\u2026 dagger=\u2020 daggerdbl=\u2021 perthousand=\u2030 " +
		"trademark=\u2122 Euro=\u20ac florin=\u0192 fraction=\u2044 minus=\u2212 OE=\u0152 oe=\u0153 Scaron=\u0160 scaron=\u0161 Zcaron=\u017d zcaron=\u017e " +
		"Ydieresis=\u0178 Lslash=\u0141 lslash=\u0142 dotlessi=\u0131 circumflex=\u02c6 tilde=\u02dc breve=\u02d8 dotaccent=\u02d9 ring=\u02da ogonek=\u02db " +
		"hungarumlaut=\u02dd caron=\u02c7 fi=\ufb01 fl=\ufb02 ff=\ufb00 ffi=\ufb03 ffl=\ufb04 lessequal=\u2264 greaterequal=\u2265 notequal=\u2260 " +
		"arrowright=\u2192 arrowleft=\u2190 checkmark=\u2713 square=\u25a1 filledbox=\u25a0 circle=\u25cb") {
		key, text, _ := strings.Cut(name, "=")
		names[key], _ = utf8.DecodeRuneInString(text)
	}
	names["nbspace"] = ' '
	return names
}

// glyph returns the character of a glyph's name; 0: the name tells none.
func (f *file) glyph(name string) rune {
	name, _, _ = strings.Cut(name, ".") // a variant, such as a.small
	if r, known := f.names[name]; known {
		return r
	}
	if len(name) == 1 && (name >= "A" && name <= "Z" || name >= "a" && name <= "z") {
		return rune(name[0])
	}
	for _, prefix := range []string{"uni", "u"} {
		digits, numbered := strings.CutPrefix(name, prefix)
		if code, err := strconv.ParseUint(digits, 16, 32); numbered && err == nil && len(digits) >= 4 && len(digits) <= 6 && code <= 0x10ffff {
			return rune(code)
		}
	}
	return 0
}

// baseEncoding is the table of an encoding of PDF; none: nil.
func (f *file) baseEncoding(name string) *[256]rune {
	var table [256]rune
	switch name {
	case "WinAnsiEncoding":
		fill(&table, charmap.Windows1252)
		table[0xad], table[0xa0] = '-', ' '
	case "MacRomanEncoding":
		fill(&table, charmap.Macintosh)
		table[0xca] = ' '
	case "StandardEncoding":
		for code := ' '; code <= '~'; code++ {
			table[code] = code
		}
		table['\''], table['`'] = '\u2019', '\u2018'
		high := "exclamdown cent sterling fraction yen florin section currency quotesingle quotedblleft guillemotleft guilsinglleft guilsinglright fi fl" +
			" - endash dagger daggerdbl periodcentered - paragraph bullet quotesinglbase quotedblbase quotedblright guillemotright ellipsis perthousand - questiondown"
		code := 0xa1
		for name := range strings.FieldsSeq(high) {
			table[code&0xff] = f.names[name]
			code++
		}
		table[0xd0], table[0xe1], table[0xe9], table[0xf1], table[0xf9], table[0xfa], table[0xfb] = '\u2014', 'Æ', 'Ø', 'æ', 'ø', 'œ', 'ß'
	default:
		return nil
	}
	return &table
}

func fill(table *[256]rune, from *charmap.Charmap) {
	for code := ' '; code < 256; code++ {
		if r := from.DecodeByte(byte(code)); r != '\ufffd' && r != 0x7f {
			table[code] = r
		}
	}
}
