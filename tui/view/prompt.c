// SPDX-License-Identifier: MIT
// A line at the bottom for typing: the palette of all actions, which also takes vi's commands, and
// the search.
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/command.h"
#include "tui/bench/desk.h"
#include "tui/bench/structure.h"
#include "tui/bench/views.h"
#include "tui/part/filter.h"

#include <ctype.h>
#include <string.h>

enum { SHOWN = 10, KINDS = 12, LINES = 24, NOTHING = -1 };

struct hit {
    enum action action; // ACT_NONE: a line of command.c or of the cluster desk
    const char *line;   // it; NULL: as it is typed
    const cJSON *kind;  // what the cluster says of it
    const char *about;  // what ready cells do
    bool begins;        // its name begins with what is typed, and it can be done here
};

struct prompt_view {
    view head;
    enum prompt what;
    line *line;
    struct hit hits[ACTION_COUNT + KINDS + LINES];
    size_t n_hits;
    int at;      // what Enter does: what was typed, or what was chosen; NOTHING
    bool chosen; // by a key or the mouse
    bool knew_kinds;
    buf found; // of a search: "3 of 12"
    rect area;
};

// Without the blanks around it, and what an alias stands for. New.
static char *typed_text(const struct prompt_view *v)
{
    const char *typed = line_text(v->line);
    char *words = str_trim(typed, strlen(typed));
    char *stands = settings_alias(bench_settings(v->head.bench), words);
    if (!stands)
        return words;
    free(words);
    return stands;
}

static const char *help_of(const bench *b, const char *words)
{
    const char *help = command_help(words);
    if (!help && command_is_own(b, words))
        return "a command of your own on the row, from config.yaml";
    return help ? help : desk_line(b, words) == DESK_NO ? NULL : desk_help;
}

// How well a name matches the typed text: smaller is better; RANKS: it does not match.
enum rank { WHOLE, PREFIX, WORD_PREFIX, INSIDE, SCATTERED, IN_HELP, RANKS };

static bool scattered(const char *typed, const char *name)
{
    for (; *typed && *name; name++)
        typed += *typed == *name;
    return !*typed;
}

static enum rank rank(const char *typed, enum action a)
{
    const char *name = action_name(a), *found = strstr(name, typed);
    if (str_eq(typed, name))
        return WHOLE;
    if (found == name)
        return PREFIX;
    for (const char *at = found; at; at = strstr(at + 1, typed))
        if (at[-1] == '-')
            return WORD_PREFIX;
    return found                                         ? INSIDE
           : strcasestr(action_help(a), typed)           ? IN_HELP
           : strlen(typed) > 1 && scattered(typed, name) ? SCATTERED
                                                         : RANKS;
}

// Can the action be done where the palette was opened? While a cell is edited, actions on cells can
// be, too.
static bool works(const struct prompt_view *v, enum action a)
{
    char keys[40];
    unsigned mode = view_mode(v->head.below);
    view_keys(
        v->head.bench, v->head.below->ops, mode & MODE_EDIT ? ~0u : mode, a, keys, sizeof keys);
    return (*keys && !command_is_early(v->head.bench, a)) || command_does(v->head.bench, a);
}

static void add(struct prompt_view *v, struct hit hit)
{
    if (v->n_hits < ARRAY_LEN(v->hits))
        v->hits[v->n_hits++] = hit;
}

// What may be a kind of the cluster, and is no action's name, comes behind names that begin so, and
// before those that are only alike.
static void add_maybe(struct prompt_view *v, const char *typed)
{
    const struct hit *first = v->hits;
    bool alike = v->n_hits && first->action != ACT_NONE && rank(typed, first->action) > PREFIX;
    add(v, (struct hit){0});
    if (!alike)
        return;
    struct hit last = v->hits[v->n_hits - 1];
    memmove(v->hits + 1, v->hits, (v->n_hits - 1) * sizeof *v->hits);
    v->hits[0] = last;
}

// Names of kinds, without the one that the line itself names, if that is offered.
static void add_kinds(struct prompt_view *v, const char *typed, bool line_too)
{
    struct desk_kind kinds[KINDS];
    size_t n = desk_kinds(v->head.bench, typed, kinds, KINDS);
    for (size_t i = 0; i < n; i++)
        if (!line_too || !str_eq(kinds[i].name, typed))
            add(v, (struct hit){.line = kinds[i].name, .kind = kinds[i].json, .begins = true});
    v->knew_kinds = desk_kinds_known(v->head.bench);
}

