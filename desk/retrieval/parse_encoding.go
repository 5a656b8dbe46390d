package retrieval

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// decode returns the text of raw. A byte order mark settles the encoding, then
// declared, the name that the file gives it. Without either it is UTF-8, or else
// GB18030 if it reads like Chinese. No byte is guessed at: what does not fit is
// an error.
func decode(raw []byte, declared string) (string, error) {
	switch {
	case bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")):
		return decodeAs(raw[3:], "utf-8")
	case bytes.HasPrefix(raw, []byte("\xff\xfe")), bytes.HasPrefix(raw, []byte("\xfe\xff")):
		return decodeAs(raw, "utf-16")
	case declared != "":
		return decodeDeclared(raw, strings.ToLower(strings.TrimSpace(declared)))
	case utf8.Valid(raw):
		return string(raw), nil
	}
	if text, err := decodeAs(raw, "gb18030"); err == nil && readsChinese(text) {
		return text, nil
	}
	return "", errors.New("its encoding cannot be told: it is not UTF-8, and too little of it reads like Chinese in GB18030; convert it to UTF-8")
}

func decodeAs(raw []byte, name string) (string, error) {
	table, err := tableOf(name)
	if err != nil {
		return "", err
	}
	if name == "utf-16" && len(raw)%2 != 0 {
		return "", errors.New("it is cut off in the middle of a character of UTF-16")
	}
	text, err := table.NewDecoder().Bytes(raw)
	if err != nil || bytes.ContainsRune(text, utf8.RuneError) {
		return "", fmt.Errorf("it holds bytes that are no text in %s", name)
	}
	return string(text), nil
}

// decodeDeclared takes a file at its word only where its bytes do not speak
// against it: every sequence of bytes is some text in a Western encoding.
func decodeDeclared(raw []byte, name string) (string, error) {
	text, err := decodeAs(raw, name)
	if err != nil || (name != "windows-1252" && name != "iso-8859-1") || isASCII(text) {
		return text, err
	}
	chinese, err := decodeAs(raw, "gb18030")
	if utf8.Valid(raw) || (err == nil && readsChinese(chinese)) {
		return "", fmt.Errorf("it says that it is %s, and its bytes are something else; convert it to UTF-8", name)
	}
	return text, nil
}

func tableOf(name string) (encoding.Encoding, error) {
	switch name {
	case "utf-8", "utf8", "us-ascii", "ascii":
		return unicode.UTF8, nil
	case "utf-16":
		return unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM), nil
	case "gb18030", "gbk", "gb2312", "x-gbk":
		return simplifiedchinese.GB18030, nil
	case "big5":
		return traditionalchinese.Big5, nil
	case "windows-1252", "iso-8859-1":
		return charmap.Windows1252, nil
	}
	return nil, fmt.Errorf("it says that its encoding is %.40q, which is not read here; convert it to UTF-8", name)
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// enoughHan is how many Chinese characters it takes to tell an encoding by them.
const enoughHan = 8

// readsChinese reports whether a text that was decoded as GB18030 is Chinese
// rather than bytes of another encoding. Chinese prose has few characters beyond
// the first level of GB 2312 and its punctuation, and about half of it is common
// ones; Western, Japanese, Korean or Big5 bytes give characters from anywhere.
func readsChinese(text string) bool {
	var others, usual, han, common int
	encoder := simplifiedchinese.GB18030.NewEncoder()
	for _, r := range text {
		if r < utf8.RuneSelf {
			continue
		}
		others++
		code, err := encoder.String(string(r))
		if err != nil || len(code) != 2 || code[1] < 0xA1 {
			continue
		}
		switch {
		case code[0] >= 0xA1 && code[0] <= 0xA3:
			usual++
		case code[0] >= 0xB0 && code[0] <= 0xD7:
			usual++
			han++
			if strings.ContainsRune(commonHan, r) {
				common++
			}
		}
	}
	return han >= enoughHan && usual*20 >= others*19 && common*4 >= han
}

// commonHan are characters that any page of Chinese has many of, and those of
// which rules of a company are made.
const commonHan = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里" +
	"用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本前开但因只从想实日者意无力" +
	"它与长机十第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体相见利二等产或新己制身果加" +
	"月话合回特内信表化给位次度门任先海通教提立及比员解水名真论处走入各口认条系气题更别打变四总何数安少报结反受目" +
	"量再建务做接必件计管期市直资命指许区保至形便决司基非则达强即完设式路记南品告类求据程交该规取格确传清今切让" +
	"审批销差旅额票须请假单据款付预算申领补料材部门标准费用超未按均凡依据政策办经费凭证"
