//go:build linux || darwin

package mcp

// Changed is a server's word that its list has changed.
func (s *Servers) Changed(name string) {
	for _, one := range s.servers {
		if one.name == name {
			one.changed.Store(true)
			s.publish()
		}
	}
}
