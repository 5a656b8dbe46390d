package cli

import (
	"strings"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/kernel"
)

// deskHint says what can be done about a stop, as holdfast run does: limits are named
// by the flags of the desk.
func (a *app) deskHint(flags *deskFlags, r *engine.Run, c clues) string {
	en := strings.NewReplacer(
		"limits.turns", "--max-steps", "limits.calls", "--max-tool-calls", "limits.deadline", "--deadline",
		"limits.request_timeout", "--timeout",
	).Replace(hintAfter(r.Outcome, r.State.Spec.Profile, c))
	if zh := hintInChinese(r.Outcome); en != "" && zh != "" && a.chinese(flags) {
		return zh + "：" + en
	}
	return en
}

// hintInChinese says what a stop asks for; the exact words stand behind it.
func hintInChinese(o *kernel.Outcome) string {
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
