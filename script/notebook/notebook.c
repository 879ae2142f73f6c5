// SPDX-License-Identifier: MIT
#include "script/notebook/notebook.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/notebook/private.h"

#include <string.h>

static const char *const kind_names[] = {
#define X(name, text) text,
    CELL_KINDS(X)
#undef X
};

const char *cell_kind_name(cell_kind kind)
{
    return kind_names[kind];
}

void cell_digest(const char *source, size_t n, char hex[SHA256_HEX])
{
    while (n && source[n - 1] == '\n')
        n--;
    sha256_hex(source, n, hex);
}

bool cell_has_tag(const cell *c, const char *tag)
{
    for (char **t = c->options.tags; t && *t; t++)
        if (str_eq(*t, tag))
            return true;
    return false;
}

bool cell_is_commented(const cell *c)
{
    return c->kind != CELL_CODE || c->options.language;
}

cell *cell_new(void)
{
    cell *c = mem_alloc(sizeof *c);
    c->kept = mem_alloc(sizeof *c->kept);
    c->kept->metadata = cJSON_CreateObject();
    c->kept->execution_count = -1;
    c->marker = mem_strdup("");
    c->source = mem_strdup("");
    return c;
}

static void unmark(cell *c)
{
    options_done(&c->options);
    free(STEAL(c->problem));
    free(STEAL(c->title));
    free(STEAL(c->marker));
    cJSON_Delete(STEAL(c->kept->metadata));
}

void cell_free(cell *c)
{
    if (!c)
        return;
    unmark(c);
    free(c->id);
    free(c->source);
    free(c->kept->text);
    free(c->kept->came);
    free(c->kept->came_as);
    free(c->kept->script);
    cJSON_Delete(c->kept->attachments);
    cJSON_Delete(c->kept->outputs);
    cJSON_Delete(c->kept->foreign);
    cJSON_Delete(c->kept->others);
    free(c->kept);
    free(c);
}

// Takes the id from the options. If the marker has lost its id, the cell keeps it, but does not
// write it.
static void take_id(cell *c)
{
    const char *id = json_str(c->kept->metadata, "id");
    c->id_kept = id && *id;
    if (!c->id_kept)
        return;
    free(c->id);
    c->id = mem_strdup(id);
}

void cell_mark(cell *c, const char *marker)
{
    unmark(c);
    c->marker = mem_strdup(marker);
    c->kept->metadata = marker_parse(marker, &c->kind, &c->title, &c->problem);
    options_read(c);
    take_id(c);
}

void cell_mark_json(cell *c, cell_kind kind, char *title, cJSON *metadata)
{
    unmark(c);
    c->kind = kind;
    c->title = title;
    c->kept->metadata = metadata;
    options_read(c);
    take_id(c);
    buf marker = {0};
    marker_print(c, false, &marker);
    c->marker = marker.data ? buf_take(&marker) : mem_strdup("");
}

notebook *notebook_new(void)
{
    notebook *nb = mem_alloc(sizeof *nb);
    nb->by_id = hashmap_new();
    nb->twins = hashmap_new();
    nb->minor = 5;
    return nb;
}

void notebook_free(notebook *nb)
{
    if (!nb)
        return;
    for (size_t i = 0; i < nb->n; i++)
        cell_free(nb->cells[i]);
    for (size_t i = 0; i < ARRAY_LEN(nb->gone); i++)
        cell_free(nb->gone[i]);
    free(nb->cells);
    hashmap_free(nb->by_id);
    hashmap_free(nb->twins);
    free(nb->header);
    free(nb->numbers);
    free(nb->came);
    free(nb->script_header);
    free(nb->script_header_as);
    free(nb->kernel);
    free(nb->language);
    cJSON_Delete(nb->metadata);
    cJSON_Delete(nb->unshown);
    free(nb);
}

size_t notebook_count(const notebook *nb)
{
    return nb->n;
}

const cell *notebook_cell(const notebook *nb, size_t i)
{
    return nb->cells[i];
}

static void index_cell(const notebook *nb, size_t i)
{
    size_t first;
    const char *id = nb->cells[i]->id;
    if (!hashmap_get(nb->by_id, id, strlen(id), &first))
        hashmap_set(nb->by_id, id, strlen(id), i);
}

