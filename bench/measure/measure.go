// Package measure takes samples of what this process spends.
package measure

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// Sample is what one piece of work has cost the whole process, the garbage
// collector included and child processes excluded.
type Sample struct {
	CPU    time.Duration // user and system time
	Wall   time.Duration
	Allocs float64
	Bytes  float64 // allocated
}

// Take runs f between two readings, after a collection, so that f does not pay
// for what came before.
func Take(f func() error) (Sample, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, err := CPU()
	if err != nil {
		return Sample{}, err
	}
	begun := time.Now()
	if err := f(); err != nil {
		return Sample{}, err
	}
	wall := time.Since(begun)
	spent, err := CPU()
	if err != nil {
		return Sample{}, err
	}
	runtime.ReadMemStats(&after)
	return Sample{
		CPU:    spent - cpu,
		Wall:   wall,
		Allocs: float64(after.Mallocs - before.Mallocs),
		Bytes:  float64(after.TotalAlloc - before.TotalAlloc),
	}, nil
}

// Per divides a sample among n equal parts.
func (s Sample) Per(n int) Sample {
	return Sample{
		CPU:    s.CPU / time.Duration(n),
		Wall:   s.Wall / time.Duration(n),
		Allocs: s.Allocs / float64(n),
		Bytes:  s.Bytes / float64(n),
	}
}

// Median returns the middle of values, the mean of the two middle ones where
// their number is even, and 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// CPU is the user and system time of this process so far.
func CPU() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
