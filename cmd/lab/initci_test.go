package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// workflow is what a GitHub workflow has to have; keys beside these are not known.
type workflow struct {
	Name        string
	On          map[string]any
	Permissions map[string]string
	Concurrency map[string]any
	Jobs        map[string]struct {
		RunsOn  string `yaml:"runs-on"`
		Timeout int    `yaml:"timeout-minutes"`
		Env     map[string]string
		Steps   []struct {
			Name, Uses, Run, If string
			With                map[string]any
		}
	}
}

// pipeline is a GitLab file with one job.
type pipeline struct {
	Lab struct {
		Stage, Image, Timeout string
		Interruptible         bool
		Rules                 []map[string]string
		Variables             map[string]string
		BeforeScript          []string `yaml:"before_script"`
		Script                []string
		Artifacts             struct {
			When     string
			ExpireIn string `yaml:"expire_in"`
			Paths    []string
			Reports  map[string]string
		}
	}
}

func decoded(t *testing.T, system string, into any) string {
	t.Helper()
	text, err := ciFile(system, "tools/lab")
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "secrets.") || strings.Contains(text, "{{.") {
		t.Errorf("it has a secret, or a place that nothing was put into:\n%s", text)
	}
	return text
}

func TestGitHubWorkflow(t *testing.T) {
	var w workflow
	text := decoded(t, "github", &w)
	if diff := cmp.Diff(map[string]string{"contents": "read"}, w.Permissions); diff != "" {
		t.Errorf("it may do more than read (-want +got):\n%s", diff)
	}
	if _, ok := w.On["pull_request"]; !ok || w.On["pull_request_target"] != nil {
		t.Errorf("it runs on %v", w.On)
	}
	job := w.Jobs["gate"]
	if len(w.Jobs) != 1 || job.RunsOn == "" || job.Timeout == 0 || job.Env["LAB_SOURCE"] != "tools/lab" {
		t.Errorf("the job is %+v", job)
	}
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
	used := make(map[string]bool)
	gated := false
	for _, step := range job.Steps {
		if step.Uses == "" {
			gated = gated || strings.Contains(step.Run, "--format github") && strings.Contains(step.Run, "--report junit=")
			if strings.Contains(step.Run, "${{") {
				t.Errorf("an expression is put into a shell: %s", step.Run)
			}
			continue
		}
		name, _, _ := strings.Cut(step.Uses, "@")
		used[name] = true
		if !pinned.MatchString(step.Uses) {
			t.Errorf("%s is not pinned by its commit", step.Uses)
		}
		if !regexp.MustCompile(regexp.QuoteMeta(step.Uses) + ` # v\d+\.\d+\.\d+\n`).MatchString(text) {
			t.Errorf("%s does not say its version", step.Uses)
		}
		if name == "actions/upload-artifact" && step.If == "" {
			t.Error("a failed gate leaves no artifact")
		}
		if name == "actions/checkout" && step.With["persist-credentials"] != false {
			t.Error("the token stays in the checkout")
		}
	}
	if !gated || !used["actions/checkout"] || !used["actions/upload-artifact"] {
		t.Errorf("the gate, the checkout or the artifact is missing: %v", used)
	}
}

func TestGitLabPipeline(t *testing.T) {
	var p pipeline
	decoded(t, "gitlab", &p)
	lab := p.Lab
	if lab.Image == "" || lab.Timeout == "" || lab.Variables["LAB_SOURCE"] != "tools/lab" || len(lab.BeforeScript) != 1 {
		t.Errorf("the job is %+v", lab)
	}
	junit := lab.Artifacts.Reports["junit"]
	if junit == "" || lab.Artifacts.When != "always" || len(lab.Script) != 1 || !strings.Contains(lab.Script[0], "--report junit="+junit) {
		t.Errorf("what is reported is not what is written: %+v, %v", lab.Artifacts, lab.Script)
	}
}

func TestSourceOfTheLab(t *testing.T) {
	for source, good := range map[string]bool{
		".": true, "tools/lab": true, "_x": true,
		"": false, "..": false, "../x": false, "/x": false, "a b": false, "a/../..": false, `x"`: false, "${{ x }}": false, "-x": false, "a\nb": false,
	} {
		if err := checkSource(source); (err == nil) != good {
			t.Errorf("%q: %v", source, err)
		}
	}
}