static void index_cells(notebook *nb)
{
    nb->moved = false;
    nb->numbered = nb->code_n = 0;
    hashmap_clear(nb->by_id);
    for (size_t i = 0; i < nb->n; i++)
        index_cell(nb, i);
}

bool notebook_find(const notebook *nb, const char *id, size_t *at)
{
    if (nb->moved)
        index_cells((notebook *)nb); // only the hidden index changes
    return id && hashmap_get(nb->by_id, id, strlen(id), at);
}

bool notebook_counts(const notebook *nb, size_t i)
{
    return nb->cells[i]->kind == CELL_CODE && !cell_has_tag(nb->cells[i], "injected-parameters");
}

size_t notebook_code_number(const notebook *nb, size_t i, size_t *total)
{
    notebook *own = (notebook *)nb; // a caller sees no change
    if (nb->moved)
        index_cells(own);
    if (nb->numbered < nb->n)
        own->numbers = mem_resize(own->numbers, nb->n, sizeof *nb->numbers);
    for (; nb->numbered < nb->n; own->numbered++) {
        bool code = nb->cells[nb->numbered]->kind == CELL_CODE;
        own->code_n += code && (!own->code_n || notebook_counts(nb, nb->numbered));
        own->numbers[nb->numbered] = code ? own->code_n : 0;
    }
    if (total)
        *total = nb->code_n;
    return nb->numbers[i];
}

// Other cells have the number of the code before them.
static size_t number_for_people(const notebook *nb, size_t i)
{
    size_t number = notebook_code_number(nb, i, NULL);
    for (size_t k = i; !number && k-- > 0;)
        number = notebook_code_number(nb, k, NULL);
    return number;
}

// NULL: it has none.
static const char *title_of(const cell *c)
{
    return c->title && *c->title ? c->title : cell_has_tag(c, "parameters") ? "Parameters" : NULL;
}

// By the number of code; without a title, a text must not have the name of the code before it.
static void put_number(const notebook *nb, size_t i, buf *out)
{
    size_t number = number_for_people(nb, i);
    bool text = nb->cells[i]->kind != CELL_CODE && !title_of(nb->cells[i]);
    if (!number) // there is no code before it
        buf_str(out, "text before cell 1");
    else
        buf_fmt(out, "%scell %zu", text ? "text after " : "", number);
}

void notebook_cell_name(const notebook *nb, size_t i, buf *out)
{
    const char *title = title_of(nb->cells[i]);
    put_number(nb, i, out);
    if (title)
        buf_fmt(out, " (%s)", title);
}

char *notebook_cell_title(const notebook *nb, size_t i)
{
    const char *title = title_of(nb->cells[i]);
    AUTO_BUF number = {0};
    put_number(nb, i, &number);
    return title ? mem_strdup(title) : buf_take(&number);
}

// The same text gives the same ids in every process: the start of a hash of kind and source, and a
// number if several cells are equal.
static void hash_twin(const cell *c, size_t twin, char hex[SHA256_HEX])
{
    AUTO_BUF text = {0};
    buf_str(&text, cell_kind_name(c->kind));
    buf_char(&text, '\n');
    buf_int(&text, (int64_t)twin);
    buf_char(&text, '\n');
    buf_str(&text, c->source);
    sha256_hex(text.data, text.len, hex);
}

static void give_id(notebook *nb, cell *c)
{
    char first[SHA256_HEX], hex[SHA256_HEX];
    hash_twin(c, 0, first);
    size_t twin = 0, at;
    hashmap_get(nb->twins, first, SHA256_HEX, &twin);
    do {
        if (twin)
            hash_twin(c, twin, hex);
        else
            memcpy(hex, first, sizeof hex);
        twin++;
        hex[8] = '\0';
    } while (notebook_find(nb, hex, &at));
    hashmap_set(nb->twins, first, SHA256_HEX, twin);
    c->id = mem_strdup(hex);
}

