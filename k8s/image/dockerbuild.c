// SPDX-License-Identifier: MIT
// Builds the stages of a Dockerfile. A file's mode is 0755 or 0644 and its owner root, as in all
// our layers, unless --chmod and --chown say otherwise.
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "k8s/image/dockerfile.h"
#include "k8s/image/draft.h"
#include "k8s/image/ignore.h"
#include "k8s/image/index.h"
#include "k8s/image/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct stage {
    char *name; // NULL: none was given
    struct draft draft;
    cJSON *args;  // {NAME: value} that the stage has declared
    char **known; // folders that are in the image for sure
    bool has_base, cmd;
    oci_descriptor manifest; // of the finished stage
    char *root;              // where it is unpacked; NULL: nowhere yet
};

struct building {
    const image_store *store;
    const struct dockerfile_build *options;
    char **ignore;  // the context's .dockerignore
    cJSON *globals; // ARGs before the first FROM
    struct stage *stages;
    size_t n;
    const struct dockerfile_step *step; // that is being done
    size_t new_layers;
};

static struct stage *current(const struct building *b)
{
    return b->n ? &b->stages[b->n - 1] : NULL;
}

static void building_done(struct building *b)
{
    for (size_t i = 0; i < b->n; i++) {
        struct stage *s = &b->stages[i];
        free(s->name);
        draft_done(&s->draft);
        cJSON_Delete(s->args);
        strv_free(s->known);
        free(s->root);
    }
    free(b->stages);
    cJSON_Delete(b->globals);
    strv_free(b->ignore);
}

// Variables: the stage's environment, then its arguments; before the first stage, the global ones.

static const char *env_value(struct stage *s, const char *name)
{
    size_t n = strlen(name);
    const cJSON *setting;
    cJSON_ArrayForEach(setting, json_get(draft_run(&s->draft), "Env"))
    {
        const char *text = setting->valuestring;
        if (text && strncmp(text, name, n) == 0 && text[n] == '=')
            return text + n + 1;
    }
    return NULL;
}

static const char *look_up(void *arg, const char *name)
{
    struct building *b = arg;
    struct stage *s = current(b);
    bool in_stage = s && !str_eq(b->step->name, "FROM");
    const char *value = in_stage ? env_value(s, name) : NULL;
    return value ? value : json_str(in_stage ? s->args : b->globals, name);
}

static const char *given_arg(const struct building *b, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *a = b->options->args; a && *a; a++)
        if (strncmp(*a, name, n) == 0 && (*a)[n] == '=')
            return *a + n + 1;
    return str_eq(name, "TARGETARCH")       ? OCI_ARCHITECTURE
           : str_eq(name, "TARGETOS")       ? "linux"
           : str_eq(name, "TARGETPLATFORM") ? "linux/" OCI_ARCHITECTURE
                                            : NULL;
}

static int words_of(struct building *b, char ***words, err *e)
{
    AUTO_JSON *list =
        *b->step->rest == '[' ? json_parse(b->step->rest, strlen(b->step->rest), NULL) : NULL;
    if (!cJSON_IsArray(list))
        return dockerfile_words(b->step->rest, look_up, b, words, e);
    *words = mem_array(1, sizeof **words);
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        AUTO_FREE char *word =
            cJSON_IsString(item) ? dockerfile_text(item->valuestring, look_up, b, e) : NULL;
        if (!word) {
            strv_free(*words);
            return -1;
        }
        *words = strv_add(*words, word);
    }
    return 0;
}

static const char *flag_of(const struct dockerfile_step *s, const char *name)
{
    size_t n = strlen(name);
    for (char **f = s->flags; *f; f++)
        if (strncmp(*f, name, n) == 0 && (*f)[n] == '=')
            return *f + n + 1;
    return NULL;
}

static void know(struct stage *s, const char *dir)
{
    s->known = strv_add(s->known, dir);
}

// FROM

