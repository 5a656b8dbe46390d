package ranking

// fusion is the constant of reciprocal rank fusion: how little the first places
// of one list outweigh a middling place in both.
const fusion = 60

// Fuse makes one list of two by reciprocal rank fusion: a document scores
// 1/(60+place) for each list that it is in, from place 1. The scores of the lists do not
// matter, since they cannot be compared. A document that cannot be in the second
// list scores its place in the first one for both.
func Fuse(first, second []Scored, cannot func(document int64) bool) []Scored {
	scores := map[int64]float64{}
	for i, s := range first {
		scores[s.Document] += 1 / float64(fusion+i+1)
		if cannot(s.Document) {
			scores[s.Document] *= 2
		}
	}
	for i, s := range second {
		scores[s.Document] += 1 / float64(fusion+i+1)
	}
	return sorted(scores)
}
