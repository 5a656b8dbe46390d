package skill_test

import (
	"fmt"

	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/skill"
)

// An agent offers the tools of a catalog, and attaches its list to requests.
func Example() {
	catalog, err := skill.Open("testdata/skills")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer catalog.Close()
	tools, err := tool.NewSet(catalog.Tools()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := catalog.List()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tools.Names())
	fmt.Println(list != "", catalog.Warnings())
	// Output:
	// [load_skill read_skill_file]
	// true []
}