static struct stage *find_stage(struct building *b, const char *name, size_t before)
{
    int64_t number;
    if (str_to_int(name, &number) && number >= 0 && (size_t)number < before)
        return &b->stages[number];
    for (size_t i = before; i > 0; i--)
        if (b->stages[i - 1].name && strcasecmp(b->stages[i - 1].name, name) == 0)
            return &b->stages[i - 1];
    return NULL;
}

// Stores the stage, so that others can read it or begin with it.
static int finish_stage(struct building *b, struct stage *s, err *e)
{
    struct image_built built = {0};
    if (!s || s->manifest.size)
        return 0;
    if (draft_store(&s->draft, b->store, &built, e))
        return -1;
    s->manifest = built.manifest;
    b->new_layers += s->draft.new_layers;
    s->draft.new_layers = 0;
    image_built_done(&built);
    return 0;
}

static int begin_draft(struct building *b, struct stage *s, const char *from, err *e)
{
    int64_t created = b->options->created;
    struct stage *earlier = find_stage(b, from, b->n - 1);
    s->has_base = !str_eq(from, "scratch");
    if (!s->has_base) {
        draft_alone(&s->draft, created);
        return 0;
    }
    if (earlier)
        return draft_from(&s->draft, b->store, earlier->manifest.digest.text, created, e);
    if (b->options->need && b->options->need(b->options->arg, from, e))
        return -1;
    return draft_from(&s->draft, b->store, from, created, e);
}

static int do_from(struct building *b, char *const *words, err *e)
{
    size_t n = strv_len(words);
    if ((n != 1 && n != 3) || (n == 3 && strcasecmp(words[1], "AS") != 0))
        return err_set(e, ERR_INVALID, "it takes IMAGE, or IMAGE AS NAME");
    if (finish_stage(b, current(b), e))
        return -1;
    b->stages = mem_resize(b->stages, b->n + 1, sizeof *b->stages);
    struct stage *s = &b->stages[b->n++];
    *s = (struct stage){.name = n == 3 ? mem_strdup(words[2]) : NULL,
        .args = cJSON_CreateObject(),
        .known = mem_array(1, sizeof *s->known)};
    know(s, "/");
    if (begin_draft(b, s, words[0], e))
        return -1;
    if (cJSON_GetArraySize(json_get(draft_run(&s->draft), "OnBuild")))
        return err_set(e, ERR_INVALID,
            "%s has ONBUILD steps, which need buildah or podman: install one of them", words[0]);
    return 0;
}

// ARG, ENV, LABEL

static int do_arg(struct building *b, char *const *words, err *e)
{
    for (; *words; words++) {
        const char *equal = strchr(*words, '=');
        AUTO_FREE char *name = mem_strndup(*words, strcspn(*words, "="));
        const char *value = given_arg(b, name);
        if (!value)
            value = equal ? equal + 1 : json_str(b->globals, name);
        json_set_str(b->n ? current(b)->args : b->globals, name, value);
    }
    return 0;
}

// "A=1 B=2", or the old form "A the rest"; each is given to `take`.
static int each_pair(struct building *b, char *const *words,
    void (*take)(struct stage *s, const char *name, const char *value), err *e)
{
    struct stage *s = current(b);
    if (!strchr(words[0], '=')) {
        const char *rest = b->step->rest + strcspn(b->step->rest, " \t");
        AUTO_FREE char *value = dockerfile_text(rest + strspn(rest, " \t"), look_up, b, e);
        if (!value || !*value)
            return value ? err_set(e, ERR_INVALID, "it takes NAME=VALUE") : -1;
        take(s, words[0], value);
        return 0;
    }
    for (; *words; words++) {
        size_t n = strcspn(*words, "=");
        if (!n || !(*words)[n])
            return err_set(e, ERR_INVALID, "“%.60s” is not NAME=VALUE", *words);
        AUTO_FREE char *name = mem_strndup(*words, n);
        take(s, name, *words + n + 1);
    }
    return 0;
}

