package cli

import (
	"fmt"
	"strings"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
)

// clues are what a run's events tell about its end beyond its outcome. The zero
// value is of events that nobody has seen.
type clues struct {
	provider string
	failed   kernel.Failure // of the latest model request that was not ended from here; zero when one was replied to since
	inTheWay string         // the unknown effect on whose account a call was not run
	denied   int            // calls that the policy or a hook refused
	began    bool           // a call did run
}

// note takes the next event into account.
func (c *clues) note(e kernel.Event, content engine.Content) {
	switch e := e.(type) {
	case kernel.RunStarted:
		*c = clues{}
		if content.Question != nil {
			c.provider = content.Question.Provider
		}
	case kernel.ModelReplied:
		c.failed = kernel.Failure{}
	case kernel.ModelFailed:
		if e.Failure.Kind != kernel.FailAborted {
			c.failed = e.Failure
		}
	case kernel.ClaimRefused:
		if e.Why == kernel.ClaimUnknown || e.Why == kernel.ClaimBlocked {
			c.inTheWay = e.Effect
		}
	case kernel.CallDecided:
		if e.Answer == kernel.Deny {
			c.denied++
		}
	case kernel.CallStarted:
		c.began = true
	}
}

// hintAfter says what an operator can do about a stop; empty: nothing that this
// program knows. again are the flags that lead a command to the same journal.
func hintAfter(o *kernel.Outcome, profile kernel.Profile, c clues, again string) string {
	switch o.Stop {
	case kernel.StopProtocol:
		if profile == kernel.Tolerant {
			return "the server does not keep to its protocol, even by the tolerant profile"
		}
		return "if the endpoint is a compatible server and not the official one, write profile: tolerant in the model section"
	case kernel.StopTurnLimit:
		return "raise limits.turns if the task needs more"
	case kernel.StopToolLimit:
		return "raise limits.calls if the task needs more"
	case kernel.StopTokenLimit:
		return "raise limits.tokens if the task needs more"
	case kernel.StopDeadline:
		return hintGaveUp(c.failed, "limits.deadline")
	case kernel.StopTruncated:
		return hintTruncated(o.Detail)
	case kernel.StopContext:
		if strings.HasPrefix(o.Detail, string(kernel.FailContext)) {
			return hintWindow
		}
	case kernel.StopModelError:
		return hintModelError(o.Detail, c)
	}
	switch {
	case c.inTheWay != "":
		return hintInTheWay(c.inTheWay, again)
	case c.denied > 0 && !c.began:
		return fmt.Sprintf("no tool ran, and calls were refused (%d): the timeline says by what, and `holdfast policy explain TOOL ARGS` what the rules answer to a call", c.denied)
	}
	return ""
}

// hintInTheWay is for an effect on whose account a call did not run: until
// somebody has found out about it, asking again comes to the same.
func hintInTheWay(effect, again string) string {
	id := quoteArgument(effect)
	return "a call did not run, since nobody knows what became of effect " + safeLine(effect) + ", and asking again before that is found out comes to the same: " +
		"`holdfast effects show" + again + " " + id + "` shows where to look, `holdfast effects resolve" + again + " " + id + " --landed|--no-effect --note TEXT` records what was found"
}

const hintWindow = "the conversation fills the model's window: start a new session, ask for less, or choose a model with a larger one"

func hintTruncated(detail string) string {
	switch detail {
	case "context_window":
		return hintWindow
	case "request_budget":
		return "raise model.max_tokens, or limits.retry so that a cut reply can be asked for once more"
	}
	return "raise model.max_tokens, or ask for less"
}

// hintModelError goes by the exact cause and, where recovery gave up, by what
// it last met.
func hintModelError(detail string, c clues) string {
	if status, found := strings.CutPrefix(detail, "request_error:"); found {
		return hintStatus(status, c.provider)
	}
	switch detail {
	case "request_budget", "wait_budget": // to raise one of them alone leads to the other
		return hintGaveUp(c.failed, retryLimits)
	}
	switch kernel.FailureKind(detail) {
	case kernel.FailQuota:
		return "the account is out of quota, and waiting does not help: look at its plan and its limits"
	case kernel.FailInvalid:
		return "the endpoint does not speak this wire: check model.provider and the base URL, or try model.stream: false"
	case kernel.FailTooLarge:
		return "the answer was over 1,000,000 bytes: ask for less, or lower model.max_tokens"
	case kernel.FailTLS:
		return hintUntrusted(c)
	case kernel.FailRequest:
		return hintUnsent(c)
	case kernel.FailInternal:
		return "the adapter of the model failed: report it with what the timeline says"
	}
	return "check the model with `holdfast doctor`"
}

// hintStatus is for an answer that recovery does not ask for again.
func hintStatus(status, provider string) string {
	switch status {
	case "401", "403":
		return "the provider refuses the key: check " + keyVariable(provider)
	case "402":
		return "the account cannot pay: look at its plan and its limits"
	case "404":
		return "the endpoint knows no such model or path: check the model's name, and the base URL (openai: with /v1, anthropic: without)"
	case "408":
		return "the endpoint did not wait for the request: try again later"
	case "413":
		return "the request is too large for the endpoint: start a new session, or ask for less"
	}
	if strings.HasPrefix(status, "3") {
		return "the endpoint is elsewhere, and a key follows no redirect: correct the base URL"
	}
	if strings.HasPrefix(status, "5") {
		return "the endpoint failed: try again later"
	}
	return "the provider refuses the request: check that the model exists there, takes tools, and allows model.max_tokens, and that the base URL is https where it must be"
}

func keyVariable(provider string) string {
	switch provider {
	case config.OpenAI:
		return "OPENAI_API_KEY"
	case config.Anthropic:
		return "ANTHROPIC_API_KEY"
	}
	return "the key in the environment"
}

// retryLimits are what bounds how often, and for how long, a request is sent anew.
const retryLimits = "limits.retry.attempts, per_run and wait"

// hintGaveUp is for a failure that might have passed: limits are the settings
// that ended the waiting.
func hintGaveUp(f kernel.Failure, limits string) string {
	switch f.Kind {
	case kernel.FailConnection:
		return "there is no connection to the endpoint: check the base URL (holdfast doctor shows its host) and the network"
	case kernel.FailTimeout:
		return "the endpoint did not answer in time: raise limits.request_timeout, or try again later"
	case kernel.FailCut:
		return "the endpoint breaks its answers off: try again later, or model.stream: false if something in between does it"
	case kernel.FailStatus:
		return hintFailedStatus(f.Status) + ": try again later, or raise " + limits
	}
	return "raise " + limits + " if the task needs more"
}

// hintFailedStatus says what an answer means that might be another one later.
func hintFailedStatus(status int) string {
	switch status {
	case 429:
		return "the provider limits how often it is asked"
	case 503, 529:
		return "the provider is overloaded"
	}
	return fmt.Sprintf("the endpoint failed (HTTP %d)", status)
}

// hintUntrusted is for a key that stayed here.
func hintUntrusted(c clues) string {
	return "there is no connection that can be trusted" + why(c) + "; check the base URL and the clock, and name a certificate authority of your own in SSL_CERT_FILE"
}

// hintUnsent is for a request that this side could not make.
func hintUnsent(c clues) string {
	if c.provider == config.Script {
		return "the script has no answer to this request" + why(c)
	}
	return "the request cannot be sent as it is" + why(c)
}

// why is what the failed request says of itself.
func why(c clues) string {
	if c.failed.Detail == "" {
		return ""
	}
	return ": " + safeLine(c.failed.Detail)
}
