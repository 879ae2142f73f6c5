// SPDX-License-Identifier: MIT
// firesteel lineage: where an image, a file, an object or a run came from, and what was made of it.
#include "script/journal/runs/lineage.h"

#include "base/data/digest.h"
#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/say.h"
#include "script/journal/file/reader.h"
#include "script/journal/origin.h"
#include "script/journal/runs/runs.h"

#include <stdio.h>
#include <string.h>

enum {
    HEADER_MOST = 16 << 20,
    MANIFEST_MOST = 4 << 20,
    NOTES_MOST = 256,     // the most files or layers whose own notes are read
    NOTE_MOST = 64 << 10, // the most bytes of each, names included
    SHORT = 19,
};

// What the thing itself says about its origin, without any journal.

// Anybody may have made an image or a file, so only a limited part of what it says is read; a note
// says what was left out.
static cJSON *bounded(const cJSON *notes, const char *prefix)
{
    cJSON *found = NULL;
    const cJSON *note;
    size_t n = 0, left_out = 0;
    cJSON_ArrayForEach(note, notes)
    {
        if (!cJSON_IsString(note) || !str_starts(note->string, prefix))
            continue;
        if (n == NOTES_MOST || strlen(note->string) + strlen(note->valuestring) > NOTE_MOST) {
            left_out++;
            continue;
        }
        found = found ? found : cJSON_CreateObject();
        cJSON_AddItemToObject(found, note->string, cJSON_CreateString(note->valuestring));
        n++;
    }
    if (!left_out)
        return found;
    AUTO_FREE char *words = str_fmt("%zu notes are not shown: more than %d of them, or longer "
                                    "than %d KiB",
        left_out, NOTES_MOST, NOTE_MOST >> 10);
    found = found ? found : cJSON_CreateObject();
    json_set_str(found, "(left out)", words);
    return found;
}

// The __metadata__ of a safetensors file that firesteel wrote; NULL: another file.
static cJSON *read_metadata(const char *path)
{
    unsigned char head[8];
    AUTO_BUF text = {0};
    FILE *f = fopen(path, "rbe");
    uint64_t n = 0;
    if (!f)
        return NULL;
    bool is_one = fread(head, 1, sizeof head, f) == sizeof head;
    for (size_t i = 0; i < sizeof head; i++)
        n |= (uint64_t)head[i] << (8 * i);
    if (is_one && n > 1 && n <= HEADER_MOST) {
        buf_reserve(&text, n);
        text.len = fread(text.data, 1, n, f);
    }
    fclose(f);
    AUTO_JSON *header = text.len == n ? json_parse(buf_cstr(&text), text.len, NULL) : NULL;
    return bounded(json_get(header, "__metadata__"), "firesteel.");
}

static cJSON *read_json(const char *path)
{
    AUTO_BUF text = {0};
    return path_read(path, &text, MANIFEST_MOST, NULL) < 0 ? NULL
                                                           : json_parse(text.data, text.len, NULL);
}

// The digest of an image of the local store; new, NULL: it is not there.
static char *find_image(struct cli *cli, const char *word)
{
    AUTO_FREE char *dir = cli_images_dir(cli, NULL);
    AUTO_FREE char *path = dir ? path_join(dir, "index.json") : NULL;
    AUTO_JSON *index = path ? read_json(path) : NULL;
    AUTO_FREE char *latest = str_fmt("%s:latest", word);
    const char *at = strstr(word, "@sha256:");
    const cJSON *m;
    if (at)
        return mem_strdup(at + 1);
    cJSON_ArrayForEach(m, json_get(index, "manifests"))
    {
        const char *ref = json_str(json_get(m, "annotations"), "org.opencontainers.image.ref.name");
        const char *digest = json_str_or(m, "digest", "");
        if (str_eq(ref, word) || str_eq(ref, latest) || str_eq(digest, word))
            return mem_strdup(digest);
    }
    return NULL;
}

static cJSON *read_annotations(struct cli *cli, const char *digest)
{
    AUTO_FREE char *dir = cli_images_dir(cli, NULL);
    const char *hex = strchr(digest, ':');
    if (!dir || !hex || strspn(hex + 1, "0123456789abcdef") != 64)
        return NULL;
    AUTO_FREE char *path = str_fmt("%s/blobs/sha256/%s", dir, hex + 1);
    AUTO_JSON *manifest = read_json(path);
    return bounded(json_get(manifest, "annotations"), "");
}

// Which thing is meant.

struct subject {
    char *key, *name;
    const char *kind;
    cJSON *notes; // what it says itself; NULL: nothing
};

static void subject_done(struct subject *s)
{
    free(s->key);
    free(s->name);
    cJSON_Delete(s->notes);
}

