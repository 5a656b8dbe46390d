package local

// stackRoom is how much stack a request to a model and a run of a tool use,
// above the few kilobytes that a goroutine begins with.
const stackRoom = 12 << 10

// growStack makes room on the goroutine's stack while it holds next to nothing.
// Grown step by step below a request it would be copied again and again, with
// every frame that is there by then: a tenth of what a short run costs. Its
// frame alone does that; at is 0, so that none of it is written.
//
//go:noinline
func growStack(at int) byte {
	if at == 0 {
		return 0
	}
	var room [stackRoom]byte
	room[at] = 1
	return room[stackRoom-1-at]
}
