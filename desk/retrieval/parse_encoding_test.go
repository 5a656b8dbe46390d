package retrieval_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

const (
	chinese = "员工应在出差结束后三十天内提交报销申请，并附发票原件（Invoice）和审批单。"
	taiwan  = "員工應在出差結束後三十天內提交報銷申請，並附發票正本和審批單。"
	korean1 = "직원은 출장이 끝난 후 삼십일 이내에 경비 정산을 신청하고 영수증 원본을 제출해야 한다. 승인서가 없는 신청은 처리되지 않는다."
	nihon   = "社員は出張終了後三十日以内に経費精算を申請し、領収書の原本と承認書を添付しなければなりません。"
	western = "Les salariés déclarent leurs frais après chaque déplacement, à l'aide du formulaire prévu à cet effet."
)

func in(t *testing.T, e encoding.Encoding, text string) string {
	t.Helper()
	raw, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestParseEncodings(t *testing.T) {
	little := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	big := unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	for name, c := range map[string]struct{ file, raw, want string }{
		"UTF-8":                   {"a.txt", chinese, chinese},
		"UTF-8 with a mark":       {"a.md", "\uFEFF" + chinese, chinese},
		"UTF-16 little":           {"a.md", in(t, little, chinese+"🧾"), chinese + "🧾"},
		"UTF-16 big":              {"a.txt", in(t, big, chinese), chinese},
		"GBK":                     {"a.txt", in(t, simplifiedchinese.GBK, chinese), chinese},
		"GB18030":                 {"a.md", in(t, simplifiedchinese.GB18030, chinese+"🧾"), chinese + "🧾"},
		"HTML in GBK":             {"a.html", `<html><meta charset="gb2312"><p>` + in(t, simplifiedchinese.GBK, chinese), chinese},
		"HTML in GBK, undeclared": {"a.html", "<html><p>" + in(t, simplifiedchinese.GBK, chinese), chinese},
		"HTML in Big5":            {"a.html", `<meta http-equiv="Content-Type" content="text/html; charset=Big5"><p>` + in(t, traditionalchinese.Big5, taiwan), taiwan},
		"HTML in Latin 1":         {"a.html", "<meta charset=ISO-8859-1><p>" + in(t, charmap.Windows1252, western), western},
		"the mark settles it":     {"a.html", "\uFEFF<meta charset=gbk><p>" + chinese, chinese},
		"HTML in UTF-16":          {"a.html", in(t, little, "<meta charset=utf-16><p>"+chinese), chinese},
	} {
		t.Run(name, func(t *testing.T) {
			if p := parse(t, c.file, c.raw, whole()); p.Body != c.want {
				t.Errorf("got %q", p.Body)
			}
		})
	}
}

// Nothing is imported in characters that it does not have.
func TestParseRefusesEncodings(t *testing.T) {
	little := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	for name, c := range map[string]struct{ file, raw, why string }{
		"too little GBK to tell":   {"a.txt", "\xb1\xa8\xcf\xfa", "encoding"},
		"Korean":                   {"a.txt", in(t, korean.EUCKR, korean1), "encoding"},
		"Japanese, EUC":            {"a.txt", in(t, japanese.EUCJP, nihon), "encoding"},
		"Japanese, Shift JIS":      {"a.txt", in(t, japanese.ShiftJIS, nihon), "encoding"},
		"Big5":                     {"a.txt", in(t, traditionalchinese.Big5, taiwan), "encoding"},
		"Latin 1":                  {"a.txt", in(t, charmap.Windows1252, western), "encoding"},
		"Cyrillic":                 {"a.txt", in(t, charmap.KOI8R, "Сотрудник подаёт заявление в течение тридцати дней."), "encoding"},
		"UTF-16 without a mark":    {"a.txt", in(t, little, chinese)[2:], "encoding"},
		"UTF-16, English":          {"a.txt", in(t, little, "text")[2:], "U+0000"},
		"UTF-16, cut off":          {"a.txt", "\xff\xfea\x00b", "cut off"},
		"UTF-16, half a character": {"a.txt", "\xff\xfe\x00\xd8a\x00", "utf-16"},
		"UTF-32":                   {"a.txt", "\xff\xfe\x00\x00a\x00\x00\x00", "U+0000"},
		"UTF-8 with one bad byte":  {"a.md", chinese + "\xff", "encoding"},
		"marked UTF-8, a bad byte": {"a.md", "\uFEFFtext\xff", "utf-8"},
		"GBK, declared as UTF-8":   {"a.html", "<meta charset=utf-8><p>" + in(t, simplifiedchinese.GBK, chinese), "utf-8"},
		"GBK, declared as Latin 1": {"a.html", "<meta charset=iso-8859-1><p>" + in(t, simplifiedchinese.GBK, chinese), "something else"},
		"UTF-8, declared as Latin": {"a.html", "<meta charset=windows-1252><p>" + "caf\u00e9", "something else"},
		"UTF-8, declared as GBK":   {"a.html", "<meta charset=gbk><p>" + chinese, "gbk"},
		"an encoding from nowhere": {"a.html", "<meta charset=x-none><p>text", "x-none"},
		"GBK and Latin 1 in one":   {"a.txt", in(t, simplifiedchinese.GBK, chinese) + in(t, charmap.Windows1252, "la même fête et le même rôle"), "encoding"},
		"random bytes":             {"a.txt", strings.Repeat("\x93\xf1\x07\xbc\xe2\x81", 100), "encoding"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.file, c.raw, whole(), c.why) })
	}
}