static void put(notebook *nb, size_t at, cell *c)
{
    options_settle(c, nb->language);
    if (!c->id)
        give_id(nb, c);
    if ((nb->n & (nb->n - 1)) == 0) // full, or emptier than its room
        nb->cells = mem_resize(nb->cells, nb->n ? 2 * nb->n : 1, sizeof *nb->cells);
    memmove(nb->cells + at + 1, nb->cells + at, (nb->n - at) * sizeof *nb->cells);
    nb->cells[at] = c;
    nb->moved = nb->moved || at < nb->n;
    nb->n++;
    if (!nb->moved)
        index_cell(nb, at);
}

void notebook_add(notebook *nb, cell *c)
{
    put(nb, nb->n, c);
}

static bool is_ipynb(const char *path)
{
    return str_ends(path, ".ipynb");
}

// What is no notebook here, and is one for other programs.
static int refuse_others(const char *path, err *e)
{
    static const char *const ends[] = {
        ".md", ".markdown", ".Rmd", ".qmd", ".ml", ".wolfram", ".mac", ".sas", ".jenner", ".html"};
    for (size_t i = 0; path && i < ARRAY_LEN(ends); i++)
        if (str_ends(path, ends[i]))
            return err_set(e, ERR_INVALID,
                "a %s is not read; `jupytext --to ipynb` makes a notebook of those that jupytext "
                "knows",
                ends[i]);
    return 0;
}

static notebook *parse_as(const char *path, const char *text, size_t n, err *e)
{
    const struct dialect *d = dialect_of(path);
    if (refuse_others(path, e) < 0)
        return NULL;
    if (is_ipynb(path))
        return notebook_parse_ipynb(text, n, e);
    if (d && str_eq(d->end, ".py") && python_has_lua(text, n))
        return python_parse_lua(text, n, e);
    return d ? script_parse(d, text, n, e) : notebook_parse(text, n, e);
}

notebook *notebook_parse_as(const char *path, const char *text, size_t n, err *e)
{
    notebook *nb = parse_as(path, text, n, e);
    if (!nb)
        err_wrap(e, "%s is not a notebook", path);
    return nb;
}

notebook *notebook_load(const char *path, err *e)
{
    enum { LIMIT = 256 << 20 };
    AUTO_BUF text = {0};
    if (path_read(path, &text, LIMIT, e) < 0)
        return NULL;
    return notebook_parse_as(path, buf_cstr(&text), text.len, e);
}

notebook *notebook_blank(void)
{
    static const char fresh[] = "-- %%\n";
    return notebook_parse(fresh, sizeof fresh - 1, NULL);
}

notebook *notebook_open(const char *path, err *e)
{
    AUTO_FREE char *folder = path_dirname(path);
    bool may_begin = str_ends(path, ".lua") || is_ipynb(path);
    if (may_begin && !path_exists(path) && path_is_dir(folder))
        return notebook_blank();
    return notebook_load(path, e);
}

int notebook_save(const notebook *nb, const char *path, err *e)
{
    return notebook_save_with(nb, path, NULL, NULL, e);
}

// A file of a language takes no cells of another one, but a .py those of Lua, in comments.
static int print_script(const notebook *nb, const struct dialect *d, buf *out, err *e)
{
    bool python = str_eq(d->end, ".py");
    if (!nb->language && python)
        return python_print_lua(nb, out, e);
    if (!python && !language_is(nb->language, d->language))
        return err_set(e, ERR_USAGE, "a %s has cells in %s, and those of this notebook are in %s",
            d->end, d->language, nb->language ? nb->language : "Lua");
    script_print(nb, d, out);
    return 0;
}

int notebook_print_as(
    const notebook *nb, const char *path, notebook_outputs_fn *outputs, void *arg, buf *out, err *e)
{
    const struct dialect *d = dialect_of(path);
    if (d)
        return print_script(nb, d, out, e);
    if (is_ipynb(path)) {
        AUTO_JSON *j = notebook_to_ipynb(nb, outputs, arg);
        ipynb_print(nb, j, out);
    } else {
        notebook_print(nb, out);
    }
    return 0;
}

int notebook_save_with(
    const notebook *nb, const char *path, notebook_outputs_fn *outputs, void *arg, err *e)
{
    AUTO_BUF text = {0};
    if (notebook_print_as(nb, path, outputs, arg, &text, e) < 0)
        return -1;
    return path_update(path, buf_cstr(&text), text.len, 0644, e);
}

