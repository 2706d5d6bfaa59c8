package overlay

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"agentlab/lab/tool"
)

// The help topic shows a file that is right, a fault as it is told, and every key.
func TestTopic(t *testing.T) {
	read, err := os.ReadFile("../../cmd/lab/topics/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	topic := string(read)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(topic, -1)
	if len(blocks) != 2 {
		t.Fatalf("the topic has %d files", len(blocks))
	}
	const path = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`
	catalog := []tool.Definition{
		define("write_file", path, ``), define("move_file", path, ``), define("read_text_file", path, ``), define("get_file_info", path, ``),
	}
	lay := func(text string) error {
		f, err := parse([]byte(text), "contract.yaml", nil)
		if err == nil {
			_, err = f.Lay(catalog)
		}
		return err
	}
	if err := lay(blocks[1][1]); err != nil {
		t.Error(err)
	}
	err = lay(strings.Replace(blocks[1][1], "  write_file:", "  write_fil:", 1))
	if err == nil || !strings.Contains(topic, "\n"+err.Error()+"\n") {
		t.Errorf("the topic does not show %v", err)
	}
	for _, names := range [][]string{fileFields.Names(), toolFields.Names(), approverFields.Names(), resourceFields.Names(), idempotencyFields.Names(),
		preconditionFields.Names(), rateFields.Names(), visibilityFields.Names(), outputFields.Names(), ruleFields.Names()} {
		for _, name := range names {
			if !regexp.MustCompile("[`{ ]" + name + "[`:]").MatchString(topic) {
				t.Errorf("the topic does not name %s", name)
			}
		}
	}
}
