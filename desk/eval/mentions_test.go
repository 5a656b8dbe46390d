package eval

import (
	"strings"
	"testing"
)

// An id is found in every way to write it, whatever its shape, and in nothing
// that is no id.
func TestMentions(t *testing.T) {
	known := []string{"P1001", "T1001", "AC-101", "HR-2026-77", "差旅-2024", "ac-101-2024.1", "travel-policy", "A100", "D0123456789abcdef01234567"}
	for text, want := range map[string]string{
		"按 P1001，补齐。":               "P1001",
		"按P1001的规定":                 "P1001",
		"Ｐ１００１":                     "P1001",
		"Ｐ　１００１":                    "P1001",
		"p1001, P-1001":             "P1001",
		"P 1001":                    "P1001",
		"P\u00a01001":               "P1001",
		"P\u200b1001":               "P1001",
		"P–1001":                    "P1001",
		"P10012":                    "new P10012",
		"P1001-2":                   "new P10012",
		"XP1001":                    "new XP1001",
		"依据：AC-101。":                "AC-101 cited",
		"AC101 ac‑101":              "AC-101",
		"AC-1015":                   "new AC1015",
		"AC-999 号":                  "new AC999",
		"HR-2026-77 与 HR_2026_77":   "HR-2026-77",
		"HR-202677":                 "new HR202677",
		"HR-2026-78":                "new HR202678",
		"见差旅-2024":                  "差旅-2024",
		"见 ac-101-2024.1 第二条":       "ac-101-2024.1",
		"the Travel-Policy":         "travel-policy",
		"the travel policy":         "",
		"a 100 yuan fee":            "",
		"A 100":                     "A100",
		"D0123456789abcdef01234567": "D0123456789abcdef01234567",
		"D1123456789abcdef01234567": "new D1123456789ABCDEF01234567",
		"G1234 次":                   "new G1234",
		"QX-12-34":                  "new QX1234",
		"根据制度《P7777》":               "new P7777 cited",
		"under the policy p7777":    "new P7777 cited",
		"表单 F-123":                  "new F123",
		"A4、COVID-19、UTF-8、RMB300、30 天、2026-01-31、T+1、B2B": "",
		"P1001、T1001 与 P1001": "P1001, T1001",
		"":                    "",
	} {
		var found []string
		for _, m := range mentions(text, known) {
			id := m.id
			if !m.known {
				id = "new " + id
			}
			if m.cited {
				id += " cited"
			}
			found = append(found, id)
		}
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