static bool is_action(const char *name)
{
    for (enum action a = 1; a < ACTION_COUNT; a++)
        if (str_eq(name, action_name(a)))
            return true;
    return false;
}

// The lines of command.c that begin so, but for those that are actions, too.
static void add_lines(struct prompt_view *v, const char *typed)
{
    const char *name, *help;
    for (size_t i = 0; *typed && (name = command_nth(i, &help)); i++)
        if (isalpha((unsigned char)*name) && help != desk_help && str_starts(name, typed) &&
            !str_eq(name, typed) && command_offers(v->head.bench, i) && !is_action(name))
            add(v, (struct hit){.line = name, .begins = true});
}

static bool is_notebook(const view *v)
{
    return v->ops->keys == &notebook_keys;
}

// Adds an action that matches so well, unless it is there already. here: when it can be done where
// the palette was opened, else when it cannot.
static void add_action(
    struct prompt_view *v, const char *typed, enum rank r, bool here, enum action a)
{
    if (rank(typed, a) != r || works(v, a) != here)
        return;
    for (size_t i = 0; i < v->n_hits; i++)
        if (v->hits[i].action == a)
            return;
    add(v, (struct hit){.action = a, .begins = here && *typed && r <= PREFIX});
}

// Adds the actions that match so well. Of a full screen what its own keys do comes first, in their
// order, then what can be done everywhere. true: one has this name.
static bool add_actions(struct prompt_view *v, const char *typed, enum rank r, bool here)
{
    const struct keymap *own = v->head.below->ops->keys;
    size_t n = v->n_hits;
    for (size_t i = 0; i < own->n && !is_notebook(v->head.below); i++)
        add_action(v, typed, r, here, own->bindings[i].action);
    for (enum action a = 1; a < ACTION_COUNT; a++)
        add_action(v, typed, r, here, a);
    return r == WHOLE && v->n_hits > n;
}

static int index_of(const struct prompt_view *v, const char *name, bool here)
{
    for (size_t i = 0; i < v->n_hits; i++)
        if (v->hits[i].action != ACT_NONE && works(v, v->hits[i].action) == here &&
            str_eq(action_name(v->hits[i].action), name))
            return (int)i;
    return NOTHING;
}

// The only one that begins so, unless it wants its whole name.
static int only_beginning(const struct prompt_view *v, size_t *count)
{
    int found = NOTHING;
    *count = 0;
    for (size_t i = 0; i < v->n_hits; i++)
        if (v->hits[i].begins) {
            found = (int)i;
            ++*count;
        }
    return *count == 1 && !action_ends(v->hits[found].action) ? found : NOTHING;
}

// After "insert " the names of ready cells, which begin so, or have these words in what they do.
static bool add_ready(struct prompt_view *v, const char *typed)
{
    const char *name, *about;
    size_t skip = strlen(INSERTING);
    if (!is_notebook(v->head.below) || !str_starts(typed, INSERTING))
        return false;
    for (int words = 0; words < 2; words++)
        for (size_t i = 0; (name = inserting_nth(v->head.bench, i, &about)); i++) {
            bool begins = str_starts(name, typed);
            if (words ? !begins && strcasestr(about, typed + skip) : begins)
                add(v, (struct hit){.line = name, .about = about, .begins = begins});
        }
    for (size_t i = 0; i < v->n_hits && v->at == NOTHING; i++)
        if (str_eq(v->hits[i].line, typed))
            v->at = (int)i;
    size_t beginning;
    if (v->at == NOTHING)
        v->at = only_beginning(v, &beginning);
    if (!v->n_hits) { // the notice says what there is
        add(v, (struct hit){0});
        v->at = 0;
    }
    return true;
}

