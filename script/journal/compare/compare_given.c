// SPDX-License-Identifier: MIT
// Finds what the cluster gave a run and the run did not choose: names and uids of its objects, the
// address of its cluster, times. They differ in each run, so they mean nothing.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/compare/compare.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"
#define HEX    DIGITS "abcdef"

// A text of one run, and its placeholder.
struct given {
    char *text;
    const char *as;
};
struct list {
    struct given *all;
    size_t n;
};

static void add(struct list *l, const char *text, const char *as)
{
    if (!text || !*text)
        return;
    l->all = mem_resize(l->all, l->n + 1, sizeof *l->all);
    l->all[l->n++] = (struct given){mem_strdup(text), as};
}

static void add_object(struct list *l, const cJSON *object)
{
    const char *server = json_path_str(object, "cluster.server");
    const char *host = server ? strstr(server, "://") : NULL;
    add(l, json_str(object, "uid"), "UID");
    if (json_str(object, "uid"))
        add(l, json_str(object, "name"), "NAME");
    add(l, host ? host + strlen("://") : NULL, "CLUSTER");
}

// Longest first: "mnist-1" may be a part of "mnist-12".
static int by_length(const void *a, const void *b)
{
    size_t x = strlen(((const struct given *)a)->text), y = strlen(((const struct given *)b)->text);
    return (x < y) - (x > y);
}

static struct list given_to(const fold *f)
{
    struct list l = {0};
    for (size_t i = 0; i < fold_ledger_count(f); i++)
        add_object(&l, fold_ledger(f, i)->result);
    qsort(l.all, l.n, sizeof *l.all, by_length);
    return l;
}

static void list_done(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->all[i].text);
    free(l->all);
}

static bool is_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// "2026-11-29T09:11:09Z", with 'D' for a digit.
static size_t matches(const char *s, const char *pattern)
{
    size_t i = 0;
    for (; pattern[i]; i++) {
        bool fits = pattern[i] == 'D'   ? isdigit((unsigned char)s[i])
                    : pattern[i] == 'h' ? s[i] && strchr(HEX, s[i])
                                        : s[i] == pattern[i];
        if (!fits)
            return 0;
    }
    return i;
}

// A word that the cluster or the program made for this run. Returns its length; 0: another word.
static size_t made_word(const char *s, const char **as)
{
    static const struct {
        const char *pattern, *as;
    } words[] = {
        {"DDDD-DD-DDTDD:DD:DDZ", "TIME"}, {"hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh", "UID"},
        {"spark-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh", "SPARK"}, // an application's id
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = matches(s, words[i].pattern);
        *as = words[i].as;
        if (n && !is_part(s[n]))
            return n;
    }
    return 0;
}

// Lines about what was in the program's store or at the registry before.
static size_t was_there(const char *s)
{
    size_t n = str_starts(s, "(") ? 1 + strspn(s + 1, DIGITS) : 0;
    if (n > 1 && str_starts(s + n, " of ") && strstr(s, " blobs sent, "))
        return strcspn(s, ")\n");
    n = str_starts(s, ", ") ? 2 + strspn(s + 2, DIGITS) : 0;
    bool new = n > 2 && (str_starts(s + n, " new)") || str_starts(s + n, " new, "));
    return new ? n + strlen(" new") : 0;
}

static size_t given_word(const struct list *l, const char *s, const char **as)
{
    for (size_t i = 0; i < l->n; i++) {
        size_t n = strlen(l->all[i].text);
        *as = l->all[i].as;
        if (strncmp(s, l->all[i].text, n) != 0 || is_part(s[n]))
            continue;
        size_t more = s[n] == '-' ? strspn(s + n + 1, HEX) : 0; // "NAME-465b1dc59291cfd1-exec-1"
        return n + (more >= 8 ? more + 1 : 0);
    }
    if (str_starts(s, "firesteel/entry") || str_starts(s, "Resource Version:")) {
        *as = "ENTRY";
        return strcspn(s, "\n");
    }
    return made_word(s, as);
}

static void replace(const struct list *l, const char *text, buf *out)
{
    bool begins = true;
    while (*text) {
        const char *as = "";
        size_t n = begins ? given_word(l, text, &as) : 0;
        if (!n && (n = was_there(text)))
            as = "";
        begins = !is_part(n ? text[n - 1] : *text) && (n || *text != '.');
        if (n)
            buf_str(out, as);
        else
            buf_char(out, *text);
        text += n ? n : 1;
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Columns are as wide as their contents, and events come in any order.
static void squeeze(const char *line, buf *out)
{
    for (; *line; line++)
        if (*line != ' ' || (out->len && out->data[out->len - 1] != ' '))
            buf_char(out, *line);
}

void compare_given(const char *text, const fold *f, buf *out)
{
    struct list l = given_to(f);
    AUTO_BUF replaced = {0};
    replace(&l, text, &replaced);
    list_done(&l);
    char **lines = strv_split(buf_cstr(&replaced), '\n');
    size_t n = strv_len(lines);
    for (size_t i = 0; i < n; i++) {
        buf line = {0};
        squeeze(lines[i], &line);
        free(lines[i]);
        lines[i] = buf_take(&line);
    }
    qsort(lines, n, sizeof *lines, by_text);
    for (size_t i = 0; i < n; i++)
        buf_fmt(out, "%s\n", lines[i] ? lines[i] : "");
    strv_free(lines);
}

bool compare_has_cluster(const fold *f)
{
    for (size_t i = 0; i < fold_ledger_count(f); i++)
        if (json_path_str(fold_ledger(f, i)->result, "cluster.server"))
            return true;
    return false;
}
