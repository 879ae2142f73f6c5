// SPDX-License-Identifier: MIT
#include "script/journal/origin.h"

#include "base/json/json.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

enum { SHORT = 12, NAME_WIDTH = 11 }; // how many digits of a digest people see

__attribute__((format(printf, 3, 4))) static void line(
    cJSON *lines, const char *name, const char *fmt, ...)
{
    AUTO_BUF text = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    cJSON_AddItemToArray(json_array_at(lines, name), cJSON_CreateString(buf_cstr(&text)));
}

static void print_git(cJSON *p, const cJSON *git)
{
    const char *commit = json_str(git, "commit"), *branch = json_str(git, "branch");
    const char *unknown = json_str(git, "unknown");
    AUTO_BUF text = {0};
    if (!git)
        return;
    if (commit)
        buf_fmt(&text, "%.*s", SHORT, commit);
    if (branch)
        buf_fmt(&text, "%son branch %s", text.len ? " " : "no commit yet ", branch);
    if (json_bool_or(git, "dirty", false))
        buf_fmt(&text, ", changed files: %lld (%.*s)", (long long)json_int_or(git, "files", 0),
            SHORT, json_str_or(git, "diff", ""));
    else if (json_get(git, "dirty"))
        buf_str(&text, ", no changes");
    else if (unknown)
        buf_fmt(&text, "%s%s", text.len ? ", changes unknown: " : "unknown: ", unknown);
    line(p, "commit", "%s", buf_cstr(&text));
}

// A word as a shell takes it.
static void add_word(buf *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-+=:,./@%[]";
    if (out->len)
        buf_char(out, ' ');
    if (*word && !word[strspn(word, plain)]) {
        buf_str(out, word);
        return;
    }
    buf_char(out, '\'');
    for (; *word; word++)
        *word == '\'' ? buf_str(out, "'\\''") : buf_char(out, *word);
    buf_char(out, '\'');
}

static void print_words(cJSON *p, const char *name, const cJSON *words)
{
    AUTO_BUF text = {0};
    const cJSON *w;
    cJSON_ArrayForEach(w, words) add_word(&text, cJSON_IsString(w) ? w->valuestring : "");
    if (text.len)
        line(p, name, "%s", buf_cstr(&text));
}

// Leaves out a cluster that was not used.
static void print_cluster(cJSON *p, const cJSON *cluster)
{
    const char *version = json_str(cluster, "version"), *uid = json_str(cluster, "uid");
    AUTO_BUF text = {0};
    if (!version && !uid)
        return;
    bool sandbox = json_bool_or(cluster, "sandbox", false);
    buf_fmt(&text, sandbox ? "a private sandbox" : "context %s, namespace %s",
        json_str_or(cluster, "context", "?"), json_str_or(cluster, "namespace", "?"));
    if (version)
        buf_fmt(&text, ", %s", version);
    if (uid)
        buf_fmt(&text, ", uid %s", uid);
    line(p, "cluster", "%s", buf_cstr(&text));
}

static void add_part(buf *out, const char *between, const cJSON *value, const char *after)
{
    AUTO_FREE char *text = cJSON_IsString(value) ? mem_strdup(value->valuestring)
                           : value               ? json_to_str(value)
                                                 : NULL;
    if (text && *text)
        buf_fmt(out, "%s%s%s", out->len ? between : "", text, after);
}

