package kernel

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// reread reads the events that every turn has in the exact form that
// EncodeEvent gives them, and nil for everything else, which DecodeEvent then
// reads field by field. It is what makes a long run quick to take over: that
// the bytes are the ones which the event is written as says all that a strict
// reading would have to look for.
func reread(b []byte) Event {
	rest, ok := bytes.CutPrefix(b, []byte(header))
	if !ok {
		return nil
	}
	kind, body, ok := bytes.Cut(rest, []byte(`","event":`))
	if !ok || len(body) < 2 || body[len(body)-1] != '}' {
		return nil
	}
	x := &exact{rest: body[:len(body)-1], whole: true}
	var e Event
	switch EventKind(kind) {
	case KindContextPrepared:
		e = x.contextPrepared()
	case KindModelReplied:
		e = x.modelReplied()
	case KindCallDecided:
		e = x.callDecided()
	case KindCallStarted:
		e = x.callStarted()
	case KindCallReturned:
		e = x.callReturned()
	case KindObserved:
		e = x.observed()
	default:
		return nil
	}
	if !x.whole || len(x.rest) > 0 {
		return nil
	}
	if again, err := EncodeEvent(e); err != nil || !bytes.Equal(again, b) {
		return nil
	}
	return e
}

// header is what an event of this Version begins with.
const header = `{"v":1,"kind":"`

// exact reads what encode.go writes, in that order and in no other form. What
// it takes for more than that is found out by writing it again.
type exact struct {
	rest  []byte
	whole bool // so far everything was there
}

func (x *exact) contextPrepared() Event {
	var e ContextPrepared
	readNumber(x, `{"at":`, &e.At)
	readNumber(x, `,"cmd":`, &e.Cmd)
	readNumber(x, `,"input_tokens":`, &e.InputTokens)
	readNumber(x, `,"messages":`, &e.Messages)
	readSome(x, `,"tools":`, &e.Tools)
	if bytes.HasPrefix(x.rest, []byte(`,"attached":[`)) {
		e.Attached = readList(x, `,"attached":[`, func(s *string) { readText(x, "", s) })
	}
	x.must(`}`)
	return e
}

func (x *exact) observed() Event {
	var e Observed
	readNumber(x, `{"at":`, &e.At)
	readNumber(x, `,"cmd":`, &e.Cmd)
	readText(x, `,"call":`, &e.Call)
	x.must(`}`)
	return e
}

func (x *exact) modelReplied() Event {
	var e ModelReplied
	readNumber(x, `{"at":`, &e.At)
	readNumber(x, `,"cmd":`, &e.Cmd)
	readNumber(x, `,"turn":`, &e.Turn)
	r := &e.Reply
	readText(x, `,"reply":{"stop":`, &r.Stop)
	r.Blocks = readList(x, `,"blocks":[`, func(f *BlockFact) {
		readText(x, `{"kind":`, &f.Kind)
		readNumber(x, `,"size":`, &f.Size)
		f.Blank = x.is(`,"blank":true`)
		f.Signed = x.is(`,"signed":true`)
		x.must(`}`)
	})
	if bytes.HasPrefix(x.rest, []byte(`,"calls":[`)) {
		r.Calls = readList(x, `,"calls":[`, func(c *Call) {
			readText(x, `{"id":`, &c.ID)
			readText(x, `,"name":`, &c.Name)
			readText(x, `,"arguments":`, &c.Arguments)
			x.must(`}`)
		})
	}
	if bytes.HasPrefix(x.rest, []byte(`,"usage":`)) {
		r.Usage = x.usage()
	}
	readNumber(x, `,"size":`, &r.Size)
	readSome(x, `,"fault":`, &r.Fault)
	x.must(`}}`)
	return e
}

func (x *exact) usage() *Usage {
	var u Usage
	readNumber(x, `,"usage":{"input_tokens":`, &u.Input)
	readNumber(x, `,"output_tokens":`, &u.Output)
	readNumber(x, `,"cache_read_tokens":`, &u.CacheRead)
	readNumber(x, `,"cache_write_tokens":`, &u.CacheWrite)
	x.must(`}`)
	return &u
}

