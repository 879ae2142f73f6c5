// SPDX-License-Identifier: MIT
#include "base/json/yamlmarks.h"

#include "base/data/hashmap.h"
#include "base/mem.h"

#include <stdlib.h>

struct yaml_marks {
    hashmap *at; // from a value's address to its index in `list`
    struct yaml_mark *list;
    size_t n, room;
};

yaml_marks *yaml_marks_new(void)
{
    yaml_marks *m = mem_alloc(sizeof *m);
    *m = (yaml_marks){.at = hashmap_new()};
    return m;
}

void yaml_marks_free(yaml_marks *m)
{
    if (!m)
        return;
    hashmap_free(m->at);
    free(m->list);
    free(m);
}

static struct yaml_mark *find(const yaml_marks *m, const cJSON *value)
{
    size_t i;
    return m && hashmap_get(m->at, &value, sizeof value, &i) ? &m->list[i] : NULL;
}

const struct yaml_mark *yaml_mark_of(const yaml_marks *m, const cJSON *value)
{
    return find(m, value);
}

void yaml_marks_note(yaml_marks *m, const cJSON *value, const struct yaml_mark *mark)
{
    if (!m || !value)
        return;
    if (m->n == m->room) {
        m->room = m->room ? 2 * m->room : 64;
        m->list = mem_resize(m->list, m->room, sizeof *m->list);
    }
    m->list[m->n] = *mark;
    hashmap_set(m->at, &value, sizeof value, m->n++);
}

void yaml_marks_note_key(yaml_marks *m, const cJSON *value, size_t line, size_t column)
{
    struct yaml_mark *mark = find(m, value);
    if (!mark)
        return;
    mark->has_key = true;
    mark->key_line = line;
    mark->key_column = column;
}

void yaml_marks_forget(yaml_marks *m, const cJSON *value)
{
    if (m && value)
        hashmap_remove(m->at, &value, sizeof value);
}
