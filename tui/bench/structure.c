// SPDX-License-Identifier: MIT
#include "tui/bench/structure.h"

#include "base/mem.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/loss.h"

#include <string.h>

static void source_of(bench *b, size_t i, buf *out)
{
    buf_clear(out);
    text_all(edit_text(b->slots[i]->edit), out);
}

static void copy_cells(bench *b, size_t lo, size_t hi)
{
    cJSON_Delete(b->cells);
    b->cells = cJSON_CreateArray();
    for (size_t i = lo; i <= hi && i < b->n_slots; i++) {
        AUTO_BUF source = {0};
        source_of(b, i, &source);
        cJSON *c = cJSON_CreateObject();
        json_set_str(c, "marker", slot_cell(b, i)->marker);
        json_set_str(c, "source", buf_cstr(&source));
        cJSON_AddItemToArray(b->cells, c);
    }
}

static const char *id_before(const bench *b, size_t i)
{
    return i > 0 && i <= b->n_slots ? b->slots[i - 1]->id : NULL;
}

static void delete_cells(bench *b, const char *what, size_t lo, size_t hi)
{
    history_begin(b, what, NULL);
    for (size_t i = hi + 1; i-- > lo;) // from the last one: each names the cell before it
        history_delete(b, i);
    history_end(b);
}

void structure_insert(bench *b, size_t at, bool edits)
{
    if (!remote_ready(b, true))
        return;
    history_begin(b, "insert", NULL);
    const char *id = history_insert(b, id_before(b, at), "", "");
    if (edits)
        bench_select_to_edit(b, id);
    else
        bench_select(b, id);
    history_end(b);
}

void structure_mark(bench *b, size_t at, const char *marker, const char *source)
{
    AUTO_BUF was = {0};
    source_of(b, at, &was);
    if (!remote_ready(b, true) ||
        (str_eq(marker, slot_cell(b, at)->marker) && str_eq(source, buf_cstr(&was))))
        return;
    history_begin(b, "properties", NULL);
    history_edit(b, at, marker, source);
    history_end(b);
}

void structure_rescue(bench *b)
{
    if (!b->rescue_due || !b->client || b->read_only)
        return;
    size_t at = b->rescue_at < b->n_slots ? b->rescue_at : b->n_slots;
    const char *marker = b->rescue_marker ? b->rescue_marker : "";
    b->rescue_due = false;
    free(STEAL(b->rescued));
    history_begin(b, "insert", NULL);
    b->rescued = mem_strdup(history_insert(b, id_before(b, at), marker, b->rescue));
    bench_select(b, b->rescued);
    history_end(b);
    bench_complain(b, "another client has deleted this cell: your text is in a new one");
}

void structure_rescue_again(bench *b)
{
    b->rescue_due |= b->rescued && !slot_by_id(b, b->rescued, NULL);
    structure_rescue(b);
}

static void paste_cells(bench *b, size_t at)
{
    const cJSON *c;
    const char *after = id_before(b, at);
    if (!b->cells) {
        bench_say(b, "no cells were cut or copied");
        return;
    }
    history_begin(b, "paste", NULL);
    cJSON_ArrayForEach(c, b->cells)
    {
        after =
            history_insert(b, after, json_str_or(c, "marker", ""), json_str_or(c, "source", ""));
    }
    history_end(b);
    bench_select(b, after);
}

void structure_insert_text(bench *b, size_t at, const char *words, size_t n)
{
    err e = {0};
    AUTO_BUF clean = {0};
    if (!remote_ready(b, true))
        return;
    text_clean(words, n, &clean);
    while (clean.len && strchr("\n\t ", clean.data[clean.len - 1]))
        clean.data[--clean.len] = '\0';
    if (!clean.len) {
        bench_say(b, "only blanks were pasted: no cell is made of them");
        return;
    }
    notebook *nb = notebook_parse(buf_cstr(&clean), clean.len, &e);
    size_t count = nb ? notebook_count(nb) : 0;
    const char *after = id_before(b, at);
    history_begin(b, "paste", NULL);
    for (size_t i = 0; i < count; i++) {
        const cell *c = notebook_cell(nb, i);
        after = history_insert(b, after, c->marker, c->source);
    }
    history_end(b);
    if (count) {
        bench_select(b, after);
        bench_say(b, "pasted as %zu cell%s below; z takes %s back", count, count == 1 ? "" : "s",
            count == 1 ? "it" : "them");
    } else {
        bench_complain(b, "the paste is no text for cells: %s", e.text);
    }
    notebook_free(nb);
}

