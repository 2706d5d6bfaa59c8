package overlay

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

// Guess is what a tool seems to do to its backend, and from what that was
// concluded, for a person to review.
type Guess struct {
	Effect contract.Effect
	Reason string
}

// verbs are words of tool names, by what a tool that is called so most often does.
var verbs = sync.OnceValue(func() map[string]contract.Effect {
	all := make(map[string]contract.Effect)
	for effect, words := range map[contract.Effect]string{
		contract.Read: "get list read search find fetch query describe show view count check lookup look browse stat info " +
			"help ping echo select inspect preview open peek tail head diff compare validate download export print resolve",
		contract.Write: "create add write update set put post send insert append edit modify save upload mark approve " +
			"submit copy merge start run execute publish assign register import apply patch enable schedule commit push " +
			"make pay refund invite",
		contract.Destructive: "delete remove drop destroy purge clear reset wipe truncate move rename overwrite kill revoke " +
			"cancel terminate uninstall erase disable replace rollback archive close stop ban expire",
	} {
		for word := range strings.FieldsSeq(words) {
			all[word] = effect
		}
	}
	return all
})

// GuessEffect concludes what a tool does from its annotations and from the first
// verb in its name. Annotations are a server's own claims: where the name says
// worse, it counts. Without a word of either it is taken for a write.
func GuessEffect(d tool.Definition) Guess {
	claimed, claim := claims(d.Hints())
	verb, named, found := firstVerb(d.Name)
	switch {
	case claim == "" && !found:
		return Guess{contract.Write, "nothing tells"}
	case claim == "":
		return Guess{named, `from the verb "` + verb + `"`}
	case found && worse(named, claimed):
		return Guess{named, claim + `, but the verb is "` + verb + `"`}
	}
	return Guess{claimed, claim}
}

// claims is what the annotations say, in their words; the reason is empty where
// they say nothing.
func claims(h tool.Hints) (contract.Effect, string) {
	switch {
	case h.ReadsOnly():
		return contract.Read, "annotated readOnlyHint: true"
	case h.Destructive != nil && *h.Destructive:
		return contract.Destructive, "annotated destructiveHint: true"
	case h.Destructive != nil:
		return contract.Write, "annotated destructiveHint: false"
	case h.ReadOnly != nil:
		return contract.Write, "annotated readOnlyHint: false"
	}
	return "", ""
}

func worse(one, other contract.Effect) bool {
	all := contract.Effects()
	return slices.Index(all, one) > slices.Index(all, other)
}

func firstVerb(name string) (verb string, effect contract.Effect, found bool) {
	for _, word := range words(name) {
		if effect, known := verbs()[word]; known {
			return word, effect, true
		}
	}
	return "", "", false
}

// words takes a name apart at what is no letter and at capitals, in lower case.
func words(name string) []string {
	var spaced strings.Builder
	before := ' '
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r):
			spaced.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(before):
			spaced.WriteByte(' ')
			spaced.WriteRune(unicode.ToLower(r))
		default:
			spaced.WriteRune(unicode.ToLower(r))
		}
		before = r
	}
	return strings.Fields(spaced.String())
}
