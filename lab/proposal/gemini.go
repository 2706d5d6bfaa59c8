package proposal

import "agentlab/lab/tool"

// Gemini, after the API references of generateContent
// (ai.google.dev/api/generate-content: GenerateContentResponse, Candidate,
// FinishReason) and of Content (ai.google.dev/api/caching: Content, Part,
// FunctionCall), and Vertex AI's FunctionCall: a response has candidates, a
// candidate a content and a finishReason, a content parts, and a part may have
// a functionCall with a name and, optionally, args, an object. While Vertex
// streams the arguments of a call it has partialArgs and willContinue.

func isFunctionCallPart(o object) bool { _, ok := o.get("functionCall"); return ok }

func readGeminiResponse(v value) ([]tool.Proposal, error) {
	response, err := v.object("the response")
	if err != nil {
		return nil, err
	}
	candidates, err := response.need("candidates")
	if err != nil {
		return nil, err
	}
	candidate, err := candidates.only("candidates")
	if err != nil {
		return nil, err
	}
	return readCandidate(candidate)
}

func readCandidate(v value) ([]tool.Proposal, error) {
	candidate, err := v.object("a candidate")
	if err != nil {
		return nil, err
	}
	// Every documented reason but STOP is an end that was not the model's; one
	// of them is MALFORMED_FUNCTION_CALL.
	err = candidate.needEnd("finishReason", func(reason string) bool { return reason != "STOP" })
	if err != nil {
		return nil, err
	}
	content, ok := candidate.set("content")
	if !ok {
		return nil, nil
	}
	return readGeminiContent(content)
}

func readGeminiContent(v value) ([]tool.Proposal, error) {
	content, err := v.object("content")
	if err != nil {
		return nil, err
	}
	if _, ok := content.set("role"); ok {
		if err := content.needConstant("role", "model"); err != nil {
			return nil, err
		}
	}
	parts, ok := content.set("parts")
	if !ok {
		return nil, nil
	}
	return readParts(parts)
}

func readParts(v value) ([]tool.Proposal, error) { return readEach(v, "parts", readPart) }

func readPart(v value) ([]tool.Proposal, error) {
	part, err := v.object("a part")
	if err != nil {
		return nil, err
	}
	// What Google's Python SDK shows is no form of the API; to pass over it
	// would lose a proposal.
	if other, ok := part.set("function_call"); ok {
		return nil, fault(other.start, "function_call is not how the API spells functionCall")
	}
	v, ok := part.set("functionCall")
	if !ok {
		return nil, nil
	}
	call, err := v.object("functionCall")
	if err != nil {
		return nil, err
	}
	if partial, ok := call.set("partialArgs"); ok {
		return nil, fault(partial.start, "the arguments are still being streamed")
	}
	if more, ok := call.set("willContinue"); ok && more.kind() != 'f' {
		return nil, fault(more.start, "the arguments are still being streamed")
	}
	return one(call.proposalOrBare("args"))
}
