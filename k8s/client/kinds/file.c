// SPDX-License-Identifier: MIT
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/builtin.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// The person's rows. They are read by any thread, once they are there.
struct person {
    char **texts; // of its rows, which have those of the built-in rows, too
    size_t n_texts, n;
    struct known rows[];
};
static _Atomic(struct person *) person;

const struct known *known_at(size_t i)
{
    const struct person *p = atomic_load_explicit(&person, memory_order_acquire);
    size_t n = p ? p->n : 0;
    return i < n ? &p->rows[i] : i - n < known_builtin_count ? &known_builtin[i - n] : NULL;
}

// ---- what may stand in a field

static int check_path(const char *part, err *e)
{
    size_t n = strlen(part);
    bool wrong =
        !n || *part == '.' || part[n - 1] == '.' || strstr(part, "..") || strpbrk(part, " {}$\"'");
    return wrong ? err_set(e, ERR_INVALID,
                       "\"%s\" is no path: write names with dots between, as status.phase", part)
                 : 0;
}

// WORD, TYPE/REASON, !TYPE, PATH>0, and each with NAME= before it.
static int check_test(const char *part, err *e)
{
    const char *equals = strchr(part, '='), *test = equals ? equals + 1 : part;
    const char *more = strchr(test, '>');
    if (more && !str_eq(more, ">0"))
        return err_set(e, ERR_INVALID, "\"%s\": the only comparison is >0", part);
    if (more && !equals)
        return err_set(e, ERR_INVALID, "\"%s\" needs a name: write Running=%s", part, part);
    test += *test == '!';
    if (!*test || equals == part || strpbrk(test, " ={}"))
        return err_set(e, ERR_INVALID,
            "\"%s\" is no word: write WORD, TYPE/REASON, !TYPE or NAME=PATH>0", part);
    return 0;
}

static int check_labels(const char *part, err *e)
{
    const char *equals = strchr(part, '=');
    if (str_eq(part, "selector") || (equals && equals != part && equals[1]))
        return 0;
    return err_set(e, ERR_INVALID,
        "\"%s\" is no label with a value: write acme.io/job={metadata.name}, or selector", part);
}

static int check_resource(const char *part, err *e)
{
    if (strchr(part, '.') && strlen(part) == strspn(part, "abcdefghijklmnopqrstuvwxyz0123456789.-"))
        return 0;
    return err_set(e, ERR_INVALID,
        "\"%s\" is no resource with its group: write jobs.batch, as kubectl api-resources has them",
        part);
}

static int check_column(const char *part, err *e)
{
    const char *equals = strchr(part, '=');
    if (!equals || equals == part || !equals[1])
        return err_set(e, ERR_INVALID, "\"%s\" is no column: write EPOCH: status.epoch", part);
    return str_eq(equals + 1, "@state") ? 0 : check_path(equals + 1, e);
}

// ROLE=TEMPLATE*COUNT…
static int check_asked(const char *part, err *e)
{
    const char *equals = strchr(part, '=');
    return check_path(equals ? equals + 1 : part, e);
}

static int check_any(const char *part, err *e)
{
    return *part ? 0 : err_set(e, ERR_INVALID, "a word is empty");
}

static const struct field {
    const char *name;
    size_t offset;
    int (*check)(const char *part, err *e); // of each part; NULL: it is true or false
} fields[] = {
#define TEXT(name, check)                                                                          \
    {                                                                                              \
#name, offsetof(struct known, name), check                                                 \
    }
#define FLAG(name)                                                                                 \
    {                                                                                              \
#name, offsetof(struct known, name), NULL                                                  \
    }
    TEXT(words, check_path), TEXT(good, check_test), TEXT(bad, check_test), TEXT(again, check_test),
    TEXT(open, check_test), TEXT(way, check_any), TEXT(also, check_any), TEXT(message, check_path),
    TEXT(suspend, check_path), TEXT(pods, check_labels), TEXT(role, check_any),
    TEXT(main, check_labels), TEXT(main_pod, check_path), TEXT(makes, check_resource),
    TEXT(columns, check_column), TEXT(asks, check_asked), TEXT(operators, check_labels),
    FLAG(endless), FLAG(same_names)};

static const struct field *field_of(const char *name, err *e)
{
    const char *names[ARRAY_LEN(fields) + 1] = {0};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        names[i] = fields[i].name;
        if (str_eq(names[i], name))
            return &fields[i];
    }
    const char *near = str_nearest(name, names);
    AUTO_BUF all = {0};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        buf_fmt(&all, "%s%s", i ? ", " : "", names[i]);
    err_set(e, ERR_INVALID, "there is no field \"%s\"; %s%s", name,
        near ? "did you mean " : "there are ", near ? near : buf_cstr(&all));
    return NULL;
}

// ---- reading

struct reading {
    const char *text, *file;
    size_t n;
};

// Puts "FILE:LINE: " before the error.
static int at(const struct reading *r, const struct yaml_step *step, err *e)
{
    size_t line, column;
    if (yaml_place(r->text, r->n, step, &line, &column))
        return err_wrap(e, "%s:%zu", r->file, line);
    return err_wrap(e, "%s", r->file);
}