static void take_env(struct stage *s, const char *name, const char *value)
{
    AUTO_FREE char *setting = str_fmt("%s=%s", name, value);
    draft_env(&s->draft, setting);
}

static void take_label(struct stage *s, const char *name, const char *value)
{
    json_set_str(json_object_at(draft_run(&s->draft), "Labels"), name, value);
}

static int do_env(struct building *b, char *const *words, err *e)
{
    return each_pair(b, words, take_env, e);
}

static int do_label(struct building *b, char *const *words, err *e)
{
    return each_pair(b, words, take_label, e);
}

// WORKDIR, USER, EXPOSE, VOLUME, STOPSIGNAL, ENTRYPOINT, CMD

// A place in the image: absolute, without "." and "//"; new. NULL for "..".
static char *place_of(struct stage *s, const char *path)
{
    const char *home = json_str_or(draft_run(&s->draft), "WorkingDir", "/");
    AUTO_FREE char *whole = *path == '/' ? mem_strdup(path) : path_join(home, path);
    char **parts = strv_split(whole, '/');
    buf out = {0};
    bool good = true;
    for (char **p = parts; *p; p++) {
        good = good && !str_eq(*p, "..");
        if (**p && !str_eq(*p, "."))
            buf_fmt(&out, "/%s", *p);
    }
    strv_free(parts);
    if (!out.len)
        buf_char(&out, '/');
    if (good)
        return buf_take(&out);
    buf_done(&out);
    return NULL;
}

static int do_workdir(struct building *b, char *const *words, err *e)
{
    struct stage *s = current(b);
    AUTO_FREE char *place = place_of(s, words[0]);
    if (!place)
        return err_set(e, ERR_INVALID, "“%s” leads out by “..”", words[0]);
    json_set_str(draft_run(&s->draft), "WorkingDir", place);
    know(s, place); // whoever starts a container makes it
    return 0;
}

static int do_user(struct building *b, char *const *words, err *e)
{
    json_set_str(draft_run(&current(b)->draft), "User", words[0]);
    return 0;
}

static int do_stopsignal(struct building *b, char *const *words, err *e)
{
    json_set_str(draft_run(&current(b)->draft), "StopSignal", words[0]);
    return 0;
}

static int do_expose(struct building *b, char *const *words, err *e)
{
    cJSON *ports = json_object_at(draft_run(&current(b)->draft), "ExposedPorts");
    for (; *words; words++) {
        AUTO_FREE char *port = str_fmt("%s%s", *words, strchr(*words, '/') ? "" : "/tcp");
        json_set(ports, port, cJSON_CreateObject());
    }
    return 0;
}

static int do_volume(struct building *b, char *const *words, err *e)
{
    cJSON *volumes = json_object_at(draft_run(&current(b)->draft), "Volumes");
    for (; *words; words++)
        json_set(volumes, *words, cJSON_CreateObject());
    return 0;
}

// The exec form is taken as it is; what is no JSON is for a shell.
static cJSON *command(const char *rest)
{
    cJSON *list = *rest == '[' ? json_parse(rest, strlen(rest), NULL) : NULL;
    if (cJSON_IsArray(list))
        return list;
    cJSON_Delete(list);
    const char *const shell[] = {"/bin/sh", "-c", rest};
    return cJSON_CreateStringArray(shell, 3);
}

static int do_entrypoint(struct building *b, char *const *words, err *e)
{
    cJSON *run = draft_run(&current(b)->draft);
    json_set(run, "Entrypoint", command(b->step->rest));
    if (!current(b)->cmd) // the base's were for its own program
        cJSON_DeleteItemFromObjectCaseSensitive(run, "Cmd");
    return 0;
}

static int do_cmd(struct building *b, char *const *words, err *e)
{
    json_set(draft_run(&current(b)->draft), "Cmd", command(b->step->rest));
    current(b)->cmd = true;
    return 0;
}

// COPY, ADD

// Where COPY reads, and what stays out.
struct source {
    const char *root;
    const char *const *ignore;
};

