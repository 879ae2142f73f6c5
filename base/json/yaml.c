// SPDX-License-Identifier: MIT
// Composes JSON trees from libyaml's events. Its own document trees do not tell "!!str 5" from 5.
#include "base/json/yaml.h"

#include "base/data/hashmap.h"
#include "base/data/hashset.h"
#include "base/json/yamlmarks.h"
#include "base/json/yamlscalar.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

// The most nodes that one document may expand to: aliases can make it grow without bounds.
enum { MAX_NODES = 1000000, MAX_DEPTH = 200 };
// A mapping with at most so many keys is searched linearly.
enum { FEW_KEYS = 16 };

struct anchor {
    char *name;
    cJSON *value; // a copy; NULL: the anchored node is still being read
    size_t nodes;
    struct anchor *older;
};

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; // the current event
    const char *text;   // ends with a newline
    size_t at, index;   // a byte of the text, and the number of its character
    struct anchor *anchors;
    size_t nodes;
    bool twice;        // the error is a key that occurs twice
    bool letters;      // y and n are texts
    yaml_marks *marks; // NULL: places are not noted
    err *e;
};

static int place_error(const struct reader *r, yaml_mark_t at, const char *fmt, const char *what)
{
    AUTO_BUF text = {0};
    buf_fmt(&text, fmt, str_short(what, 400).text);
    return err_set(
        r->e, ERR_INVALID, "line %zu, column %zu: %s", at.line + 1, at.column + 1, buf_cstr(&text));
}

static int parser_error(const struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_READER_ERROR)
        return err_set(r->e, ERR_INVALID, "byte %zu: %s", p->problem_offset + 1, p->problem);
    return err_set(r->e, ERR_INVALID, "line %zu, column %zu: %s%s%s", p->problem_mark.line + 1,
        p->problem_mark.column + 1, p->problem ? p->problem : "not YAML", p->context ? ", " : "",
        p->context ? p->context : "");
}

static int next(struct reader *r)
{
    yaml_event_delete(&r->event);
    return yaml_parser_parse(&r->parser, &r->event) ? 0 : parser_error(r);
}

static void forget_anchors(struct reader *r)
{
    struct anchor *a;
    while ((a = r->anchors)) {
        r->anchors = a->older;
        free(a->name);
        cJSON_Delete(a->value);
        free(a);
    }
}

static struct anchor *begin_anchor(struct reader *r, const yaml_char_t *name)
{
    if (!name)
        return NULL;
    struct anchor *a = mem_alloc(sizeof *a);
    *a = (struct anchor){mem_strdup((const char *)name), NULL, r->nodes, r->anchors};
    return r->anchors = a;
}

static void end_anchor(const struct reader *r, struct anchor *a, const cJSON *value)
{
    if (!a || !value)
        return;
    a->value = cJSON_Duplicate(value, true);
    a->nodes = r->nodes - a->nodes + 1;
}

static int too_large(const struct reader *r)
{
    return place_error(r, r->event.start_mark, "%s", "too large or too deep");
}

static cJSON *alias(struct reader *r)
{
    const char *name = (const char *)r->event.data.alias.anchor;
    const struct anchor *a = r->anchors;
    while (a && !str_eq(a->name, name))
        a = a->older;
    if (!a || !a->value) {
        place_error(r, r->event.start_mark,
            a ? "the alias *%s stands for something that it is a part of"
              : "the alias *%s has no anchor before it",
            name);
        return NULL;
    }
    if ((r->nodes += a->nodes) > MAX_NODES) {
        too_large(r);
        return NULL;
    }
    return cJSON_Duplicate(a->value, true);
}

// Does the node begin with the tag "!", which libyaml does not report? Go reads its scalar as a
// text.
static bool has_bare_tag(struct reader *r, yaml_mark_t mark)
{
    for (; r->index < mark.index && r->text[r->at]; r->index++)
        do
            r->at++;
        while (((unsigned char)r->text[r->at] & 0xc0) == 0x80);
    const char *p = r->text + r->at;
    if (*p == '&') {
        p += strcspn(p, " \t\n");
        p += strspn(p, " \t");
    }
    return *p == '!' && strchr(" \t\r\n", p[1]);
}

