package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

type answer struct {
	Data []struct {
		Index     *int     `json:"index"`
		Embedding []number `json:"embedding"`
	} `json:"data"`
}

// number is a value of a vector: encoding/json would read null as 0.
type number float32

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(string(b), 32)
	*n = number(v)
	if err != nil {
		return errors.New("a value of a vector is no number")
	}
	return nil
}

// vectors reads an answer to a request for n vectors and puts them in the order
// of the texts. Each has to be there once; how long they are is checked where they are
// used.
func vectors(raw []byte, n int) ([][]float32, error) {
	const hint = "the endpoint does not speak OpenAI's embeddings"
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, failed("the embedder's answer cannot be read", hint, nil)
	}
	if len(a.Data) != n {
		return nil, failed(fmt.Sprintf("the embedder returned %d vectors for %d texts", len(a.Data), n), hint, nil)
	}
	all := make([][]float32, n)
	for _, d := range a.Data {
		if d.Index == nil || *d.Index < 0 || *d.Index >= n || all[*d.Index] != nil {
			return nil, failed("the embedder's vectors have missing, repeated or unknown indexes", hint, nil)
		}
		v := make([]float32, len(d.Embedding))
		for i, x := range d.Embedding {
			v[i] = float32(x)
		}
		all[*d.Index] = v
	}
	return all, nil
}
