// SPDX-License-Identifier: MIT
#include "script/api/trainer/printed.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/api/trainer/plain.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_SIZE = 128, METRICS_MAX = 200 };

// What a line tells: where, of how many, and the metrics there.
struct told {
    bool has_epoch, has_step;
    double epoch, step;
    int64_t epochs, steps;
    cJSON *metrics; // NULL: none yet
};

void printed_done(struct printed *p)
{
    cJSON_Delete(STEAL(p->table));
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcasecmp(name, *names) == 0)
            return true;
    return false;
}

// Times and numbers of processes stand beside metrics in logs; v_num is Lightning's version.
static bool is_no_metric(const char *name)
{
    static const char *const names[] = {"time", "timestamp", "ts", "asctime", "pid", "rank",
        "local_rank", "node_rank", "world_size", "v_num", "epochs", "steps", "max_epochs",
        "max_steps", "total_steps", "num_epochs", NULL};
    return is_one_of(name, names);
}

static void note(struct told *t, const char *name, double value)
{
    static const char *const epochs[] = {"epoch", NULL};
    static const char *const steps[] = {"step", "global_step", "iter", "iteration", "batch", NULL};
    if (is_one_of(name, epochs)) {
        t->has_epoch = true;
        t->epoch = value;
    } else if (is_one_of(name, steps)) {
        t->has_step = true;
        t->step = value;
    } else if (!is_no_metric(name) && cJSON_GetArraySize(t->metrics) < METRICS_MAX) {
        if (!t->metrics)
            t->metrics = cJSON_CreateObject();
        json_set(t->metrics, name,
            isnan(value)   ? cJSON_CreateString("nan")
            : isinf(value) ? cJSON_CreateString(value > 0 ? "inf" : "-inf")
                           : cJSON_CreateNumber(value));
    }
}

// A number that ends at a blank, a comma, a bracket or the line's end; "/10" may follow it.
static bool read_number(const char **at, double *value, int64_t *of)
{
    char *end;
    const char *from = *at;
    *of = 0;
    if (!isdigit((unsigned char)*from) && !strchr("+-.niNI", *from))
        return false;
    *value = strtod(from, &end);
    if (end == from || (end > from + 1 && (from[1] == 'x' || from[1] == 'X')))
        return false;
    if (*end == '/' && isdigit((unsigned char)end[1]))
        *of = strtoll(end + 1, &end, 10);
    if (*end == '%')
        end++;
    if (*end && !strchr(" ,;\t|)]}", *end))
        return false;
    *at = end;
    return true;
}

static bool is_name_s(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '@';
}

// NAME=NUMBER at this place; moves behind it.
static bool read_pair(struct told *t, const char **at)
{
    char name[NAME_SIZE];
    const char *from = *at, *end = from;
    double value;
    int64_t of;
    while (is_name_s(*end))
        end++;
    if (end == from || *end != '=' || (size_t)(end - from) >= sizeof name ||
        !(isalpha((unsigned char)*from) || *from == '_'))
        return false;
    memcpy(name, from, (size_t)(end - from));
    name[end - from] = '\0';
    end++;
    if (!read_number(&end, &value, &of))
        return false;
    note(t, name, value);
    if (strcasecmp(name, "epoch") == 0)
        t->epochs = of;
    else if (t->has_step && of)
        t->steps = of;
    *at = end;
    return true;
}

// All of NAME=NUMBER in a line. Returns whether there is nothing else in it.
static bool read_pairs(struct told *t, const char *at)
{
    bool alone = true;
    while (*at) {
        at += strspn(at, " \t,;|");
        if (!*at || read_pair(t, &at))
            continue;
        alone = false;
        at += strcspn(at, " \t,;|:"); // a logger's prefix may end in a colon
        at += *at == ':';
    }
    return alone;
}

// As Python prints a dict: 'loss': 0.5
static void as_json(const char *from, buf *out)
{
    for (; *from; from++)
        buf_char(out, *from == '\'' ? '"' : *from);
}

static bool read_object(struct told *t, const char *at)
{
    AUTO_BUF text = {0};
    bool numbers = true;
    AUTO_JSON *object = *at == '{' ? json_parse(at, strlen(at), NULL) : NULL;
    if (!object && *at == '{' && !strchr(at, '"')) {
        as_json(at, &text);
        object = json_parse(buf_cstr(&text), text.len, NULL);
    }
    const cJSON *m;
    cJSON_ArrayForEach(m, object)
    {
        double value;
        if (json_number(m, &value))
            note(t, m->string, value);
        else
            numbers = false;
    }
    return object && numbers;
}

// "Epoch 3", "epoch: 3/5" before tqdm's bar.
static void read_title(struct told *t, const char *text, size_t n)
{
    AUTO_FREE char *title = mem_strndup(text, n);
    const char *at = title;
    int64_t of;
    if (strncasecmp(at, "epoch", strlen("epoch")) != 0)
        return;
    at += strlen("epoch");
    at += strspn(at, " :[");
    if (!isdigit((unsigned char)*at) || !read_number(&at, &t->epoch, &of))
        return;
    t->has_epoch = true;
    t->epochs = of;
}

