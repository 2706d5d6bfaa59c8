// Command bench times "lab tool-eval" as a whole command over a generated
// dataset, beside a floor: one thread that reads the same file with
// encoding/json and writes as many ready-made bytes as the reports hold.
//
// Start with "go run ./tests/bench", or "make bench". With -write it only
// writes the dataset, for other uses.
//
// The two commands take turns in one run, so that a slow machine slows both;
// the ratio is the figure to compare, not the seconds.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"agentlab/tests/casegen"
)

func main() {
	cases := flag.Int("cases", 110_000, "how many `cases` the dataset has")
	rounds := flag.Int("rounds", 5, "how often each command is run")
	write := flag.String("write", "", "write the dataset to this `file` and stop")
	floorOf := flag.String("floor", "", "be the floor for this dataset `file`")
	floorBytes := flag.Int64("floor-bytes", 0, "how many `bytes` the floor writes")
	floorOut := flag.String("floor-out", "", "the `file` that the floor writes")
	flag.Parse()

	var err error
	switch {
	case *floorOf != "":
		err = floor(*floorOf, *floorOut, *floorBytes)
	case *write != "":
		err = writeFile(*write, *cases)
	default:
		err = bench(*cases, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func writeFile(path string, cases int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := casegen.Write(file, cases); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// usage is what one run of a command took.
type usage struct {
	wall, cpu time.Duration
	peak      int64 // bytes of resident memory at the most
}

func timed(command string, args ...string) (usage, error) {
	cmd := exec.Command(command, args...)
	cmd.Stderr = os.Stderr
	started := time.Now()
	err := cmd.Run()
	wall := time.Since(started)
	if err != nil {
		return usage{}, fmt.Errorf("%s: %w", filepath.Base(command), err)
	}
	resources := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return usage{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), resources.Maxrss << 10}, nil
}

func bench(cases, rounds int) error {
	dir, err := os.MkdirTemp("", "lab-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	lab := filepath.Join(dir, "lab")
	build := exec.Command("go", "build", "-o", lab, "./cmd/lab")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as "make build" does
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build lab (run this from the top of the project): %w", err)
	}
	dataset, reports := filepath.Join(dir, "cases.jsonl"), filepath.Join(dir, "reports")
	if err := writeFile(dataset, cases); err != nil {
		return err
	}
	evaluate := func() (usage, error) {
		return timed(lab, "tool-eval", "--quiet", "--cases", dataset, "--out", reports)
	}
	// The first run warms the file cache and says how much the reports hold.
	if _, err := evaluate(); err != nil {
		return err
	}
	written, err := sizeOf(reports)
	if err != nil {
		return err
	}
	var lines []round
	for range rounds {
		l, err := evaluate()
		if err != nil {
			return err
		}
		f, err := timed(self, "-floor", dataset, "-floor-out", filepath.Join(dir, "floor"), "-floor-bytes", strconv.FormatInt(written, 10))
		if err != nil {
			return err
		}
		lines = append(lines, round{l, f})
	}
	fmt.Printf("%d cases, %.1f MB of reports, %d rounds; medians\n", cases, float64(written)/1e6, rounds)
	show("lab tool-eval", cases, lines, func(r round) usage { return r.lab })
	show("floor", cases, lines, func(r round) usage { return r.floor })
	fmt.Printf("wall time of lab / floor: %.2f\n", median(lines, func(r round) float64 { return r.lab.wall.Seconds() / r.floor.wall.Seconds() }))
	return nil
}

type round struct{ lab, floor usage }

func show(name string, cases int, rounds []round, of func(round) usage) {
	wall := median(rounds, func(r round) float64 { return of(r).wall.Seconds() })
	fmt.Printf("%-14s %7.3f s wall %7.3f s cpu %9.0f cases/s %7.1f MiB peak\n", name, wall,
		median(rounds, func(r round) float64 { return of(r).cpu.Seconds() }), float64(cases)/wall,
		median(rounds, func(r round) float64 { return float64(of(r).peak) / (1 << 20) }))
}

func median(rounds []round, of func(round) float64) float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func sizeOf(dir string) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}
