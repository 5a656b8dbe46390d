package desk

import (
	"regexp"
	"strings"
)

// asking is how a sentence asks for what is missing.
var asking = regexp.MustCompile(`(?i)[?？]$|请(?:您|你)?(?:先|再)?(?:告诉|提供|给出|给我|说明|补充)|^(?:please|could you|can you|which|what)\b|\bplease (?:tell|give|provide|send|share|let me know)\b`)

// claiming is how a sentence says that something was done, whatever it asks.
var claiming = regexp.MustCompile(`(?i)已|批准|通过了|完成了|放心|\b(?:was|were|(?:has|have) been|approved|submitted|uploaded|attached|done)\b`)

// courtesy is what an answer that asks may say besides.
var courtesy = regexp.MustCompile(`(?i)^(?:您好|你好|好的|可以|当然|没问题|抱歉|对不起|谢谢|我需要(?:知道)?(?:您的)?(?:工单)?(?:编号|单号)|(?:您|你)没有(?:写|给|提供)(?:编号|单号)|` +
	`hi|hello|sure|of course|certainly|thanks|thank you|sorry|i(?:'d| would| will|'ll|'m| am)?(?: be)? (?:happy|glad|can) ?(?:to )?help(?: (?:you )?with that)?|i need (?:its|the|your) (?:ticket )?(?:id|number)(?: first)?)$`)

// asksBack reports whether an answer asks for what is missing and says nothing
// else: each of its sentences asks, or is a courtesy.
func asksBack(answer string) bool {
	asked := false
	for _, sentence := range sentencesOf(answer) {
		switch {
		case len(mentions(sentence, nil, nil)) > 0 || claiming.MatchString(sentence):
			return false
		case asking.MatchString(sentence):
			asked = true
		case !courtesy.MatchString(strings.TrimRight(sentence, "!！.。,， ")):
			return false
		}
	}
	return asked
}

// sentencesOf splits a text behind the marks that end a sentence, and at line breaks.
func sentencesOf(text string) (sentences []string) {
	start := 0
	keep := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" {
			sentences = append(sentences, s)
		}
		start = end
	}
	for i, r := range text {
		if strings.ContainsRune("。.!！?？;；\n", r) {
			keep(i + len(string(r)))
		}
	}
	keep(len(text))
	return sentences
}
