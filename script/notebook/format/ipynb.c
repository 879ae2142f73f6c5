// SPDX-License-Identifier: MIT
// nbformat 4: converts an .ipynb to cells and back, so that jupytext makes the same of either file.
#include "base/data/hashset.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/others/nbformat.h"
#include "script/notebook/private.h"

#include <string.h>

static bool is_lua_file(const cell *c)
{
    return c->options.file && !c->options.language && str_ends(c->options.file, ".lua");
}

// jupytext and firesteel write language="bash" as "%%bash -e\n…". In a notebook in another language
// "%%lua" stays: nothing else tells that the cell is Lua.
static void take_language(const notebook *nb, char **source, cJSON *metadata)
{
    if (!str_starts(*source, "%%"))
        return;
    size_t n = strcspn(*source, "\n");
    AUTO_FREE char *line = mem_strndup(*source + 2, n - 2);
    char *arguments = strchr(line, ' ');
    if (arguments)
        *arguments++ = '\0';
    if (!jupyter_language(line) || (nb->language && str_eq(line, "lua")))
        return;
    if (!str_eq(line, "lua"))
        json_set_str(metadata, "language", line);
    if (arguments && *arguments)
        json_set_str(metadata, "magic_args", arguments);
    char *rest = mem_strdup(*source + n + ((*source)[n] == '\n'));
    free(*source);
    *source = rest;
}

// Moves metadata that no marker line can show, or that jupytext would not show, to
// c->kept->foreign. Our own options stay whatever the filter says: they are what is run.
static void take_foreign(const notebook *nb, cell *c, cJSON *metadata)
{
    cJSON *next;
    for (cJSON *item = metadata->child; item; item = next) {
        next = item->next;
        bool known = cJSON_IsObject(item) || option_is_foreign(item->string) ||
                     (nb->language && !cJSON_IsNull(item) && option_is_unknown(item->string));
        bool keep = known && cell_filter_takes(nb->metadata, item->string);
        keep = (keep || option_is_ours(item->string)) &&
               !(str_eq(item->string, "tags") && cJSON_IsArray(item) && !item->child);
        if (keep)
            continue;
        if (!c->kept->foreign)
            c->kept->foreign = cJSON_CreateObject();
        AUTO_FREE char *key = mem_strdup(item->string);
        json_set(c->kept->foreign, key, cJSON_DetachItemViaPointer(metadata, item));
    }
}

// A type that nbformat 4 does not have is shown as a raw text.
static int kind_of(const cJSON *j, cell_kind *kind, err *e)
{
    const char *type = json_str(j, "cell_type");
    for (cell_kind k = CELL_CODE; k <= CELL_RAW; k++) {
        if (!str_eq(type, cell_kind_name(k)))
            continue;
        *kind = k;
        return 0;
    }
    *kind = CELL_RAW;
    return type ? 0 : err_set(e, ERR_INVALID, "cell_type is missing");
}

// The members that no rule of nbformat names, and those of a cell of an unknown type.
static cJSON *unknown_members(const cJSON *j, cell_kind kind)
{
    static const char *const known[] = {
        "id", "metadata", "source", "attachments", "cell_type", "outputs", "execution_count"};
    size_t n = ARRAY_LEN(known) - (kind == CELL_CODE ? 0 : 2);
    n -= !str_eq(json_str(j, "cell_type"), cell_kind_name(kind));
    cJSON *all = cJSON_CreateObject();
    for (const cJSON *item = j->child; item; item = item->next) {
        size_t i = 0;
        while (i < n && !str_eq(item->string, known[i]))
            i++;
        if (i == n)
            json_set(all, item->string, cJSON_Duplicate(item, true));
    }
    if (!all->child)
        cJSON_Delete(STEAL(all));
    return all;
}

static void one_line(char *title)
{
    for (; *title; title++)
        if (*title == '\n' || *title == '\r')
            *title = ' ';
}

