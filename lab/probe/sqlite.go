package probe

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"modernc.org/sqlite"

	"agentlab/lab/jsonvalue"
)

// SQLite looks at the rows of a database file, and at its schema. A file that
// does not exist, or has no bytes, is an empty database.
//
// It reads a private copy of the file and of the log beside it, see [snapshot]:
// so it sees what is committed, takes no lock on which a server could fail, and
// leaves nothing beside the file. The process that looks must not have the
// database open itself: on most systems to close a file drops every lock that
// the process has on it.
//
// A row is a resource like users[7], memberships[3,"admin"], or, of a table
// without a primary key, log[{"rowid":12}]: a table and the canonical JSON of a
// key. A blob in a key is {"blob":"00ff"}. Rows differ by the types and the
// values of all columns. A table stands for itself by its name, an index, a
// view or a trigger by what it is and its name, and they differ by their SQL.
// A name that is no plain word is a JSON string.
//
// A virtual table, such as one for full-text search, is read as a table by its
// rowid, and the shadow tables in which it keeps its rows are left out: a row
// is one effect. Where its module is unknown here they are tables like others,
// and are what is seen of it. What SQLite keeps for itself (sqlite_sequence,
// sqlite_stat1) is left out.
func SQLite(file string) Probe {
	return probe{"sqlite", file, func(ctx context.Context) (seen Snapshot, err error) {
		folder, err := os.MkdirTemp("", "lab-probe-")
		if err != nil {
			return nil, &fault{"there is no place for a copy", err.Error(), err}
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		private := filepath.Join(folder, "copy.db")
		empty, err := snapshot(ctx, file, private)
		if err != nil || empty {
			return Snapshot{}, err
		}
		seen, err = read(ctx, private)
		var failed *sqlite.Error
		if errors.As(err, &failed) {
			f := &fault{"the database cannot be read", failed.Error(), err}
			switch failed.Code() & 0xff {
			case 11: // SQLITE_CORRUPT
				f.reason = "the database is damaged"
			case 26: // SQLITE_NOTADB
				f.reason = "it is not an SQLite database"
			}
			return nil, f
		}
		return seen, err
	}}
}

func read(ctx context.Context, file string) (seen Snapshot, err error) {
	slashed := filepath.ToSlash(file)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	// What the schema says is not trusted to call anything.
	name := url.URL{Scheme: "file", Path: slashed, RawQuery: "mode=rw&_query_only=1&_dqs=0&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"}
	connector, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()

	// Since nobody else has the copy, no transaction is needed.
	objects, err := schemaOf(ctx, db)
	if err != nil {
		return nil, err
	}
	r := reader{ctx: ctx, db: db, seen: make(Snapshot)}
	for _, o := range objects {
		resource := word(o.name)
		if o.kind != "table" {
			resource = o.kind + " " + resource
		}
		e := Entry{Size: int64(len(o.sql)), Digest: sha256.Sum256([]byte(o.sql))}
		if err := r.seen.add(resource, e); err != nil {
			return nil, err
		}
		if o.kind != "table" {
			continue
		}
		if err := r.rows(o); err != nil {
			if o.virtual && strings.Contains(err.Error(), "no such module") {
				continue
			}
			return nil, err
		}
	}
	return r.seen, nil
}

type object struct {
	kind, name, sql     string
	virtual, withoutRow bool
}

// schemaOf lists what a database says of itself.
func schemaOf(ctx context.Context, db *sql.DB) (objects []object, err error) {
	rows, err := db.QueryContext(ctx, `
		SELECT s.type, s.name, s.sql, coalesce(l.type, ''), coalesce(l.wr, 0)
		FROM sqlite_schema AS s
		LEFT JOIN pragma_table_list AS l ON l.schema = 'main' AND s.type = 'table' AND l.name = s.name
		WHERE s.sql IS NOT NULL AND s.name NOT LIKE 'sqlite\_%' ESCAPE '\'
		ORDER BY s.type, s.name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var o object
		var kind string
		if err := rows.Scan(&o.kind, &o.name, &o.sql, &kind, &o.withoutRow); err != nil {
			return nil, err
		}
		o.virtual = kind == "virtual"
		if kind != "shadow" {
			objects = append(objects, o)
		}
	}
	return objects, rows.Err()
}

type reader struct {
	ctx  context.Context
	db   *sql.DB
	seen Snapshot
	row  []byte // its bytes, to be used again
}

// rows adds the rows of a table.
func (r *reader) rows(o object) error {
	columns, keys, err := r.columns(o)
	if err != nil {
		return err
	}
	var wanted []string
	for _, name := range columns {
		// The sign changes no value, and takes away the declared type, by which the
		// driver would read texts as times.
		wanted = append(wanted, "+"+quote(name))
	}
	rowid := ""
	for _, name := range []string{"rowid", "_rowid_", "oid"} {
		if !o.withoutRow && !slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, name) }) {
			rowid = name
			wanted = append(wanted, name)
			break
		}
	}
	rows, err := r.db.QueryContext(r.ctx, "SELECT "+strings.Join(wanted, ", ")+" FROM main."+quote(o.name))
	if err != nil {
		return err
	}
	defer rows.Close()
	values := make([]any, len(wanted))
	targets := make([]any, len(wanted))
	for i := range values {
		targets[i] = &values[i]
	}
	at := word(o.name) + "["
	equal := make(map[[32]byte]int)
	var key []any
	var text []byte
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		e := r.entry(values[:len(columns)])
		e.Collection = at
		key = key[:0]
		for _, i := range keys {
			key = append(key, keyValue(values[i]))
		}
		resource := ""
		switch {
		case len(key) > 0 && !slices.Contains(key, nil):
			text = jsonvalue.AppendCanonical(text[:0], key)
			resource = at + short(string(text[1:len(text)-1])) + "]"
		case rowid != "": // no key, or one that need not be unique, since NULL is in it
			resource = fmt.Sprintf(`%s{"rowid":%v}]`, at, values[len(columns)])
		default: // three columns hide the rowid
			equal[e.Digest]++
			resource = fmt.Sprintf("%ssha256:%x#%d]", at, e.Digest[:8], equal[e.Digest])
		}
		if err := r.seen.add(resource, e); err != nil {
			return err
		}
	}
	return rows.Err()
}

// columns lists the columns of a table, and the places of its primary key.
func (r *reader) columns(o object) (names []string, keys []int, err error) {
	rows, err := r.db.QueryContext(r.ctx, `SELECT name, pk FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid`, o.name)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	place := make(map[int]int) // by the place in the key
	for rows.Next() {
		var name string
		var key int
		if err := rows.Scan(&name, &key); err != nil {
			return nil, nil, err
		}
		if key > 0 {
			place[key] = len(names)
		}
		names = append(names, name)
	}
	for i := range len(place) {
		keys = append(keys, place[i+1])
	}
	return names, keys, rows.Err()
}

// entry digests the types and the values of a row.
func (r *reader) entry(values []any) (e Entry) {
	row := r.row[:0]
	head := func(kind byte, length int) {
		row = binary.BigEndian.AppendUint64(append(row, kind), uint64(length))
		e.Size += int64(length)
	}
	for _, value := range values {
		switch v := value.(type) {
		case int64:
			head('i', 8)
			row = binary.BigEndian.AppendUint64(row, uint64(v))
		case float64:
			head('r', 8)
			row = binary.BigEndian.AppendUint64(row, math.Float64bits(v))
		case string:
			head('t', len(v))
			row = append(row, v...)
		case []byte:
			head('b', len(v))
			row = append(row, v...)
		default:
			head('n', 0)
		}
	}
	e.Digest = sha256.Sum256(row)
	r.row = row
	return e
}

// keyValue is a value of a key as a tree of lab/jsonvalue; nil is NULL.
func keyValue(value any) any {
	switch v := value.(type) {
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	case float64:
		if text := strconv.FormatFloat(v, 'g', -1, 64); !math.IsInf(v, 0) {
			return json.Number(strings.Replace(text, "e+", "e", 1))
		} else {
			return map[string]any{"real": text}
		}
	case string:
		if !utf8.ValidString(v) {
			return map[string]any{"text": hex.EncodeToString([]byte(v))}
		}
		return v
	case []byte:
		return map[string]any{"blob": hex.EncodeToString(v)}
	}
	return nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// word is a name that is one word as it is, and any other as a JSON string.
func word(name string) string {
	plain := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	if name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return short(name)
	}
	return string(jsonvalue.AppendString(nil, short(name)))
}