// What is meant by what is typed: a whole name, or a beginning that only one name has. All else has
// to be chosen. What nothing here is like may be a kind: the cluster is asked.
static int meant(const struct prompt_view *v, const char *typed)
{
    size_t beginning;
    bool is_line = v->n_hits && v->hits[0].action == ACT_NONE && !v->hits[0].line;
    if (is_line && (command_help(typed) || desk_line(v->head.bench, typed) == DESK_SURE))
        return 0;
    int whole = index_of(v, typed, true);
    if (whole != NOTHING)
        return whole;
    int only = only_beginning(v, &beginning);
    if (beginning)
        return only;
    return is_line && v->n_hits == 1 ? 0 : index_of(v, typed, false);
}

// Shows below what the search would find.
static void seek(struct prompt_view *v)
{
    view *below = v->head.below;
    buf_clear(&v->found);
    if (below->ops->seek)
        below->ops->seek(below, line_text(v->line), &v->found);
}

static void find(struct prompt_view *v)
{
    AUTO_FREE char *typed = typed_text(v);
    bool named = false; // by an action
    v->n_hits = 0;
    v->at = NOTHING;
    v->chosen = false;
    if (v->what == PROMPT_SEARCH)
        seek(v);
    if (v->what != PROMPT_PALETTE)
        return;
    if (add_ready(v, line_text(v->line)))
        return;
    enum desk_line desk = command_help(typed) ? DESK_SURE : desk_line(v->head.bench, typed);
    if (desk == DESK_SURE)
        add(v, (struct hit){0});
    named = add_actions(v, typed, WHOLE, true);
    add_kinds(v, typed, desk == DESK_SURE);
    add_lines(v, typed);
    // On a full screen only what does something there.
    int places = is_notebook(v->head.below) ? 2 : 1;
    for (int elsewhere = 0; elsewhere < places; elsewhere++)
        for (enum rank r = 0; r < RANKS; r++)
            named = add_actions(v, typed, r, !elsewhere) || named;
    if (desk == DESK_MAYBE && !named)
        add_maybe(v, typed);
    v->at = meant(v, typed);
}

// What is chosen stays so, wherever it stands now.
static void find_again(struct prompt_view *v)
{
    struct hit chosen = v->at == NOTHING ? (struct hit){0} : v->hits[v->at];
    bool was = v->chosen;
    find(v);
    for (size_t i = 0; was && i < v->n_hits; i++)
        if (v->hits[i].action == chosen.action && str_eq(v->hits[i].line, chosen.line)) {
            v->at = (int)i;
            v->chosen = true;
        }
}

static void draw_line(grid *g, rect row, const struct hit *hit)
{
    AUTO_BUF help = {0};
    const char *name = hit->line, *about = hit->about ? hit->about : command_help(name);
    const cJSON *one;
    int names = row.w < 60 ? 16 : 30;
    if (about || !hit->kind)
        buf_str(&help, about ? about : desk_help);
    else
        buf_fmt(&help, "a live table of %s", json_str_or(hit->kind, "apiVersion", ""));
    cJSON_ArrayForEach(one, json_get(hit->kind, "shortNames"))
    {
        buf_fmt(&help, "  %s", cJSON_IsString(one) ? one->valuestring : "");
    }
    grid_put_short(g, row, row.x + 2, row.y, names - 2, name, strlen(name), LOOK_ACCENT);
    grid_put_short(
        g, row, row.x + names, row.y, row.w - names - 1, buf_cstr(&help), help.len, (style){0});
}

static void draw_hit(const struct prompt_view *v, grid *g, rect row, const struct hit *hit)
{
    if (hit->line) {
        draw_line(g, row, hit);
        return;
    }
    AUTO_FREE char *typed = typed_text(v);
    enum action a = hit->action;
    char keys[40] = "";
    const char *place = NULL, *help = a ? action_help(a) : help_of(v->head.bench, typed);
    const char *name = a ? action_name(a) : typed;
    bool here = !a || works(v, a);
    unsigned mode = view_mode(v->head.below);
    int names = row.w < 60 ? 16 : 22, hints = here || row.w < 60 ? 11 : 30;
    AUTO_BUF hint = {0};
    if (a)
        view_keys(v->head.bench, v->head.below->ops, mode, a, keys, sizeof keys);
    if (a && !*keys && mode & MODE_EDIT) { // a key of the notebook, that would now be typed
        view_keys(v->head.bench, v->head.below->ops, MODE_COMMAND, a, keys, sizeof keys);
        buf_str(&hint, *keys ? "Esc " : "");
    }
    if (a && !*keys && !here)
        place = help_place(v->head.bench, a, keys, sizeof keys);
    buf_str(&hint, keys);
    if (place && !here)
        buf_fmt(&hint, "  %c%s", tolower((unsigned char)*place), place + 1);
    grid_put_short(
        g, row, row.x + 2, row.y, names - 2, name, strlen(name), here ? LOOK_ACCENT : LOOK_DIM);
    grid_put_short(g, row, row.x + names, row.y, row.w - names - hints - 1, help, strlen(help),
        here ? (style){0} : LOOK_DIM);
    grid_put_short(
        g, row, row.x + row.w - hints, row.y, hints - 1, buf_cstr(&hint), hint.len, LOOK_DIM);
}

