// SPDX-License-Identifier: MIT
// k8s.why over recorded situations (tests/situations): what it must name, what it must not advise,
// where nothing is wrong, and where it does not know. They are read as a server is (why/look.h).
#include "base/clock.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/why/look.h"
#include "tests/support/tap.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- a file as a server

static char *resource_of(const cJSON *object)
{
    const char *version = json_str_or(object, "apiVersion", "v1");
    AUTO_BUF name = {0};
    for (const char *c = json_str_or(object, "kind", ""); *c; c++)
        buf_char(&name, (char)tolower((unsigned char)*c));
    buf_str(&name, name.len && name.data[name.len - 1] == 's' ? "es" : "s");
    if (known_group(version))
        buf_fmt(&name, ".%.*s", (int)known_group(version), version);
    return buf_take(&name);
}

static bool is_kind(const cJSON *object, const char *kind)
{
    AUTO_FREE char *own =
        str_fmt("%s %s", json_str_or(object, "apiVersion", ""), json_str_or(object, "kind", ""));
    AUTO_FREE char *resource = resource_of(object);
    return str_eq(strchr(kind, ' ') ? own : resource, kind);
}

static const char *value_of(const cJSON *object, const char *key, bool label)
{
    return label ? json_str(json_path(object, "metadata.labels"), key) : json_path_str(object, key);
}

// "a=b,c=d" of labels or of fields.
static bool is_selected(const cJSON *object, const char *selector, bool label)
{
    char **parts = strv_split(selector ? selector : "", ',');
    bool is = true;
    for (char **p = parts; *p && is; p++) {
        char *equals = strchr(*p, '=');
        CHECK(!**p || equals);
        if (!equals)
            continue;
        *equals = '\0';
        is = str_eq(value_of(object, *p, label), equals + 1);
    }
    strv_free(parts);
    return is;
}

static bool is_in(const cJSON *object, const char *ns)
{
    const char *own = json_path_str(object, "metadata.namespace");
    return !ns || !own || str_eq(own, ns);
}

// Kinds of Kubernetes itself are there; others when the file has one, or says that they are.
static bool is_served(const cJSON *situation, const char *kind)
{
    const char *group = strchr(kind, '.');
    const cJSON *one;
    if (strchr(kind, ' ') || !group || str_eq(group, ".batch") || str_eq(group, ".apps") ||
        strstr(group, ".k8s.io"))
        return true;
    cJSON_ArrayForEach(one, json_get(situation, "served"))
    {
        if (str_eq(one->valuestring, kind))
            return true;
    }
    cJSON_ArrayForEach(one, json_get(situation, "objects"))
    {
        if (is_kind(one, kind))
            return true;
    }
    return false;
}

static cJSON *list(
    void *arg, const char *kind, const char *ns, const struct list_query *query, err *e)
{
    const cJSON *situation = arg, *one;
    if (!is_served(situation, kind)) {
        err_set(e, ERR_NOT_FOUND, "there is no kind %s", kind);
        return NULL;
    }
    cJSON *found = cJSON_CreateArray();
    cJSON_ArrayForEach(one, json_get(situation, "objects"))
    {
        if (is_kind(one, kind) && is_in(one, ns) && is_selected(one, query->labels, true) &&
            is_selected(one, query->fields, false))
            cJSON_AddItemToArray(found, cJSON_Duplicate(one, true));
    }
    return found;
}

static cJSON *get(void *arg, const char *kind, const char *ns, const char *name, err *e)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, json_get(arg, "objects"))
    {
        if (is_kind(one, kind) && is_in(one, ns) &&
            str_eq(json_path_str(one, "metadata.name"), name))
            return cJSON_Duplicate(one, true);
    }
    err_set(e, ERR_NOT_FOUND, "%s %s is not there", kind, name);
    return NULL;
}

static cJSON *ask(void *arg, const char *path, err *e)
{
    const cJSON *answer = json_get(json_get(arg, "answers"), path);
    if (!answer)
        err_set(e, ERR_NOT_FOUND, "%s", path);
    return answer ? cJSON_Duplicate(answer, true) : NULL;
}

static void read_log(
    void *arg, const char *ns, const char *pod, const char *container, bool previous, buf *out)
{
    buf_str(out, json_str_or(json_get(arg, "logs"), pod, ""));
}

// ---- one situation

static const cJSON *asked(const cJSON *situation)
{
    const char *words = json_str_or(situation, "ask", ""), *space = strchr(words, ' ');
    const cJSON *one;
    cJSON_ArrayForEach(one, json_get(situation, "objects"))
    {
        AUTO_FREE char *resource = resource_of(one);
        AUTO_FREE char *own =
            str_fmt("%s %s", json_str_or(one, "kind", ""), json_path_str(one, "metadata.name"));
        AUTO_FREE char *full = str_fmt("%s %s", resource, json_path_str(one, "metadata.name"));
        if (space && (str_eq(own, words) || str_eq(full, words)))
            return one;
    }
    return NULL;
}