// Edits keep the bytes of all other cells, except for blank lines around the end of the file: a
// cell that was the last one gains a blank line, and a cell that becomes the last one loses its
// blank lines.

static void trim_bytes(char *text, size_t *n)
{
    while (text && *n >= 2 && text[*n - 1] == '\n') {
        size_t line = *n - 1;
        while (line > 0 && text[line - 1] == '\r')
            line--;
        if (line == 0 || text[line - 1] != '\n')
            break;
        *n = line;
    }
}

static void trim_end(cell *c)
{
    trim_bytes(c->kept->text, &c->kept->n);
    trim_bytes(c->kept->script, &c->kept->script_n);
    c->kept->blank = 0;
    c->kept->spaced = false;
}

static void grow_bytes(char **text, size_t *n, const char *newline)
{
    buf more = {0};
    if (!*text)
        return;
    buf_add(&more, *text, *n);
    if (!*n || (*text)[*n - 1] != '\n')
        buf_str(&more, newline);
    buf_str(&more, newline);
    *n = more.len;
    free(*text);
    *text = buf_take(&more);
}

static void grow_end(const notebook *nb, cell *c)
{
    struct cell_kept *k = c->kept;
    const char *newline = nb->crlf ? "\r\n" : "\n";
    if (k->blank == 0) {
        grow_bytes(&k->text, &k->n, newline);
        grow_bytes(&k->script, &k->script_n, newline);
        k->blank = 1;
    }
}

static cell *last_of(const notebook *nb)
{
    return nb->n ? nb->cells[nb->n - 1] : NULL;
}

// After a change of order: mends blank lines. `was` was the last cell before; NULL if it is gone.
static void settle(notebook *nb, cell *was)
{
    cell *last = last_of(nb);
    if (last == was)
        return;
    if (was)
        grow_end(nb, was);
    if (last)
        trim_end(last);
}

static void forget_text(cell *c)
{
    free(STEAL(c->kept->text));
    free(STEAL(c->kept->script));
    c->kept->n = c->kept->script_n = 0;
    c->kept->marked = true;
    c->kept->plain = false;
}

static void drop_id(cell *c)
{
    cJSON_DeleteItemFromObjectCaseSensitive(c->kept->metadata, "id");
    c->id_kept = false;
    free(STEAL(c->id));
    buf marker = {0};
    marker_print(c, false, &marker);
    free(c->marker);
    c->marker = marker.data ? buf_take(&marker) : mem_strdup("");
}

const cell *notebook_insert(notebook *nb, size_t at, const char *marker, const char *source)
{
    return notebook_insert_as(nb, at, NULL, marker, source);
}

static cell *find_gone(const notebook *nb, const char *id)
{
    for (size_t back = 1; back <= ARRAY_LEN(nb->gone) && back <= nb->n_gone; back++) {
        cell *gone = nb->gone[(nb->n_gone - back) % ARRAY_LEN(nb->gone)];
        if (str_eq(gone->id, id))
            return gone;
    }
    return NULL;
}

// Takes the cell.
static void put_gone(notebook *nb, cell *c)
{
    cell **place = &nb->gone[nb->n_gone++ % ARRAY_LEN(nb->gone)];
    cell_free(*place);
    *place = c;
}

cell *notebook_gone(notebook *nb, const char *id)
{
    cell *c = find_gone(nb, id);
    if (c)
        return c;
    c = cell_new();
    c->id = mem_strdup(id);
    put_gone(nb, c);
    return c;
}

// A cell that was deleted and comes back.
static void remember(const notebook *nb, cell *c)
{
    const cell *gone = find_gone(nb, c->id);
    if (gone)
        kept_adopt(c, gone);
}

// If the first cell has no marker line, it would be read as part of the new cell in front of it.
static void mark_others(notebook *nb)
{
    for (size_t i = 1; i < nb->n; i++)
        if (!nb->cells[i]->kept->marked)
            forget_text(nb->cells[i]);
}