static int find_subject(struct cli *cli, const char *folder, const cJSON *runs, const char *word,
    struct subject *s, err *e)
{
    char hex[SHA256_HEX];
    s->name = mem_strdup(word);
    if (!*word)
        return err_set(e, ERR_USAGE, "which file, run or image? The name is empty");
    if (path_exists(word) && !path_is_dir(word)) {
        if (sha256_file(word, hex, e) < 0)
            return -1;
        s->kind = "file";
        s->key = str_fmt("sha256:%s", hex);
        s->notes = read_metadata(word);
        return 0;
    }
    AUTO_FREE char *run = runs_pick(folder, NULL, word, NULL);
    if (run) {
        s->kind = "run";
        s->key = str_fmt("run:%s", run);
        return 0;
    }
    s->kind = "image";
    s->key = find_image(cli, word);
    if (!s->key)
        s->key = lineage_find(runs, word);
    if (!s->key)
        return err_set(e, ERR_NOT_FOUND,
            "%s is no file, no run of this folder, no image of the local store, and nothing that "
            "a run of this folder has made or used (deploy/NAME, NAME:TAG, sha256:…)",
            word);
    s->notes = read_annotations(cli, s->key);
    return 0;
}

// Printing, as a tree.

static const cJSON *find_in(const cJSON *list, const char *field, const char *value)
{
    const cJSON *j;
    cJSON_ArrayForEach(j, list) if (str_eq(json_str(j, field), value)) return j;
    return NULL;
}

// The graph's things by key, and its edges by their start: a chain for each, in their order.
struct page {
    const cJSON *graph;
    buf *out;
    hashmap *seen, *things, *from; // values: in `thing`; the first edge
    const cJSON **thing, **edge;
    size_t *next, n_edges; // of an edge: the next one from the same place; n_edges: none
};

static size_t look_up(const hashmap *map, const char *key, size_t otherwise)
{
    size_t found;
    return hashmap_get(map, key, strlen(key), &found) ? found : otherwise;
}

static bool is_seen(struct page *p, const char *key)
{
    if (look_up(p->seen, key, 0))
        return true;
    hashmap_set(p->seen, key, strlen(key), 1);
    return false;
}

static void page_init(struct page *p, const cJSON *graph, buf *out)
{
    const cJSON *things = json_get(graph, "things"), *edges = json_get(graph, "edges"), *j;
    size_t n = 0;
    *p = (struct page){graph, out, hashmap_new(), hashmap_new(), hashmap_new()};
    p->thing = mem_array((size_t)cJSON_GetArraySize(things) + 1, sizeof *p->thing);
    cJSON_ArrayForEach(j, things)
    {
        const char *key = json_str_or(j, "key", "");
        hashmap_set(p->things, key, strlen(key), n);
        p->thing[n++] = j;
    }
    p->n_edges = (size_t)cJSON_GetArraySize(edges);
    p->edge = mem_array(p->n_edges + 1, sizeof *p->edge);
    p->next = mem_array(p->n_edges + 1, sizeof *p->next);
    n = 0;
    cJSON_ArrayForEach(j, edges) p->edge[n++] = j;
    while (n-- > 0) { // backwards, so that each chain keeps their order
        const char *from = json_str_or(p->edge[n], "from", "");
        p->next[n] = look_up(p->from, from, p->n_edges);
        hashmap_set(p->from, from, strlen(from), n);
    }
}

static void page_done(struct page *p)
{
    hashmap_free(p->seen);
    hashmap_free(p->things);
    hashmap_free(p->from);
    free(p->thing);
    free(p->edge);
    free(p->next);
}

static const cJSON *thing_of(const struct page *p, const char *key)
{
    size_t at;
    return hashmap_get(p->things, key, strlen(key), &at) ? p->thing[at] : NULL;
}

static void indent(struct page *p, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_str(p->out, "  ");
}

// Foreign text on one line: no line break in it can make it look like a line of ours.
static void put_word(buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n' || *text == '\r' || *text == '\t')
            buf_fmt(out, "\\%c", *text == '\n' ? 'n' : *text == '\r' ? 'r' : 't');
        else
            buf_char(out, *text);
    }
}

static void put_thing(struct page *p, const cJSON *t, const char *key)
{
    const char *kind = json_str_or(t, "kind", "thing");
    bool object = str_eq(kind, "object");
    buf_fmt(p->out, "%s ", object ? "" : kind);
    put_word(p->out, json_str_or(t, "name", "?"));
    buf_fmt(p->out, "%s%s %.*s%s", json_str(t, "namespace") ? " in " : "",
        json_str_or(t, "namespace", ""), object ? 60 : SHORT, key,
        json_bool_or(t, "gone", false) ? ", gone" : "");
}