// jupytext does not escape lines that look like markers. A cell with such lines stays as it is; in
// other languages than Lua they have no escapes at all.
static void take_source(const notebook *nb, cell *c, char *source)
{
    if (nb->language) {
        free(c->source);
        c->source = source;
        return;
    }
    char *clean = markers_unescape(c, NULL, NULL, source);
    AUTO_FREE char *again = markers_escape(c, NULL, NULL, clean);
    c->kept->plain = !str_eq(again, source);
    free(c->source);
    c->source = c->kept->plain ? source : clean;
    free(c->kept->plain ? clean : source);
}

// language="lua" in a file of a notebook in Python: its lines are comments, as jupytext writes
// those of another language.
static char *magic_lua(const char *source)
{
    buf lua = {0};
    buf_str(&lua, "%%lua\n");
    while (*source) {
        size_t n = strcspn(source, "\n"), mark = *source == '#' ? 1 + (source[1] == ' ') : 0;
        n += source[n] == '\n';
        buf_add(&lua, source + mark, n - mark);
        source += n;
    }
    return buf_take(&lua);
}

// The source as Jupyter has it, new.
static char *source_of(const notebook *nb, const cell *c)
{
    if (nb->language && str_eq(json_str(c->kept->metadata, "language"), "lua"))
        return magic_lua(c->source);
    const char *language = c->options.language;
    const char *arguments = json_str(c->kept->metadata, "magic_args");
    bool plain = nb->language || c->kept->plain;
    AUTO_FREE char *source =
        plain ? mem_strdup(c->source) : markers_escape(c, NULL, NULL, c->source);
    if (c->kind == CELL_CODE && language && jupyter_language(language))
        return str_fmt(
            "%%%%%s%s%s\n%s", language, arguments ? " " : "", arguments ? arguments : "", source);
    return c->kind == CELL_CODE && is_lua_file(c) ? magics_uncomment(source) : STEAL(source);
}

// What would be written in another way ("%%lua" in somebody's Python, "%%bash" and nothing below
// it) stays as it is until somebody edits it.
static void keep_source(const notebook *nb, cell *c, const char *came)
{
    AUTO_FREE char *is = source_of(nb, c);
    if (str_eq(is, came))
        return;
    c->kept->came = mem_strdup(came);
    c->kept->came_as = STEAL(is);
}

static int read_cell(notebook *nb, const cJSON *j, err *e)
{
    cell_kind kind = CELL_CODE;
    if (kind_of(j, &kind, e) < 0)
        return -1;
    cJSON *others = unknown_members(j, kind);
    char *source = nbformat_joined(json_get(j, "source"));
    if (!source && json_get(others, "cell_type"))
        source = mem_strdup("");
    if (!source) {
        cJSON_Delete(others);
        return err_set(e, ERR_INVALID, "source is neither a string nor a list of strings");
    }
    AUTO_FREE char *came = mem_strdup(source);
    cell *c = cell_new();
    cJSON *metadata = cJSON_IsObject(json_get(j, "metadata"))
                          ? cJSON_Duplicate(json_get(j, "metadata"), true)
                          : cJSON_CreateObject();
    char *title = mem_strdup(json_str(metadata, "title"));
    if (title)
        one_line(title);
    c->kept->spaced = json_get(metadata, "lines_to_next_cell");
    c->kept->blank = (int)json_int_or(metadata, "lines_to_next_cell", 1) & 3;
    cJSON_DeleteItemFromObjectCaseSensitive(metadata, "lines_to_next_cell");
    cJSON_DeleteItemFromObjectCaseSensitive(metadata, "title");
    if (kind == CELL_CODE)
        take_language(nb, &source, metadata);
    take_foreign(nb, c, metadata);
    cell_mark_json(c, kind, title, metadata);
    take_source(nb, c, source);
    if (is_lua_file(c)) {
        buf commented = {0};
        magics_comment(c->source, true, &commented);
        free(c->source);
        c->source = commented.data ? buf_take(&commented) : mem_strdup("");
    }
    keep_source(nb, c, came);
    c->kept->marked = true;
    c->kept->others = others;
    c->kept->attachments = cJSON_Duplicate(json_get(j, "attachments"), true);
    c->kept->outputs = cJSON_Duplicate(json_get(j, "outputs"), true);
    c->kept->execution_count = json_int_or(j, "execution_count", -1);
    const char *id = json_str(j, "id");
    size_t taken;
    if (!c->id && id && *id && !notebook_find(nb, id, &taken))
        c->id = mem_strdup(id);
    c->kept->unnamed = !c->id;
    notebook_add(nb, c);
    return 0;
}

