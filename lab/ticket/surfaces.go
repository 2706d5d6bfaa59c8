package ticket

import "agentlab/lab/tool"

// Surfaces returns the built-in surfaces, the control of the experiment first.
func Surfaces() []tool.Surface { return []tool.Surface{Wide{}, Typed{}, new(Production)} }