// "firesteel 0.2.0, lua 5.4.4, worker 0.2.0 (avx512 kernels, ranks 2, MPICH Version: 4.0.2)"
static void print_versions(cJSON *p, const cJSON *versions)
{
    AUTO_BUF text = {0};
    const cJSON *v;
    cJSON_ArrayForEach(v, versions)
    {
        AUTO_BUF more = {0};
        add_part(&more, ", ", json_get(v, "kernels"), " kernels");
        if (json_int_or(v, "ranks", 1) > 1)
            add_part(&more, ", ", json_get(v, "ranks"), " ranks");
        add_part(&more, ", ", json_get(v, "dnn"), "");
        add_part(&more, ", ", json_get(v, "bf16"), "");
        add_part(&more, ", deterministic ", json_get(v, "deterministic"), "");
        add_part(&more, ", ", json_get(v, "mpi"), "");
        const cJSON *number = cJSON_IsObject(v) ? json_get(v, "version") : v;
        const char *said = cJSON_IsString(number) ? number->valuestring : "";
        bool named = strncasecmp(said, v->string, strlen(v->string)) == 0; // "Lua 5.4.4"
        buf_fmt(&text, "%s%s%s%s", text.len ? ", " : "", named ? "" : v->string, named ? "" : " ",
            said);
        if (more.len)
            buf_fmt(&text, " (%s)", buf_cstr(&more));
    }
    if (text.len)
        line(p, "versions", "%s", buf_cstr(&text));
}

static void print_machine(cJSON *p, const cJSON *origin)
{
    const cJSON *m = json_get(origin, "machine"), *feature;
    AUTO_BUF text = {0}, features = {0};
    add_part(&text, ", ", json_get(m, "arch"), "");
    add_part(&text, ", ", json_get(m, "system"), "");
    add_part(&text, ", ", json_get(m, "cpus"), " CPUs");
    cJSON_ArrayForEach(feature, json_get(m, "features")) add_part(&features, " ", feature, "");
    if (features.len)
        buf_fmt(&text, ", %s", buf_cstr(&features));
    if (text.len)
        line(p, "machine", "%s", buf_cstr(&text));
}

static void print_inputs(cJSON *p, const cJSON *results)
{
    const cJSON *i;
    cJSON_ArrayForEach(i, json_get(results, "inputs"))
    {
        const char *digest = json_str(i, "sha256");
        if (digest)
            line(p, "input", "%s sha256:%.*s", i->string, SHORT, digest);
        else
            line(p, "input", "%s, %lld bytes, changed last %s", i->string,
                (long long)json_int_or(i, "size", 0), json_str_or(i, "mtime", "?"));
    }
    cJSON_ArrayForEach(i, json_get(results, "images"))
    {
        line(p, "image", "%s %.*s", i->string, (int)strlen("sha256:") + SHORT,
            cJSON_IsString(i) ? i->valuestring : "");
    }
}

// Variables that the notebook has set, not those of the environment.
static void print_environment(cJSON *p, const fold *f, const cJSON *results)
{
    const cJSON *v, *begun = json_get(fold_first(f), "environment");
    cJSON_ArrayForEach(v, json_get(results, "environment"))
    {
        if (!json_equal(v, json_get(begun, v->string)))
            line(p, "variable", "%s %s", v->string, cJSON_IsString(v) ? v->valuestring : "");
    }
}

cJSON *origin_lines(const fold *f)
{
    cJSON *p = cJSON_CreateObject();
    AUTO_JSON *origin = fold_origin(f);
    AUTO_JSON *results = fold_results(f);
    int64_t seed;
    print_words(p, "command", json_get(origin, "command"));
    if (json_str(origin, "from"))
        line(p, "repeats", "%s", json_str(origin, "from"));
    if (json_str(origin, "allow"))
        line(p, "allowed", "%s", json_str(origin, "allow"));
    print_git(p, json_get(origin, "git"));
    if (json_int(json_get(origin, "seed"), &seed))
        line(p, "seed", "%lld", (long long)seed);
    print_cluster(p, json_get(origin, "cluster"));
    print_versions(p, json_get(results, "versions"));
    print_machine(p, origin);
    print_inputs(p, results);
    print_environment(p, f, results);
    return p;
}

void origin_print(const fold *f, const char *indent, buf *out)
{
    AUTO_JSON *lines = origin_lines(f);
    const cJSON *name, *text;
    cJSON_ArrayForEach(name, lines)
    {
        cJSON_ArrayForEach(text, name)
            buf_fmt(out, "%s%-*s  %s\n", indent, NAME_WIDTH, name->string, text->valuestring);
    }
}