static cJSON *scalar(struct reader *r)
{
    const char *s = (const char *)r->event.data.scalar.value;
    const char *tag = (const char *)r->event.data.scalar.tag;
    bool plain = r->event.data.scalar.plain_implicit;
    err why = {0};
    if (strlen(s) != r->event.data.scalar.length) {
        place_error(r, r->event.start_mark, "%s", "a NUL byte in a string");
        return NULL;
    }
    bool bare = !tag && plain && has_bare_tag(r, r->event.start_mark);
    bool letter = r->letters && !tag && s[0] && !s[1] && strchr("yYnN", *s);
    cJSON *value = yaml_scalar(tag, s, !plain || bare || letter, &why);
    if (!value)
        place_error(r, r->event.start_mark, "%s", why.text);
    return value;
}

static cJSON *node(struct reader *r, int depth);

// Prints as Go does a float32 with %g: the fewest digits that give the same number, an exponent
// from 1e6 on.
static char *real_key(double value)
{
    char text[64];
    float f = (float)value;
    int precision = 0, exponent;
    if (isinf(f))
        return mem_strdup(f > 0 ? ".inf" : "-.inf");
    do
        snprintf(text, sizeof text, "%.*e", precision, (double)f);
    while (strtof(text, NULL) != f && precision++ < FLT_DECIMAL_DIG);
    exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 6)
        snprintf(
            text, sizeof text, "%.*f", precision > exponent ? precision - exponent : 0, (double)f);
    return mem_strdup(text);
}

// A key as JSON has it: a text; a number or a boolean becomes its text, as sigs.k8s.io/yaml does.
// r->event is the key's last.
static char *key_text(struct reader *r, yaml_mark_t mark, const cJSON *key)
{
    int64_t integer;
    double number;
    if (cJSON_IsString(key))
        return mem_strdup(key->valuestring);
    if (cJSON_IsBool(key))
        return mem_strdup(cJSON_IsTrue(key) ? "true" : "false");
    bool real = r->event.type == YAML_SCALAR_EVENT &&
                yaml_is_real((const char *)r->event.data.scalar.value);
    if (!real && json_int(key, &integer))
        return json_to_str(key);
    if (real && json_number(key, &number))
        return real_key(number);
    place_error(r, mark, "%s", "a key must be a plain value: a text, a number, true or false");
    return NULL;
}

struct mapping {
    cJSON *object;
    size_t n;
    hashmap *known;  // the items by key, once there are many
    hashset *merged; // keys that only a "<<" has brought: they may come again; NULL: no "<<" yet
};

static cJSON *find_key(const struct mapping *m, const char *name)
{
    size_t place;
    if (!m->known)
        return (cJSON *)json_get(m->object, name);
    return hashmap_get(m->known, name, strlen(name), &place) ? (cJSON *)(uintptr_t)place : NULL;
}

static void know_key(const struct mapping *m, const cJSON *item)
{
    hashmap_set(m->known, item->string, strlen(item->string), (size_t)(uintptr_t)item);
}

static void add_key(struct mapping *m, const char *name, cJSON *value)
{
    cJSON_AddItemToObject(m->object, name, value);
    if (m->known)
        know_key(m, value);
    if (++m->n != FEW_KEYS)
        return;
    m->known = hashmap_new();
    const cJSON *item;
    cJSON_ArrayForEach(item, m->object)
    {
        know_key(m, item);
    }
}

// A key that "<<" brings replaces an earlier one and is replaced by a later one, as in go-yaml v2.
static void merge_key(struct mapping *m, const char *name, cJSON *value)
{
    cJSON *there = find_key(m, name);
    if (!there) {
        add_key(m, name, value);
        hashset_add(m->merged, name);
        return;
    }
    if (!value->string) // a copy has its own, which is the same
        value->string = STEAL(there->string);
    cJSON_ReplaceItemViaPointer(m->object, there, value);
    if (m->known)
        know_key(m, value);
}

static int set_key(
    struct reader *r, struct mapping *m, yaml_mark_t mark, const char *name, cJSON *value)
{
    cJSON *there = find_key(m, name);
    if (!there) {
        add_key(m, name, value);
        return 0;
    }
    if (!m->merged || !hashset_has(m->merged, name)) {
        cJSON_Delete(value);
        r->twice = true;
        return place_error(r, mark, "the key \"%s\" is there twice", name);
    }
    merge_key(m, name, value);
    hashset_remove(m->merged, name);
    return 0;
}

static int merge_one(struct reader *r, struct mapping *m, yaml_mark_t mark, const cJSON *from)
{
    const cJSON *item;
    if (!cJSON_IsObject(from))
        return place_error(r, mark, "%s", "<< merges mappings only");
    cJSON_ArrayForEach(item, from)
    {
        merge_key(m, item->string, cJSON_Duplicate(item, true));
    }
    return 0;
}

