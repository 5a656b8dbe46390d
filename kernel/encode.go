package kernel

import (
	"encoding/json"
	"strconv"
)

// appendEvent writes an event's fields as a JSON object. The events that every
// run has are written by hand, since reflection would cost as much as all the
// rest of a step; TestEventRoundTrip finds a field that was forgotten here.
func appendEvent(b []byte, e Event) ([]byte, error) {
	switch e := e.(type) {
	case RunStarted:
		return e.appendJSON(b), nil
	case ContextPrepared:
		return e.appendJSON(b), nil
	case ModelReplied:
		return e.appendJSON(b), nil
	case CallDecided:
		return e.appendJSON(b), nil
	case CallStarted:
		return e.appendJSON(b), nil
	case CallReturned:
		return e.appendJSON(b), nil
	case Observed:
		return e.appendJSON(b), nil
	}
	text, err := json.Marshal(e)
	return append(b, text...), err
}

func (e *ContextPrepared) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"at":`, e.At)
	b = appendNumber(b, `,"cmd":`, e.Cmd)
	b = appendNumber(b, `,"input_tokens":`, e.InputTokens)
	b = appendNumber(b, `,"messages":`, e.Messages)
	b = appendSome(b, `,"tools":`, e.Tools)
	b = appendTexts(b, `,"warnings":`, e.Warnings)
	b = appendTexts(b, `,"attached":`, e.Attached)
	if e.Compacted != nil {
		b = e.Compacted.appendJSON(append(b, `,"compacted":`...))
	}
	return append(b, '}')
}

func (c *Compaction) appendJSON(b []byte) []byte {
	b = appendText(b, `{"archive":`, c.Archive)
	b = appendCount(b, `,"removed":`, c.Removed)
	b = appendCount(b, `,"spilled":`, c.Spilled)
	b = appendNumber(b, `,"before":`, c.Before)
	b = appendNumber(b, `,"after":`, c.After)
	b = appendSome(b, `,"summary":`, c.Summary)
	return append(b, '}')
}

func (e *Observed) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"at":`, e.At)
	b = appendNumber(b, `,"cmd":`, e.Cmd)
	b = appendText(b, `,"call":`, e.Call)
	b = appendTexts(b, `,"warnings":`, e.Warnings)
	return append(b, '}')
}

func (e *ModelReplied) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"at":`, e.At)
	b = appendNumber(b, `,"cmd":`, e.Cmd)
	b = appendNumber(b, `,"turn":`, e.Turn)
	b = e.Reply.appendJSON(append(b, `,"reply":`...))
	return append(b, '}')
}

func (r *ReplyFacts) appendJSON(b []byte) []byte {
	b = appendText(b, `{"stop":`, r.Stop)
	b = append(b, `,"blocks":`...)
	if r.Blocks == nil {
		b = append(b, "null"...)
	} else {
		b = appendList(b, r.Blocks, (*BlockFact).appendJSON)
	}
	if len(r.Calls) > 0 {
		b = appendList(append(b, `,"calls":`...), r.Calls, (*Call).appendJSON)
	}
	if r.Usage != nil {
		b = r.Usage.appendJSON(append(b, `,"usage":`...))
	}
	b = appendNumber(b, `,"size":`, r.Size)
	b = appendSome(b, `,"fault":`, r.Fault)
	return append(b, '}')
}

func (f *BlockFact) appendJSON(b []byte) []byte {
	b = appendText(b, `{"kind":`, f.Kind)
	b = appendNumber(b, `,"size":`, f.Size)
	b = appendTrue(b, `,"blank":true`, f.Blank)
	b = appendTrue(b, `,"signed":true`, f.Signed)
	return append(b, '}')
}

func (c *Call) appendJSON(b []byte) []byte {
	b = appendText(b, `{"id":`, c.ID)
	b = appendText(b, `,"name":`, c.Name)
	b = appendText(b, `,"arguments":`, c.Arguments)
	return append(b, '}')
}

func (u *Usage) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"input_tokens":`, u.Input)
	b = appendNumber(b, `,"output_tokens":`, u.Output)
	b = appendNumber(b, `,"cache_read_tokens":`, u.CacheRead)
	b = appendNumber(b, `,"cache_write_tokens":`, u.CacheWrite)
	return append(b, '}')
}

func (e *CallDecided) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"at":`, e.At)
	b = appendNumber(b, `,"cmd":`, e.Cmd)
	b = appendText(b, `,"call":`, e.Call)
	b = appendText(b, `,"answer":`, e.Answer)
	b = appendSome(b, `,"code":`, e.Code)
	b = appendSome(b, `,"reason":`, e.Reason)
	b = appendSome(b, `,"rule":`, e.Rule)
	b = appendSome(b, `,"effect":`, e.Effect)
	b = appendCount(b, `,"attempts":`, e.Attempts)
	b = appendTrue(b, `,"keyed":true`, e.Keyed)
	b = appendSome(b, `,"key":`, e.Key)
	if e.Asking != nil {
		text, _ := json.Marshal(e.Asking) // strings and numbers
		b = append(append(b, `,"asking":`...), text...)
	}
	b = appendSome(b, `,"risk":`, e.Risk)
	b = appendSome(b, `,"policy":`, e.Policy)
	b = appendTrue(b, `,"changed":true`, e.Changed)
	return append(b, '}')
}

func (e *CallStarted) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"at":`, e.At)
	b = appendNumber(b, `,"cmd":`, e.Cmd)
	b = appendText(b, `,"call":`, e.Call)
	b = appendSome(b, `,"effect":`, e.Effect)
	return append(b, '}')
}

