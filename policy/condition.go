package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/holdfast-run/holdfast/kernel"
)

// The bounds of conditions.
const (
	MaxCondition = 2000 // bytes of Rule.When
	// maxCost bounds one evaluation, in the units of CEL: about one for each step
	// and for each ten bytes that are compared or searched.
	maxCost = 100_000
	// maxDecision bounds all evaluations of one decision together: decisions are
	// taken while a reply is committed, which waits for them.
	maxDecision = 10 * maxCost
)

// conditions compiles what rules say in When: an expression of the Common
// Expression Language over what a call is.
type conditions struct{ env *cel.Env }

func newConditions() (*conditions, error) {
	env, err := cel.NewEnv(
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("argv", cel.ListType(cel.StringType)),
		cel.Variable("tool", cel.StringType),
		cel.Variable("user", cel.StringType),
		cel.Variable("tenant", cel.StringType),
		cel.Variable("effect", cel.StringType),
		cel.Variable("risk", cel.StringType),
		cel.ParserExpressionSizeLimit(MaxCondition),
		cel.ParserRecursionLimit(100),
	)
	if err != nil {
		return nil, &kernel.Error{Code: kernel.CodeInternal, Message: "conditions cannot be compiled", Err: err}
	}
	return &conditions{env}, nil
}

// condition is a compiled When.
type condition struct {
	program cel.Program
	counted bool // its cost is, see expensive
}

const conditionHint = `write a condition over args, argv, tool, user, tenant, effect and risk, such as args.path.startsWith("drafts/")`

func (c *conditions) compile(text string) (*condition, *kernel.Error) {
	parsed, issues := c.env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, invalid("the condition is not one: "+firstLine(err.Error()), conditionHint)
	}
	if parsed.OutputType() != cel.BoolType {
		return nil, invalid(fmt.Sprintf("the condition gives a %s, not true or false", parsed.OutputType()), "compare what it gives with something: args.flag == true, args.n > 0")
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	counted := expensive(parsed.NativeRep())
	if counted {
		options = append(options, cel.CostLimit(maxCost))
	}
	program, err := c.env.Program(parsed, options...)
	if err != nil {
		return nil, invalid("the condition is not one: "+firstLine(err.Error()), conditionHint)
	}
	return &condition{program, counted}, nil
}

// expensive reports whether an expression may take more time than the size of
// itself and of the call explains: it repeats something, or makes or searches
// texts. Others are evaluated without counting, which is faster.
func expensive(a *ast.AST) bool {
	root := ast.NavigateAST(a)
	if len(ast.MatchDescendants(root, ast.KindMatcher(ast.ComprehensionKind))) > 0 {
		return true
	}
	cheap := map[string]bool{
		"_==_": true, "_!=_": true, "_<_": true, "_<=_": true, "_>_": true, "_>=_": true, "_&&_": true, "_||_": true, "!_": true,
		"_?_:_": true, "_[_]": true, "@in": true, "size": true, "startsWith": true, "endsWith": true, "-_": true, "_-_": true,
	}
	for _, call := range ast.MatchDescendants(root, ast.KindMatcher(ast.CallKind)) {
		if !cheap[call.AsCall().FunctionName()] {
			return true
		}
	}
	return root.Kind() == ast.CallKind && !cheap[root.AsCall().FunctionName()]
}

// holds evaluates the condition. An error says that it cannot be told.
func (c *condition) holds(f *facts) (bool, error) {
	vars, err := f.vars()
	if err != nil {
		return false, err
	}
	if c.counted && f.spent >= maxDecision {
		return false, errors.New("the conditions on this call cost too much together")
	}
	v, details, err := c.program.Eval(vars)
	if c.counted {
		f.spent += spentIn(details)
	}
	if err != nil {
		return false, err
	}
	is, ok := v.(types.Bool)
	if !ok {
		return false, errors.New("it gave something else than true or false")
	}
	return bool(is), nil
}

// spentIn is what an evaluation cost, and all that it might have where that is
// not told.
func spentIn(details *cel.EvalDetails) uint64 {
	if details != nil {
		if cost := details.ActualCost(); cost != nil {
			return min(*cost, maxCost)
		}
	}
	return maxCost
}

// facts are a call as conditions see it. They are read once, when the first
// condition asks.
type facts struct {
	request Request
	values  cel.Activation
	spent   uint64 // by the conditions whose cost is counted
}

func (f *facts) vars() (cel.Activation, error) {
	if f.values != nil {
		return f.values, nil
	}
	r := &f.request
	args := r.Normal
	if args == nil {
		args = r.Arguments
	}
	argv := r.Argv
	if argv == nil {
		argv = []string{}
	}
	values, err := cel.NewActivation(map[string]any{
		"args": arguments(args), "argv": argv, "tool": types.String(r.Tool),
		"user": types.String(r.User), "tenant": types.String(r.Tenant), "effect": types.String(r.Effect), "risk": types.String(r.Risk),
	})
	f.values = values
	return values, err
}

// arguments reads arguments so that no number changes. With a number that CEL
// has no exact form for, all of them are an error to whatever looks at them: an
// error inside a list or a map is lost where those are compared as a whole.
func arguments(b json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return types.NewErr("the arguments are not JSON")
	}
	v, err := exact(v)
	if err != nil {
		return types.WrapErr(err)
	}
	return v
}

func exact(v any) (_ any, err error) {
	switch v := v.(type) {
	case string:
		return types.String(v), nil // once, and not for each condition
	case json.Number:
		return number(v.String())
	case []any:
		for i := range v {
			if v[i], err = exact(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = exact(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// maxWhole is where floating point numbers begin to lack whole ones.
const maxWhole = 1 << 53

func number(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && strings.ContainsAny(s, ".eE") && math.Abs(n) < maxWhole {
		return n, nil
	}
	return nil, fmt.Errorf("the number %.40s is too large to be compared", s)
}

// firstLine is what a compiler says, without the picture of where.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return kernel.Clip(strings.TrimPrefix(line, "ERROR: <input>:"), 300)
}
