package anthropic

import (
	"encoding/json"

	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// message is a plain answer, or the beginning of a streamed one.
type message struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	StopReason reasons         `json:"stop_reason"`
	Usage      json.RawMessage `json:"usage"`
	Error      *problem        `json:"error"`
}

// event is one event of a stream. An absent index is not 0.
type event struct {
	Type    string          `json:"type"`
	Index   *int            `json:"index"`
	Message *message        `json:"message"`       // message_start
	Block   json.RawMessage `json:"content_block"` // content_block_start
	Delta   piece           `json:"delta"`         // content_block_delta, message_delta
	Usage   json.RawMessage `json:"usage"`         // message_delta
	Error   *problem        `json:"error"`         // error
}

// piece is a delta of a block or of the message.
type piece struct {
	Type        string          `json:"type"`
	Text        json.RawMessage `json:"text"`         // a string, as the two below
	PartialJSON json.RawMessage `json:"partial_json"` // of JSON
	Thinking    json.RawMessage `json:"thinking"`
	Signature   string          `json:"signature"`
	StopReason  reasons         `json:"stop_reason"`
}

// says tells whether p has anything to add to its block.
func (p *piece) says() bool {
	return says(p.Text) || says(p.PartialJSON) || says(p.Thinking) || p.Signature != ""
}

func says(raw json.RawMessage) bool { return len(raw) > len(`""`) && string(raw) != "null" }

// reasons are all the stop reasons that one value was given: that a reply was
// cut must not get lost because another reason follows.
type reasons []string

// UnmarshalJSON adds one. null is none.
func (r *reasons) UnmarshalJSON(data []byte) error {
	var reason string
	if err := json.Unmarshal(data, &reason); err != nil || reason == "" {
		return err
	}
	*r = append(*r, reason)
	return nil
}

// ReadStream reads a streamed answer to its message_stop.
func (a *assembly) ReadStream(s *transport.Stream) error {
	for ev, err := range s.Events {
		if err != nil {
			return err
		}
		var v event
		var fault string
		if fault, a.lossy, err = transport.Decode(ev.Data, &v); err != nil {
			return transport.Invalid("an event of the answer is no JSON")
		}
		if v.Type == "" {
			v.Type = string(ev.Type)
		}
		a.blame(fault)
		whole, err := a.take(&v)
		if whole || err != nil {
			return err
		}
	}
	return transport.Cut()
}

// take adds one event to the reply and says whether it was the last. Pings and
// kinds of a later protocol are skipped.
func (a *assembly) take(v *event) (whole bool, err error) {
	switch v.Type {
	case "message_start":
		a.begin(v.Message)
	case "content_block_start":
		a.start(v.Index, v.Block)
	case "content_block_delta":
		a.delta(v.Index, &v.Delta)
	case "content_block_stop":
		a.end(v.Index)
	case "message_delta":
		a.expect()
		a.stopped(v.Delta.StopReason)
		a.usage.add(v.Usage)
	case "message_stop":
		a.expect()
		return true, nil
	case "error":
		return false, v.Error.failure(0)
	}
	return false, nil
}

// ReadPlain reads an answer that is one JSON value.
func (a *assembly) ReadPlain(data []byte) error {
	var v message
	var fault string
	var err error
	fault, a.lossy, err = transport.Decode(data, &v)
	switch {
	case err != nil && transport.EndsEarly(data):
		return transport.Cut()
	case err != nil:
		return transport.Invalid("the answer is no JSON")
	case v.Error != nil:
		return v.Error.failure(0)
	case v.Content == nil:
		return transport.Invalid("the answer has no content")
	}
	a.blame(fault)
	a.begin(&v)
	var blocks []json.RawMessage
	if json.Unmarshal(v.Content, &blocks) != nil {
		a.blame("the content of the reply is no list of blocks")
	}
	for i := range blocks {
		a.start(&i, blocks[i])
		a.end(&i)
	}
	a.stopped(v.StopReason)
	return nil
}
