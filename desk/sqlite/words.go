package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/internal/ranking"
)

// digest stands for a tenant in the index of words. Two tenants that shared one would
// cost each other time and nothing else: what is found is filtered by number.
func digest(tenant string) string {
	sum := sha256.Sum256([]byte(tenant))
	return hex.EncodeToString(sum[:8])
}

// read finds the words of a version, for which no transaction has to wait.
func (v *version) read() {
	document := ranking.NewDocument(v.ID, v.Title, v.Body)
	prefix := digest(v.tenant)
	var terms strings.Builder
	for word, weight := range document.Weights {
		terms.WriteString(prefix)
		terms.WriteString(word)
		terms.WriteByte('|')
		terms.WriteString(strconv.Itoa(weight))
		terms.WriteByte(' ')
	}
	v.words, v.terms = document.Length, terms.String()
}

// index adds versions to the index of words.
func (tx *tx) index(versions []*version) error {
	add, err := tx.PrepareContext(tx.ctx, `INSERT INTO words (rowid, terms) VALUES (?, ?)`)
	if err != nil {
		return err
	}
	defer func() { _ = add.Close() }() // what it did is done
	for _, v := range versions {
		if _, err := add.ExecContext(tx.ctx, v.number, v.terms); err != nil {
			return err
		}
		v.terms = ""
	}
	return nil
}

// indexAll indexes what an earlier version of this program kept.
func (tx *tx) indexAll() error {
	read := func(row scanner) (*version, error) {
		v := &version{}
		err := row.Scan(&v.number, &v.tenant, &v.ID, &v.Title, &v.Body)
		return v, err
	}
	for last := int64(0); ; {
		next, err := collect(tx, read, `SELECT number, tenant, id, title, body FROM policies WHERE number > ? ORDER BY number LIMIT 100`, last)
		if err != nil || len(next) == 0 {
			return err
		}
		for _, v := range next {
			v.read()
			if _, err := tx.ExecContext(tx.ctx, `UPDATE policies SET words = ? WHERE number = ?`, v.words, v.number); err != nil {
				return err
			}
		}
		if err := tx.index(next); err != nil {
			return err
		}
		last = next[len(next)-1].number
	}
}

// visibleTo returns what the person may see now: the lengths of versions by number.
func (tx *tx) visibleTo(who desk.Identity) (ranking.Collection, error) {
	lists, err := only(tx, nil, func(row scanner) (lists [2]string, err error) { return lists, row.Scan(&lists[0], &lists[1]) },
		`SELECT coalesce(group_concat(p.number, ' '), ''), coalesce(group_concat(p.words, ' '), '') `+visible, who.Tenant, stamp(tx.now), who.User)
	if err != nil {
		return nil, err
	}
	numbers, lengths := strings.Fields(lists[0]), strings.Fields(lists[1])
	seen := make(ranking.Collection, len(numbers))
	for i := range numbers {
		number, err := strconv.ParseInt(numbers[i], 10, 64)
		if err != nil {
			return nil, err
		}
		if seen[number], err = strconv.Atoi(lengths[i]); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// byWords ranks what the person may see by the words of a query.
func (tx *tx) byWords(tenant string, seen ranking.Collection, words []string) ([]ranking.Scored, error) {
	find, err := tx.PrepareContext(tx.ctx, `SELECT term, group_concat(doc, ' ') FROM words_at WHERE term >= ? AND term < ? GROUP BY term`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = find.Close() }() // it has only read
	postings := make([][]ranking.Posting, len(words))
	for i, word := range words {
		term := digest(tenant) + word
		rows, err := find.QueryContext(tx.ctx, term+"|", term+"}")
		if err != nil {
			return nil, err
		}
		byWeight, err := readAll(rows, readPostings)
		if err != nil {
			return nil, err
		}
		postings[i] = slices.Concat(byWeight...)
	}
	return seen.BM25(postings), nil
}

// readPostings reads a term and the numbers of the versions that have it.
func readPostings(row scanner) ([]ranking.Posting, error) {
	var term, list string
	if err := row.Scan(&term, &list); err != nil {
		return nil, err
	}
	weight, err := strconv.Atoi(term[strings.LastIndexByte(term, '|')+1:])
	if err != nil {
		return nil, err
	}
	numbers := strings.Fields(list)
	postings := make([]ranking.Posting, len(numbers))
	for i, n := range numbers {
		if postings[i].Document, err = strconv.ParseInt(n, 10, 64); err != nil {
			return nil, err
		}
		postings[i].Weight = weight
	}
	return postings, nil
}