// If several have the same key, the first counts.
static int merge(struct reader *r, struct mapping *m, yaml_mark_t mark, const cJSON *from)
{
    if (!m->merged)
        m->merged = hashset_new();
    if (!cJSON_IsArray(from))
        return merge_one(r, m, mark, from);
    for (const cJSON *one = from->child ? from->child->prev : NULL; one; one = one->prev) {
        if (merge_one(r, m, mark, one) != 0)
            return -1;
        if (one == from->child)
            break;
    }
    return 0;
}

static bool is_merge_key(const yaml_event_t *key)
{
    return key->type == YAML_SCALAR_EVENT && str_eq((const char *)key->data.scalar.value, "<<") &&
           (key->data.scalar.plain_implicit ||
               str_eq((const char *)key->data.scalar.tag, "tag:yaml.org,2002:merge"));
}

// Reads a key and its value; r->event is the key's first event.
static int pair(struct reader *r, struct mapping *m, int depth)
{
    yaml_mark_t mark = r->event.start_mark;
    bool merges = is_merge_key(&r->event);
    AUTO_JSON *key = node(r, depth);
    AUTO_FREE char *name = key ? key_text(r, mark, key) : NULL;
    yaml_marks_forget(r->marks, key);
    if (!name || next(r) != 0)
        return -1;
    cJSON *value = node(r, depth);
    if (!value)
        return -1;
    yaml_marks_note_key(r->marks, value, mark.line, mark.column);
    if (!merges)
        return set_key(r, m, mark, name, value);
    yaml_marks_forget(r->marks, value);
    int status = merge(r, m, mark, value);
    cJSON_Delete(value);
    return status;
}

static cJSON *mapping(struct reader *r, int depth)
{
    struct mapping m = {.object = cJSON_CreateObject()};
    int status = 0;
    while (status == 0 && (status = next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT)
        status = pair(r, &m, depth);
    hashmap_free(m.known);
    hashset_free(m.merged);
    if (status == 0)
        return m.object;
    cJSON_Delete(m.object);
    return NULL;
}

static cJSON *sequence(struct reader *r, int depth)
{
    AUTO_JSON *array = cJSON_CreateArray();
    while (next(r) == 0) {
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return STEAL(array);
        cJSON *value = node(r, depth);
        if (!value)
            return NULL;
        cJSON_AddItemToArray(array, value);
    }
    return NULL;
}

static cJSON *node_within(struct reader *r, int depth)
{
    const yaml_event_t *event = &r->event;
    if (++r->nodes > MAX_NODES || depth > MAX_DEPTH) {
        too_large(r);
        return NULL;
    }
    if (event->type == YAML_ALIAS_EVENT)
        return alias(r);
    struct anchor *anchor = begin_anchor(
        r, event->type == YAML_SCALAR_EVENT          ? event->data.scalar.anchor
           : event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor
                                                     : event->data.sequence_start.anchor);
    cJSON *value = event->type == YAML_SCALAR_EVENT          ? scalar(r)
                   : event->type == YAML_MAPPING_START_EVENT ? mapping(r, depth + 1)
                                                             : sequence(r, depth + 1);
    end_anchor(r, anchor, value);
    return value;
}

// Reads the node that begins with r->event; afterwards r->event is its last event. Tags of lists
// and mappings are ignored, as in Go.
static cJSON *node(struct reader *r, int depth)
{
    yaml_mark_t from = r->event.start_mark;
    bool plain =
        r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    cJSON *value = node_within(r, depth);
    yaml_mark_t to = r->event.end_mark;
    const struct yaml_mark mark = {.line = from.line,
        .column = from.column,
        .end_line = to.line,
        .end_column = to.column,
        .plain = plain};
    yaml_marks_note(r->marks, value, &mark);
    return value;
}

// Goes to the first event of the next document's node: 1; 0 at the end of the stream, -1.
static int next_document(struct reader *r)
{
    do
        if (next(r) != 0)
            return -1;
    while (r->event.type == YAML_STREAM_START_EVENT || r->event.type == YAML_DOCUMENT_END_EVENT);
    if (r->event.type == YAML_STREAM_END_EVENT)
        return 0;
    forget_anchors(r);
    r->nodes = 0;
    return next(r) == 0 ? 1 : -1;
}

static void open_reader(struct reader *r, const buf *text, err *e)
{
    *r = (struct reader){
        .text = text->data, .at = str_starts(text->data, "\xef\xbb\xbf") ? 3 : 0, .e = e};
    if (!yaml_parser_initialize(&r->parser))
        mem_out(sizeof r->parser);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text->data, text->len);
}

