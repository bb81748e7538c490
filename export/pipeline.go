package export

import (
	"errors"
	"sync"
)

// errStopped is what submit returns when a later stage has failed.
var errStopped = errors.New("the export has failed")

// pipeline runs jobs through work on several goroutines and hands the results
// to use in the order of the jobs, on one goroutine. produce runs on the
// caller's. The first error ends it, and all goroutines end before it returns.
// Few jobs wait at a time.
func pipeline[J, R any](workers int, produce func(submit func(J) error) error, work func(worker int, j J) (R, error), use func(R) error) error {
	type result struct {
		r   R
		err error
	}
	type job struct {
		j   J
		out chan<- result
	}
	jobs, slots, stop := make(chan job), make(chan chan result, workers), make(chan struct{})
	var encoders, consumer sync.WaitGroup
	for w := range workers {
		encoders.Go(func() {
			for j := range jobs {
				r, err := work(w, j.j)
				j.out <- result{r, err}
			}
		})
	}
	var failed error // owned by the consumer until it has ended
	consumer.Go(func() {
		for slot := range slots {
			res := <-slot
			if failed != nil {
				continue
			}
			if failed = res.err; failed == nil {
				failed = use(res.r)
			}
			if failed != nil {
				close(stop)
			}
		}
	})
	err := produce(func(j J) error {
		slot := make(chan result, 1)
		select {
		case <-stop:
			return errStopped
		case slots <- slot:
		}
		jobs <- job{j, slot}
		return nil
	})
	close(jobs)
	close(slots)
	encoders.Wait()
	consumer.Wait()
	if failed != nil {
		return failed
	}
	return err
}
