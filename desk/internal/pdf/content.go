package pdf

import (
	"errors"
	"fmt"
	"math"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// matrix maps x and y to ax+cy+e and bx+dy+f.
type matrix struct{ a, b, c, d, e, f float64 }

// then is m, and after it n.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m.a*n.a + m.b*n.c, m.a*n.b + m.b*n.d, m.c*n.a + m.d*n.c, m.c*n.b + m.d*n.d,
		m.e*n.a + m.f*n.c + n.e, m.e*n.b + m.f*n.d + n.f,
	}
}

// state is what "q" keeps and "Q" brings back.
type state struct {
	page        matrix
	face        *font
	size        float64
	charSpacing float64
	wordSpacing float64
	stretch     float64
	leading     float64
	rise        float64
	mode        float64
}

// content carries out the operations of a page, as far as they tell where which
// text stands.
type content struct {
	*file

	box      box
	lines    lines
	pictures bool // there are some
	unseen   bool // there is text that nobody sees

	state
	kept []state
	text matrix
	line matrix // where the text matrix was at the beginning of its line
}

func (c *content) page(p leaf) error {
	one := matrix{a: 1, d: 1}
	c.state, c.text, c.line = state{page: one, stretch: 1}, one, one
	data, err := c.data(p.contents)
	if err != nil {
		return err
	}
	return c.run(data, p.resources, maxDepth)
}

// data are the operations of a page, in one stream or in several.
func (c *content) data(contents types.Object) ([]byte, error) {
	parts, several := c.object(contents).(types.Array)
	if !several {
		if contents == nil {
			return nil, nil
		}
		return c.stream(contents)
	}
	var all []byte
	for _, part := range parts {
		data, err := c.stream(part)
		if err != nil {
			return nil, err
		}
		all = append(append(all, data...), '\n')
	}
	return all, nil
}

func (c *content) run(data []byte, resources types.Dict, depth int) error {
	l := &lexer{data: data, spend: c.spend}
	var args []any
	faces := map[name]*font{}
	for {
		token, more := l.next()
		if !more {
			return l.err
		}
		op, isOperator := token.(operator)
		if !isOperator {
			args = append(args, token)
			continue
		}
		switch op {
		case "ID":
			l.picture()
			c.pictures = true
		case "Do":
			if err := c.paint(args, resources, depth); err != nil {
				return err
			}
		case "Tf":
			c.choose(args, resources, faces)
		default:
			if c.states(op, args) || c.moves(op, args) {
				break
			}
			if err := c.shows(op, args); err != nil {
				return err
			}
		}
		args = args[:0]
	}
}

// choose takes a font, which is read once as long as the resources are the same.
func (c *content) choose(args []any, resources types.Dict, faces map[name]*font) {
	name, ok := arg[name](args, 0)
	if !ok {
		return
	}
	if faces[name] == nil {
		faces[name] = c.font(c.dict(resources["Font"])[string(name)])
	}
	c.face, c.size = faces[name], operand(args, 1)
}

// paint carries out a form, and takes note of a picture.
func (c *content) paint(args []any, resources types.Dict, depth int) error {
	name, _ := arg[name](args, 0)
	object := c.dict(resources["XObject"])[string(name)]
	form := c.dict(object)
	switch c.name(form["Subtype"]) {
	case "Image":
		c.pictures = true
		return nil
	case "Form":
	default:
		return nil
	}
	if depth == 0 {
		return errors.New("its forms are nested too deep")
	}
	data, err := c.stream(object)
	if err != nil {
		return err
	}
	if own := c.dict(form["Resources"]); own != nil {
		resources = own
	}
	before, text, line := c.state, c.text, c.line
	if m := c.numbers(form["Matrix"]); len(m) == 6 {
		c.state.page = matrix{m[0], m[1], m[2], m[3], m[4], m[5]}.then(c.state.page)
	}
	kept := c.kept
	c.kept = nil
	err = c.run(data, resources, depth-1)
	c.state, c.text, c.line, c.kept = before, text, line, kept
	return err
}

// states carries out what changes how text is shown.
func (c *content) states(op operator, args []any) bool {
	value := operand(args, 0)
	switch op {
	case "q":
		if len(c.kept) < 1000 {
			c.kept = append(c.kept, c.state)
		}
	case "Q":
		if n := len(c.kept) - 1; n >= 0 {
			c.state, c.kept = c.kept[n], c.kept[:n]
		}
	case "cm":
		c.state.page = six(args).then(c.state.page)
	case "Tc":
		c.charSpacing = value
	case "Tw":
		c.wordSpacing = value
	case "Tz":
		c.stretch = value / 100
	case "TL":
		c.leading = value
	case "Ts":
		c.rise = value
	case "Tr":
		c.mode = value
	default:
		return false
	}
	return true
}