const cell *notebook_insert_as(
    notebook *nb, size_t at, const char *id, const char *marker, const char *source)
{
    size_t taken;
    cell *c = cell_new(), *was = last_of(nb);
    free(c->source);
    c->source = mem_strdup(source);
    c->kept->marked = true;
    c->kept->blank = 1;
    cell_mark(c, marker);
    if (c->id && notebook_find(nb, c->id, &taken))
        drop_id(c);
    if (!c->id && id && !notebook_find(nb, id, &taken))
        c->id = mem_strdup(id);
    put(nb, at, c);
    mark_others(nb);
    remember(nb, c);
    settle(nb, was);
    return c;
}

const cell *notebook_replace(notebook *nb, size_t i, const char *source)
{
    cell *c = nb->cells[i];
    if (str_eq(c->source, source))
        return c;
    char *copy = mem_strdup(source); // source may be the cell's own
    free(c->source);
    c->source = copy;
    forget_text(c);
    return c;
}

const cell *notebook_set_marker(notebook *nb, size_t i, const char *marker)
{
    cell *c = nb->cells[i];
    if (str_eq(c->marker, marker))
        return c;
    AUTO_FREE char *copy = mem_strdup(marker);
    cell_mark(c, copy);
    options_settle(c, nb->language);
    forget_text(c);
    nb->moved = true; // its marker may have an id
    hashmap_clear(nb->twins);
    return c;
}

void notebook_move(notebook *nb, size_t from, size_t to)
{
    cell *c = nb->cells[from], *was = last_of(nb);
    if (from < to)
        memmove(nb->cells + from, nb->cells + from + 1, (to - from) * sizeof *nb->cells);
    else
        memmove(nb->cells + to + 1, nb->cells + to, (from - to) * sizeof *nb->cells);
    nb->cells[to] = c;
    nb->moved = true;
    mark_others(nb);
    settle(nb, was);
}

void notebook_delete(notebook *nb, size_t i)
{
    cell *was = last_of(nb);
    if (was == nb->cells[i])
        was = NULL;
    put_gone(nb, nb->cells[i]);
    nb->moved = true;
    hashmap_clear(nb->twins); // its id is free again
    nb->n--;
    memmove(nb->cells + i, nb->cells + i + 1, (nb->n - i) * sizeof *nb->cells);
    if (!was)
        settle(nb, NULL);
}

const cell *notebook_split(notebook *nb, size_t i, size_t offset)
{
    AUTO_FREE char *source = mem_strdup(nb->cells[i]->source);
    size_t n = strlen(source);
    const char *second = source + (offset < n ? offset : n);
    while (second > source && (*second & 0xc0) == 0x80) // do not split a character
        second--;
    size_t first = (size_t)(second - source);
    while (first > 0 && source[first - 1] == '\n')
        first--;
    AUTO_FREE char *head = mem_strndup(source, first);
    const char *kind = nb->cells[i]->kind == CELL_CODE  ? ""
                       : nb->cells[i]->kind == CELL_RAW ? "[raw]"
                                                        : "[markdown]";
    const cell *c = notebook_insert(nb, i + 1, kind, second);
    notebook_replace(nb, i, head);
    return c;
}

int notebook_set_ids(notebook *nb, const char *const *ids, size_t n, err *e)
{
    if (n != nb->n)
        return err_set(e, ERR_INVALID, "%zu ids for %zu cells", n, nb->n);
    size_t same = 0;
    while (same < n && str_eq(nb->cells[same]->id, ids[same]))
        same++;
    if (same == n)
        return 0;
    for (size_t i = 0; i < n; i++) {
        free(nb->cells[i]->id);
        nb->cells[i]->id = mem_strdup(ids[i]);
    }
    nb->moved = true;
    hashmap_clear(nb->twins);
    return 0;
}

notebook *notebook_copy(const notebook *from)
{
    AUTO_BUF text = {0};
    notebook_print(from, &text);
    notebook *nb = notebook_parse(buf_cstr(&text), text.len, NULL);
    AUTO_FREE const char **ids = mem_array(from->n + 1, sizeof *ids);
    for (size_t i = 0; i < from->n; i++)
        ids[i] = from->cells[i]->id;
    if (nb)
        notebook_set_ids(nb, ids, from->n, NULL); // the same text gives as many cells
    return nb;
}
