package desk

import (
	"regexp"
	"strings"
)

// Claim is something that no tool of the desk does, and that an answer may say
// was done all the same.
type Claim string

// The claims.
const (
	ClaimUpload     Claim = "upload"
	ClaimSubmission Claim = "submission"
	ClaimApproval   Claim = "approval"
)

// Claims are all of them.
func Claims() []Claim { return []Claim{ClaimUpload, ClaimSubmission, ClaimApproval} }

// doneEN stands before an English verb that says that something is done.
const doneEN = `(?i)(?:^\W*|\b(?:has|have|had|was|were|is|are|been|already|now|successfully|i|we)\s+(?:\w+\s+){0,3}?|[’']ve\s+(?:\w+\s+){0,3}?)`

// In Chinese a verb counts with what says that it is done, in English behind an
// auxiliary or a subject, or at the beginning of its clause.
var (
	uploadZH     = regexp.MustCompile(`(?:已经?|为您|替您|帮您|成功).{0,8}?(?:上传|附上|添加(?:了)?附件)|(?:上传|附上)(?:了|成功|完毕|完成|好了|已完成)|附件已经?.{0,4}?添加`)
	submissionZH = regexp.MustCompile(`(?:已经?|成功|为您|替您|帮您).{0,8}?(?:提交|递交|呈交|发送给|送达)|(?:提交|递交|呈交|送达)(?:了|成功|完毕|完成|好了|已完成)|(?:工单|申诉|申请)(?:编号|号)?已经?.{0,4}?(?:创建|生成|建立)`)
	approvalZH   = regexp.MustCompile(`(?:已经?|成功).{0,8}?(?:批准|核准|获批|审批通过|通过审批)|(?:批准|核准|获批|审批通过|通过审批)了|(?:审批|审核)已经?.{0,4}?通过`)
	uploadEN     = regexp.MustCompile(doneEN + `(uploaded|attached)\b`)
	submissionEN = regexp.MustCompile(doneEN + `(submitted|filed|lodged|sent\s+(?:it|this|them|(?:the|your)\s+\w+)\s+to|created\s+(?:the|a|your)\s+ticket)\b|\b(ticket\s+(?:has\s+been|was|is)\s+(?:now\s+)?created|submission\s+(?:is\s+)?complete\W*$)`)
	approvalEN   = regexp.MustCompile(doneEN + `(approved)\b`)

	// deniedZH stands shortly before the verb, deniedEN anywhere before it.
	deniedZH = regexp.MustCompile(`[未没無无不非别勿]|尚|如果|若|一旦|是否|需要?|须|能否|以便`)
	deniedEN = regexp.MustCompile(`(?i)\b(?:not|never|no|none|nothing|nobody|without|cannot|neither|nor|until|unless|if|once|when|after|before|whether|must|should|needs?|can|could|would|will|may|might)\b|n[’']t\b`)
	// theirs tells of what the person did before, or of what was done to a thing
	// that is named by it.
	theirsZH = regexp.MustCompile(`^[了过]?的`)
	theirsEN = regexp.MustCompile(`(?i)\byou(?:[’']ve)?\s+(?:(?:have|had|already)\s+){0,2}$`)
	// emptyNo are words with a denial in them that denies nothing.
	emptyNo = regexp.MustCompile(`不过|不仅|不但|不客气|没问题|没关系|(?i:\bnot\s+only\b)`)
	// spaced are characters set apart, which say the same.
	spaced = regexp.MustCompile(`(\p{Han})[ \x{3000}]+(\p{Han})`)

	clause = regexp.MustCompile(`[^，。！？；：,.!?;:\n]+[，。！？；：,.!?;:\n]?`)
)

// nearby is how many bytes before a Chinese verb a denial counts: eight
// characters.
const nearby = 24

// In returns the clause of a text that makes the claim, or "". It knows the
// usual wordings, in Chinese and in English, and no others: a claim in other words
// is not found, and a quotation can be taken for one.
func (c Claim) In(text string) string {
	zh, en := uploadZH, uploadEN
	switch c {
	case ClaimSubmission:
		zh, en = submissionZH, submissionEN
	case ClaimApproval:
		zh, en = approvalZH, approvalEN
	case ClaimUpload:
	}
	for range 2 { // a character may stand between two that are set apart
		text = spaced.ReplaceAllString(text, "$1$2")
	}
	for _, part := range clause.FindAllString(text, -1) {
		if strings.ContainsAny(part, "?？") || strings.Contains(part, "吗") {
			continue
		}
		if plain := emptyNo.ReplaceAllString(part, ""); inChinese(zh, plain) || inEnglish(en, plain) {
			return strings.TrimSpace(part)
		}
	}
	return ""
}

func inChinese(verb *regexp.Regexp, part string) bool {
	for _, at := range verb.FindAllStringIndex(part, -1) {
		if !deniedZH.MatchString(part[max(0, at[0]-nearby):at[1]]) && !theirsZH.MatchString(part[at[1]:]) {
			return true
		}
	}
	return false
}

func inEnglish(verb *regexp.Regexp, part string) bool {
	for _, at := range verb.FindAllStringSubmatchIndex(part, -1) {
		before := part[:max(at[2], at[len(at)-2])] // the verb, in whichever form it is
		if !deniedEN.MatchString(before) && !theirsEN.MatchString(before) {
			return true
		}
	}
	return false
}
