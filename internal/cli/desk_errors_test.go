package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// deskRefused is the error of a command of the desk that fails.
func deskRefused(t *testing.T, dir string, args ...string) *kernel.Error {
	t.Helper()
	cmd := process(t, dir, append([]string{"desk"}, args...)...)
	out, err := cmd.Output()
	var told struct {
		Error *kernel.Error `json:"error"`
	}
	text := stderrOf(err)
	if err == nil || len(out) > 0 || json.Unmarshal(text, &told) != nil || told.Error == nil {
		t.Fatalf("%v: %v, %s%s", args, err, out, text)
	}
	return told.Error
}

// Row 87: whatever somebody at the desk does wrong is told with its code, as JSON
// on standard error alone, in the person's language.
func TestDeskErrorsInBothLanguages(t *testing.T) {
	dir := t.TempDir()
	deskOutput[map[string]any](t, dir, "init")
	d := deskOutput[deskReport](t, dir, "ask", "--scenario", "draft", "--session", "s", "q").Drafts[0]
	done := deskOutput[deskReport](t, dir, "ask", "--scenario", "draft", "--session", "done", "q").Drafts[0]
	hash := deskOutput[deskDraft](t, dir, "show-draft", done).Hash
	deskOutput[map[string]any](t, dir, "approve", done, "--hash", hash)
	long := strings.Repeat("长", 4001)
	for _, tt := range []struct {
		args []string
		code kernel.Code
		in   string // of the Chinese message
	}{
		{[]string{"tickets", "--user", "eve"}, "UNKNOWN_USER", "没有这个试用身份"},
		{[]string{"tickets", "--db", "none.db"}, "NOT_INITIALIZED", "还没有工单台"},
		{[]string{"tickets", "--db", "text"}, "LOCAL_STORAGE", "无法读写"},
		{[]string{"show-draft", "D0"}, "NOT_FOUND", "没有这条记录"},
		{[]string{"show-draft", " "}, "INVALID_ARGUMENT", "草稿编号不能为空"},
		{[]string{"show-draft"}, "INVALID_ARGUMENT", "desk show-draft 只接受一个 ID"},
		{[]string{"approve", d, "--hash", "0"}, "STALE_CONFIRMATION", "不一致"},
		{[]string{"edit-draft", d, "--subject", "a", "--body", long}, "INVALID_ARGUMENT", "正文有 4001 个字，最多 4000 个"},
		{[]string{"edit-draft", d, "--subject", "a\x01", "--body", "b"}, "INVALID_ARGUMENT", "标题含有控制字符"},
		{[]string{"edit-draft", d, "--subject", "a\nb", "--body", "b"}, "INVALID_ARGUMENT", "标题只能有一行"},
		{[]string{"edit-draft", d, "--subject", "a", "--body", "b\u202ec"}, "INVALID_ARGUMENT", "正文含有 U+202E"},
		{[]string{"edit-draft", d, "--subject", "a"}, "INVALID_ARGUMENT", "缺少 --body"},
		{[]string{"edit-draft", done, "--subject", "a", "--body", "b"}, "CONFLICT", "草稿已提交"},
		{[]string{"ask", "q"}, "INVALID_ARGUMENT", "缺少 --session"},
		{[]string{"ask", "--session", "s"}, "INVALID_ARGUMENT", "desk ask 只接受一个问题"},
		{[]string{"ask", "--session", "s", " "}, "INVALID_ARGUMENT", "问题不能为空"},
		{[]string{"ask", "--session", strings.Repeat("长", 81), "q"}, "INVALID_ARGUMENT", "会话名有 81 个字"},
		{[]string{"ask", "--session", "s", strings.Repeat("长", 6001)}, "INVALID_ARGUMENT", "问题有 6001 个字"},
		{[]string{"ask", "--session", "s", "--mode", "mock", "q"}, "CONFIGURATION", "--mode 只能是"},
		{[]string{"ask", "--session", "s", "--scenario", "other", "q"}, "CONFIGURATION", "--scenario 只能是"},
		{[]string{"ask", "--session", "s", "--mode", "live", "--scenario", "draft", "q"}, "CONFIGURATION", "真实模型不演脚本"},
		{[]string{"ask", "--session", "s", "--mode", "live", "q"}, "CONFIGURATION", "配置有误"},
		{[]string{"ask", "--session", "s", "-c", "f.yaml", "q"}, "CONFIGURATION", "-c 指定的是"},
		{[]string{"ask", "--session", "s", "--max-steps", "0", "q"}, "CONFIGURATION", "--max-steps 必须是"},
		{[]string{"ask", "--session", "s", "--timeout", "NaN", "q"}, "CONFIGURATION", "--timeout 必须是"},
		// Of what a code leaves open the exact words are kept.
		{[]string{"eval-search", "--leg", "foo"}, "CONFIGURATION", "--leg 只能是"},
		{[]string{"eval-search", "-k", "x"}, "CONFIGURATION", "--k 必须是"},
		{[]string{"eval", "--trials", "0"}, "CONFIGURATION", "--trials 必须是"},
		{[]string{"tickets", "more"}, "INVALID_ARGUMENT", "命令行有误：unexpected argument"},
		{[]string{"policies"}, "INVALID_ARGUMENT", "命令行有误：which one"},
		{[]string{"policies", "import"}, "INVALID_ARGUMENT", "命令行有误：desk policies import takes at least one FILE"},
		{[]string{"tickets", "--db", "open.db"}, "LOCAL_STORAGE", "mode 0666"},
	} {
		write(t, dir, "text", "no desk at all")
		if strings.Contains(strings.Join(tt.args, " "), "open.db") {
			write(t, dir, "open.db", "anything")
			if err := os.Chmod(filepath.Join(dir, "open.db"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		en := deskRefused(t, dir, append(tt.args[:len(tt.args):len(tt.args)], "--lang", "en")...)
		zh := deskRefused(t, dir, append(tt.args[:len(tt.args):len(tt.args)], "--lang", "zh")...)
		if en.Code != tt.code || zh.Code != tt.code {
			t.Errorf("%v: %s and %s, want %s", tt.args, en.Code, zh.Code, tt.code)
		}
		if strings.ContainsFunc(en.Message+en.Hint, isHan) || !strings.Contains(zh.Message, tt.in) {
			t.Errorf("%v: %q (%q) and %q", tt.args, en.Message, en.Hint, zh.Message)
		}
	}
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// What several things can mean keeps its exact words behind the Chinese ones.
func TestOtherErrorsInChinese(t *testing.T) {
	e := &kernel.Error{Code: kernel.CodeConflict, Message: "version 1 says something else"}
	if got := inChinese(e, told{}); got.message != "与已有的内容冲突：version 1 says something else" {
		t.Errorf("got %q", got.message)
	}
	if got := inChinese(e, conflictSession()); got != conflictSession() {
		t.Errorf("got %q", got.message)
	}
	e.Hint = "wait for it, or end it with holdfast runs cancel run_1"
	if got := inChinese(e, conflictSession()); !strings.HasSuffix(got.hint, "（holdfast runs cancel run_1）") {
		t.Errorf("got %q", got.hint)
	}
	stale := &kernel.Error{Code: desk.CodeStaleConfirmation, Message: "it does not say that", Hint: "read it again: holdfast desk show-draft D1a"}
	if got := inChinese(stale, told{}); got.hint != "请重新查看：holdfast desk show-draft D1a" {
		t.Errorf("got %q", got.hint)
	}
	late := &kernel.Error{Code: desk.CodeDraftExpired, Message: "the draft expired at 2026-01-02T03:04:05Z"}
	if got := inChinese(late, told{}); got.message != "草稿已过期（2026-01-02T03:04:05Z）" {
		t.Errorf("got %q", got.message)
	}
	if got := inChinese(&kernel.Error{Code: "OTHER", Message: "x"}, told{}); got.message != "出错：x" {
		t.Errorf("got %q", got.message)
	}
}

// Every status means something in both languages.
func TestMeanings(t *testing.T) {
	for _, s := range []desk.Status{desk.Answered, desk.DraftPrepared, desk.AlreadySubmitted, desk.ToolFailed, desk.Unsupported, desk.NeedsClarification, "turn_limit", "tool_limit", "deadline",
		"output_truncated", "protocol_error", "model_error", "cancelled", "refused"} {
		if en, zh := meaningOf(s); en == "" || strings.ContainsFunc(en, isHan) || !strings.ContainsFunc(zh, isHan) {
			t.Errorf("%s: %q, %q", s, en, zh)
		}
	}
}
