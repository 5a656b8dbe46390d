package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// inLanguage carries a command of the desk out; its error is told in the
// person's language.
func (a *app) inLanguage(flags *deskFlags, do func() error) error {
	if flags.lang != "" && flags.lang != "en" && flags.lang != "zh" {
		return a.wrongFlag(flags, told{"--lang is en or zh", "leave it out for that of the environment"}, told{})
	}
	return a.inTheirLanguage(flags, do())
}

// inTheirLanguage tells an error in the person's language.
func (a *app) inTheirLanguage(flags *deskFlags, err error) error {
	if _, done := errors.AsType[spoken](err); done || err == nil || !a.chinese(flags) {
		return err
	}
	if bad, ok := errors.AsType[usageError](err); ok {
		return a.deskUsage(flags, told{}, told{"命令行有误：" + bad.err.Message, bad.err.Hint})
	}
	e, ok := errors.AsType[*kernel.Error](err)
	if !ok {
		return err
	}
	zh := inChinese(e, flags.conflict)
	return &kernel.Error{Code: e.Code, Message: zh.message, Hint: zh.hint, Err: err}
}

// speak makes the commands tell what is wrong with their arguments and flags in the
// person's language, too.
func (a *app) speak(flags *deskFlags, cmd *cobra.Command) {
	args := cmd.Args
	cmd.Args = func(cmd *cobra.Command, given []string) error { return a.inTheirLanguage(flags, args(cmd, given)) }
	for _, below := range cmd.Commands() {
		a.speak(flags, below)
	}
}

// inChinese tells an error in Chinese. What a code leaves open, such as why a file
// cannot be read, keeps the exact English words behind the Chinese ones.
func inChinese(e *kernel.Error, conflict told) told {
	if text, ok := errors.AsType[*desk.TextError](e); ok {
		return told{wrongText(text), wrongTextHint(text.Fault)}
	}
	if e.Code == kernel.CodeConflict && conflict != (told{}) {
		return told{conflict.message, conflict.hint + inBrackets(commandsIn(e.Hint))}
	}
	if zh, ok := deskErrors(e)[e.Code]; ok {
		return zh
	}
	return told{aboutErrors(e.Code) + "：" + e.Message, e.Hint}
}

// deskErrors are what the codes mean to people at the desk, where they mean one thing.
func deskErrors(e *kernel.Error) map[kernel.Code]told {
	return map[kernel.Code]told{
		desk.CodeUnknownUser:       {"没有这个试用身份", "用 --user 指定其中一个：alice、bob、mallory"},
		desk.CodeStaleConfirmation: {"草稿的内容与所确认的不一致", "请重新查看" + inColon(commandsIn(e.Hint))},
		desk.CodeDraftExpired:      {"草稿已过期" + inBrackets(instantIn(e.Message)), "请重新准备或编辑草稿，然后再次确认"},
		desk.CodeNotInitialized:    {"这个文件里还没有工单台", "请先运行：holdfast desk init"},
		kernel.CodeNotFound:        {"没有这条记录，或者它不属于您", "请核对编号；别人的记录与不存在的记录看起来一样"},
	}
}

func inBrackets(s string) string { return pick(s != "", "（"+s+"）", "") }
func inColon(s string) string    { return pick(s != "", "："+s, "") }

// commandsIn are the commands that an English hint names, with their ids.
func commandsIn(hint string) string {
	named := regexp.MustCompile(`holdfast [a-z]+ [a-z-]+ [0-9A-Za-z_]*\d[0-9A-Za-z_]*`)
	return strings.Join(named.FindAllString(hint, -1), "；")
}

// instantIn is the instant that an English message names.
func instantIn(message string) string {
	return regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:]+(?:Z|[+-]\d\d:\d\d)`).FindString(message)
}

// aboutErrors says in general what a code is about.
func aboutErrors(code kernel.Code) string {
	switch code {
	case kernel.CodeInvalidArgument:
		return "参数不合要求"
	case kernel.CodeConfiguration:
		return "配置有误"
	case kernel.CodeConflict:
		return "与已有的内容冲突"
	case kernel.CodeLocalStorage:
		return "无法读写本地文件"
	case kernel.CodeCancelled:
		return "已中断"
	case kernel.CodeVersion:
		return "文件由更新版本的程序写成"
	case kernel.CodeLeaseLost:
		return "这个问题已由另一个进程接手"
	case kernel.CodeInternal:
		return "程序内部出错"
	case desk.CodeEmbeddingFailed:
		return "向量没有算成，什么也没有保存"
	}
	return "出错"
}

// The conflicts that people at the desk can meet.
func conflictSubmitted() told {
	return told{"草稿已提交，不能再修改", "请另外准备一份草稿"}
}

func conflictSession() told {
	return told{"这个会话里还有一个问题没有结束", "请稍后再试，或者换一个 --session"}
}

// wrongText says what is wrong with a text.
func wrongTextHint(f desk.TextFault) string {
	switch f {
	case desk.TextEmpty:
		return "请写点内容"
	case desk.TextTooLong:
		return "请写得短一些"
	case desk.TextInvalid:
		return "请使用 UTF-8"
	case desk.TextLines:
		return "请写成一行"
	case desk.TextControls, desk.TextUnseen:
	}
	return "请去掉这样的字符"
}

func wrongText(e *desk.TextError) string {
	name, ok := map[string]string{
		"the subject": "标题", "the body": "正文", "the session": "会话名", "the question": "问题", "the query": "查询词",
		"the draft's id": "草稿编号", "the ticket's id": "工单编号", "the policy's id": "制度编号",
		"the version": "版本", "the title": "标题",
	}[e.Name]
	if !ok {
		name = e.Name
	}
	switch e.Fault {
	case desk.TextEmpty:
		return name + "不能为空"
	case desk.TextTooLong:
		return fmt.Sprintf("%s有 %d 个字，最多 %d 个", name, e.Has, e.Most)
	case desk.TextInvalid:
		return name + "不是有效的 UTF-8"
	case desk.TextUnseen:
		return fmt.Sprintf("%s含有 %U：这种字符会让人看到的与实际内容不一致", name, e.Rune)
	case desk.TextLines:
		return name + "只能有一行"
	case desk.TextControls:
	}
	return name + "含有控制字符"
}
