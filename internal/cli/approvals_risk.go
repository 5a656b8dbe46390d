package cli

import (
	"context"
	"fmt"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// rating is the line that says how grave an approval's call is, by which policy.
// It is empty where the record of the call's decision does not say it.
func rating(ctx context.Context, j journal.Reader, p *journal.Approval) (string, error) {
	records, err := j.Read(ctx, p.Run, 0, 0)
	if err != nil {
		return "", err
	}
	line := ""
	for i := range records {
		if records[i].Kind != kernel.KindCallDecided {
			continue
		}
		e, err := kernel.DecodeEvent(records[i].Payload)
		if err != nil {
			return "", err
		}
		if d, ok := e.(kernel.CallDecided); ok && d.Call == p.Call && d.Answer == kernel.Ask {
			line = riskLine(d.Risk, d.Policy)
		}
	}
	return line, nil
}

func riskLine(risk kernel.Risk, policy string) string {
	if risk == "" {
		return ""
	}
	return fmt.Sprintf("  risk %s%s\n", safeLine(string(risk)), pick(policy != "", fmt.Sprintf(", policy %.12s", safeLine(policy)), ""))
}