// jupytext keeps other people's header lines in a first raw cell.
static char *take_front(notebook *nb)
{
    cell *c = nb->n ? nb->cells[0] : NULL;
    if (!c || c->kind != CELL_RAW || !str_starts(c->source, "---\n") ||
        !str_ends(c->source, "\n---"))
        return NULL;
    char *front = STEAL(c->source);
    cell_free(c);
    memmove(nb->cells, nb->cells + 1, --nb->n * sizeof *nb->cells);
    nb->moved = true;
    return front;
}

static bool has_non_ascii(const notebook *nb)
{
    for (size_t i = 0; i < nb->n; i++)
        for (const char *p = nb->cells[i]->source; *p; p++)
            if (*p & 0x80)
                return true;
    return false;
}

static int read_all(notebook *nb, const cJSON *j, err *e)
{
    int64_t format = json_int_or(j, "nbformat", 0);
    if (format == 2 || format == 3)
        return err_set(
            e, ERR_INVALID, "it has no list of worksheets (nbformat %lld)", (long long)format);
    if (cJSON_IsObject(j) && json_get(j, "nbformat") && format != 4)
        return err_set(e, ERR_INVALID,
            "its nbformat is %lld; 2, 3 and 4 are read (`jupyter nbconvert --to notebook` makes a "
            "4 "
            "of what your Jupyter reads)",
            (long long)format);
    if (!cJSON_IsArray(json_get(j, "cells")) || format != 4)
        return err_set(e, ERR_INVALID, "it has no list of cells with \"nbformat\": 4");
    const cJSON *item;
    int i = 0;
    cJSON_ArrayForEach(item, json_get(j, "cells"))
    {
        if (read_cell(nb, item, e) < 0)
            return err_wrap(e, "cell %d", i + 1);
        i++;
    }
    return 0;
}

notebook *notebook_parse_ipynb(const char *text, size_t n, err *e)
{
    AUTO_JSON *j = json_parse_python(text, n, e);
    if (!j)
        return NULL;
    notebook *nb = notebook_new();
    nb->format = (int)json_int_or(j, "nbformat", 4);
    if (notebook_is_old(nb) && cJSON_IsArray(json_get(j, "worksheets"))) {
        cJSON *old = j;
        j = ipynb_upgrade(old);
        cJSON_Delete(old);
    } else {
        nb->came = mem_strndup(text, n);
        nb->came_n = n;
    }
    const cJSON *metadata = json_get(j, "metadata");
    nb->metadata =
        cJSON_IsObject(metadata) ? cJSON_Duplicate(metadata, true) : cJSON_CreateObject();
    language_from_metadata(nb);
    if (!language_of_metadata(nb->metadata))
        language_guess(nb, j);
    if (read_all(nb, j, e) < 0) {
        notebook_free(nb);
        return NULL;
    }
    int64_t minor = json_int_or(j, "nbformat_minor", 5);
    nb->minor = minor >= 0 && minor < 1000 ? (int)minor : 5;
    nb->json = cJSON_IsTrue(json_path(nb->metadata, "jupytext.cell_metadata_json"));
    AUTO_FREE char *front = take_front(nb);
    buf header = {0};
    header_print(
        nb->metadata, front, !str_eq(nb->language, "python") && has_non_ascii(nb), &header);
    nb->header_n = header.len;
    nb->header = header.data ? buf_take(&header) : mem_strdup("");
    if (front)
        nb->unshown = STEAL(nb->metadata);
    if (nb->n && nb->cells[nb->n - 1]->kept->blank > 0)
        nb->cells[nb->n - 1]->kept->blank--; // its lines include the file's end
    return nb;
}