struct copying {
    struct building *building;
    struct source from;
    layer *layer;
    char *to;    // in the image, absolute
    bool into;   // it is a folder
    bool unpack; // ADD: archives are unpacked
    size_t found;
};

static int unpack_stage(struct building *b, const oci_descriptor *manifest, char **root, err *e)
{
    if (!*root)
        *root = image_unpack(b->store, &manifest->digest, b->options->temp, NULL, e);
    return *root ? 0 : -1;
}

static int find_source(struct building *b, struct source *from, char **owned, err *e)
{
    const char *name = flag_of(b->step, "--from");
    *owned = NULL;
    *from = (struct source){b->options->context, (const char *const *)b->ignore};
    if (!name)
        return 0;
    struct stage *s = find_stage(b, name, b->n - 1);
    if (s) {
        *from = (struct source){NULL, NULL};
        if (unpack_stage(b, &s->manifest, &s->root, e))
            return -1;
        from->root = s->root;
        return 0;
    }
    oci_descriptor image;
    if ((b->options->need && b->options->need(b->options->arg, name, e)) ||
        image_store_find(b->store, name, &image, e) || unpack_stage(b, &image, owned, e))
        return -1;
    *from = (struct source){*owned, NULL};
    return 0;
}

// Is this place a folder in the stage so far?
static int is_folder(struct building *b, const char *place, bool *is, err *e)
{
    struct stage *s = current(b);
    *is = false;
    for (char **k = s->known; *k && !*is; k++)
        *is = str_eq(*k, place);
    if (*is || !s->has_base)
        return 0;
    struct image_built now = {0};
    AUTO_FREE char *root = NULL;
    if (draft_store(&s->draft, b->store, &now, e))
        return -1;
    int status = unpack_stage(b, &now.manifest, &root, e);
    image_built_done(&now);
    AUTO_FREE char *path = root ? path_join(root, place + 1) : NULL;
    *is = path && path_is_dir(path);
    return status;
}

// The kinds of archives that can be unpacked here. *what: a name for the error of others.
static bool is_archive(const char *path, const char **what)
{
    struct archive *a = archive_read_new();
    struct archive_entry *head;
    archive_read_support_format_tar(a);
    archive_read_support_filter_all(a);
    bool tar = archive_read_open_filename(a, path, 64 << 10) == ARCHIVE_OK &&
               archive_read_next_header(a, &head) == ARCHIVE_OK;
    int filter = archive_filter_code(a, 0);
    if (tar && filter != ARCHIVE_FILTER_NONE && filter != ARCHIVE_FILTER_GZIP &&
        filter != ARCHIVE_FILTER_ZSTD)
        *what = archive_filter_name(a, 0);
    archive_read_free(a);
    return tar;
}

static int unpack_archive(struct copying *c, const char *path, const char *what, err *e)
{
    struct image_limits limits = {.bytes = (int64_t)32 << 30, .files = 1000000};
    if (what)
        return err_set(e, ERR_INVALID, "%s: archives of %s are not unpacked here", path, what);
    AUTO_FREE char *root = path_make_temp(c->building->options->temp, "add-", e);
    AUTO_FD fd = root ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || image_unpack_layer(fd, root, &limits, e))
        return err_wrap(e, "%s", path);
    return layer_tree(c->layer, c->to + 1, root, e);
}

static int copy_one(struct copying *c, const char *path, err *e)
{
    const char *name = path + strlen(c->from.root);
    name += strspn(name, "/");
    struct stat st;
    const char *what = NULL;
    if (lstat(path, &st))
        return 0; // it went away
    if (!S_ISDIR(st.st_mode) && ignore_matches(c->from.ignore, name))
        return 0;
    c->found++;
    if (c->unpack && S_ISREG(st.st_mode) && is_archive(path, &what))
        return unpack_archive(c, path, what, e);
    AUTO_FREE char *last = path_basename(path);
    AUTO_FREE char *place =
        S_ISDIR(st.st_mode) || !c->into ? mem_strdup(c->to) : path_join(c->to, last);
    if (S_ISDIR(st.st_mode))
        know(current(c->building), c->to);
    return layer_tree_without(c->layer, place + 1, path, name, c->from.ignore, e);
}

