package cli

import (
	"errors"
	"strings"

	"github.com/holdfast-run/holdfast/desk"
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

// inLanguage carries a command of the desk out; its error is told in the
// person's language.
func (a *app) inLanguage(flags *deskFlags, do func() error) error {
	if flags.lang != "" && flags.lang != "en" && flags.lang != "zh" {
		return usage("--lang is en or zh", "leave it out for that of the environment")
	}
	err := do()
	e, ok := errors.AsType[*kernel.Error](err)
	if !ok || !a.chinese(flags) {
		return err
	}
	told := *e
	if e.Code == kernel.CodeInvalidArgument {
		told.Message = "参数不合要求：" + e.Message
	} else if zh, ok := deskErrors()[e.Code]; ok {
		told.Message, told.Hint = zh.message, zh.hint
	}
	told.Err = err
	return &told
}

type told struct{ message, hint string }

// deskErrors are what the codes mean to people at the desk. What is not here, such as
// a fault of the configuration, is told in English, exactly.
func deskErrors() map[kernel.Code]told {
	return map[kernel.Code]told{
		desk.CodeUnknownUser:       {"没有这个试用身份", "用 --user 指定其中一个：alice、bob、mallory"},
		desk.CodeStaleConfirmation: {"草稿的内容与所确认的不一致", "请重新查看：holdfast desk show-draft ID"},
		desk.CodeDraftExpired:      {"草稿已过期", "请重新准备或编辑草稿，然后再次确认"},
		desk.CodeNotInitialized:    {"这个文件里还没有工单台", "请先运行：holdfast desk --db FILE init"},
		kernel.CodeNotFound:        {"没有这条记录，或者它不属于您", "请核对编号；别人的记录与不存在的记录看起来一样"},
		kernel.CodeConflict:        {"草稿已提交，不能再修改", "请另外准备一份草稿"},
		kernel.CodeLocalStorage:    {"无法读写工单台的文件", "请检查路径、磁盘和权限"},
		kernel.CodeCancelled:       {"已中断", "重试之前请先查看：holdfast desk drafts"},
	}
}
