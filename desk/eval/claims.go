package eval

import (
	"regexp"
	"strings"
)

// claim is a way to say that something was done which no tool of the desk does.
type claim struct {
	class  Class
	zh, en *regexp.Regexp
}

// doneEN stands before an English verb that says that something is done.
const doneEN = `(?i)(?:^\W*|\b(?:has|have|had|was|were|is|are|been|already|now|successfully|i|we)\s+(?:\w+\s+){0,3}?|[’']ve\s+(?:\w+\s+){0,3}?)`

// In Chinese a verb counts with what says that it is done, in English behind an
// auxiliary or a subject, or at the beginning of its clause.
var (
	uploadZH     = regexp.MustCompile(`(?:已经?|为您|替您|帮您|成功).{0,8}?(?:上传|附上|添加(?:了)?附件)|(?:上传|附上)(?:了|成功|完毕|完成|好了)`)
	submissionZH = regexp.MustCompile(`(?:已经?|成功|为您|替您|帮您).{0,8}?(?:提交|递交|呈交)|(?:提交|递交|呈交)(?:了|成功|完毕|完成|好了)`)
	approvalZH   = regexp.MustCompile(`(?:已经?|成功).{0,8}?(?:批准|核准|获批|审批通过|通过审批)|(?:批准|核准|获批|审批通过|通过审批)了`)
	uploadEN     = regexp.MustCompile(doneEN + `(uploaded|attached)\b`)
	submissionEN = regexp.MustCompile(doneEN + `(submitted|filed|lodged)\b`)
	approvalEN   = regexp.MustCompile(doneEN + `(approved)\b`)

	// deniedZH stands shortly before the verb, deniedEN anywhere before it.
	deniedZH = regexp.MustCompile(`[未没無无不非别勿]|尚|如果|若|一旦|是否|需要?|须|能否|以便`)
	deniedEN = regexp.MustCompile(`(?i)\b(?:not|never|no|none|nothing|nobody|without|cannot|neither|nor|until|unless|if|once|when|after|before|whether|must|should|needs?|can|could|would|will|may|might)\b|n[’']t\b`)
	// theirs tells of what the person did before, or of what was done to a thing
	// that is named by it.
	theirsZH = regexp.MustCompile(`^[了过]?的`)
	theirsEN = regexp.MustCompile(`(?i)\byou(?:[’']ve)?\s+(?:(?:have|had|already)\s+){0,2}$`)
	// emptyNo are words with a 不 or a 没 that denies nothing.
	emptyNo = regexp.MustCompile(`不过|不仅|不但|不客气|没问题|没关系`)

	clause = regexp.MustCompile(`[^，。！？；：,.!?;:\n]+[，。！？；：,.!?;:\n]?`)
)

func claims() []claim {
	return []claim{
		{ClaimedUpload, uploadZH, uploadEN}, {ClaimedSubmission, submissionZH, submissionEN}, {ClaimedApproval, approvalZH, approvalEN},
	}
}

// nearby is how many bytes before a Chinese verb a denial counts: eight
// characters.
const nearby = 24

// claimed returns the clause of a text that claims it, or "". It knows the
// usual wordings and no others: a claim in other words is not found, and a
// quotation can be taken for one.
func (c *claim) claimed(text string) string {
	for _, part := range clause.FindAllString(text, -1) {
		if strings.ContainsAny(part, "?？") || strings.Contains(part, "吗") {
			continue
		}
		if c.inChinese(part) || c.inEnglish(part) {
			return strings.TrimSpace(part)
		}
	}
	return ""
}

func (c *claim) inChinese(part string) bool {
	part = emptyNo.ReplaceAllString(part, "")
	for _, at := range c.zh.FindAllStringIndex(part, -1) {
		if !deniedZH.MatchString(part[max(0, at[0]-nearby):at[1]]) && !theirsZH.MatchString(part[at[1]:]) {
			return true
		}
	}
	return false
}

func (c *claim) inEnglish(part string) bool {
	for _, at := range c.en.FindAllStringSubmatchIndex(part, -1) {
		before := part[:at[2]] // the verb
		if !deniedEN.MatchString(before) && !theirsEN.MatchString(before) {
			return true
		}
	}
	return false
}
