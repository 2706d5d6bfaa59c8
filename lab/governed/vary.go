package governed

import (
	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// Contracts are those that stand before the surface, by the names of their tools.
func (s *Surface) Contracts() []contract.Contract {
	var all []contract.Contract
	for _, d := range s.catalog.Definitions() {
		all = append(all, s.tools[d.Name].Contract)
	}
	return all
}

// Vary returns the surface with some of its parts exchanged. Both stand before the
// same server.
func (s *Surface) Vary(v registry.Variant) (tool.Surface, error) {
	own := s.Contracts()
	if v.Contracts != nil {
		own = v.Contracts(own)
	}
	catalog, err := registry.Compile(own...)
	if err != nil {
		return nil, err
	}
	varied := &Surface{upstream: s.upstream, settings: s.settings, variant: v, catalog: catalog, tools: make(map[string]*covered, len(own))}
	for _, c := range own {
		t := *s.tools[c.Name]
		if t.Contract, err = c.Complete(); err != nil {
			return nil, err
		}
		t.redactBy(c.Output)
		varied.tools[c.Name] = &t
	}
	return varied, nil
}
