package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// phrase names a text of the desk for the people who use it.
type phrase int

const (
	noticeFixtures phrase = iota
	noticeCancelled
	noticeScript
	noticeTakesUp // with the time that it has at most
	noticeUnembedded
	wordDraft
	wordRevision
	wordSubject
	wordExpires
	askConfirm
)

// said is a phrase in both languages.
func said(p phrase) (en, zh string) {
	switch p {
	case noticeFixtures:
		return "these people are fixtures to try the desk with, and --user is no login", "这些人只是供试用的夹具，--user 不是登录"
	case noticeCancelled:
		return "nothing was submitted", "没有提交任何内容"
	case noticeScript:
		return "the model is a fixed script and no real model", "这里的模型是固定脚本，不是真实模型"
	case noticeTakesUp:
		return "an earlier question, whose process ended, is gone on with first, for %s at most", "先接着做完之前进程中断的问题，最多 %s"
	case noticeUnembedded:
		return "an application searches this desk by vectors too, which this command does not make: until it calls EmbedPolicies, the policy is found there by its words alone",
			"有应用也用向量检索这个服务台，而本命令不生成向量：在该应用调用 EmbedPolicies 之前，这条制度只能按词找到"
	case wordDraft:
		return "draft", "草稿"
	case wordRevision:
		return "revision", "修订"
	case wordSubject:
		return "subject", "标题"
	case wordExpires:
		return "expires", "有效至"
	case askConfirm:
		return "Submit exactly this as a ticket? Type yes:", "把以上内容原样提交为工单？请输入 yes："
	}
	return "", ""
}

func (a *app) deskSay(flags *deskFlags, p phrase) string {
	en, zh := said(p)
	return pick(a.chinese(flags), zh, en)
}

// deskTell says on standard error what a person waits for, if it is a terminal:
// for scripts nothing stands there but errors.
func (a *app) deskTell(flags *deskFlags, p phrase, args ...any) {
	if screen := terminal(a.stderr); screen != nil {
		fmt.Fprintf(screen, a.deskSay(flags, p)+"\n", args...)
	}
}

// chinese reports whether the person reads Chinese, as the flag or the
// environment says.
func (a *app) chinese(flags *deskFlags) bool {
	if flags.lang != "" {
		return flags.lang == "zh"
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := a.env(name); v != "" {
			return strings.HasPrefix(strings.ToLower(v), "zh")
		}
	}
	return false
}

// told is an error in one language.
type told struct{ message, hint string }

// spoken is an error that was told in the person's language where it arose.
type spoken struct{ error }

// Unwrap returns the error itself.
func (s spoken) Unwrap() error { return s.error }

func (a *app) inTheirs(flags *deskFlags, en, zh told) told {
	if a.chinese(flags) {
		return zh
	}
	return en
}

// wrongFlag is a CONFIGURATION, in the person's language.
func (a *app) wrongFlag(flags *deskFlags, en, zh told) error {
	t := a.inTheirs(flags, en, zh)
	return spoken{&kernel.Error{Code: kernel.CodeConfiguration, Message: t.message, Hint: t.hint}}
}

// deskInterrupted is a CANCELLED, in the person's language.
func (a *app) deskInterrupted(flags *deskFlags, en, zh told) error {
	t := a.inTheirs(flags, en, zh)
	return spoken{&kernel.Error{Code: kernel.CodeCancelled, Message: t.message, Hint: t.hint}}
}

// deskUsage is a command line that cannot be understood, in the person's
// language.
func (a *app) deskUsage(flags *deskFlags, en, zh told) error {
	t := a.inTheirs(flags, en, zh)
	return spoken{usage(t.message, t.hint)}
}

// oneID wants one argument, the ID of a draft.
func (a *app) oneID(flags *deskFlags) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		name := commandName(cmd)
		return a.deskUsage(flags, told{name + " takes exactly one ID", "holdfast desk drafts lists them"},
			told{name + " 只接受一个 ID", "编号见 holdfast desk drafts"})
	}
}

// oneQuestion wants one argument, a question.
func (a *app) oneQuestion(flags *deskFlags) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		name := commandName(cmd)
		return a.deskUsage(flags, told{name + " takes exactly one QUESTION", "put the question in quotes"},
			told{name + " 只接受一个问题", "请把问题放在引号里"})
	}
}

// outOfRange is a limit that cannot be used.
func (a *app) outOfRange(flags *deskFlags, name, text, en, zh string) error {
	return a.wrongFlag(flags, told{fmt.Sprintf("%s must be %s, not %.40q", name, en, text), "leave it out for the default"},
		told{fmt.Sprintf("%s 必须是%s，不能是 %.40q", name, zh, text), "不写就用默认值"})
}

// meaning says in the person's language what a status is.
func (a *app) meaning(flags *deskFlags, s desk.Status) string {
	en, zh := meaningOf(s)
	return pick(a.chinese(flags), zh, en)
}

func meaningOf(s desk.Status) (en, zh string) {
	switch s {
	case desk.Answered:
		return "answered, by what was looked up", "已根据查到的内容回答"
	case desk.DraftPrepared:
		return "a draft waits for you to read and confirm it", "草稿已备好，等您查看并确认"
	case desk.AlreadySubmitted:
		return "the draft was confirmed before, and its ticket is there", "草稿此前已确认，工单已存在"
	case desk.ToolFailed:
		return "a step failed, and the answer had to do without it", "有一步没有成功，回答缺少这一步的依据"
	case desk.NeedsClarification:
		return "something is missing in the question: ask again with it", "问题里缺少信息，请补充后再问"
	case desk.Unsupported:
		return "the answer is not borne out by what was looked up", "回答没有得到所查内容的支持"
	}
	return meaningOfStop(kernel.Stop(s))
}

// meaningOfStop says why there is no answer. What was done before stays.
func meaningOfStop(s kernel.Stop) (en, zh string) {
	switch s {
	case kernel.StopTurnLimit, kernel.StopToolLimit, kernel.StopTokenLimit, kernel.StopCostLimit:
		return "a limit was reached; what was prepared before is kept", "已到上限；之前备好的内容仍在"
	case kernel.StopDeadline:
		return "the time was over; what was prepared before is kept", "时间已到；之前备好的内容仍在"
	case kernel.StopTruncated:
		return "the model's output was cut off, and nothing of it was done", "模型的输出被截断，其中的操作都没有执行"
	case kernel.StopProtocol:
		return "the model's reply made no sense, and nothing of it was done", "模型的回复不合协议，其中的操作都没有执行"
	case kernel.StopModelError:
		return "the model could not be reached, or failed", "模型无法访问或出错"
	case kernel.StopCancelled:
		return "it was interrupted; what was prepared before is kept", "已中断；之前备好的内容仍在"
	}
	return "it stopped without an answer; what was prepared before is kept", "没有得到回答就停止了；之前备好的内容仍在"
}
