package modeltest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/anthropic"
	"github.com/holdfast-run/holdfast/model/modeltest"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
	"github.com/holdfast-run/holdfast/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpenAI(t *testing.T) {
	modeltest.Run(t, modeltest.Factory{Wire: stub.OpenAI, New: func(t *testing.T, c modeltest.Config) model.Model {
		m, err := openai.New(openai.Config{
			BaseURL: c.URL, Key: c.Key, Name: c.Name, Profile: c.Profile, Stream: c.Stream,
			ResponseCap: c.ResponseCap, ReplayReasoning: c.ReplayReasoning, Now: c.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m
	}})
}

func TestAnthropic(t *testing.T) {
	modeltest.Run(t, modeltest.Factory{Wire: stub.Anthropic, New: func(t *testing.T, c modeltest.Config) model.Model {
		m, err := anthropic.New(anthropic.Config{
			BaseURL: c.URL, Key: c.Key, Name: c.Name, Profile: c.Profile, Stream: c.Stream,
			ResponseCap: c.ResponseCap, Now: c.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m
	}})
}