static void close_reader(struct reader *r)
{
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    forget_anchors(r);
}

// Ends each line of a text with a newline, as kubectl does, which reads line by line.
static void add_lines(buf *lines, const char *text, size_t n)
{
    bool utf16 = n > 1 && ((unsigned char)*text == 0xff || (unsigned char)*text == 0xfe);
    buf_add(lines, text, n);
    if (n && text[n - 1] != '\n' && !utf16)
        buf_char(lines, '\n');
    buf_cstr(lines);
}

static cJSON *read_documents(struct reader *r)
{
    AUTO_JSON *documents = cJSON_CreateArray();
    int got;
    while ((got = next_document(r)) > 0) {
        cJSON *one = node(r, 0);
        if (!one)
            return NULL;
        if (cJSON_IsNull(one))
            cJSON_Delete(one);
        else
            cJSON_AddItemToArray(documents, one);
    }
    return got < 0 ? NULL : STEAL(documents);
}

// JSON is tried where YAML fails: JSON may have several values without "---", and "\ud83d\ude00".
static cJSON *parse(const char *text, size_t n, bool letters, yaml_marks *marks, err *e)
{
    struct reader r;
    AUTO_BUF lines = {0};
    add_lines(&lines, text, n);
    open_reader(&r, &lines, e);
    r.letters = letters;
    r.marks = marks;
    cJSON *documents = read_documents(&r);
    if (!documents && !r.twice && lines.data[strspn(lines.data, " \t\r\n")] == '{') {
        documents = json_parse_stream(text, n, NULL);
        if (documents && e)
            err_clear(e);
    }
    close_reader(&r);
    return documents;
}

cJSON *yaml_parse(const char *text, size_t n, err *e)
{
    return parse(text, n, false, NULL, e);
}

cJSON *yaml_parse_letters(const char *text, size_t n, err *e)
{
    return parse(text, n, true, NULL, e);
}

cJSON *yaml_parse_marked(const char *text, size_t n, yaml_marks *m, err *e)
{
    return parse(text, n, false, m, e);
}

size_t yaml_step_index(const struct yaml_step *step)
{
    size_t i = 0;
    for (const cJSON *c = step->up->value->child; c && c != step->value; c = c->next)
        i++;
    return i;
}

// The step right below `from` on the way to `last`.
static const struct yaml_step *step_below(
    const struct yaml_step *last, const struct yaml_step *from)
{
    const struct yaml_step *step = last;
    while (step->up != from)
        step = step->up;
    return step;
}

// Goes on to the node that the step leads to: 1; 0: it is not there.
static int enter(struct reader *r, const struct yaml_step *step)
{
    bool is_mapping = r->event.type == YAML_MAPPING_START_EVENT;
    size_t left = is_mapping ? 0 : yaml_step_index(step);
    if (!is_mapping && r->event.type != YAML_SEQUENCE_START_EVENT)
        return 0;
    while (next(r) == 0 && r->event.type != YAML_MAPPING_END_EVENT &&
           r->event.type != YAML_SEQUENCE_END_EVENT) {
        yaml_mark_t mark = r->event.start_mark;
        bool found = !is_mapping && left-- == 0;
        if (is_mapping) {
            AUTO_JSON *key = node(r, 0);
            AUTO_FREE char *name = key ? key_text(r, mark, key) : NULL;
            found = str_eq(name, step->value->string);
            if (!name || next(r) != 0)
                return 0;
        }
        if (found)
            return 1;
        cJSON *other = node(r, 0);
        if (!other)
            return 0;
        cJSON_Delete(other);
    }
    return 0;
}

// Goes to the first document that is not empty.
static bool first_document(struct reader *r)
{
    while (next_document(r) > 0) {
        if (r->event.type != YAML_SCALAR_EVENT)
            return true;
        AUTO_JSON *one = node(r, 0);
        if (!one || !cJSON_IsNull(one))
            return one != NULL;
    }
    return false;
}

bool yaml_place(
    const char *text, size_t n, const struct yaml_step *step, size_t *line, size_t *column)
{
    struct reader r;
    AUTO_BUF lines = {0};
    add_lines(&lines, text, n);
    open_reader(&r, &lines, NULL);
    const struct yaml_step *at = step_below(step, NULL);
    bool found = first_document(&r);
    yaml_mark_t mark = r.event.start_mark;
    while (found && at != step && enter(&r, at = step_below(step, at)))
        mark = r.event.start_mark;
    close_reader(&r);
    *line = mark.line + 1;
    *column = mark.column + 1;
    return found;
}