static void settle(view *view_, rect area)
{
    struct prompt_view *v = (struct prompt_view *)view_;
    v->area = area;
    if (v->what == PROMPT_PALETTE && !v->knew_kinds && desk_kinds_known(view_->bench))
        find_again(v); // they were told meanwhile
}

// How many rows of the list are on the screen, above the line; and the first of them.
static int rows_shown(const struct prompt_view *v, rect area, size_t *first)
{
    int shown = v->n_hits < SHOWN ? (int)v->n_hits : SHOWN;
    shown = shown > area.h - 2 ? area.h - 2 : shown;
    *first = v->at >= shown ? (size_t)(v->at - shown + 1) : 0;
    return shown;
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct prompt_view *v = (const struct prompt_view *)view_;
    size_t first;
    int shown = rows_shown(v, area, &first);
    int y = area.y + area.h - 1 - shown;
    grid_fill(g, (rect){area.x, y - (shown > 0), area.w, shown + 1 + (shown > 0)}, ' ', (style){0});
    if (shown)
        grid_hline(g, area, area.x, y - 1, area.w, LOOK_ACCENT);
    for (int i = 0; i < shown; i++, y++) {
        rect row = {area.x, y, area.w, 1};
        draw_hit(v, g, row, &v->hits[first + (size_t)i]);
        if ((int)first + i == v->at)
            grid_restyle(g, row, LOOK_SELECTED);
    }
    int x = grid_print(g, area, area.x, y, LOOK_BOLD, "%s", v->what == PROMPT_SEARCH ? "/" : ":");
    line_draw(v->line, g, (rect){area.x + x, y, area.w - x, 1}, false);
    if (v->what != PROMPT_SEARCH)
        return;
    int wide = (int)v->found.len + (v->found.len > 0);
    grid_print(g, area, area.x + area.w - wide, y, LOOK_DIM, "%s", buf_cstr(&v->found));
    filter_draw_wrong(line_text(v->line), g, (rect){area.x, y, area.w - wide - (wide > 0), 1});
}

void prompt_do(bench *b, enum action a)
{
    char keys[40];
    if (bench_act(b, a))
        return;
    const char *place = help_place(b, a, keys, sizeof keys);
    if (place)
        bench_complain(b, "%s works elsewhere: %s, %s", action_name(a), keys, place);
    else
        bench_complain(b, "%s does nothing here", action_name(a));
}

// Why Enter does nothing yet.
static void say_choose(struct prompt_view *v, const char *typed)
{
    bench *b = v->head.bench;
    size_t beginning;
    only_beginning(v, &beginning);
    if (!v->n_hits)
        bench_complain(b, "there is no action %s", typed);
    else if (beginning == 1)
        bench_complain(b, "this one wants its whole name; or Tab chooses it, and Enter does it");
    else if (beginning)
        bench_complain(b, "%zu names begin so: type more, or Tab chooses", beginning);
    else
        bench_complain(b, "nothing that works here begins so: Tab chooses from what is alike");
}

static void search_for(bench *b, const char *typed)
{
    if (*typed)
        bench_search_for(b, typed);
    past_add(bench_past(b), typed);
    bench_act(b, ACT_SEARCH_NEXT);
}

