package config

import "log/slog"

// Secret is a value that is never printed, logged or encoded. The zero value
// is no secret.
type Secret struct{ value string }

const hidden = "[secret]"

// NewSecret hides value.
func NewSecret(value string) Secret { return Secret{value} }

// Set says whether there is a secret.
func (s Secret) Set() bool { return s.value != "" }

// Reveal returns the value, for whoever must send it.
func (s Secret) Reveal() string { return s.value }

// String hides the value.
func (Secret) String() string { return hidden }

// GoString hides the value from %#v.
func (Secret) GoString() string { return hidden }

// LogValue hides the value from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the value from encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
