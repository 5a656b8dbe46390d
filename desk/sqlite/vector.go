package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/internal/ranking"
	"github.com/holdfast-run/holdfast/kernel"
)

// EmbedPolicies makes the vectors that the desk's embedder has not made yet, of
// all versions of all tenants, in place of those of another one, and returns how
// many. An application calls it after a change of embedder, until which a search
// by vectors is refused, and where policies may have been imported without one. It
// asks the embedder for nothing else, and may be interrupted and called again.
// CONFIGURATION without an embedder, EMBEDDING_FAILED.
func (d *DB) EmbedPolicies(ctx context.Context) (made int, err error) {
	if d.embedder == nil {
		return 0, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the desk was opened without an embedder", Hint: "name one in its options"}
	}
	for {
		numbers, texts, err := d.unembedded(ctx)
		if err != nil || len(texts) == 0 {
			return made, err
		}
		vectors, err := desk.Embed(ctx, d.embedder, texts)
		if err != nil {
			return made, err
		}
		if err := d.write(ctx, func(tx *tx) error {
			for i := range numbers {
				if err := tx.putVector(numbers[i], vectors[i]); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return made, err
		}
		made += len(vectors)
	}
}

// Unembedded returns how many versions EmbedPolicies would make vectors of. On a
// desk without an embedder those are the versions without any, where another
// desk on the file has one: they are found there by their words alone.
func (d *DB) Unembedded(ctx context.Context) (count int, err error) {
	err = d.read(ctx, func(tx *tx) error {
		var by any // of no embedder
		if tx.by != nil {
			if by, err = tx.embedder(); err != nil {
				return err
			}
		}
		return tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM policies p LEFT JOIN vectors v ON v.policy = p.number
			WHERE (v.policy IS NULL OR v.embedder <> ?1) AND (?1 IS NOT NULL OR EXISTS (SELECT 1 FROM embedders))`, by).Scan(&count)
	})
	return count, err
}

// unembedded returns some versions without a vector of the embedder.
func (d *DB) unembedded(ctx context.Context) (numbers []int64, texts []string, err error) {
	err = d.read(ctx, func(tx *tx) error {
		by, err := tx.embedder()
		if err != nil {
			return err
		}
		_, err = collect(tx, func(row scanner) (none struct{}, err error) {
			var number int64
			var p desk.Policy
			err = row.Scan(&number, &p.ID, &p.Title, &p.Body)
			numbers, texts = append(numbers, number), append(texts, p.EmbedText())
			return none, err
		}, `SELECT p.number, p.id, p.title, p.body FROM policies p LEFT JOIN vectors v ON v.policy = p.number
			WHERE v.policy IS NULL OR v.embedder <> ? ORDER BY p.number LIMIT ?`, by, desk.MaxEmbedTexts)
		return err
	})
	return numbers, texts, err
}

// embed gives versions that are about to be kept their vectors, before the
// transaction that keeps them; without an embedder it does nothing.
func (d *DB) embed(ctx context.Context, versions []*version) error {
	if d.embedder == nil {
		return nil
	}
	texts := make([]string, len(versions))
	for i, v := range versions {
		texts[i] = v.EmbedText()
	}
	vectors, err := desk.Embed(ctx, d.embedder, texts)
	if err != nil {
		return err
	}
	for i, v := range versions {
		v.vector = vectors[i]
	}
	return nil
}

// embedNew embeds those that are not kept yet: what is imported again costs nothing.
func (d *DB) embedNew(ctx context.Context, versions []*version) error {
	if d.embedder == nil {
		return nil
	}
	var missing []*version
	if err := d.read(ctx, func(tx *tx) error {
		for _, v := range versions {
			stored, err := tx.stored(v)
			if err != nil {
				return err
			}
			if stored == "" {
				missing = append(missing, v)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return d.embed(ctx, missing)
}

// embedder returns the number of the desk's embedder in the file, 0 where it has
// made no vector yet.
func (tx *tx) embedder() (int64, error) {
	return only(tx, nil, func(row scanner) (number int64, err error) { return number, row.Scan(&number) },
		`SELECT number FROM embedders WHERE name = ? AND dimensions = ?`, tx.by.Name(), tx.by.Dimensions())
}

func (tx *tx) putVector(number int64, v []float32) error {
	if _, err := tx.ExecContext(tx.ctx, `INSERT OR IGNORE INTO embedders (name, dimensions) VALUES (?, ?)`, tx.by.Name(), tx.by.Dimensions()); err != nil {
		return err
	}
	by, err := tx.embedder()
	if err != nil {
		return err
	}
	stored := make([]byte, 0, 4*len(v))
	for _, x := range v {
		stored = binary.LittleEndian.AppendUint32(stored, math.Float32bits(x))
	}
	_, err = tx.ExecContext(tx.ctx, `INSERT OR REPLACE INTO vectors (policy, embedder, vector) VALUES (?, ?, ?)`, number, by, stored)
	return err
}

// byVector ranks what the person may see by its likeness to the query. What is not
// alike at all is left out, and so is what lacks a vector. Vectors of another embedder
// are refused, and missing ones where the order is measured: half a ranking would
// look like a whole one.
func (tx *tx) byVector(s *search, seen ranking.Collection) (ranked []ranking.Scored, lacking func(int64) bool, err error) {
	by, err := tx.embedder()
	if err != nil {
		return nil, nil, err
	}
	rows, err := tx.QueryContext(tx.ctx, `SELECT v.policy, v.vector FROM vectors v
		WHERE v.embedder = ?4 AND v.policy IN (SELECT p.number `+visible+`)`, s.who.Tenant, stamp(tx.now), s.who.User, by)
	if err != nil {
		return nil, nil, err
	}
	all, err := readAll(rows, func(row scanner) (one ranking.Scored, err error) {
		var stored sql.RawBytes
		if err := row.Scan(&one.Document, &stored); err != nil {
			return one, err
		}
		one.Score, err = cosine(s.vector, stored)
		return one, err
	})
	if err != nil {
		return nil, nil, err
	}
	lacks := map[int64]bool{}
	if len(all) < len(seen) {
		if lacks, err = tx.lacking(s, all, seen, by); err != nil {
			return nil, nil, err
		}
	}
	return ranking.Best(all), func(number int64) bool { return lacks[number] }, nil
}

// lacking returns those that the person may see and that have no vector, or
// refuses the search.
func (tx *tx) lacking(s *search, have []ranking.Scored, seen ranking.Collection, by int64) (map[int64]bool, error) {
	var others int
	if err := tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM vectors v
		WHERE v.embedder <> ?4 AND v.policy IN (SELECT p.number `+visible+`)`, s.who.Tenant, stamp(tx.now), s.who.User, by).Scan(&others); err != nil {
		return nil, err
	}
	if others > 0 || s.measured {
		return nil, &kernel.Error{
			Code: kernel.CodeConfiguration, Message: fmt.Sprintf("policies without a vector of the embedder %.80q: %d", tx.by.Name(), len(seen)-len(have)),
			Hint: "the application that gives the embedder has to call EmbedPolicies first; no command does",
		}
	}
	lacks := make(map[int64]bool, len(seen)-len(have))
	for number := range seen {
		lacks[number] = true
	}
	for _, h := range have {
		delete(lacks, h.Document)
	}
	return lacks, nil
}

// rounding is more than what single precision makes of a cosine: below it, two
// vectors have nothing in common.
const rounding = 1e-6

// cosine is that of the angle between two vectors of length 1.
func cosine(query []float32, stored []byte) (float64, error) {
	if len(stored) != 4*len(query) {
		return 0, errors.New("a stored vector has another length than its embedder says")
	}
	sum := 0.0
	for i, x := range query {
		sum += float64(x) * float64(math.Float32frombits(binary.LittleEndian.Uint32(stored[4*i:])))
	}
	if math.Abs(sum) < rounding {
		return 0, nil
	}
	return sum, nil
}