static int add_part(buf *list, const struct field *f, const char *part, err *e)
{
    if (f->check(part, e) != 0)
        return -1;
    buf_fmt(list, "%s%s", list->len ? ", " : "", part);
    return 0;
}

static int add_parts(buf *list, const struct field *f, const char *text, err *e)
{
    const char *part;
    for (size_t n; (n = known_part(&text, &part));) {
        AUTO_FREE char *one = mem_strndup(part, n);
        if (add_part(list, f, one, e) != 0)
            return -1;
    }
    return 0;
}

// A text with commas, a list of texts, or a mapping NAME: TEXT.
static int read_list(const struct field *f, const cJSON *value, buf *list, err *e)
{
    const cJSON *item;
    if (cJSON_IsString(value))
        return add_parts(list, f, value->valuestring, e);
    if (!cJSON_IsArray(value) && !cJSON_IsObject(value))
        return err_set(e, ERR_INVALID, "%s is a text or a list of texts", f->name);
    cJSON_ArrayForEach(item, value)
    {
        if (!cJSON_IsString(item))
            return err_set(e, ERR_INVALID, "what is in %s has to be texts", f->name);
        AUTO_FREE char *part = cJSON_IsObject(value)
                                   ? str_fmt("%s=%s", item->string, item->valuestring)
                                   : mem_strdup(item->valuestring);
        if (add_part(list, f, part, e) != 0)
            return -1;
    }
    return 0;
}

static const char *keep(struct person *p, char *text)
{
    p->texts = mem_resize(p->texts, p->n_texts + 1, sizeof *p->texts);
    return p->texts[p->n_texts++] = text;
}

static void free_person(struct person *p)
{
    for (size_t i = 0; p && i < p->n_texts; i++)
        free(p->texts[i]);
    if (p)
        free(p->texts);
    free(p);
}

static int read_field(struct person *p, struct known *row, const cJSON *value, err *e)
{
    const struct field *f = field_of(value->string, e);
    if (!f)
        return -1;
    char *place = (char *)row + f->offset;
    if (!f->check) {
        if (!cJSON_IsBool(value))
            return err_set(e, ERR_INVALID, "%s is true or false", f->name);
        *(bool *)place = cJSON_IsTrue(value);
        return 0;
    }
    AUTO_BUF list = {0};
    if (read_list(f, value, &list, e) != 0)
        return -1;
    *(const char **)place = list.len ? keep(p, buf_take(&list)) : NULL;
    return 0;
}

static int read_kind(const struct reading *r, const struct yaml_step *up, const cJSON *value,
    struct person *p, struct known *row, err *e)
{
    struct yaml_step step = {.up = up, .value = value};
    const char *name = value->string, *dot = strchr(name, '.');
    if (!isupper((unsigned char)*name)) {
        err_set(e, ERR_INVALID,
            "\"%s\" is no kind: write KIND.GROUP, as TrainJob.trainer.kubeflow.org", name);
        return at(r, &step, e);
    }
    AUTO_FREE char *kind = mem_strndup(name, dot ? (size_t)(dot - name) : strlen(name));
    const char *group = dot ? dot + 1 : "";
    const struct known *known = known_find(group, kind);
    *row = known ? *known : (struct known){0};
    row->kind = keep(p, STEAL(kind));
    row->group = keep(p, mem_strdup(group));
    if (!cJSON_IsObject(value) || !value->child) {
        err_set(e, ERR_INVALID, "%s has no fields: write words, good, bad, pods, …", name);
        return at(r, &step, e);
    }
    const cJSON *field;
    cJSON_ArrayForEach(field, value)
    {
        struct yaml_step inner = {.up = &step, .value = field};
        if (read_field(p, row, field, e) != 0) {
            err_wrap(e, "%s", name);
            return at(r, &inner, e);
        }
    }
    return 0;
}

int known_add(const char *text, size_t n, const char *file, err *e)
{
    struct reading r = {.text = text, .n = n, .file = file};
    AUTO_JSON *documents = yaml_parse_letters(text, n, e);
    if (!documents)
        return err_wrap(e, "%s", file);
    const cJSON *root = documents->child, *kinds = json_get(root, "kinds"), *one;
    if (!root)
        return 0;
    if (!cJSON_IsObject(kinds) || root->child->next || root->next)
        return err_set(e, ERR_INVALID,
            "%s: one mapping \"kinds\" is expected, of which each key is KIND.GROUP", file);
    struct yaml_step top = {.value = root}, step = {.up = &top, .value = kinds};
    size_t count = (size_t)cJSON_GetArraySize(kinds), i = 0;
    struct person *p = mem_alloc(sizeof *p + count * sizeof *p->rows);
    p->n = count;
    cJSON_ArrayForEach(one, kinds)
    {
        if (read_kind(&r, &step, one, p, &p->rows[i++], e) != 0) {
            free_person(p);
            return -1;
        }
    }
    atomic_store_explicit(&person, p, memory_order_release);
    return 0;
}

void known_forget(void)
{
    free_person(atomic_exchange(&person, NULL));
}