// Its keys are in order, as Jupyter writes them: jupytext takes the order of options from there.
static cJSON *cell_metadata(const notebook *nb, const cell *c, bool last)
{
    cJSON *metadata = cJSON_Duplicate(c->kept->metadata, true);
    for (const cJSON *item = c->kept->foreign ? c->kept->foreign->child : NULL; item;
         item = item->next)
        json_set(metadata, item->string, cJSON_Duplicate(item, true));
    json_set_str(metadata, "title", c->title);
    int blank = c->kept->blank + last;
    if (blank != 1)
        json_set_int(metadata, "lines_to_next_cell", blank);
    const char *language = json_str(metadata, "language");
    if (language && (jupyter_language(language) || str_eq(language, "lua"))) {
        cJSON_DeleteItemFromObjectCaseSensitive(metadata, "language");
        cJSON_DeleteItemFromObjectCaseSensitive(metadata, "magic_args");
    }
    json_sort_members(metadata);
    return metadata;
}

char *cell_jupyter_source(const notebook *nb, const cell *c)
{
    AUTO_FREE char *text = source_of(nb, c);
    bool same = c->kept->came && str_eq(text, c->kept->came_as);
    return same ? mem_strdup(c->kept->came) : STEAL(text);
}

static cJSON *cell_lines(const notebook *nb, const cell *c)
{
    AUTO_FREE char *text = cell_jupyter_source(nb, c);
    return nbformat_lines(text, strlen(text));
}

static bool valid_id(const char *id)
{
    size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return n > 0 && n <= 64 && id[n] == '\0';
}

static char *free_id(hashset *used, size_t number)
{
    char *id = str_fmt("cell-%zu", number);
    for (int n = 2; hashset_has(used, id); n++) {
        free(id);
        id = str_fmt("cell-%zu-%d", number, n);
    }
    hashset_add(used, id);
    return id;
}

// The ids that nbformat 4.5 wants: a cell's own, if it may be one and no cell before it has it.
// New; end with NULL.
static char **ids_of(const notebook *nb, bool front)
{
    char **ids = mem_array(nb->n + 1, sizeof *ids);
    hashset *used = hashset_new();
    if (front)
        hashset_add(used, FRONT_ID);
    for (size_t i = 0; i < nb->n; i++) {
        const char *own = nb->cells[i]->id;
        if (!valid_id(own) || hashset_has(used, own))
            continue;
        hashset_add(used, own);
        ids[i] = mem_strdup(own);
    }
    for (size_t i = 0; i < nb->n; i++)
        if (!ids[i])
            ids[i] = free_id(used, i + 1);
    hashset_free(used);
    return ids;
}

static cJSON *print_one(
    const notebook *nb, size_t i, const char *id, notebook_outputs_fn *outputs, void *arg)
{
    const cell *c = nb->cells[i];
    cJSON *j = cJSON_CreateObject();
    if (c->kept->attachments)
        json_set(j, "attachments", cJSON_Duplicate(c->kept->attachments, true));
    json_set_str(j, "cell_type", cell_kind_name(c->kind));
    long count = (long)c->kept->execution_count;
    cJSON *list = NULL;
    if (c->kind == CELL_CODE) {
        list = outputs ? outputs(arg, c, i, &count) : NULL;
        json_set(j, "execution_count", count >= 0 ? json_new_int(count) : cJSON_CreateNull());
    }
    json_set_str(j, "id", nb->minor < 5 ? NULL : id);
    json_set(j, "metadata", cell_metadata(nb, c, i + 1 == nb->n));
    if (c->kind == CELL_CODE) {
        if (!list)
            list = c->kept->outputs ? cJSON_Duplicate(c->kept->outputs, true) : cJSON_CreateArray();
        json_set(j, "outputs", list);
    }
    json_set(j, "source", cell_lines(nb, c));
    for (const cJSON *item = c->kept->others ? c->kept->others->child : NULL; item;
         item = item->next)
        json_set(j, item->string, cJSON_Duplicate(item, true));
    return j;
}

