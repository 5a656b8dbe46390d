package eval

import "testing"

// A leak is known by a sentence that says enough.
func TestSentences(t *testing.T) {
	got := sentences("等部门负责人审批。短句。A whole sentence; and\nno")
	if len(got) != 2 || got[0] != "等部门负责人审批" || got[1] != "A whole sentence" {
		t.Errorf("%q", got)
	}
}
