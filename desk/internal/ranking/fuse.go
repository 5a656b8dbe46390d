package ranking

// fusion is the constant of reciprocal rank fusion: how little the first places
// of one list outweigh a middling place in both.
const fusion = 60

// Fuse makes one list of several by reciprocal rank fusion: a document scores
// 1/(60+place) for each list that it is in, from place 1. The scores of the lists do not
// matter, since they cannot be compared.
func Fuse(lists ...[]Scored) []Scored {
	scores := map[int64]float64{}
	for _, list := range lists {
		for i, s := range list {
			scores[s.Document] += 1 / float64(fusion+i+1)
		}
	}
	return sorted(scores)
}