static void put_run_facts(struct page *p, const cJSON *run, int depth)
{
    const cJSON *git = json_get(run, "git"), *item;
    const char *commit = json_str(git, "commit");
    indent(p, depth);
    buf_fmt(p->out, "notebook %s sha256:%.12s\n", json_str_or(run, "notebook", "unknown"),
        json_str_or(run, "source", "unknown"));
    indent(p, depth);
    if (commit)
        buf_fmt(p->out, "commit %.12s%s%s%s\n", commit, json_str(git, "branch") ? " on " : "",
            json_str_or(git, "branch", ""),
            json_bool_or(git, "dirty", false) ? ", with changed files" : "");
    else
        buf_str(p->out, "commit unknown: no git repository, or it was not asked\n");
    cJSON_ArrayForEach(item, json_get(run, "parameters"))
    {
        AUTO_FREE char *value = json_to_str(item);
        indent(p, depth);
        buf_str(p->out, "parameter ");
        put_word(p->out, item->string);
        buf_fmt(p->out, " = %s\n", value);
    }
    cJSON_ArrayForEach(item, json_get(run, "cells"))
    {
        indent(p, depth);
        buf_str(p->out, "cell ");
        put_word(p->out, json_str_or(item, "title", json_str_or(item, "id", "")));
        buf_fmt(p->out, " sha256:%.12s\n", json_str_or(item, "sha256", ""));
    }
}

static void put_back(struct page *p, const char *key, int depth);

static void put_run(struct page *p, const char *key, int depth)
{
    const cJSON *run = find_in(json_get(p->graph, "runs"), "run", key + strlen("run:"));
    const cJSON *edge;
    buf_fmt(p->out, "run %s, %s, started %s\n", key + strlen("run:"),
        json_str_or(run, "state", "unknown"), json_str_or(run, "started", "unknown"));
    if (is_seen(p, key))
        return;
    put_run_facts(p, run, depth + 1);
    cJSON_ArrayForEach(edge, json_get(p->graph, "edges"))
    {
        const char *from = json_str_or(edge, "from", "");
        if (!str_eq(json_str(edge, "to"), key))
            continue;
        indent(p, depth + 1);
        buf_str(p->out, "used ");
        put_thing(p, thing_of(p, from), from);
        buf_str(p->out, "\n");
        put_back(p, from, depth + 2);
    }
}

static void put_back(struct page *p, const char *key, int depth)
{
    const cJSON *edge;
    cJSON_ArrayForEach(edge, json_get(p->graph, "edges"))
    {
        if (!str_eq(json_str(edge, "to"), key) || !str_eq(json_str(edge, "kind"), "made"))
            continue;
        indent(p, depth);
        buf_str(p->out, "made by ");
        put_run(p, json_str_or(edge, "from", ""), depth);
    }
}

static void put_on(struct page *p, const char *key, int depth)
{
    for (size_t i = look_up(p->from, key, p->n_edges); i < p->n_edges; i = p->next[i]) {
        const char *to = json_str_or(p->edge[i], "to", "");
        indent(p, depth);
        if (str_starts(to, "run:")) {
            buf_fmt(p->out, "used by run %s\n", to + strlen("run:"));
        } else {
            bool part = str_eq(json_str(p->edge[i], "kind"), "part");
            buf_str(p->out, part ? "is in " : "made ");
            put_thing(p, thing_of(p, to), to);
            buf_str(p->out, "\n");
        }
        if (!is_seen(p, to))
            put_on(p, to, depth + 1);
    }
}

static bool has_edge(const cJSON *graph, const char *end, const char *key)
{
    const cJSON *edge;
    cJSON_ArrayForEach(
        edge, json_get(graph, "edges")) if (str_eq(json_str(edge, end), key)) return true;
    return false;
}

static void put_notes(struct page *p, const struct subject *s)
{
    const cJSON *note;
    cJSON_ArrayForEach(note, s->notes)
    {
        buf_str(p->out, "  ");
        put_word(p->out, note->string);
        buf_str(p->out, " = ");
        put_word(p->out, note->valuestring);
        buf_char(p->out, '\n');
    }
}

