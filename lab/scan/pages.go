package scan

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// What the arguments and the members of an answer are called that page.
var (
	cursorNames = []string{"cursor", "page_token", "pageToken", "next_cursor", "nextCursor", "next_token", "nextToken",
		"continuation_token", "continuationToken", "start_cursor", "startCursor", "starting_after", "after"}
	limitNames = []string{"limit", "page_size", "pageSize", "per_page", "perPage", "max_results", "maxResults", "first", "count"}
	nextNames  = []string{"next_cursor", "nextCursor", "next_page_token", "nextPageToken", "next_token", "nextToken",
		"continuation_token", "continuationToken", "end_cursor", "endCursor", "cursor"}
)

// garbage is a cursor that no server gives out.
const garbage = "lab-scan-no-such-cursor"

// maxPages is how many pages are walked.
const maxPages = 12

// page is one answer of a tool that pages.
type page struct {
	items []string // in canonical form
	next  string   // the cursor of the next; empty for none
}

// pages walks all pages of a tool that takes a cursor.
func (l *look) pages(ctx context.Context, base object) error {
	cursor := l.offered(base, cursorNames, garbage)
	if cursor == "" {
		return nil
	}
	whole, ok, err := l.page(ctx, base)
	if err != nil {
		return err
	}
	if !ok {
		l.unlooked("its pages: a call without a cursor gives no list")
		return nil
	}
	limit := l.offered(base, limitNames, number(1))
	asked := 0
	start := base
	if limit != "" && len(whole.items) > 0 {
		asked = (len(whole.items) + maxPages/2 - 1) / (maxPages / 2)
		start = with(base, limit, number(asked))
	}
	switch ended, walked, err := l.walk(ctx, whole, start, cursor, limit, asked); {
	case err != nil:
		return err
	case walked < 2:
		l.unlooked("its pages: there were too few items for a second one")
	case !ended:
		l.unlooked("its pages after the first %d", walked)
	case whole.next != "":
		l.unlooked("whether its pages miss an item: no single call lists all")
	}
	return l.garbageCursor(ctx, base, cursor)
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// walk goes from page to page and compares what they held with the whole list.
func (l *look) walk(ctx context.Context, before page, start object, cursor, limit string, asked int) (ended bool, walked int, err error) {
	seen := make(map[string]bool)
	count := make(map[string]int)
	at := start
	for walked < maxPages {
		p, ok, err := l.page(ctx, at)
		if err != nil {
			return false, walked, err
		}
		if !ok {
			l.unlooked("its pages after the first %d: the next cursor gave no list", walked)
			return true, max(walked, 2), nil
		}
		walked++
		if asked > 0 && len(p.items) > asked {
			l.find(LimitIgnored, encoded(at), "", "A page has %d items, and %s was %d.", len(p.items), limit, asked)
		}
		for _, item := range p.items {
			count[item]++
		}
		if p.next == "" {
			ended = true
			break
		}
		if seen[p.next] {
			l.find(PagesWithoutEnd, encoded(at), "", "The next cursor was there before: whoever walks the pages walks for ever.")
			return true, walked, nil
		}
		seen[p.next] = true
		at = with(start, cursor, p.next)
	}
	if !ended || walked < 2 {
		return ended, walked, nil
	}
	return true, walked, l.compare(ctx, before, start, limit, count)
}

// compare holds the items of all pages against those of the whole list, which is
// asked for once more: one that changes by itself tells nothing.
func (l *look) compare(ctx context.Context, before page, start object, limit string, count map[string]int) error {
	base := maps.Clone(start)
	delete(base, limit)
	whole, ok, err := l.page(ctx, base)
	if err != nil || !ok || whole.next != "" {
		return err
	}
	if !slices.Equal(slices.Sorted(slices.Values(before.items)), slices.Sorted(slices.Values(whole.items))) {
		l.unlooked("whether its pages hold every item once: the list changes by itself")
		return nil
	}
	listed := make(map[string]int)
	for _, item := range whole.items {
		listed[item]++
	}
	var more, fewer []string
	for _, item := range slices.Sorted(maps.Keys(count)) {
		if listed[item] > 0 && count[item] > listed[item] {
			more = append(more, item)
		}
	}
	for _, item := range slices.Sorted(maps.Keys(listed)) {
		if count[item] == 0 {
			fewer = append(fewer, item)
		}
	}
	if len(more) > 0 {
		l.find(PageRepeats, encoded(start), tool.Cut(more[0], maxAnswer), "Walking all pages from here gives %s more often than the list has it.", counted(len(more)))
	}
	if len(fewer) > 0 {
		l.find(PageMisses, encoded(start), tool.Cut(fewer[0], maxAnswer), "Walking all pages from here misses %s of the list.", counted(len(fewer)))
	}
	return nil
}

func counted(n int) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}

// garbageCursor hands in a cursor that nobody gave out.
func (l *look) garbageCursor(ctx context.Context, base object, cursor string) error {
	arguments := encoded(with(base, cursor, garbage))
	r, _, err := l.call(ctx, arguments)
	if err != nil || r == nil || !carriedOut(r) {
		return err
	}
	l.find(CursorUnchecked, arguments, begins(r), "The %s %q, which nobody gave out, was taken.", cursor, garbage)
	return nil
}

// page makes one call that answers with a list. It is not ok where there is none.
func (l *look) page(ctx context.Context, arguments object) (p page, ok bool, err error) {
	r, _, err := l.call(ctx, encoded(arguments))
	if err != nil || r == nil || !r.OK() {
		return page{}, false, err
	}
	decoded, err := jsonvalue.Decode(r.Output)
	if err != nil {
		return page{}, false, nil
	}
	top, _ := decoded.(object)
	items, ok := list(top)
	if !ok {
		return page{}, false, nil
	}
	for _, item := range items {
		p.items = append(p.items, string(jsonvalue.AppendCanonical(nil, item)))
	}
	for _, name := range nextNames {
		if next, is := top[name].(string); is && next != "" {
			p.next = next
			break
		}
	}
	return p, true, nil
}

// list is the member items, or else the only array of an object.
func list(top object) ([]any, bool) {
	if items, ok := top["items"].([]any); ok {
		return items, true
	}
	var only []any
	found := 0
	for name, value := range top {
		if items, ok := value.([]any); ok && name != "content" {
			only = items
			found++
		}
	}
	return only, found == 1
}