static void escape(buf *out, const char *text)
{
    for (; *text; text++)
        buf_fmt(out, "%s%c", strchr("*?[\\", *text) ? "\\" : "", *text);
}

// The files that a name or a pattern means below the source's root.
static int copy_each(struct copying *c, const char *pattern, err *e)
{
    glob_t found = {0};
    AUTO_BUF text = {0};
    pattern += strspn(pattern, "/");
    while (str_starts(pattern, "./"))
        pattern += 2;
    if (strstr(pattern, "../") || str_eq(pattern, ".."))
        return err_set(e, ERR_INVALID, "“%s” leads out of the folder by “..”", pattern);
    escape(&text, c->from.root);
    buf_fmt(&text, "/%s", str_eq(pattern, ".") ? "" : pattern);
    size_t before = c->found;
    int status = 0;
    if (glob(buf_cstr(&text), 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && status == 0; i++)
            status = copy_one(c, found.gl_pathv[i], e);
    globfree(&found);
    if (status == 0 && c->found == before)
        status = err_set(e, ERR_NOT_FOUND, "there is no %s in %s", pattern,
            flag_of(c->building->step, "--from") ? flag_of(c->building->step, "--from")
                                                 : c->from.root);
    return status;
}

static int set_looks(struct building *b, layer *l, err *e)
{
    const char *owner = flag_of(b->step, "--chown"), *mode = flag_of(b->step, "--chmod");
    unsigned uid = 0, gid = 0, bits = 0;
    int end = 0;
    if (owner && sscanf(owner, "%u%n", &uid, &end) == 1 && !owner[end])
        gid = uid;
    else if (owner && (sscanf(owner, "%u:%u%n", &uid, &gid, &end) != 2 || owner[end]))
        return err_set(
            e, ERR_INVALID, "--chown=%s: names are not looked up here: use numbers", owner);
    if (mode && (sscanf(mode, "%o%n", &bits, &end) != 1 || mode[end] || bits > 07777))
        return err_set(e, ERR_INVALID, "--chmod=%s: it takes octal digits", mode);
    layer_looks(l, uid, gid, bits);
    return 0;
}

static int check_flags(const struct dockerfile_step *s, err *e)
{
    for (char **f = s->flags; *f; f++)
        if (!str_starts(*f, "--from=") && !str_starts(*f, "--chown=") &&
            !str_starts(*f, "--chmod=") && !str_starts(*f, "--link"))
            return err_set(e, ERR_INVALID, "the option %s is not known here", *f);
    return 0;
}

static int fill(struct copying *c, char *const *words, size_t n, err *e)
{
    if (set_looks(c->building, c->layer, e))
        return -1;
    for (size_t i = 0; i + 1 < n; i++) {
        if (c->unpack && (strstr(words[i], "://") || str_starts(words[i], "git@")))
            return err_set(e, ERR_INVALID,
                "%s is not fetched here: fetch it in a cell, and COPY it", words[i]);
        if (copy_each(c, words[i], e))
            return -1;
    }
    return 0;
}

static int do_copy(struct building *b, char *const *words, err *e)
{
    size_t n = strv_len(words);
    AUTO_FREE char *owned = NULL;
    struct copying c = {.building = b, .unpack = str_eq(b->step->name, "ADD")};
    if (n < 2)
        return err_set(e, ERR_INVALID, "it takes a SOURCE and a place");
    const char *to = words[n - 1];
    AUTO_FREE char *place = c.to = place_of(current(b), to);
    if (!place)
        return err_set(e, ERR_INVALID, "“%s” leads out by “..”", to);
    if (check_flags(b->step, e) || find_source(b, &c.from, &owned, e))
        return -1;
    c.into = n > 2 || str_ends(to, "/") || str_eq(to, ".") || str_ends(to, "/.");
    if (!c.into && is_folder(b, place, &c.into, e))
        return -1;
    c.layer = layer_new();
    layer_bare(c.layer);
    AUTO_FREE char *by = str_fmt("%s %s", b->step->name, b->step->rest);
    int status = fill(&c, words, n, e) || draft_add(&current(b)->draft, b->store, c.layer,
                                              b->options->created, by, e)
                     ? -1
                     : 0;
    layer_free(c.layer);
    if (c.into)
        know(current(b), place);
    return status;
}

static int do_nothing(struct building *b, char *const *words, err *e)
{
    return 0;
}

// The whole

static const struct {
    const char *name;
    int (*run)(struct building *b, char *const *words, err *e);
} steps[] = {
    {"FROM", do_from},
    {"ARG", do_arg},
    {"ENV", do_env},
    {"LABEL", do_label},
    {"COPY", do_copy},
    {"ADD", do_copy},
    {"WORKDIR", do_workdir},
    {"USER", do_user},
    {"EXPOSE", do_expose},
    {"VOLUME", do_volume},
    {"STOPSIGNAL", do_stopsignal},
    {"ENTRYPOINT", do_entrypoint},
    {"CMD", do_cmd},
    {"MAINTAINER", do_nothing},
};

static int run_step(struct building *b, err *e)
{
    size_t i = 0;
    while (i < ARRAY_LEN(steps) && !str_eq(steps[i].name, b->step->name))
        i++;
    if (i == ARRAY_LEN(steps))
        return err_set(e, ERR_INVALID, "this step needs buildah or podman");
    if (!b->n && steps[i].run != do_from && steps[i].run != do_arg)
        return err_set(e, ERR_INVALID, "before it a FROM is needed");
    if (!*b->step->rest)
        return err_set(e, ERR_INVALID, "something is missing after it");
    if (steps[i].run == do_entrypoint || steps[i].run == do_cmd)
        return steps[i].run(b, NULL, e); // a shell's text has words of its own
    char **words = NULL;
    if (words_of(b, &words, e))
        return -1;
    int status =
        *words ? steps[i].run(b, words, e) : err_set(e, ERR_INVALID, "what follows it is empty");
    strv_free(words);
    return status;
}

static bool is_target(const struct building *b)
{
    const char *name = b->options->target;
    return name && b->n && current(b)->name && strcasecmp(current(b)->name, name) == 0;
}

static int run_steps(struct building *b, const struct dockerfile *d, err *e)
{
    for (size_t i = 0; i < d->n; i++) {
        b->step = &d->steps[i];
        if (str_eq(b->step->name, "FROM") && is_target(b))
            break;
        if (run_step(b, e))
            return err_wrap(e, "%s:%d: %s", b->options->name, b->step->line, b->step->name);
    }
    if (!b->n)
        return err_set(e, ERR_INVALID, "%s has no FROM", b->options->name);
    return !b->options->target || is_target(b) ? 0
                                               : err_set(e, ERR_INVALID, "%s has no stage “%s”",
                                                     b->options->name, b->options->target);
}

static void read_ignore(struct building *b)
{
    AUTO_FREE char *path = path_join(b->options->context, ".dockerignore");
    AUTO_BUF text = {0};
    bool there = path_read(path, &text, 1 << 20, NULL) == 0;
    b->ignore = ignore_parse(there ? buf_cstr(&text) : "");
}

int dockerfile_run(const image_store *s, const struct dockerfile *d,
    const struct dockerfile_build *options, struct image_built *out, err *e)
{
    CLEANUP(building_done)
    struct building b = {.store = s, .options = options, .globals = cJSON_CreateObject()};
    *out = (struct image_built){0};
    read_ignore(&b);
    if (run_steps(&b, d, e) || draft_finish(&current(&b)->draft, s, options->tag, out, e))
        return -1;
    out->new_layers += b.new_layers;
    return 0;
}
