package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/lab/eval"
	"agentlab/lab/mutation"
	"agentlab/lab/registry"
	"agentlab/lab/report"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

//go:embed topics/cases.md
var casesTopic string

//go:embed topics/contract.md
var contractTopic string

//go:embed topics/controls.md
var controlsTopic string

//go:embed topics/generate.md
var generateTopic string

//go:embed topics/mutants.md
var mutantsTopic string

//go:embed topics/reports.md
var reportsTopic string

//go:embed topics/schedule.md
var scheduleTopic string

//go:embed topics/suite.md
var suiteTopic string

//go:embed topics/exit-codes.md
var exitCodesTopic string

// topics are the longer documents, which "lab help TOPIC" prints. Lists that
// the program holds are put in, so that no document holds them a second time.
func topics() []*cobra.Command {
	topic := func(name, short, text string, lists ...string) *cobra.Command {
		cmd := &cobra.Command{Use: name, Short: short}
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
			fmt.Fprint(cmd.OutOrStdout(), strings.NewReplacer(lists...).Replace(text))
		})
		return cmd
	}
	return []*cobra.Command{
		topic("cases", "How to write a case", casesTopic, "{{graders}}", graderList(), "{{tools}}", toolTable()),
		topic("suite", "How to replay cases on MCP servers of your own", suiteTopic),
		topic("contract", "How to lay a contract over tools that have none", contractTopic, "{{categories}}", categoryList()),
		topic("controls", "What a call meets on its way, and the codes of a refusal", controlsTopic,
			"{{controls}}", controlList(), "{{codes}}", codeTable()),
		topic("generated", "What lab generate writes, and what it leaves out", generateTopic),
		topic("mutants", "How to measure what the cases are worth", mutantsTopic, "{{operators}}", operatorTable()),
		topic("reports", "How to read the reports", reportsTopic),
		topic("schedules", "What hostile schedules try, and what must hold in them", scheduleTopic, scheduleLists()...),
		topic("exit-codes", "What the exit codes mean", exitCodesTopic),
	}
}

// toolTable lists what the contracts of the typed surface ask for.
func toolTable() string {
	var b strings.Builder
	b.WriteString("| tool | effect | permission | approval | idempotency key | retry | timeout |\n| --- | --- | --- | --- | --- | --- | ---: |\n")
	for _, c := range ticket.Contracts() {
		c, err := c.Complete()
		if err != nil {
			panic(err) // the contracts are part of the program
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %d ms |\n", c.Name, c.Effect, c.Permission, c.Approval,
			orDash(c.IdempotencyKey), c.Retry, c.Timeout.Milliseconds())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func graderList() string {
	var b strings.Builder
	for _, g := range eval.Graders() {
		fmt.Fprintf(&b, "- `%s`: %s\n", g.Name, g.Judges)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// operatorTable lists the ways in which controls are weakened.
func operatorTable() string {
	var b strings.Builder
	if err := report.OperatorsMarkdown(&b, mutation.Operators()); err != nil {
		panic(err) // a builder takes everything
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func controlList() string {
	var b strings.Builder
	for i, c := range registry.Controls() {
		fmt.Fprintf(&b, "%d. `%s`: %s", i+1, c.Name, c.Question)
		if c.Skips != "" {
			fmt.Fprintf(&b, " Skipped where %s.", c.Skips)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func categoryList() string {
	var all []string
	for _, category := range tool.Categories() {
		all = append(all, "`"+string(category)+"`")
	}
	return strings.Join(all, ", ")
}

func codeTable() string {
	var b strings.Builder
	b.WriteString("| code | category | control | retryable | next action |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range tool.Failures() {
		retryable := "no"
		switch {
		case f.Code == tool.ToolTimeout:
			retryable = "by contract"
		case f.Retryable:
			retryable = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Code, f.Category, orDash(f.Control), retryable, orDash(f.NextAction))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
