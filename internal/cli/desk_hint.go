package cli

import (
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
)

// deskHint says what can be done about a stop, as holdfast run does: limits are named
// by the flags of the desk, which has none for how often a request is sent anew.
func (a *app) deskHint(flags *deskFlags, r *engine.Run, c clues) string {
	c.denied = 0 // by rules of its own, which no command explains
	en := strings.NewReplacer(
		"limits.turns", "--max-steps", "limits.calls", "--max-tool-calls", "limits.deadline", "--deadline",
		"limits.request_timeout", "--timeout", ", or raise "+retryLimits, "", "raise "+retryLimits+" if the task needs more", "ask for less at once",
	).Replace(hintAfter(r.Outcome, r.State.Spec.Profile, c, " --db "+quoteArgument(runsOf(flags.db))))
	if zh := hintInChinese(r.Outcome, c); en != "" && zh != "" && a.chinese(flags) {
		return zh + "：" + en
	}
	return en
}

// hintInChinese says what a stop asks for; the exact words stand behind it.
func hintInChinese(o *kernel.Outcome, c clues) string {
	status, _ := strings.CutPrefix(o.Detail, "request_error:")
	switch {
	case o.Stop == kernel.StopModelError && (status == "401" || status == "403"):
		return "服务方不接受密钥，请检查密钥"
	case o.Stop == kernel.StopModelError && status == "402", o.Stop == kernel.StopModelError && o.Detail == string(kernel.FailQuota):
		return "账户余额或配额不足"
	case o.Stop == kernel.StopModelError && status == "404":
		return "服务方没有这个模型或地址，请检查模型名和地址"
	case o.Stop == kernel.StopModelError && o.Detail == string(kernel.FailRequest):
		return "请求没有发出"
	case o.Stop == kernel.StopModelError && o.Detail == string(kernel.FailTLS):
		return "与服务方的连接不可信，请检查证书、地址和时钟"
	case o.Stop == kernel.StopModelError && (o.Detail == "request_budget" || o.Detail == "wait_budget"):
		return gaveUpInChinese(c.failed)
	case o.Stop == kernel.StopModelError:
		return "模型请求没有成功"
	case o.Stop == kernel.StopTurnLimit, o.Stop == kernel.StopToolLimit, o.Stop == kernel.StopDeadline:
		return "需要更多时可以调高上限"
	case o.Stop == kernel.StopTruncated:
		return "可以调高输出上限，或者少问一些"
	case o.Stop == kernel.StopProtocol:
		return "服务方不符合协议"
	}
	return "建议"
}

// gaveUpInChinese says what the model's endpoint last failed with.
func gaveUpInChinese(f kernel.Failure) string {
	switch f.Kind {
	case kernel.FailConnection:
		return "连不上服务方，请检查地址和网络"
	case kernel.FailTimeout:
		return "服务方没有及时回答，请稍后再试"
	case kernel.FailCut:
		return "服务方中途断开了回答，请稍后再试"
	case kernel.FailStatus:
		return statusInChinese(f.Status) + "，请稍后再试"
	}
	return "模型请求没有成功"
}

func statusInChinese(status int) string {
	switch status {
	case 429:
		return "服务方限制了请求的频率"
	case 503, 529:
		return "服务方过载"
	}
	return fmt.Sprintf("服务方出错（HTTP %d）", status)
}
