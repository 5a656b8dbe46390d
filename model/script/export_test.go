package script

// Remembered is the number of messages that failures are remembered for.
func (m *Model) Remembered() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.played)
}