static void print_tree(const struct subject *s, const cJSON *graph)
{
    AUTO_BUF text = {0}, shown = {0};
    CLEANUP(page_done) struct page p;
    page_init(&p, graph, &text);
    const cJSON *thing = thing_of(&p, s->key);
    if (str_starts(s->key, "run:")) {
        put_run(&p, s->key, 0);
    } else {
        AUTO_JSON *itself = cJSON_CreateObject();
        json_set_str(itself, "kind", s->kind);
        json_set_str(itself, "name", s->name);
        put_thing(&p, thing ? thing : itself, s->key);
        buf_str(&text, "\n");
        put_notes(&p, s);
        put_back(&p, s->key, 1);
        if (!has_edge(graph, "to", s->key))
            buf_str(&text, "  made by: no run of this folder knows it\n");
    }
    put_on(&p, s->key, 1);
    if (!has_edge(graph, "from", s->key))
        buf_str(&text, "  nothing is known to be made of it\n");
    printable(&shown, text.data, text.len);
    say(stdout, "%s", buf_cstr(&shown));
}

static void quote(buf *out, const char *text)
{
    AUTO_JSON *j = cJSON_CreateString(text);
    json_print(out, j);
}

static void print_dot(const cJSON *graph)
{
    AUTO_BUF out = {0};
    const cJSON *j;
    buf_str(&out, "digraph lineage {\n  rankdir=LR;\n  node [fontname=\"sans\"];\n");
    cJSON_ArrayForEach(j, json_get(graph, "runs"))
    {
        AUTO_FREE char *key = str_fmt("run:%s", json_str_or(j, "run", ""));
        buf_str(&out, "  ");
        quote(&out, key);
        buf_str(&out, " [shape=ellipse, label=");
        quote(&out, json_str_or(j, "run", ""));
        buf_str(&out, "];\n");
    }
    cJSON_ArrayForEach(j, json_get(graph, "things"))
    {
        AUTO_FREE char *label =
            str_fmt("%s\n%.*s", json_str_or(j, "name", "?"), SHORT, json_str_or(j, "key", ""));
        buf_str(&out, "  ");
        quote(&out, json_str_or(j, "key", ""));
        buf_str(&out, " [shape=box, label=");
        quote(&out, label);
        buf_str(&out, "];\n");
    }
    cJSON_ArrayForEach(j, json_get(graph, "edges"))
    {
        buf_str(&out, "  ");
        quote(&out, json_str_or(j, "from", ""));
        buf_str(&out, " -> ");
        quote(&out, json_str_or(j, "to", ""));
        buf_fmt(&out, " [label=%s];\n", json_str_or(j, "kind", ""));
    }
    buf_str(&out, "}\n");
    say_file(out.data, out.len);
}

static int lineage(struct cli *cli, const char *folder, const char *word, bool json, bool dot)
{
    err e = {0};
    CLEANUP(subject_done) struct subject s = {0};
    AUTO_JSON *runs = lineage_read(folder, &e);
    if (!runs || find_subject(cli, folder, runs, word, &s, &e) < 0)
        return cli_error(cli, &e);
    AUTO_JSON *graph = lineage_around(runs, s.key);
    if (s.notes)
        json_set(graph, "notes", cJSON_Duplicate(s.notes, true));
    if (json)
        say_json(graph, 2);
    else if (dot)
        print_dot(graph);
    else
        print_tree(&s, graph);
    return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *cwd = NULL, *output = NULL;
    bool json = false, dot = false;
    const struct option options[] = {
        {"output", 'o', "json|dot", "as JSON, or as a graph for Graphviz", .text = &output},
        {"json", 0, NULL, "the same as -o json", .given = &json},
        {"dot", 0, NULL, "the same as -o dot", .given = &dot},
        {"cwd", 0, "DIR", "working folder of the runs, instead of this one", .text = &cwd},
        {0},
    };
    char **rest = NULL;
    AUTO_FREE char *folder = NULL;
    int code;
    if (options_parse(cli, &lineage_verb, options, argc, argv, &rest, &code) == 0) {
        json = json || str_eq(output, "json");
        dot = dot || str_eq(output, "dot");
        if (!rest || strv_len(rest) != 1)
            code = cli_usage(cli, &lineage_verb, "of what? An image, a file, an object or a run");
        else if ((output && !json && !dot) || (json && dot))
            code = cli_usage(cli, &lineage_verb, "the output is json or dot, or not said");
        else
            code = lineage(cli, folder = cli_runs_folder(cli, cwd, NULL), rest[0], json, dot);
    }
    strv_free(rest);
    return code;
}

const struct verb lineage_verb = {
    .name = "lineage",
    .summary = "where an image, a file, an object or a run came from, and what was made of it",
    .usage =
        "IMAGE|FILE|OBJECT|RUN [-o json|dot]\n\nAn image is NAME:TAG or sha256:…, an object "
        "deploy/NAME or \"Deployment NAME\"; a run as in\n"
        "`firesteel runs`. It reads the journals of the working folder, the annotations of images "
        "in\n"
        "the local store, and the metadata of safetensors files; what these do not know is said.",
    .run = run,
    .takes_runs = true,
};