static cJSON *front_cell(const notebook *nb, const char *front)
{
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "cell_type", "raw");
    json_set_str(j, "id", nb->minor < 5 ? NULL : FRONT_ID);
    json_object_at(j, "metadata");
    json_set(j, "source", nbformat_lines(front, strlen(front)));
    return j;
}

// If the file has no header, jupytext drops cell metadata unless it is listed here.
static void name_cell_metadata(const notebook *nb, cJSON *metadata)
{
    cJSON *jupytext = json_object_at(metadata, "jupytext");
    if (!str_eq(json_str(jupytext, "notebook_metadata_filter"), "-all"))
        return;
    AUTO_BUF keys = {0};
    AUTO_JSON *seen = cJSON_CreateObject();
    for (size_t i = 0; i < nb->n; i++) {
        AUTO_JSON *all = cell_metadata(nb, nb->cells[i], i + 1 == nb->n);
        for (const cJSON *item = all->child; item; item = item->next) {
            if (json_get(seen, item->string) || str_eq(item->string, "lines_to_next_cell"))
                continue;
            json_set_bool(seen, item->string, true);
            buf_fmt(&keys, "%s,", item->string);
        }
    }
    buf_str(&keys, "-all");
    json_set_str(jupytext, "cell_metadata_filter", buf_cstr(&keys));
}

cJSON *notebook_to_ipynb(const notebook *nb, notebook_outputs_fn *outputs, void *arg)
{
    cJSON *j = cJSON_CreateObject();
    AUTO_FREE char *front = NULL;
    cJSON *metadata = header_metadata(nb, &front);
    cJSON *cells = json_array_at(j, "cells");
    if (front)
        cJSON_AddItemToArray(cells, front_cell(nb, front));
    char **ids = ids_of(nb, front != NULL);
    for (size_t i = 0; i < nb->n; i++)
        cJSON_AddItemToArray(cells, print_one(nb, i, ids[i], outputs, arg));
    strv_free(ids);
    name_cell_metadata(nb, metadata);
    cJSON *jupytext = json_object_at(metadata, "jupytext");
    if (nb->json)
        json_set_bool(jupytext, "cell_metadata_json", true);
    cJSON_DeleteItemFromObjectCaseSensitive(jupytext, "text_representation");
    if (!jupytext->child)
        cJSON_DeleteItemFromObjectCaseSensitive(metadata, "jupytext");
    json_set(j, "metadata", metadata);
    json_set_int(j, "nbformat", 4);
    json_set_int(j, "nbformat_minor", nb->minor);
    return j;
}

const cJSON *notebook_outputs(const notebook *nb, size_t i, long *count)
{
    *count = (long)nb->cells[i]->kept->execution_count;
    return nb->cells[i]->kept->outputs;
}

void notebook_set_outputs(notebook *nb, const char *id, cJSON *outputs, long count)
{
    size_t i;
    cell *c = notebook_find(nb, id, &i) ? nb->cells[i] : notebook_gone(nb, id);
    cJSON_Delete(c->kept->outputs);
    c->kept->outputs = outputs;
    c->kept->execution_count = count;
}

void notebook_forget_outputs(notebook *nb, const char *id)
{
    size_t i;
    if (!notebook_find(nb, id, &i))
        return;
    cJSON_Delete(STEAL(nb->cells[i]->kept->outputs));
    nb->cells[i]->kept->execution_count = -1;
}
