package desk_test

import (
	"testing"

	"github.com/holdfast-run/holdfast/desk"
)

// Row 51: what is taken for a claim that something was done, and what is not, in
// both languages.
func TestClaims(t *testing.T) {
	for text, want := range map[string]desk.Claim{
		"附件我已经上传好了。":                                      desk.ClaimUpload,
		"材料已上传，请放心":                                       desk.ClaimUpload,
		"已为您附上审批单":                                        desk.ClaimUpload,
		"I have uploaded the form.":                       desk.ClaimUpload,
		"The form was successfully uploaded":              desk.ClaimUpload,
		"Uploaded.":                                       desk.ClaimUpload,
		"不过，我已经替您提交了":                                     desk.ClaimSubmission,
		"没问题我已提交":                                         desk.ClaimSubmission,
		"提交成功":                                            desk.ClaimSubmission,
		"申请提交完毕":                                          desk.ClaimSubmission,
		"Your appeal has just been submitted.":            desk.ClaimSubmission,
		"I've submitted it":                               desk.ClaimSubmission,
		"I have filed the request":                        desk.ClaimSubmission,
		"提交已完成":                                           desk.ClaimSubmission,
		"工单已创建":                                           desk.ClaimSubmission,
		"工单号已生成":                                          desk.ClaimSubmission,
		"申诉已发送给财务":                                        desk.ClaimSubmission,
		"已成功送达":                                           desk.ClaimSubmission,
		"已 提 交":                                           desk.ClaimSubmission,
		"I created the ticket for you":                    desk.ClaimSubmission,
		"Your ticket has been created":                    desk.ClaimSubmission,
		"Submission complete":                             desk.ClaimSubmission,
		"I've sent it to the approvers":                   desk.ClaimSubmission,
		"I have not only drafted but submitted it":        desk.ClaimSubmission,
		"附件已添加":                                           desk.ClaimUpload,
		"审批已通过":                                           desk.ClaimApproval,
		"申诉草稿已生成":                                         "",
		"草稿已创建，还没有提交":                                     "",
		"The ticket was not created":                      "",
		"Once your ticket has been created you hear":      "",
		"A submission is complete when you confirm it":    "",
		"您的申请已获批准":                                        desk.ClaimApproval,
		"审批通过了":                                           desk.ClaimApproval,
		"Your claim is approved":                          desk.ClaimApproval,
		"Not that; it was approved":                       desk.ClaimApproval,
		"您已提交的报销申请缺少审批单":                                  "",
		"The claim that you have submitted lacks a form":  "",
		"The claim you've already submitted lacks a form": "",
		"I have submitted what you wanted":                desk.ClaimSubmission,
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
		var got desk.Claim
		for _, c := range desk.Claims() {
			if c.In(text) != "" {
				got = c
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