// moves carries out what changes where text is shown.
func (c *content) moves(op operator, args []any) bool {
	switch op {
	case "BT":
		c.text = matrix{a: 1, d: 1}
		c.line = c.text
	case "Tm":
		c.text = six(args)
		c.line = c.text
	case "Td":
		c.move(operand(args, 0), operand(args, 1))
	case "TD":
		c.leading = -operand(args, 1)
		c.move(operand(args, 0), operand(args, 1))
	case "T*":
		c.move(0, -c.leading)
	default:
		return false
	}
	return true
}

func (c *content) move(x, y float64) {
	c.line = matrix{a: 1, d: 1, e: x, f: y}.then(c.line)
	c.text = c.line
}

func (c *content) shows(op operator, args []any) error {
	switch op {
	case "\"":
		c.wordSpacing, c.charSpacing = operand(args, 0), operand(args, 1)
		c.move(0, -c.leading)
		return c.show(args[min(2, len(args)):])
	case "'":
		c.move(0, -c.leading)
		return c.show(args)
	case "Tj":
		return c.show(args)
	case "TJ":
		items, _ := arg[[]any](args, 0)
		return c.show(items)
	}
	return nil
}

// show shows strings, moved by the numbers between them.
func (c *content) show(items []any) error {
	if c.face == nil {
		c.face = c.readFont(nil)
	}
	c.lines.begin()
	for _, item := range items {
		switch item := item.(type) {
		case float64:
			c.advance(-item / 1000 * c.size)
		case literal:
			for _, g := range c.face.glyphs(item) {
				if err := c.spend(); err != nil {
					return err
				}
				c.glyph(g)
			}
		}
		if len(c.lines.show) > maxShown {
			return fmt.Errorf("it shows over %d characters at once", maxShown)
		}
	}
	c.left.text -= c.lines.end()
	switch {
	case c.left.text < 0:
		return c.tooLong()
	case len(c.lines.all) > maxLines:
		return fmt.Errorf("it has over %d lines", maxLines)
	}
	return nil
}

// smallest is the size of letters, in points, below which nobody reads them.
const smallest = 0.5

func (c *content) glyph(g glyph) {
	width := g.width/1000*c.size + c.charSpacing
	if g.blank {
		width += c.wordSpacing
	}
	at := matrix{c.size * c.stretch, 0, 0, c.size, 0, c.rise}.then(c.text).then(c.state.page)
	c.advance(width)
	if c.mode == 3 || c.mode == 7 || !c.box.has(at.e, at.f) || math.Hypot(at.c, at.d) < smallest {
		c.unseen = c.unseen || g.text != " "
		return
	}
	end := c.text.then(c.state.page)
	c.lines.put(g.text, place(at, end, c.face.vertical))
}

func (c *content) advance(width float64) {
	move := matrix{a: 1, d: 1, e: width * c.stretch}
	if c.face.vertical {
		move = matrix{a: 1, d: 1, f: -width}
	}
	c.text = move.then(c.text)
}

// place tells where a glyph stands along its line and across it.
func place(at, end matrix, vertical bool) spot {
	x, y := at.a, at.b
	if vertical {
		x, y = -at.c, -at.d
	}
	length := math.Hypot(x, y)
	if length == 0 {
		return spot{}
	}
	x, y = x/length, y/length
	return spot{
		from: at.e*x + at.f*y, to: end.e*x + end.f*y, across: at.f*x - at.e*y,
		size: math.Hypot(at.c, at.d), angle: math.Atan2(y, x),
	}
}

func arg[T any](args []any, i int) (value T, ok bool) {
	if i >= len(args) {
		return value, false
	}
	value, ok = args[i].(T)
	return value, ok
}

func operand(args []any, i int) float64 {
	n, _ := arg[float64](args, i)
	return n
}

// six are the operands of a matrix; without them it changes nothing.
func six(args []any) matrix {
	if len(args) < 6 {
		return matrix{a: 1, d: 1}
	}
	return matrix{operand(args, 0), operand(args, 1), operand(args, 2), operand(args, 3), operand(args, 4), operand(args, 5)}
}