static void merge(bench *b, size_t lo, size_t hi)
{
    if (lo == hi)
        hi = lo + 1;
    if (hi >= b->n_slots) {
        bench_say(b, "there is no cell below to merge with");
        return;
    }
    AUTO_BUF all = {0}, one = {0};
    for (size_t i = lo; i <= hi; i++) {
        source_of(b, i, &one);
        buf_fmt(&all, "%s%s", i > lo ? "\n" : "", buf_cstr(&one));
    }
    history_begin(b, "merge", NULL);
    history_edit(b, lo, slot_cell(b, lo)->marker, buf_cstr(&all));
    for (size_t i = hi; i > lo; i--)
        history_delete(b, i);
    history_end(b);
}

void structure_split(bench *b, size_t at)
{
    struct slot *s = b->slots[at];
    text *t = edit_text(s->edit);
    AUTO_BUF first = {0}, rest = {0};
    if (!remote_ready(b, true))
        return;
    text_copy(t, (pos){0}, edit_cursor(s->edit), &first);
    text_copy(t, edit_cursor(s->edit), text_end(t), &rest);
    while (first.len && first.data[first.len - 1] == '\n')
        first.data[--first.len] = '\0';
    const char *behind = buf_cstr(&rest);
    cell_kind kind = slot_cell(b, at)->kind;
    history_begin(b, "split", NULL);
    history_edit(b, at, slot_cell(b, at)->marker, buf_cstr(&first));
    const char *id = history_insert(b, s->id,
        kind == CELL_MARKDOWN ? "[markdown]"
        : kind == CELL_RAW    ? "[raw]"
                              : "",
        behind + strspn(behind, "\n"));
    bench_select(b, id);
    history_end(b);
}

void structure_texts(bench *b, const char *what, const struct cell_text *texts, size_t n)
{
    history_begin(b, what, NULL);
    for (size_t i = 0; i < n; i++)
        history_edit(b, texts[i].at, slot_cell(b, texts[i].at)->marker, texts[i].source);
    history_end(b);
}

// "[markdown]", "[raw]" or neither before the title and options of a marker.
static char *marker_as(const char *marker, const char *kind)
{
    const char *end = marker[0] == '[' ? strchr(marker, ']') : NULL;
    const char *rest = end ? end + 1 : marker;
    rest += strspn(rest, " ");
    return str_fmt("%s%s%s", kind, *kind && *rest ? " " : "", rest);
}

static void change_kind(bench *b, size_t at, const char *kind)
{
    AUTO_BUF source = {0};
    const char *was = slot_cell(b, at)->marker;
    AUTO_FREE char *marker = marker_as(was, kind);
    source_of(b, at, &source);
    if (!str_eq(marker, was))
        history_edit(b, at, marker, buf_cstr(&source));
}

// Makes the first line a heading of this level.
static void heading(bench *b, size_t at, int level)
{
    AUTO_BUF source = {0}, all = {0};
    source_of(b, at, &source);
    const char *words = buf_cstr(&source);
    size_t marks = strspn(words, "#");
    if (marks <= 6 && (words[marks] == ' ' || !words[marks] || words[marks] == '\n'))
        words += marks + strspn(words + marks, " ");
    AUTO_FREE char *marker = marker_as(slot_cell(b, at)->marker, "[markdown]");
    buf_fmt(&all, "%.*s %s", level, "######", words);
    history_edit(b, at, marker, buf_cstr(&all));
}

// Edits the cell as a file of its own in $EDITOR, and takes the result back.
static void edit_outside(bench *b, size_t at)
{
    static const char *const endings[] = {".txt", ".lua", ".yaml", ".sh", ".py", "", ".md"};
    struct slot *s = b->slots[at];
    AUTO_BUF source = {0}, back = {0};
    err e = {0};
    if (!remote_ready(b, true))
        return;
    struct owner_temp temp;
    bool made = owner_temp_make(&temp, b->runtime, b->temporary, "firesteel-", &e) == 0;
    AUTO_FREE char *path = made ? str_fmt("%s/cell%s", temp.path, endings[s->language]) : NULL;
    source_of(b, at, &source);
    AUTO_FREE char *was = mem_strdup(buf_cstr(&source));
    buf_char(&source, '\n');
    if (path && path_write(path, source.data, source.len, 0600, &e) == 0 &&
        b->ops->edit_file(b->arg, path, &e) == 0 && path_read(path, &back, 0, &e) == 0) {
        while (back.len && back.data[back.len - 1] == '\n')
            back.data[--back.len] = '\0';
        AUTO_BUF clean = {0};
        text_clean(buf_cstr(&back), back.len, &clean);
        history_begin(b, "editor", NULL);
        if (!str_eq(buf_cstr(&clean), was))
            history_edit(b, at, slot_cell(b, at)->marker, buf_cstr(&clean));
        history_end(b);
    }
    if (e.code)
        bench_complain(b, "%s", e.text);
    owner_temp_remove(&temp);
}

