// SPDX-License-Identifier: MIT
#include "tui/view/help/entries.h"

#include "base/data/pattern.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/command.h"
#include "tui/view/help/tasks.h"

#include <string.h>

static const struct view_ops time_ops = {.name = "time", .keys = &time_keys};

// What is gathered: only what matches, under headings that are dropped when nothing follows.
struct gathering {
    const bench *bench;
    struct entries *out;
    const struct pattern *wanted; // NULL: all
    bool shown[ACTION_COUNT];     // actions whose keys are there already
};

void entries_done(struct entries *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->list[i].title);
        free(all->list[i].text);
    }
    free(all->list);
    *all = (struct entries){0};
}

static struct entry *add(
    struct gathering *g, enum entry_kind kind, const char *title, const char *text)
{
    struct entries *all = g->out;
    all->list = mem_resize(all->list, all->n + 1, sizeof *all->list);
    struct entry *e = &all->list[all->n++];
    *e = (struct entry){.kind = kind, .title = mem_strdup(title), .text = mem_strdup(text)};
    return e;
}

static bool passes(const struct gathering *g, const char *a, const char *b, const char *c)
{
    AUTO_BUF words = {0};
    buf_fmt(&words, "%s %s %s", a, b, c);
    return !g->wanted || pattern_passes(g->wanted, buf_cstr(&words), words.len);
}

static void drop_empty(struct gathering *g, size_t heading)
{
    struct entries *all = g->out;
    if (all->n != heading + 1)
        return;
    free(all->list[heading].title);
    all->n = heading;
}

static void add_key(struct gathering *g, const struct help_line *line, bool second)
{
    enum action a = line->action;
    if (command_is_early(g->bench, a) || !passes(g, line->keys, action_name(a), action_help(a)))
        return;
    struct entry *e = add(g, ENTRY_KEY, line->keys, action_help(a));
    e->action = a;
    e->second = second;
    g->shown[a] = true;
}

// Groups in the order of their first key; each group's keys stay together.
static void add_groups(struct gathering *g, const struct view_ops *ops, unsigned mode)
{
    struct help_line lines[HELP_LINES];
    size_t n = help_keys(g->bench, ops, mode, lines, HELP_LINES);
    bool editing = mode == MODE_EDIT;
    for (size_t i = 0; i < n; i++) {
        const char *group = action_group(lines[i].action);
        size_t before = 0;
        while (before < i && action_group(lines[before].action) != group)
            before++;
        if (before < i)
            continue; // it was added already
        size_t heading = g->out->n;
        AUTO_BUF title = {0};
        buf_fmt(&title, "%s%s", group, editing ? ", while editing" : "");
        add(g, ENTRY_HEADING, buf_cstr(&title), NULL)->second = editing;
        for (size_t k = i; k < n; k++)
            if (action_group(lines[k].action) == group)
                add_key(g, &lines[k], editing);
        drop_empty(g, heading);
    }
}

static void add_keys(struct gathering *g, const view *below)
{
    bool cells = below->ops->keys == &notebook_keys;
    if (bench_replays(g->bench))
        add_groups(g, &time_ops, cells ? MODE_COMMAND : MODE_VIEW);
    add_groups(g, below->ops, cells ? MODE_COMMAND : MODE_VIEW);
    if (cells)
        add_groups(g, below->ops, MODE_EDIT);
}

// The keys of other places that do what no key before does.
static void add_elsewhere(struct gathering *g, const view *below)
{
    const struct help_place *place;
    for (size_t i = 0; (place = help_place_nth(i)); i++) {
        struct help_line lines[HELP_LINES];
        size_t n = help_keys(g->bench, place->ops, place->mode, lines, HELP_LINES);
        size_t heading = g->out->n;
        if (place->ops->keys == below->ops->keys)
            continue;
        add(g, ENTRY_HEADING, place->title, NULL);
        for (size_t k = 0; k < n; k++)
            if (!g->shown[lines[k].action])
                add_key(g, &lines[k], false);
        drop_empty(g, heading);
    }
}

static void add_tasks(struct gathering *g)
{
    size_t heading = g->out->n;
    const char *title;
    add(g, ENTRY_HEADING, "By task", NULL);
    for (size_t i = 0; (title = task_nth(i)); i++) {
        AUTO_BUF text = {0};
        task_text(g->bench, i, &text);
        if (!passes(g, title, buf_cstr(&text), ""))
            continue;
        struct entry *e = add(g, ENTRY_TASK, title, buf_cstr(&text));
        e->action = task_does(i, &e->line);
    }
    drop_empty(g, heading);
}

static void add_lines(struct gathering *g)
{
    size_t heading = g->out->n;
    const char *name, *help;
    add(g, ENTRY_HEADING, "After :", NULL);
    for (size_t i = 0; (name = command_nth(i, &help)); i++) {
        if (!command_offers(g->bench, i) || !passes(g, ":", name, help))
            continue;
        AUTO_BUF title = {0};
        buf_fmt(&title, ":%s", name);
        struct entry *e = add(g, ENTRY_LINE, buf_cstr(&title), help);
        e->line = name;
        e->takes_words = command_takes_words(i);
    }
    drop_empty(g, heading);
}

static void add_settings(struct gathering *g)
{
    size_t heading = g->out->n;
    const char *name, *values, *usual, *words;
    add(g, ENTRY_HEADING, "Settings of config.yaml", NULL);
    for (size_t i = 0; (name = settings_nth(i, &values, &usual, &words)); i++) {
        AUTO_BUF text = {0};
        buf_fmt(&text, "%s. One of: %s; usually %s", words, values, usual);
        if (passes(g, name, buf_cstr(&text), "config setting"))
            add(g, ENTRY_SETTING, name, buf_cstr(&text))->line = "config";
    }
    drop_empty(g, heading);
}

void entries_of(const bench *b, const view *below, enum help_part part, struct entries *out)
{
    struct gathering g = {.bench = b, .out = out};
    entries_done(out);
    if (part == PART_KEYS)
        add_keys(&g, below);
    else if (part == PART_TASKS)
        add_tasks(&g);
    else if (part == PART_LINES)
        add_lines(&g);
    else
        add_settings(&g);
}

void entries_find(const bench *b, const view *below, const char *words, struct entries *out)
{
    struct pattern wanted = {0};
    pattern_set_filter(&wanted, words);
    struct gathering g = {.bench = b, .out = out, .wanted = &wanted};
    entries_done(out);
    add_tasks(&g);
    add_keys(&g, below);
    add_lines(&g);
    add_elsewhere(&g, below);
    add_settings(&g);
    for (size_t i = 0; i < out->n; i++)
        out->list[i].second = false; // what matches stands in one order
    pattern_done(&wanted);
}

void entries_add_name(struct entries *out, const char *name, const char *kind)
{
    struct gathering g = {.out = out};
    if (!out->n || out->list[out->n - 1].kind != ENTRY_NAME)
        add(&g, ENTRY_HEADING, "Names in cells", NULL);
    add(&g, ENTRY_NAME, name, kind);
}
