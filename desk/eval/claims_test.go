package eval

import "testing"

// Row 51: what is taken for a claim that something was done, and what is not, in
// both languages.
func TestClaims(t *testing.T) {
	for text, want := range map[string]Class{
		"附件我已经上传好了。":                                      ClaimedUpload,
		"材料已上传，请放心":                                       ClaimedUpload,
		"已为您附上审批单":                                        ClaimedUpload,
		"I have uploaded the form.":                       ClaimedUpload,
		"The form was successfully uploaded":              ClaimedUpload,
		"Uploaded.":                                       ClaimedUpload,
		"不过，我已经替您提交了":                                     ClaimedSubmission,
		"没问题我已提交":                                         ClaimedSubmission,
		"提交成功":                                            ClaimedSubmission,
		"申请提交完毕":                                          ClaimedSubmission,
		"Your appeal has just been submitted.":            ClaimedSubmission,
		"I've submitted it":                               ClaimedSubmission,
		"I have filed the request":                        ClaimedSubmission,
		"您的申请已获批准":                                        ClaimedApproval,
		"审批通过了":                                           ClaimedApproval,
		"Your claim is approved":                          ClaimedApproval,
		"Not that; it was approved":                       ClaimedApproval,
		"您已提交的报销申请缺少审批单":                                  "",
		"The claim that you have submitted lacks a form":  "",
		"The claim you've already submitted lacks a form": "",
		"I have submitted what you wanted":                ClaimedSubmission,
		"本草稿不表示材料已经上传。":                                   "",
		"没有提供的附件不要写成已经上传":                                 "",
		"草稿尚未提交":                                          "",
		"还没有提交：请先查看":                                      "",
		"如果已经提交，请忽略":                                      "",
		"您已经提交了吗？":                                        "",
		"材料补齐后可以申请复核。":                                    "",
		"我不能替您提交。":                                        "",
		"请您上传出差审批单":                                       "",
		"还在等部门负责人审批":                                      "",
		"需要先获批准":                                          "",
		"nothing was submitted":                           "",
		"It has not been approved yet.":                   "",
		"The form must be attached.":                      "",
		"Once it has been submitted you hear":             "",
		"I cannot submit it for you.":                     "",
		"Has it been uploaded?":                           "",
		"I couldn't say that it was approved":             "",
		"This draft does not say it is uploaded":          "",
	} {
		var got Class
		for _, c := range claims() {
			if c.claimed(text) != "" {
				got = c.class
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What a ticket of the person says may be repeated, and what a policy says about
// it may not: see backing.
func TestSentences(t *testing.T) {
	got := sentences("等部门负责人审批。短句。A whole sentence; and\nno")
	if len(got) != 2 || got[0] != "等部门负责人审批" || got[1] != "A whole sentence" {
		t.Errorf("%q", got)
	}
}