static const char *problem; // the first of this situation
static char *problem_word;

static void demand(bool is, const char *what, const char *word)
{
    if (is || problem)
        return;
    problem = what;
    free(problem_word);
    problem_word = mem_strdup(word);
}

static void check_words(const cJSON *words, const char *text, bool wanted, const char *what)
{
    const cJSON *word, *list_of = cJSON_IsArray(words) ? words : NULL;
    if (cJSON_IsString(words))
        demand((strcasestr(text, words->valuestring) != NULL) == wanted, what, words->valuestring);
    cJSON_ArrayForEach(word, list_of)
    {
        demand((strcasestr(text, word->valuestring) != NULL) == wanted, what, word->valuestring);
    }
}

static bool check_situation(const char *file, const cJSON *situation)
{
    struct why_source source = {
        .list = list, .get = get, .ask = ask, .log = read_log, .arg = (void *)situation};
    const cJSON *object = asked(situation);
    const char *name = json_str_or(situation, "name", "?");
    int64_t now = 0;
    struct why w = {0};
    problem = NULL;
    demand(
        object != NULL, "the object it asks for is not there", json_str_or(situation, "ask", ""));
    demand(
        clock_parse_rfc3339(json_str_or(situation, "now", ""), &now, NULL) == 0, "its time", "now");
    if (object) {
        const char *ns = json_path_str(object, "metadata.namespace");
        bool found = why_look(&source, object, ns ? ns : "default", now, &w);
        bool quiet =
            json_bool_or(situation, "well", false) || json_bool_or(situation, "unknown", false);
        AUTO_FREE char *all =
            str_fmt("%s\n%s\n%s", buf_cstr(&w.what), buf_cstr(&w.seen), buf_cstr(&w.next));
        demand(found != quiet, quiet ? "it says something" : "it does not know", "");
        check_words(json_get(situation, "names"), buf_cstr(&w.what), true, "it does not name");
        check_words(json_get(situation, "seen"), buf_cstr(&w.seen), true, "it was not seen by");
        check_words(json_get(situation, "next"), buf_cstr(&w.next), true, "it does not advise");
        check_words(json_get(situation, "never"), all, false, "it says");
        if (getenv("FIRESTEEL_SHOW"))
            fprintf(stderr, "%s: %s\n  why: %s\n  seen: %s\n  next: %s\n", file, name,
                buf_cstr(&w.what), buf_cstr(&w.seen), buf_cstr(&w.next));
    }
    if (problem)
        fprintf(stderr, "# %s: %s: %s: %s\n#   what: %s\n#   seen: %s\n#   next: %s\n", file, name,
            problem, problem_word, buf_cstr(&w.what), buf_cstr(&w.seen), buf_cstr(&w.next));
    why_done(&w);
    return !problem;
}

struct count {
    int all, recorded, well, unknown, wrong;
};

// A file has one situation, or a list of them.
static void check_file(const char *path, struct count *count)
{
    AUTO_BUF text = {0};
    err e = {0};
    const char *file = strstr(path, "situations/");
    path_read(path, &text, 16 << 20, &e);
    AUTO_JSON *documents = yaml_parse(buf_cstr(&text), text.len, &e);
    CHECK_STR(e.text, "");
    cJSON *first = documents ? documents->child : NULL;
    for (const cJSON *one = cJSON_IsArray(first) ? first->child : first; one;
         one = cJSON_IsArray(first) ? one->next : NULL) {
        count->wrong += !check_situation(file, one);
        count->all++;
        count->recorded += strstr(path, "/recorded-") != NULL;
        count->well += json_bool_or(one, "well", false);
        count->unknown += json_bool_or(one, "unknown", false);
    }
}

// doc/why.md says how many there are.
static void check_page(const struct count *c)
{
    AUTO_FREE char *path = path_join(getenv("FIRESTEEL_SOURCE"), "doc/why.md");
    AUTO_FREE char *words = str_fmt(
        "**%d situations**, %d of them recorded on a real cluster: in %d it names the cause, in "
        "%d nothing is wrong and it says nothing, in %d it says that it does not know",
        c->all, c->recorded, c->all - c->well - c->unknown, c->well, c->unknown);
    AUTO_BUF page = {0};
    path_read(path, &page, 1 << 20, NULL);
    CHECK_STR(strstr(buf_cstr(&page), words) ? words : "doc/why.md has another count", words);
}

TEST(why_is_right_or_says_that_it_does_not_know)
{
    AUTO_FREE char *pattern = path_join(getenv("FIRESTEEL_SOURCE"), "tests/situations/*/*.[yj]*");
    glob_t files = {0};
    struct count count = {0};
    CHECK_INT(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        check_file(files.gl_pathv[i], &count);
    globfree(&files);
    free(problem_word);
    CHECK_INT(count.wrong, 0);
    check_page(&count);
}

int main(void)
{
    return tap_run();
}