static void finish(struct prompt_view *v)
{
    bench *b = v->head.bench;
    bool search = v->what == PROMPT_SEARCH;
    AUTO_FREE char *typed = search ? mem_strdup(line_text(v->line)) : typed_text(v);
    if (!search && *typed && v->at == NOTHING) {
        say_choose(v, typed);
        return;
    }
    struct hit hit = v->at == NOTHING ? (struct hit){0} : v->hits[v->at];
    bool any = v->at != NOTHING;
    AUTO_FREE char *words = mem_strdup(hit.line ? hit.line : typed);
    view_pop(&v->head);
    if (search)
        search_for(b, typed);
    else if (any && hit.action == ACT_NONE)
        command_run(b, words);
    else if (any)
        prompt_do(b, hit.action);
}

static void move(struct prompt_view *v, bool next)
{
    int n = (int)v->n_hits;
    if (n)
        v->at = v->at == NOTHING ? (next ? 0 : n - 1) : (v->at + (next ? 1 : n - 1)) % n;
    v->chosen = n > 0;
}

static bool act(view *view_, enum action a)
{
    struct prompt_view *v = (struct prompt_view *)view_;
    switch ((int)a) {
    case ACT_ACCEPT:
        finish(v);
        return true;
    case ACT_ROW_NEXT:
    case ACT_ROW_PREVIOUS:
        if (v->what == PROMPT_SEARCH) {
            past_turn(bench_past(view_->bench), v->line, a == ACT_ROW_PREVIOUS);
            find(v);
            return true;
        }
        move(v, a == ACT_ROW_NEXT);
        return true;
    case ACT_DELETE_BACK:
        if (!*line_text(v->line)) {
            view_pop(view_);
            return true;
        }
        break;
    }
    if (!line_act(v->line, a, bench_clipboard(view_->bench), false))
        return false;
    find(v);
    return true;
}

static bool mouse(view *view_, const struct mouse *m)
{
    struct prompt_view *v = (struct prompt_view *)view_;
    size_t first;
    int shown = rows_shown(v, v->area, &first);
    int row = m->y - (v->area.y + v->area.h - 1 - shown);
    if (m->kind == MOUSE_UP || m->kind == MOUSE_DOWN || row < 0 || row >= shown)
        return false;
    v->at = (int)first + row;
    v->chosen = true;
    if (m->kind == MOUSE_DOUBLE)
        finish(v);
    return true;
}

static bool paste(view *view_, const char *words, size_t n)
{
    struct prompt_view *v = (struct prompt_view *)view_;
    line_paste(v->line, words, n);
    find(v);
    return true;
}

static bool type(view *view_, key k)
{
    struct prompt_view *v = (struct prompt_view *)view_;
    line_type(v->line, k);
    find(v);
    return key_character(k) != 0;
}

static unsigned mode(const view *v)
{
    return MODE_VIEW | MODE_LINE;
}

static void done(view *view_)
{
    struct prompt_view *v = (struct prompt_view *)view_;
    if (v->what == PROMPT_SEARCH && view_->below->ops->seek)
        view_->below->ops->seek(view_->below, NULL, NULL);
    buf_done(&v->found);
    line_free(v->line);
}

static void hint(const view *v, buf *out)
{
    const struct prompt_view *p = (const struct prompt_view *)v;
    buf_str(out, p->what == PROMPT_SEARCH ? "Enter searches, Esc closes"
                 : p->at == NOTHING       ? "Tab chooses, Esc closes"
                                          : "Enter does it, Tab the next, Esc closes");
}

void prompt_push(bench *b, enum prompt what, const char *words)
{
    struct prompt_view *v = view_push(b, &prompt_view_ops, sizeof *v);
    v->what = what;
    v->line = line_new(words);
    past_begin(bench_past(b));
    find(v);
}

static const struct binding bindings[] = {
    {MODE_VIEW, "Tab", ACT_ROW_NEXT},
    {MODE_VIEW, "Down", ACT_ROW_NEXT},
    {MODE_VIEW, "S-Tab", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "Up", ACT_ROW_PREVIOUS},
    {MODE_VIEW, "C-c", ACT_BACK},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops prompt_view_ops = {.name = "palette",
    .keys = &keys,
    .overlay = true,
    .mode = mode,
    .settle = settle,
    .draw = draw,
    .act = act,
    .mouse = mouse,
    .type = type,
    .paste = paste,
    .hint = hint,
    .done = done};