static bool act_type(bench *b, enum action a, size_t lo, size_t hi)
{
    const char *kind = a == ACT_TO_CODE ? "" : a == ACT_TO_MARKDOWN ? "[markdown]" : "[raw]";
    bool is_heading = a >= ACT_HEADING_1 && a <= ACT_HEADING_6;
    if (!is_heading && a != ACT_TO_CODE && a != ACT_TO_MARKDOWN && a != ACT_TO_RAW)
        return false;
    history_begin(b, is_heading ? "heading" : "change of type", NULL);
    for (size_t i = lo; i <= hi; i++)
        if (is_heading)
            heading(b, i, (int)(a - ACT_HEADING_1) + 1);
        else
            change_kind(b, i, kind);
    history_end(b);
    return true;
}

// The whole selection moves by one: in fact, its neighbour moves to the other side.
static struct selection act_moving(bench *b, enum action a, struct selection s)
{
    size_t lo = selection_lo(s), hi = selection_hi(s);
    bool up = a == ACT_MOVE_UP;
    if (up ? lo == 0 : hi + 1 >= b->n_slots)
        return s;
    history_begin(b, "move", b->slots[s.at]->id);
    if (up)
        history_move(b, lo - 1, b->slots[hi]->id);
    else
        history_move(b, hi + 1, id_before(b, lo));
    history_end(b);
    return up ? (struct selection){s.at - 1, s.mark - 1} : (struct selection){s.at + 1, s.mark + 1};
}

static bool act_anywhere(bench *b, enum action a, size_t lo, size_t hi)
{
    switch ((int)a) {
    case ACT_UNDO_CELL:
        history_undo(b);
        return true;
    case ACT_REDO_CELL:
        history_redo(b);
        return true;
    case ACT_INSERT_ABOVE:
        structure_insert(b, lo, false);
        return true;
    case ACT_INSERT_BELOW:
        structure_insert(b, b->n_slots ? hi + 1 : 0, false);
        return true;
    case ACT_PASTE_ABOVE:
        paste_cells(b, lo);
        return true;
    case ACT_PASTE_BELOW:
        paste_cells(b, b->n_slots ? hi + 1 : 0);
        return true;
    }
    return false;
}

static bool act_on_cells(bench *b, enum action a, size_t lo, size_t hi)
{
    switch ((int)a) {
    case ACT_CUT:
        copy_cells(b, lo, hi);
        delete_cells(b, "cut", lo, hi);
        return true;
    case ACT_DELETE_CELL:
        delete_cells(b, "delete", lo, hi);
        return true;
    case ACT_MERGE:
        merge(b, lo, hi);
        return true;
    case ACT_EDITOR:
        edit_outside(b, lo);
        return true;
    }
    return act_type(b, a, lo, hi);
}

static bool is_change(enum action a)
{
    return (a >= ACT_INSERT_ABOVE && a <= ACT_HEADING_6 && a != ACT_SPLIT) || a == ACT_EDITOR;
}

// Merging deletes all cells but the first.
static bool may_delete(bench *b, enum action a, size_t lo, size_t hi)
{
    if (a == ACT_MERGE)
        return loss_agreed_cells(b, a, lo + 1, lo == hi ? hi + 1 : hi);
    return (a != ACT_CUT && a != ACT_DELETE_CELL) || loss_agreed_cells(b, a, lo, hi);
}

bool structure_act(bench *b, enum action a, struct selection *s)
{
    size_t lo = selection_lo(*s), hi = selection_hi(*s);
    bool any = hi < b->n_slots;
    if (!is_change(a))
        return false;
    if (a == ACT_COPY && any) {
        copy_cells(b, lo, hi);
        bench_say(b, "%zu cell%s copied", hi - lo + 1, hi > lo ? "s" : "");
        return true;
    }
    if (!remote_ready(b, true))
        return true;
    if (any && !may_delete(b, a, lo, hi))
        return true;
    if ((a == ACT_MOVE_UP || a == ACT_MOVE_DOWN) && any) {
        *s = act_moving(b, a, *s);
        return true;
    }
    if (act_anywhere(b, a, lo, hi) || (any && act_on_cells(b, a, lo, hi)))
        *s = (struct selection){lo, lo};
    return true;
}
