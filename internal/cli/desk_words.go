package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/kernel"
)

// phrase names a text of the desk for the people who use it.
type phrase int

const (
	noticeFixtures phrase = iota
	noticeCancelled
	noticeScript
	wordDraft
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
	case wordDraft:
		return "draft", "草稿"
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

// deskUsage is a command line that cannot be understood, in the person's
// language.
func (a *app) deskUsage(flags *deskFlags, en, zh told) error {
	t := a.inTheirs(flags, en, zh)
	return usage(t.message, t.hint)
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
