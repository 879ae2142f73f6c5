// SPDX-License-Identifier: MIT
#include "base/json/jsonpointer.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// "~1" is "/", "~0" is "~".
static char *unescape(const char *s, size_t n)
{
    char *out = mem_strndup(s, n), *to = out;
    for (const char *p = out; *p; p++) {
        bool escaped = p[0] == '~' && (p[1] == '0' || p[1] == '1');
        *to++ = escaped ? (*++p == '0' ? '~' : '/') : *p;
    }
    *to = 0;
    return out;
}

int json_pointer_index(const char *word, int n, bool may_append)
{
    int64_t i;
    if (may_append && str_eq(word, "-"))
        return n;
    bool fits = str_to_int(word, &i) && i >= 0 && (may_append ? i <= n : i < n);
    return fits && (word[0] != '0' || !word[1]) ? (int)i : -1;
}

static const cJSON *child_of(const cJSON *parent, const char *word)
{
    if (cJSON_IsObject(parent))
        return json_get(parent, word);
    if (!cJSON_IsArray(parent))
        return NULL;
    int i = json_pointer_index(word, cJSON_GetArraySize(parent), false);
    return i < 0 ? NULL : cJSON_GetArrayItem(parent, i);
}

cJSON *json_pointer_parent(cJSON *root, const char *pointer, char **last)
{
    const cJSON *at = root;
    *last = NULL;
    while (at && *pointer == '/') {
        size_t n = strcspn(pointer + 1, "/");
        AUTO_FREE char *word = unescape(pointer + 1, n);
        pointer += 1 + n;
        if (!*pointer) {
            *last = STEAL(word);
            return (cJSON *)at;
        }
        at = child_of(at, word);
    }
    return NULL;
}

const cJSON *json_pointer_get(const cJSON *root, const char *pointer)
{
    char *last;
    if (!*pointer)
        return root;
    const cJSON *parent = json_pointer_parent((cJSON *)root, pointer, &last);
    AUTO_FREE char *word = last;
    return parent && word ? child_of(parent, word) : NULL;
}

void json_pointer_add(buf *pointer, const char *word)
{
    buf_str(pointer, "/");
    for (; *word; word++)
        if (*word == '~' || *word == '/')
            buf_str(pointer, *word == '~' ? "~0" : "~1");
        else
            buf_add(pointer, word, 1);
}

bool json_pointer_overlap(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), common = n < m ? n : m;
    const char *longer = n < m ? b : a;
    return strncmp(a, b, common) == 0 && (n == m || longer[common] == '/');
}

void json_pointer_say(buf *out, const char *pointer)
{
    for (bool first = true; *pointer == '/'; first = false) {
        size_t n = strcspn(pointer + 1, "/");
        AUTO_FREE char *word = unescape(pointer + 1, n);
        bool index = *word && strspn(word, "0123456789") == strlen(word);
        buf_fmt(out, index ? "[%s]" : first ? "%s" : ".%s", word);
        pointer += 1 + n;
    }
}
