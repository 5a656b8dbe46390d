package kernel

import (
	"fmt"
	"strings"
	"testing"
)

// A name that comes twice is found in small objects, which are looked through,
// and in large ones, which are not.
func TestDuplicateNamesInObjectsOfAnySize(t *testing.T) {
	for n := 1; n <= 20; n++ {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"n%d":%d`, i, i))
		}
		object := strings.Join(members, ",")
		if err := CheckArguments("{" + object + "}"); err != nil {
			t.Errorf("%d names: %v", n, err)
		}
		for i := range n {
			err := CheckArguments(fmt.Sprintf(`{%s,"n%d":0}`, object, i))
			if err == nil || !strings.Contains(err.Error(), "duplicate name") {
				t.Errorf("%d names, number %d twice: %v", n, i, err)
			}
		}
	}
}
