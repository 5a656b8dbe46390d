package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval"
	"github.com/holdfast-run/holdfast/desk/retrieval/hashed"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// searchFlags are the flags of `desk eval-search`.
type searchFlags struct {
	*deskFlags
	questions, leg string
	k              string // a text, so that every value out of range is told in the same way
	json           bool
	legs           []desk.Leg
	first          int // how many of what is found count
}

func (a *app) deskSearchCommand(common *deskFlags) *cobra.Command {
	flags := &searchFlags{deskFlags: common}
	cmd := &cobra.Command{
		Use:   "eval-search",
		Short: "Measure how well policies are found, and that nothing is found that must not be",
		Long: "Eval-search asks labelled questions and compares what is found with what was expected: by words (keyword), by\n" +
			"vectors (vector) and by both (hybrid). Without --questions they are built in, with policies of companies that do not\n" +
			"exist; with it they are asked of a copy of the desk's file, which stays as it is. The vectors are those of an embedder\n" +
			"that counts pieces of words: it is no semantic model. A leak, a policy that the person may not see, is exit code 1.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.inLanguage(common, func() error {
				return interruptibly(cmd.Context(), func(ctx context.Context) error { return a.deskSearch(ctx, flags) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.questions, "questions", "", "a `FILE` with a question in JSON on each line (default those that are built in)")
	f.StringVar(&flags.leg, "leg", "", "keyword, vector or hybrid: the one `LEG` to measure (default all)")
	f.StringVarP(&flags.k, "k", "k", strconv.Itoa(desk.MaxFound), "how `MANY` of what is found count")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	return cmd
}

func (a *app) deskSearch(ctx context.Context, flags *searchFlags) error {
	if err := a.checkSearch(flags); err != nil {
		return err
	}
	questions, err := flags.read()
	if err != nil {
		return err
	}
	dir, err := temporary("holdfast-search-", flags.room())
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	place := filepath.Join(dir, "desk.db")
	options := sqlite.Options{Embedder: hashed.Embedder{}}
	open := sqlite.Create
	if flags.questions != "" {
		open = sqlite.Open
		if err := copyDesk(ctx, flags.db, place); err != nil {
			return err
		}
	}
	db, err := open(ctx, place, options)
	if err != nil {
		return err
	}
	defer db.Close()
	if flags.questions == "" {
		err = importBuiltIn(ctx, db)
	} else {
		_, err = db.EmbedPolicies(ctx)
	}
	if err != nil {
		return err
	}
	return a.measure(ctx, flags, db, questions)
}

// room is what the desk takes that the questions are asked of: the built-in one,
// or a copy and what the vectors add to it, with the log of both.
func (f *searchFlags) room() uint64 {
	const builtIn = 1 << 20
	if info, err := os.Stat(f.db); err == nil && f.questions != "" {
		return builtIn + 3*uint64(info.Size())
	}
	return builtIn
}

// checkSearch reads the leg and the number: what is wrong with them is CONFIGURATION.
func (a *app) checkSearch(f *searchFlags) (err error) {
	f.legs = desk.Legs()
	if f.leg != "" {
		if !slices.Contains(f.legs, desk.Leg(f.leg)) {
			return a.wrongFlag(f.deskFlags, told{"--leg is keyword, vector or hybrid", "leave it out for all three"},
				told{"--leg 只能是 keyword、vector 或 hybrid", "不写就是三种都测"})
		}
		f.legs = []desk.Leg{desk.Leg(f.leg)}
	}
	if f.first, err = strconv.Atoi(f.k); err != nil || f.first < 1 || f.first > desk.MaxRanked {
		return a.outOfRange(f.deskFlags, "--k", f.k, fmt.Sprintf("a whole number from 1 to %d", desk.MaxRanked), fmt.Sprintf(" 1 到 %d 的整数", desk.MaxRanked))
	}
	return nil
}

// copyDesk copies a desk's file: nobody's audit gets a line of what is measured.
func copyDesk(ctx context.Context, from, to string) error {
	db, err := sqlite.Open(ctx, from, sqlite.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Copy(ctx, to)
}

func (f *searchFlags) read() ([]retrieval.Question, error) {
	if f.questions == "" {
		const name = "testdata/questions.jsonl"
		file, err := desk.Corpus().Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return retrieval.ReadQuestions(name, file)
	}
	file, err := os.Open(f.questions)
	if err != nil {
		return nil, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the file of questions cannot be read", Hint: err.Error()}
	}
	defer file.Close()
	return retrieval.ReadQuestions(f.questions, file)
}

// importBuiltIn fills a desk with what the built-in questions ask about.
func importBuiltIn(ctx context.Context, db *sqlite.DB) error {
	if err := db.AddFixtures(ctx); err != nil {
		return err
	}
	corpus := desk.Corpus()
	names, err := fs.Glob(corpus, "testdata/policies/*.md")
	if err != nil {
		return err
	}
	tenants, policies := make([]string, len(names)), make([]desk.Policy, len(names))
	for i, name := range names {
		text, err := corpus.ReadFile(name)
		if err != nil {
			return err
		}
		if tenants[i], policies[i], err = retrieval.Parse(ctx, path.Base(name), strings.NewReader(string(text)), retrieval.Front{}); err != nil {
			return err
		}
	}
	_, err = db.PutPolicies(ctx, tenants, policies)
	return err
}

func (a *app) measure(ctx context.Context, flags *searchFlags, db *sqlite.DB, questions []retrieval.Question) error {
	report := searchReport{Embedder: hashed.Embedder{}.Name()}
	leaks := 0
	for _, leg := range flags.legs {
		figures, err := retrieval.Measure(ctx, db, leg, questions, flags.first, time.Now())
		if err != nil {
			return err
		}
		leaks += len(figures.Leaks)
		report.Legs = append(report.Legs, figures)
	}
	if flags.json {
		if err := writeJSON(a.stdout, report); err != nil {
			return err
		}
	} else {
		report.print(a)
	}
	if leaks > 0 {
		return exitError(exitFailure)
	}
	return nil
}

// searchReport is what `desk eval-search --json` prints. The names are an interface.
type searchReport struct {
	Embedder string              `json:"embedder"`
	Legs     []retrieval.Figures `json:"legs"`
}

func (r *searchReport) print(a *app) {
	first := r.Legs[0]
	fmt.Fprintf(a.stdout, "%d questions, %d of them with an answer; vectors of %s\n\n", first.Questions, first.Answered, r.Embedder)
	fmt.Fprintf(a.stdout, "%-8s  %9s  %5s  %6s  %5s\n", "leg", fmt.Sprintf("recall@%d", first.K), "MRR", "silent", "leaks")
	for i := range r.Legs {
		f := &r.Legs[i]
		fmt.Fprintf(a.stdout, "%-8s  %9.3f  %5.3f  %2d/%-3d  %5d\n", f.Leg, f.Recall, f.MRR, f.Silent, f.Questions-f.Answered, len(f.Leaks))
	}
	for i := range r.Legs {
		for _, l := range r.Legs[i].Leaks {
			fmt.Fprintf(a.stdout, "\nleak: by %s, question %s finds %s in version %s", r.Legs[i].Leg, safeLine(l.Question), safeLine(l.Policy), safeLine(l.Version))
		}
	}
	if slices.ContainsFunc(r.Legs, func(f retrieval.Figures) bool { return len(f.Leaks) > 0 }) {
		fmt.Fprintln(a.stdout)
	}
}
