// SPDX-License-Identifier: MIT
#include "tui/view/structure.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

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

static void delete_cells(bench *b, size_t lo, size_t hi)
{
    for (size_t i = hi + 1; i-- > lo;) // from the last: each knows who stands before it
        remote_delete(b, i, true);
}

// From the last on: all come to stand behind the same cell.
static void paste_cells(bench *b, size_t at)
{
    for (int i = cJSON_GetArraySize(b->cells); i-- > 0;) {
        const cJSON *c = cJSON_GetArrayItem(b->cells, i);
        remote_insert(b, at, json_str_or(c, "marker", ""), json_str_or(c, "source", ""), true);
    }
}

static void replace_source(bench *b, size_t i, const char *source)
{
    struct slot *s = b->slots[i];
    edit_act(s->edit, ACT_SELECT_ALL, &b->clipboard);
    edit_insert(s->edit, source, strlen(source));
}

static void merge(bench *b, size_t lo, size_t hi)
{
    if (lo == hi)
        hi = lo + 1;
    if (hi >= b->n_slots || !remote_ready(b, true))
        return;
    AUTO_BUF all = {0}, one = {0};
    for (size_t i = lo; i <= hi; i++) {
        source_of(b, i, &one);
        buf_fmt(&all, "%s%s", i > lo ? "\n" : "", buf_cstr(&one));
    }
    replace_source(b, lo, buf_cstr(&all));
    remote_flush(b);
    delete_cells(b, lo + 1, hi);
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
    replace_source(b, at, buf_cstr(&first));
    remote_flush(b);
    const char *marker = slot_cell(b, at)->kind == CELL_MARKDOWN ? "[markdown]" : "";
    remote_insert(b, at + 1, marker, behind + strspn(behind, "\n"), true);
}

// "[markdown]", "[raw]" or neither before the title and options of a marker.
static void change_kind(bench *b, size_t at, const char *kind)
{
    const char *marker = slot_cell(b, at)->marker;
    const char *end = marker[0] == '[' ? strchr(marker, ']') : NULL;
    const char *rest = end ? end + 1 : marker;
    rest += strspn(rest, " ");
    AUTO_FREE char *changed = str_fmt("%s%s%s", kind, *kind && *rest ? " " : "", rest);
    remote_marker(b, at, changed);
}

static void heading(bench *b, size_t at, int level)
{
    AUTO_BUF source = {0}, all = {0};
    source_of(b, at, &source);
    const char *words = buf_cstr(&source);
    words += strspn(words, "#");
    buf_fmt(&all, "%.*s %s", level, "######", words + strspn(words, " "));
    replace_source(b, at, buf_cstr(&all));
    change_kind(b, at, "[markdown]");
}

// The cell in a file of its own, in $EDITOR, and back.
static void edit_outside(bench *b, size_t at)
{
    static const char *const endings[] = {".txt", ".lua", ".yaml", ".sh", ".py", "", ".md"};
    struct slot *s = b->slots[at];
    AUTO_BUF source = {0}, back = {0};
    err e = {0};
    if (!remote_ready(b, true))
        return;
    AUTO_FREE char *dir = path_make_temp(b->temporary, "firesteel-", &e);
    AUTO_FREE char *path = dir ? str_fmt("%s/cell%s", dir, endings[s->language]) : NULL;
    source_of(b, at, &source);
    buf_char(&source, '\n');
    if (path && path_write(path, source.data, source.len, 0600, &e) == 0 &&
        b->ops->edit_file(b->arg, path, &e) == 0 && path_read(path, &back, 0, &e) == 0) {
        while (back.len && back.data[back.len - 1] == '\n')
            back.data[--back.len] = '\0';
        edit_act(s->edit, ACT_SELECT_ALL, &b->clipboard);
        edit_paste(s->edit, buf_cstr(&back), back.len);
        remote_flush(b);
    }
    if (e.code)
        bench_complain(b, "%s", e.text);
    if (dir)
        path_remove(dir, NULL);
}

static size_t act_type(bench *b, enum action a, size_t at)
{
    if (a >= ACT_HEADING_1 && a <= ACT_HEADING_6)
        heading(b, at, (int)(a - ACT_HEADING_1) + 1);
    else if (a == ACT_TO_CODE)
        change_kind(b, at, "");
    else if (a == ACT_TO_MARKDOWN)
        change_kind(b, at, "[markdown]");
    else if (a == ACT_TO_RAW)
        change_kind(b, at, "[raw]");
    else
        return SIZE_MAX;
    return at;
}

static size_t act_moving(bench *b, enum action a, size_t at)
{
    if (a == ACT_MOVE_UP && at > 0) {
        remote_move(b, at, at - 1);
        return at - 1;
    }
    if (a == ACT_MOVE_DOWN && at + 1 < b->n_slots) {
        remote_move(b, at, at + 1);
        return at + 1;
    }
    return a == ACT_MOVE_UP || a == ACT_MOVE_DOWN ? at : SIZE_MAX;
}

size_t structure_act(bench *b, enum action a, size_t lo, size_t hi)
{
    switch ((int)a) {
    case ACT_UNDO_CELL:
        remote_undo(b);
        return lo;
    case ACT_INSERT_ABOVE:
        remote_insert(b, lo, "", "", true);
        return lo;
    case ACT_INSERT_BELOW:
        remote_insert(b, b->n_slots ? hi + 1 : 0, "", "", true);
        return hi;
    case ACT_PASTE_ABOVE:
        paste_cells(b, lo);
        return lo;
    case ACT_PASTE_BELOW:
        paste_cells(b, b->n_slots ? hi + 1 : 0);
        return hi;
    }
    if (hi >= b->n_slots)
        return SIZE_MAX;
    switch ((int)a) {
    case ACT_CUT:
        copy_cells(b, lo, hi);
        delete_cells(b, lo, hi);
        return lo;
    case ACT_COPY:
        copy_cells(b, lo, hi);
        bench_say(b, "%zu cell%s copied", hi - lo + 1, hi > lo ? "s" : "");
        return hi;
    case ACT_DELETE_CELL:
        delete_cells(b, lo, hi);
        return lo;
    case ACT_MERGE:
        merge(b, lo, hi);
        return lo;
    case ACT_EDITOR:
        edit_outside(b, lo);
        return lo;
    }
    size_t at = act_moving(b, a, lo);
    return at != SIZE_MAX ? at : act_type(b, a, lo);
}