func (x *exact) callDecided() Event {
	var e CallDecided
	readNumber(x, `{"at":`, &e.At)
	readNumber(x, `,"cmd":`, &e.Cmd)
	readText(x, `,"call":`, &e.Call)
	readText(x, `,"answer":`, &e.Answer)
	readSome(x, `,"code":`, &e.Code)
	readSome(x, `,"reason":`, &e.Reason)
	readSome(x, `,"rule":`, &e.Rule)
	readSome(x, `,"effect":`, &e.Effect)
	readCount(x, `,"attempts":`, &e.Attempts)
	e.Keyed = x.is(`,"keyed":true`)
	readSome(x, `,"key":`, &e.Key)
	readSome(x, `,"risk":`, &e.Risk)
	readSome(x, `,"policy":`, &e.Policy)
	e.Changed = x.is(`,"changed":true`)
	x.must(`}`)
	return e
}

func (x *exact) callStarted() Event {
	var e CallStarted
	readNumber(x, `{"at":`, &e.At)
	readNumber(x, `,"cmd":`, &e.Cmd)
	readText(x, `,"call":`, &e.Call)
	readSome(x, `,"effect":`, &e.Effect)
	x.must(`}`)
	return e
}

func (x *exact) callReturned() Event {
	var e CallReturned
	readNumber(x, `{"at":`, &e.At)
	readNumber(x, `,"cmd":`, &e.Cmd)
	readText(x, `,"call":`, &e.Call)
	r := &e.Result
	readText(x, `,"result":{"status":`, &r.Status)
	readText(x, `,"disposition":`, &r.Disposition)
	readSome(x, `,"code":`, &r.Code)
	readText(x, `,"digest":`, &r.Digest)
	readNumber(x, `,"size":`, &r.Size)
	readCount(x, `,"omitted":`, &r.Omitted)
	x.must(`}`)
	readCount(x, `,"jitter":`, &e.Jitter)
	x.must(`}`)
	return e
}

// is takes a text if it comes next.
func (x *exact) is(text string) bool {
	rest, ok := bytes.CutPrefix(x.rest, []byte(text))
	if ok {
		x.rest = rest
	}
	return ok
}

func (x *exact) must(text string) {
	if !x.is(text) {
		x.whole = false
	}
}

func readNumber[N ~int | ~int64](x *exact, name string, n *N) {
	x.must(name)
	end := 0
	for end < len(x.rest) && (x.rest[end] == '-' || '0' <= x.rest[end] && x.rest[end] <= '9') {
		end++
	}
	v, err := strconv.ParseInt(string(x.rest[:end]), 10, 64)
	if err != nil {
		x.whole = false
	}
	*n = N(v)
	x.rest = x.rest[end:]
}

func readCount[N ~int | ~int64](x *exact, name string, n *N) {
	if bytes.HasPrefix(x.rest, []byte(name)) {
		readNumber(x, name, n)
	}
}

func readText[S ~string](x *exact, name string, s *S) {
	x.must(name)
	x.must(`"`)
	end, plain := 0, true
	for end < len(x.rest) && x.rest[end] != '"' {
		if x.rest[end] == '\\' {
			plain = false
			end++
		}
		end++
	}
	if end >= len(x.rest) {
		x.whole = false
		return
	}
	if plain {
		*s = S(x.rest[:end])
	} else {
		*s = S(x.unquote(x.rest[:end]))
	}
	x.rest = x.rest[end+1:]
}

func (x *exact) unquote(inner []byte) (s string) {
	if json.Unmarshal(slices.Concat([]byte{'"'}, inner, []byte{'"'}), &s) != nil {
		x.whole = false
	}
	return s
}

func readSome[S ~string](x *exact, name string, s *S) {
	if bytes.HasPrefix(x.rest, []byte(name)) {
		readText(x, name, s)
	}
}

func readList[T any](x *exact, name string, item func(*T)) []T {
	x.must(name)
	list := []T{}
	for x.whole && !x.is(`]`) {
		if len(list) > 0 {
			x.must(`,`)
		}
		var t T
		item(&t)
		list = append(list, t)
	}
	return list
}
