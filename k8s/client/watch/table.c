// SPDX-License-Identifier: MIT
#include "k8s/client/watch/table.h"

#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/events.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/sick.h"
#include "k8s/client/state/state.h"
#include "k8s/client/watch/usage.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static void add_column(cJSON *columns, const char *name, bool wide)
{
    AUTO_FREE char *upper = mem_strdup(name);
    for (char *c = upper; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    if (!wide) {
        cJSON_AddItemToArray(columns, cJSON_CreateString(upper));
        return;
    }
    cJSON *column = cJSON_CreateObject();
    json_set_str(column, "name", upper);
    json_set_bool(column, "wide", true);
    cJSON_AddItemToArray(columns, column);
}

static void add(cJSON *row, cJSON *entry)
{
    cJSON_AddItemToArray((cJSON *)json_get(row, "cells"), entry);
}

static void add_text(cJSON *row, const char *text)
{
    // An entry is one line; what follows it is not for a table.
    AUTO_FREE char *line = mem_strndup(text, strcspn(text, "\r\n"));
    add(row, cJSON_CreateString(line));
}

static void add_age(cJSON *row, const char *before, const char *since, const char *after)
{
    int64_t at;
    if (since && clock_parse_rfc3339(since, &at, NULL) == 0)
        add(row, tabletext_age(before, since, after));
    else
        add_text(row, "<unknown>");
}

static cJSON *row_as(const cJSON *object, enum sickness sick)
{
    static const char *const words[] = {"uid", "name", "namespace"};
    cJSON *row = cJSON_CreateObject();
    const cJSON *m = json_get(object, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (json_str(m, words[i]))
            cJSON_AddItemToObjectCS(row, words[i], cJSON_CreateString(json_str(m, words[i])));
    if (sick)
        cJSON_AddItemToObjectCS(row, "sick", json_new_int(sick));
    cJSON_AddItemToObjectCS(row, "cells", cJSON_CreateArray());
    return row;
}

static cJSON *new_row(const cJSON *object, int64_t now)
{
    return row_as(object, object_sick(object, now, NULL));
}

static const char *born(const cJSON *object)
{
    return json_path_str(object, "metadata.creationTimestamp");
}

// What a kind's table says beside its rows: which columns stay when there is little room, which
// entries are counted in its summary, how its rows are ordered.
static void set_looks(cJSON *table, const char *kind)
{
    static const char *const keep[] = {"NAME", "STATUS", "REASON", "MESSAGE"};
    const cJSON *column;
    cJSON_ArrayForEach(column, json_get(table, "columns"))
    {
        const char *name = tabletext_column(column);
        for (size_t i = 0; i < ARRAY_LEN(keep) && !tabletext_is_wide(column); i++)
            if (str_eq(name, keep[i]))
                cJSON_AddItemToArray(json_array_at(table, "keep"), cJSON_CreateString(name));
        if (str_eq(name, "STATUS") || (str_eq(kind, "Event") && str_eq(name, "REASON")))
            json_set_str(table, "count", name);
        if (str_eq(kind, "Event") && str_eq(name, "LAST SEEN"))
            json_set_str(table, "order", name);
    }
}

// What the server prints.

static bool is_wide(const struct table_form *f, const cJSON *definition)
{
    return !f->wide && json_int_or(definition, "priority", 0) > 0;
}

// A column of our own among the server's: what is wrong with a pod, before what is shown only where
// there is room.
static bool has_why(const struct table_form *f)
{
    return str_eq(f->kind, "Pod") && !f->bare;
}

// What it uses stands before what is wrong with it.
static const char *used_kind(const struct table_form *f)
{
    return f->usage && f->definitions ? f->kind : "";
}

static void add_used(cJSON *row, const char *kind)
{
    for (size_t i = usage_columns(kind); i > 0; i--)
        add_text(row, "");
}

static const cJSON *first_wide(const struct table_form *f)
{
    const cJSON *d = f->definitions ? f->definitions->child : NULL;
    while (d && json_int_or(d, "priority", 0) == 0)
        d = d->next;
    return d;
}

// ---- columns of the kind's row (kinds/known.h): in the place of the server's of that name, or
// after

static const char *kind_columns(const struct table_form *f)
{
    const struct known *row =
        f->group && f->definitions && !f->bare ? known_find(f->group, f->kind) : NULL;
    return row ? row->columns : NULL;
}

bool table_has_own(const char *group, const char *kind)
{
    const struct known *row = known_find(group, kind);
    return row && row->columns;
}

// The next "NAME=PATH": both are new. Returns false after the last.
static bool next_column(const char **at, char **name, char **path)
{
    const char *part;
    size_t n = known_part(at, &part), before = n ? strcspn(part, "=") : 0;
    *name = *path = NULL;
    if (!n || before >= n)
        return false;
    *name = mem_strndup(part, before);
    *path = mem_strndup(part + before + 1, n - before - 1);
    return true;
}

static bool server_has(const struct table_form *f, const char *name)
{
    const cJSON *d;
    cJSON_ArrayForEach(d, f->definitions)
    {
        if (strcasecmp(json_str_or(d, "name", ""), name) == 0)
            return true;
    }
    return false;
}

static char *column_value(const cJSON *object, const char *path)
{
    struct state s;
    if (str_eq(path, "@state")) {
        s = state_of(object);
        return mem_strdup(s.text);
    }
    const cJSON *value = json_path(object, path);
    return cJSON_IsString(value) ? mem_strdup(value->valuestring)
           : value               ? json_to_str(value)
                                 : mem_strdup("");
}

// The value of one of these columns (kind_columns); new, NULL: they do not have the column.
static char *kind_value(const char *columns, const char *column, const cJSON *object)
{
    const char *at = columns;
    for (char *name, *path; object && next_column(&at, &name, &path);) {
        char *value = strcasecmp(name, column) == 0 ? column_value(object, path) : NULL;
        free(name);
        free(path);
        if (value)
            return value;
    }
    return NULL;
}

// Those that the server does not have: their names into `columns`, or their values into `row`.
static void add_kind_columns(
    const struct table_form *f, cJSON *columns, cJSON *row, const cJSON *object)
{
    const char *at = kind_columns(f);
    for (char *name, *path; next_column(&at, &name, &path);) {
        AUTO_FREE char *value = row && object ? column_value(object, path) : NULL;
        if (!server_has(f, name) && columns)
            add_column(columns, name, false);
        else if (!server_has(f, name))
            add_text(row, value ? value : "");
        free(name);
        free(path);
    }
}

static void add_own_columns(const struct table_form *f, cJSON *columns)
{
    add_kind_columns(f, columns, NULL, NULL);
    usage_add_columns(columns, used_kind(f), f->usage_always);
    if (has_why(f))
        add_column(columns, "WHY", true);
}

cJSON *table_empty(const struct table_form *f)
{
    cJSON *table = cJSON_CreateObject(), *columns = json_array_at(table, "columns");
    const cJSON *d, *wide = first_wide(f);
    json_array_at(table, "rows");
    if (f->with_namespace)
        add_column(columns, "NAMESPACE", false);
    cJSON_ArrayForEach(d, f->definitions)
    {
        if (d == wide)
            add_own_columns(f, columns);
        add_column(columns, json_str_or(d, "name", ""), is_wide(f, d));
    }
    if (f->definitions && !wide)
        add_own_columns(f, columns);
    if (!f->definitions) {
        add_column(columns, "NAME", false);
        add_column(columns, "AGE", false);
    }
    set_looks(table, f->kind);
    return table;
}

// When something was, in the words of the server: "5m" before now. For want of the time itself.
static char *counted_back(const char *age, int64_t now)
{
    int64_t ns = 0;
    AUTO_BUF since = {0};
    for (const char *s = age; *s;) { // Go's durations have no days
        char *end;
        long n = strtol(s, &end, 10);
        int64_t unit = *end == 's'   ? 1
                       : *end == 'm' ? 60
                       : *end == 'h' ? 3600
                       : *end == 'd' ? 86400
                       : *end == 'y' ? 365 * 86400
                                     : 0;
        if (end == s || !isdigit((unsigned char)*s) || !unit || n > 1000000)
            return NULL;
        ns += n * unit * CLOCK_SEC;
        s = end + 1;
    }
    if (!*age || now < ns)
        return NULL;
    clock_rfc3339(&since, now - ns, CLOCK_SECONDS);
    return buf_take(&since);
}

// The time that a column of ages counts from, as the object has it; NULL: not known.
static char *time_of(const cJSON *definition, const char *kind, const cJSON *object)
{
    const char *name = json_str_or(definition, "name", "");
    if (str_eq(name, "Age"))
        return mem_strdup(born(object));
    if (str_eq(kind, "Event") && str_eq(name, "Last Seen"))
        return mem_strdup(event_stamp(object));
    if (str_eq(kind, "Job") && str_eq(name, "Duration"))
        return mem_strdup(json_path_str(object, "status.startTime"));
    if (!str_eq(kind, "Pod") || !str_eq(name, "Restarts"))
        return NULL;
    struct pod_row pod;
    pod_row(object, &pod);
    return mem_strdup(pod.restarted);
}

// Does a column hold ages: of what is there, or (a job's duration) of what is not over?
static bool is_age(const cJSON *definition, const char *kind, const cJSON *object)
{
    const char *name = json_str_or(definition, "name", "");
    if (str_eq(kind, "Job") && str_eq(name, "Duration"))
        return !json_path_str(object, "status.completionTime") &&
               state_of(object).outcome == OUTCOME_OPEN;
    return str_eq(name, "Age") || str_eq(json_str(definition, "type"), "date") ||
           (str_eq(kind, "Event") && (str_eq(name, "Last Seen") || str_eq(name, "First Seen")));
}

// "3 (5m ago)": what is before the age, the age, and what is after it.
static bool has_ago(const char *text, char **before, char **age)
{
    const char *open = strrchr(text, '('), *end = open ? strstr(open, " ago)") : NULL;
    if (!end || end[5])
        return false;
    *before = mem_strndup(text, (size_t)(open + 1 - text));
    *age = mem_strndup(open + 1, (size_t)(end - open - 1));
    return true;
}

static cJSON *age_entry(
    const cJSON *definition, const char *kind, const cJSON *object, const char *text, int64_t now)
{
    AUTO_FREE char *before = NULL;
    AUTO_FREE char *age = NULL;
    bool ago = has_ago(text, &before, &age);
    AUTO_FREE char *guess = NULL;
    if (!ago && !is_age(definition, kind, object))
        return NULL;
    AUTO_FREE char *since = time_of(definition, kind, object);
    int64_t ignored;
    guess = counted_back(ago ? age : text, now);
    if (!guess) // "<unknown>", "<invalid>": the server's own word
        return NULL;
    bool known = since && clock_parse_rfc3339(since, &ignored, NULL) == 0;
    return tabletext_age(before, known ? since : guess, ago ? " ago)" : NULL);
}

static void add_server_entry(cJSON *row, const struct table_form *f, const char *columns,
    const cJSON *definition, const cJSON *object, const cJSON *cell, int64_t now)
{
    AUTO_FREE char *own = kind_value(columns, json_str_or(definition, "name", ""), object);
    if (own) {
        add_text(row, own);
    } else if (cJSON_IsString(cell)) {
        cJSON *age = age_entry(definition, f->kind, object, cell->valuestring, now);
        if (age)
            add(row, age);
        else
            add_text(row, cell->valuestring);
    } else if (!cell || cJSON_IsNull(cell)) {
        add_text(row, "");
    } else {
        AUTO_FREE char *text = json_to_str(cell);
        add_text(row, text);
    }
}

static void add_why(cJSON *row, const cJSON *object, int64_t now)
{
    AUTO_BUF why = {0};
    if (object)
        object_sick(object, now, &why);
    add_text(row, buf_cstr(&why));
}

static void add_own(const struct table_form *f, cJSON *row, const cJSON *object, int64_t now)
{
    add_kind_columns(f, NULL, row, object);
    add_used(row, used_kind(f));
    if (f->usage)
        usage_take_room(row, f->kind, object);
    if (has_why(f))
        add_why(row, object, now);
}

// The server's word in a column; "": there is none.
static const char *cell_of(const struct table_form *f, const cJSON *cells, const char *name)
{
    const cJSON *d, *cell = cells ? cells->child : NULL;
    cJSON_ArrayForEach(d, f->definitions)
    {
        if (cell && str_eq(json_str(d, "name"), name))
            return cJSON_IsString(cell) ? cell->valuestring : "";
        cell = cell ? cell->next : NULL;
    }
    return "";
}

static enum sickness cells_sick(const struct table_form *f, const cJSON *cells)
{
    return words_sick(f->kind, cell_of(f, cells, "Ready"), cell_of(f, cells, "Status"));
}

bool table_wants_object(const struct table_form *f, const cJSON *cells, int64_t now)
{
    AUTO_FREE char *before = NULL;
    AUTO_FREE char *age = NULL;
    int64_t at;
    if (cells_sick(f, cells) != SICK_NOT || str_eq(cell_of(f, cells, "Status"), "Terminating"))
        return true; // of what ends, the word does not tell whether it is ready
    if (!has_ago(cell_of(f, cells, "Restarts"), &before, &age))
        return false;
    AUTO_FREE char *since = counted_back(age, now);
    return since && clock_parse_rfc3339(since, &at, NULL) == 0 && sick_recently(at, now);
}

// Only metadata: a list was read without its objects.
static bool is_bare(const struct table_form *f, const cJSON *object, const cJSON *cells)
{
    return cells && str_eq(f->kind, "Pod") && !json_get(object, "spec") &&
           !json_get(object, "status");
}

cJSON *table_row(const struct table_form *f, const cJSON *object, const cJSON *cells, int64_t now)
{
    const char *columns = kind_columns(f); // looked for once, not for each cell
    bool bare = is_bare(f, object, cells);
    cJSON *row = bare ? row_as(object, cells_sick(f, cells)) : new_row(object, now);
    const cJSON *d, *wide = first_wide(f), *cell = cells ? cells->child : NULL;
    if (f->with_namespace)
        add_text(row, json_str_or(row, "namespace", ""));
    cJSON_ArrayForEach(d, f->definitions)
    {
        if (d == wide)
            add_own(f, row, bare ? NULL : object, now);
        if (!cells && str_eq(json_str(d, "name"), "Name")) // of what a list has found missing
            add_text(row, json_str_or(row, "name", ""));
        else
            add_server_entry(row, f, columns, d, object, cell, now);
        cell = cell ? cell->next : NULL;
    }
    if (f->definitions && !wide)
        add_own(f, row, bare ? NULL : object, now);
    if (!f->definitions) {
        add_text(row, json_str_or(row, "name", ""));
        add_age(row, NULL, born(object), NULL);
    }
    return row;
}

cJSON *table_from_server(const cJSON *from, const char *group, const char *kind, bool wide,
    bool with_namespace, int64_t now)
{
    struct table_form f = {.definitions = json_get(from, "columnDefinitions"),
        .group = group,
        .kind = kind,
        .wide = wide,
        .with_namespace = with_namespace};
    cJSON *table = table_empty(&f);
    const cJSON *r;
    cJSON_ArrayForEach(r, json_get(from, "rows"))
    {
        cJSON_AddItemToArray(json_array_at(table, "rows"),
            table_row(&f, json_get(r, "object"), json_get(r, "cells"), now));
    }
    return table;
}

cJSON *table_from_list(const cJSON *list, bool with_namespace)
{
    struct table_form f = {.kind = "", .with_namespace = with_namespace};
    cJSON *table = table_empty(&f);
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(list, "items"))
    {
        cJSON_AddItemToArray(json_array_at(table, "rows"), table_row(&f, item, NULL, 0));
    }
    return table;
}

// A cell of the server's as an entry, in its place.
static void make_entry(cJSON *cells, cJSON *cell)
{
    AUTO_FREE char *text = NULL;
    if (cJSON_IsString(cell)) {
        cell->valuestring[strcspn(cell->valuestring, "\r\n")] = '\0';
        return;
    }
    text = cJSON_IsNull(cell) ? mem_strdup("") : json_to_str(cell);
    cJSON_ReplaceItemViaPointer(cells, cell, cJSON_CreateString(text));
}

static const char *word_of(const cJSON *cells, int column)
{
    const char *word = column < 0 ? NULL : cJSON_GetStringValue(cJSON_GetArrayItem(cells, column));
    return word ? word : "";
}

static int column_of(const cJSON *table, const char *name)
{
    int i = 0;
    const cJSON *column;
    cJSON_ArrayForEach(column, json_get(table, "columns"))
    {
        if (str_eq(tabletext_column(column), name))
            return i;
        i++;
    }
    return -1;
}

cJSON *table_of_cells(cJSON *list, const char *kind, bool wide, bool with_namespace)
{
    struct table_form f = {.definitions = json_get(list, "columnDefinitions"),
        .kind = kind,
        .wide = wide,
        .with_namespace = with_namespace,
        .bare = true};
    cJSON *table = table_empty(&f), *rows = json_array_at(table, "rows");
    cJSON *from = json_array_at(list, "rows");
    int name = column_of(table, "NAME"), ready = column_of(table, "READY"),
        status = column_of(table, "STATUS");
    for (cJSON *cells; (cells = from->child);) {
        cJSON *row = cJSON_CreateObject();
        cJSON_DetachItemViaPointer(from, cells);
        for (cJSON *cell = cells->child, *next; cell; cell = next) {
            next = cell->next;
            make_entry(cells, cell);
        }
        const char *own = word_of(cells, name), *ns = with_namespace ? word_of(cells, 0) : NULL;
        AUTO_FREE char *whole = ns ? str_fmt("%s/%s", ns, own) : NULL;
        cJSON_AddItemToObjectCS(row, "uid", cJSON_CreateString(whole ? whole : own));
        cJSON_AddItemToObjectCS(row, "name", cJSON_CreateString(own));
        if (ns)
            cJSON_AddItemToObjectCS(row, "namespace", cJSON_CreateString(ns));
        enum sickness sick = words_sick(kind, word_of(cells, ready), word_of(cells, status));
        if (sick)
            json_set_int(row, "sick", sick);
        cJSON_AddItemToObjectCS(row, "cells", cells);
        cJSON_AddItemToArray(rows, row);
    }
    return table;
}

// What we print ourselves.

cJSON *table_of_pods(bool used_always)
{
    static const struct {
        const char *name;
        bool wide;
    } columns[] = {{"NAME", false}, {"READY", false}, {"STATUS", false}, {"RESTARTS", false},
        {"AGE", false}, {"", true}, {"WHY", true}, {"IP", true}, {"NODE", true}};
    cJSON *table = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (*columns[i].name)
            add_column(json_array_at(table, "columns"), columns[i].name, columns[i].wide);
        else
            usage_add_columns(json_array_at(table, "columns"), "Pod", used_always);
    json_array_at(table, "rows");
    set_looks(table, "Pod");
    return table;
}

cJSON *table_pod_row(const cJSON *pod, int64_t now)
{
    struct pod_row text;
    pod_row(pod, &text);
    cJSON *row = new_row(pod, now);
    AUTO_FREE char *restarts = str_fmt(text.restarted ? "%d (" : "%d", text.restarts);
    add_text(row, json_str_or(row, "name", ""));
    add_text(row, text.ready);
    add_text(row, text.status);
    if (text.restarts && text.restarted)
        add_age(row, restarts, text.restarted, " ago)");
    else
        add_text(row, restarts);
    add_age(row, NULL, born(pod), NULL);
    add_used(row, "Pod");
    usage_take_room(row, "Pod", pod);
    add_why(row, pod, now);
    add_text(row, json_str_or(json_get(pod, "status"), "podIP", ""));
    add_text(row, json_str_or(json_get(pod, "spec"), "nodeName", ""));
    return row;
}

cJSON *table_pods_row(const cJSON *object, const char *name, const char *state)
{
    cJSON *row = new_row(object, 0);
    add_text(row, name);
    add_text(row, "");
    add_text(row, *state ? state : "-");
    add_text(row, "");
    add_age(row, NULL, born(object), NULL);
    return row;
}

cJSON *table_of_events(const cJSON *events)
{
    static const char *const columns[] = {"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"};
    cJSON *table = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        add_column(json_array_at(table, "columns"), columns[i], false);
    json_array_at(table, "rows");
    set_looks(table, "");
    const cJSON *event;
    cJSON_ArrayForEach(event, events)
    {
        cJSON *row = new_row(event, 0);
        AUTO_BUF object = {0};
        const cJSON *about = json_get(event, "involvedObject");
        AUTO_FREE char *kind = mem_strdup(json_str_or(about, "kind", ""));
        for (char *c = kind; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        buf_fmt(&object, "%s/%s", kind, json_str_or(about, "name", ""));
        add_age(row, NULL, event_stamp(event), NULL);
        add_text(row, json_str_or(event, "type", ""));
        add_text(row, json_str_or(event, "reason", ""));
        add_text(row, buf_cstr(&object));
        add_text(row, json_str_or(event, "message", ""));
        cJSON_AddItemToArray(json_array_at(table, "rows"), row);
    }
    return table;
}