// tqdm's bar. Without a total ("7it [00:00, 121it/s]") it tells nothing, and passes.
static bool read_bar(struct told *t, const char *text)
{
    const char *bar = strstr(text, "%|"), *open = strstr(text, " ["), *last = strstr(text, "]");
    if (!open || !last || !(strstr(open, "it/s") || strstr(open, "s/it")))
        return false;
    if (!bar)
        return strstr(text, "it [") || strstr(text, "/? [");
    const char *from = bar;
    while (from > text && isdigit((unsigned char)from[-1]))
        from--;
    while (from > text && strchr(" :", from[-1]))
        from--;
    read_title(t, text, (size_t)(from - text));
    const char *counts = strstr(bar + 2, "| ");
    int64_t step, steps;
    if (!counts)
        return false;
    counts += 2 + strspn(counts + 2, " ");
    if (!plain_pair(&counts, &step, &steps) || *counts != ' ')
        return false;
    t->has_step = true;
    t->step = (double)step;
    t->steps = steps;
    struct told more = {.metrics = STEAL(t->metrics)};
    AUTO_FREE char *inside = mem_strndup(counts + 2, strcspn(counts + 2, "]"));
    for (char *part = inside, *end; part; part = end ? end + 2 : NULL) {
        const char *at = part;
        if ((end = strstr(part, ", ")))
            *end = '\0';
        read_pair(&more, &at);
    }
    t->metrics = more.metrics;
    return true;
}

// ---- Lightning's table

static const char *without_lines(const char *at)
{
    static const char *const lines[] = {"\xe2\x94\x82", "\xe2\x94\x83"}; // │ ┃
    for (;;) {
        at += strspn(at, " ");
        if (!str_starts(at, lines[0]) && !str_starts(at, lines[1]))
            return at;
        at += strlen(lines[0]);
    }
}

static bool is_rule(const char *at)
{
    return str_starts(at, "\xe2\x94"); // ─ ━ └ ┡ and the like
}

// NAME NUMBER; a row of more loaders has more numbers, and the first one counts.
static bool read_row(cJSON *table, const char *at)
{
    struct told t = {0};
    double value;
    int64_t of;
    AUTO_FREE char *name = mem_strndup(at, strcspn(at, " "));
    at = without_lines(at + strlen(name));
    if (!*name || !read_number(&at, &value, &of))
        return false;
    note(&t, name, value);
    cJSON *m = t.metrics ? cJSON_DetachItemViaPointer(t.metrics, t.metrics->child) : NULL;
    cJSON_Delete(t.metrics);
    if (m)
        cJSON_AddItemToArray(table, m);
    return true;
}

static cJSON *evaluation(cJSON *metrics)
{
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "event", "evaluate");
    json_set(event, "metrics", metrics);
    return event;
}

static cJSON *read_table(struct printed *p, const char *line)
{
    const char *at = without_lines(line);
    if (str_starts(at, "Test metric ") || str_starts(at, "Validate metric ")) {
        cJSON_Delete(p->table);
        p->table = cJSON_CreateObject();
        return NULL;
    }
    if (!p->table || (is_rule(at) && !p->table->child) || read_row(p->table, at))
        return NULL;
    cJSON *rows = STEAL(p->table);
    if (rows->child)
        return evaluation(rows);
    cJSON_Delete(rows);
    return NULL;
}

// ---- events

// A fraction of an epoch belongs to the epoch that it is in.
static int64_t whole(double place)
{
    return place >= 0 && place < 1e15 ? (int64_t)ceil(place) : 0;
}

static cJSON *event_of(const struct told *t, const char *kind)
{
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "event", kind);
    if (t->has_epoch)
        json_set_int(event, "epoch", whole(t->epoch));
    if (t->epochs)
        json_set_int(event, "epochs", t->epochs);
    if (t->has_step && t->has_epoch)
        json_set_int(event, "step", whole(t->step));
    if (t->steps)
        json_set_int(event, "steps", t->steps);
    return event;
}

// The point of an epoch, or of a step where no epochs are told; it may be told again, with more.
// open: the epoch goes on.
static cJSON *point(struct printed *p, struct told *t, bool open)
{
    bool by_step = !t->has_epoch;
    cJSON *event = event_of(t, "epoch");
    json_set_int(event, "epoch", whole(by_step ? t->step : t->epoch));
    if (by_step)
        json_set_str(event, "label", "step");
    if (open)
        json_set_bool(event, "open", true);
    json_set_bool(event, "again", true);
    json_set(event, "metrics", STEAL(t->metrics));
    p->told = true;
    return event;
}

static cJSON *of_bar(struct printed *p, struct told *t)
{
    if (!t->has_step) // a bar without a total
        return NULL;
    bool ended = t->steps && t->step >= (double)t->steps;
    if (ended && t->has_epoch && t->metrics)
        return point(p, t, false);
    if (!t->has_epoch && p->told) // of a validation, beside the epochs
        return NULL;
    cJSON *event = event_of(t, "progress");
    json_set_int(event, "step", whole(t->step));
    json_set(event, "metrics", STEAL(t->metrics));
    return event;
}

static cJSON *of_metrics(struct printed *p, struct told *t, bool alone)
{
    if (!t->metrics)
        return NULL;
    if (t->has_epoch || t->has_step)
        return point(p, t, t->has_step && t->has_epoch);
    return alone ? evaluation(STEAL(t->metrics)) : NULL;
}

cJSON *printed_line(struct printed *p, const char *line, size_t n, bool *passing)
{
    AUTO_BUF text = {0};
    struct told t = {0};
    *passing = false;
    const char *at = plain_line(line, n, &text);
    if (!at || !*at)
        return NULL;
    cJSON *event = read_table(p, at);
    if (event || p->table)
        return event;
    if (read_bar(&t, at)) {
        *passing = true;
        event = of_bar(p, &t);
    } else if (*at == '{') {
        bool numbers = read_object(&t, at);
        event = of_metrics(p, &t, numbers);
    } else {
        bool alone = read_pairs(&t, at);
        event = of_metrics(p, &t, alone);
    }
    cJSON_Delete(t.metrics);
    return event;
}
