package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"
	_ "modernc.org/sqlite"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

// store is something that keeps records. append returns when the record is
// durable.
type store struct {
	name string
	open func(dir string) (append func(*eyrie.EndedRecord) error, close func() error, err error)
}

func openJournal(dir string) (func(*eyrie.EndedRecord) error, func() error, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	j, _, err := journal.Open(root, nil)
	if err != nil {
		return nil, nil, err
	}
	add := func(r *eyrie.EndedRecord) error {
		_, err := j.Append(r)
		return err
	}
	return add, j.Close, nil
}

// openPlain is a file of lines that is synced after each.
func openPlain(dir string) (func(*eyrie.EndedRecord) error, func() error, error) {
	f, err := os.Create(filepath.Join(dir, "records.jsonl"))
	if err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	add := func(r *eyrie.EndedRecord) error {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if _, err := f.Write(append(b, '\n')); err != nil {
			return err
		}
		return f.Sync()
	}
	return add, f.Close, nil
}

// openSQLite is a table, with transactions of at most so many bytes that take
// all who wait.
func openSQLite(batch int) func(dir string) (func(*eyrie.EndedRecord) error, func() error, error) {
	return func(dir string) (func(*eyrie.EndedRecord) error, func() error, error) {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "records.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
		if err != nil {
			return nil, nil, err
		}
		db.SetMaxOpenConns(1)
		if _, err := db.Exec("CREATE TABLE records (attempt INTEGER PRIMARY KEY, key BLOB, record TEXT)"); err != nil {
			return nil, nil, err
		}
		c := &committer{db: db, batch: batch, rows: make(chan row, 4096), done: make(chan struct{})}
		go c.run()
		closeAll := func() error {
			close(c.rows)
			<-c.done
			return db.Close()
		}
		return c.add, closeAll, nil
	}
}

type row struct {
	attempt int64
	key     []byte
	text    []byte
	done    chan error
}

// committer is the goroutine that owns the connection.
type committer struct {
	db    *sql.DB
	batch int
	rows  chan row
	done  chan struct{}
}

func (c *committer) add(r *eyrie.EndedRecord) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	w := row{r.Attempt, r.Key[:], b, make(chan error, 1)}
	c.rows <- w
	return <-w.done
}

func (c *committer) run() {
	defer close(c.done)
	for first := range c.rows {
		rows, size := []row{first}, len(first.text)
		for size < c.batch {
			select {
			case w, ok := <-c.rows:
				if ok {
					rows, size = append(rows, w), size+len(w.text)
					continue
				}
			default:
			}
			break
		}
		err := c.commit(rows)
		for _, w := range rows {
			w.done <- err
		}
	}
}

func (c *committer) commit(rows []row) error {
	tx, err := c.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	stmt, err := tx.Prepare("INSERT INTO records VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	for _, w := range rows {
		if _, err := stmt.Exec(w.attempt, w.key, w.text); err != nil {
			return err
		}
	}
	return tx.Commit()
}