func (e *CallReturned) appendJSON(b []byte) []byte {
	b = appendNumber(b, `{"at":`, e.At)
	b = appendNumber(b, `,"cmd":`, e.Cmd)
	b = appendText(b, `,"call":`, e.Call)
	b = e.Result.appendJSON(append(b, `,"result":`...))
	b = appendCount(b, `,"jitter":`, e.Jitter)
	b = appendTexts(b, `,"warnings":`, e.Warnings)
	return append(b, '}')
}

func (r *ResultFacts) appendJSON(b []byte) []byte {
	b = appendText(b, `{"status":`, r.Status)
	b = appendText(b, `,"disposition":`, r.Disposition)
	b = appendSome(b, `,"code":`, r.Code)
	b = appendText(b, `,"digest":`, r.Digest)
	b = appendNumber(b, `,"size":`, r.Size)
	b = appendCount(b, `,"omitted":`, r.Omitted)
	return append(b, '}')
}

// The helpers take what is before a value as it is written: a brace or a
// comma, the name and the colon.

func appendNumber[N ~int | ~int64](b []byte, name string, n N) []byte {
	return strconv.AppendInt(append(b, name...), int64(n), 10)
}

// appendCount leaves 0 out.
func appendCount[N ~int | ~int64](b []byte, name string, n N) []byte {
	if n == 0 {
		return b
	}
	return appendNumber(b, name, n)
}

func appendText[S ~string](b []byte, name string, s S) []byte {
	b = append(b, name...)
	if plain(string(s)) {
		return appendPlain(b, string(s))
	}
	return appendString(b, repair(string(s)))
}

// appendSome leaves empty text out.
func appendSome[S ~string](b []byte, name string, s S) []byte {
	if s == "" {
		return b
	}
	return appendText(b, name, s)
}

func appendTrue(b []byte, text string, is bool) []byte {
	if is {
		b = append(b, text...)
	}
	return b
}

// appendTexts leaves an empty list out.
func appendTexts(b []byte, name string, texts []string) []byte {
	if len(texts) == 0 {
		return b
	}
	return appendList(append(b, name...), texts, func(s *string, b []byte) []byte { return appendText(b, "", *s) })
}

func appendList[T any](b []byte, items []T, one func(*T, []byte) []byte) []byte {
	b = append(b, '[')
	for i := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(&items[i], b)
	}
	return append(b, ']')
}
