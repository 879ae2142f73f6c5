// SPDX-License-Identifier: MIT
// Builds the stages of a Dockerfile. A file's mode is 0755 or 0644 and its owner root, as in all
// our layers, unless --chmod and --chown say otherwise.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/image/dockerfile/building.h"
#include "k8s/image/ignore.h"
#include "k8s/image/unpack.h"

#include <string.h>

enum { IGNORE_LIMIT = 1 << 20 };

struct stage *building_stage(const struct building *b)
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
        context_done(&s->root);
    }
    free(b->stages);
    cJSON_Delete(b->globals);
    context_done(&b->context);
    strv_free(b->ignore);
}

// Variables: those of the stage's environment, then its arguments; before the first stage, the
// global ones.

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

// BuildKit's names for this machine, which is both the platform to build on and the one to build
// for.
static const char *platform_arg(const char *name)
{
    static const struct {
        const char *name, *value;
    } all[] = {{"PLATFORM", "linux/" OCI_ARCHITECTURE}, {"OS", "linux"}, {"ARCH", OCI_ARCHITECTURE},
        {"VARIANT", ""}};
    bool platform = str_starts(name, "TARGET") || str_starts(name, "BUILD");
    const char *rest = name + strlen(str_starts(name, "TARGET") ? "TARGET" : "BUILD");
    for (size_t i = 0; platform && i < ARRAY_LEN(all); i++)
        if (str_eq(rest, all[i].name))
            return all[i].value;
    return str_eq(name, "TARGETSTAGE") ? "default" : NULL;
}

static const char *look_up(void *arg, const char *name)
{
    struct building *b = arg;
    struct stage *s = building_stage(b);
    bool in_stage = s && !str_eq(b->step->name, "FROM");
    const char *value = in_stage ? env_value(s, name) : NULL;
    if (!value)
        value = json_str(in_stage ? s->args : b->globals, name);
    return value || in_stage ? value : platform_arg(name);
}

static const char *given_arg(const struct building *b, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *a = b->options->args; a && *a; a++)
        if (strncmp(*a, name, n) == 0 && (*a)[n] == '=')
            return *a + n + 1;
    return NULL;
}

// The exec form: a JSON list of strings. NULL without an error: it is not JSON, but words.
static int json_words(const char *rest, cJSON **list, err *e)
{
    *list = *rest == '[' ? json_parse(rest, strlen(rest), NULL) : NULL;
    if (!cJSON_IsArray(*list)) {
        cJSON_Delete(STEAL(*list));
        return 0;
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, *list)
    {
        if (cJSON_IsString(item))
            continue;
        cJSON_Delete(STEAL(*list));
        return err_set(e, ERR_INVALID, "a list takes texts in double quotes alone");
    }
    return 0;
}

static int words_of(struct building *b, char ***words, err *e)
{
    cJSON *found;
    bool may = str_eq(b->step->name, "COPY") || str_eq(b->step->name, "ADD") ||
               str_eq(b->step->name, "VOLUME");
    *words = NULL;
    if (json_words(may ? b->step->rest : "", &found, e) != 0)
        return -1;
    AUTO_JSON *list = found;
    if (!list)
        return dockerfile_words(b->step->rest, &b->values, words, e);
    *words = mem_array(1, sizeof **words);
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        AUTO_FREE char *word = dockerfile_text(item->valuestring, &b->values, e);
        if (!word) {
            strv_free(STEAL(*words));
            return -1;
        }
        *words = strv_add(*words, word);
    }
    return 0;
}

void building_know(struct stage *s, const char *dir)
{
    s->known = strv_add(s->known, dir);
}

// FROM

struct stage *building_find(struct building *b, const char *name, size_t before)
{
    int64_t number;
    if (str_to_int(name, &number) && number >= 0 && (size_t)number < before)
        return &b->stages[number];
    for (size_t i = before; i > 0; i--)
        if (b->stages[i - 1].name && strcasecmp(b->stages[i - 1].name, name) == 0)
            return &b->stages[i - 1];
    return NULL;
}

// Stores the stage, so that others can read it or start from it.
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
    struct stage *earlier = building_find(b, from, b->n - 1);
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

// Only its name is there: IMAGE AS NAME.
static struct stage *begin_stage(struct building *b, char *const *words)
{
    b->stages = mem_resize(b->stages, b->n + 1, sizeof *b->stages);
    struct stage *s = &b->stages[b->n++];
    *s = (struct stage){
        .name = strv_len(words) == 3 ? mem_strdup(words[2]) : NULL, .root.folder = -1};
    return s;
}

static int do_from(struct building *b, char *const *words, err *e)
{
    size_t n = strv_len(words);
    if ((n != 1 && n != 3) || (n == 3 && strcasecmp(words[1], "AS") != 0))
        return err_set(e, ERR_INVALID, "it takes IMAGE, or IMAGE AS NAME");
    if (finish_stage(b, building_stage(b), e))
        return -1;
    struct stage *s = begin_stage(b, words);
    s->args = cJSON_CreateObject();
    s->known = mem_array(1, sizeof *s->known);
    building_know(s, "/");
    if (begin_draft(b, s, words[0], e))
        return -1;
    s->draft.watch = b->options->watch;
    if (cJSON_GetArraySize(json_get(draft_run(&s->draft), "OnBuild")))
        return err_set(e, ERR_INVALID,
            "%s has ONBUILD steps, which need buildah or podman: install one of them", words[0]);
    return 0;
}

// ARG, ENV, LABEL

// Called for each name and each step: a file may have very many.
static int goes_on(const struct building *b, err *e)
{
    return work_goes_on(b->options->watch) ? 0 : err_set(e, ERR_CANCELLED, "interrupted");
}

static int do_arg(struct building *b, char *const *words, err *e)
{
    for (; *words; words++) {
        if (goes_on(b, e))
            return -1;
        const char *equal = strchr(*words, '=');
        AUTO_FREE char *name = mem_strndup(*words, strcspn(*words, "="));
        const char *value = given_arg(b, name);
        if (!value)
            value = equal ? equal + 1 : json_str(b->globals, name);
        if (!value)
            value = platform_arg(name);
        json_set_str(b->n ? building_stage(b)->args : b->globals, name, value);
    }
    return 0;
}

typedef void take_pair(struct stage *s, const char *name, const char *value);

static int expand_pair(
    struct building *b, const char *name, const char *value, take_pair *take, err *e)
{
    AUTO_FREE char *key = dockerfile_text(name, &b->values, e),
                   *text = key ? dockerfile_text(value, &b->values, e) : NULL;
    if (!text)
        return -1;
    if (!*key)
        return err_set(e, ERR_INVALID, "a name is missing before “=”");
    take(building_stage(b), key, text);
    return 0;
}

// "A the rest of the line"
static int old_pair(struct building *b, const char *word, take_pair *take, err *e)
{
    const char *rest = b->step->rest + strlen(word), *value = rest + strspn(rest, " \t");
    return *value ? expand_pair(b, word, value, take, e)
                  : err_set(e, ERR_INVALID, "it takes NAME=VALUE");
}

// "A=1 B=2", or the old form; calls `take` for each.
static int each_pair(struct building *b, take_pair *take, err *e)
{
    char **words = dockerfile_split(b->step->rest, b->values.escape);
    bool old = *words && !strchr(*words, '=');
    int status = old ? old_pair(b, *words, take, e) : 0;
    for (char **w = words; !old && *w && status == 0; w++) {
        size_t n = strcspn(*w, "=");
        AUTO_FREE char *name = mem_strndup(*w, n);
        status = goes_on(b, e) ? -1
                 : (*w)[n]
                     ? expand_pair(b, name, *w + n + 1, take, e)
                     : err_set(e, ERR_INVALID, "“%s” is not NAME=VALUE", str_short(*w, 60).text);
    }
    strv_free(words);
    return status;
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
    return each_pair(b, take_env, e);
}

static int do_label(struct building *b, char *const *words, err *e)
{
    return each_pair(b, take_label, e);
}

// WORKDIR, USER, EXPOSE, VOLUME, STOPSIGNAL, ENTRYPOINT, CMD

char *building_place(struct stage *s, const char *path)
{
    const char *home = json_str_or(draft_run(&s->draft), "WorkingDir", "/");
    AUTO_FREE char *whole = *path == '/' ? mem_strdup(path) : path_join(home, path);
    return building_clean(whole);
}

char *building_clean(const char *path)
{
    char **parts = strv_split(path, '/');
    AUTO_BUF out = {0};
    for (char **p = parts; *p; p++) {
        if (str_eq(*p, "..")) {
            const char *slash = out.len ? strrchr(buf_cstr(&out), '/') : NULL;
            out.len = slash ? (size_t)(slash - out.data) : 0;
        } else if (**p && !str_eq(*p, "."))
            buf_fmt(&out, "/%s", *p);
    }
    strv_free(parts);
    return mem_strdup(out.len ? buf_cstr(&out) : "/");
}

static int do_workdir(struct building *b, char *const *words, err *e)
{
    struct stage *s = building_stage(b);
    AUTO_FREE char *place = building_place(s, words[0]);
    json_set_str(draft_run(&s->draft), "WorkingDir", place);
    building_know(s, place); // made by whoever starts a container
    return 0;
}

static int do_user(struct building *b, char *const *words, err *e)
{
    json_set_str(draft_run(&building_stage(b)->draft), "User", words[0]);
    return 0;
}

static int do_stopsignal(struct building *b, char *const *words, err *e)
{
    json_set_str(draft_run(&building_stage(b)->draft), "StopSignal", words[0]);
    return 0;
}

static void expose(cJSON *ports, const char *word)
{
    AUTO_FREE char *port = str_fmt("%s%s", word, strchr(word, '/') ? "" : "/tcp");
    json_set(ports, port, cJSON_CreateObject());
}

// Here a variable may stand for several.
static int do_expose(struct building *b, char *const *words, err *e)
{
    cJSON *ports = json_object_at(draft_run(&building_stage(b)->draft), "ExposedPorts");
    for (; *words; words++) {
        char **each = strv_split(*words, ' ');
        for (char **w = each; *w; w++)
            if (**w)
                expose(ports, *w);
        strv_free(each);
    }
    return 0;
}

static int do_volume(struct building *b, char *const *words, err *e)
{
    cJSON *volumes = json_object_at(draft_run(&building_stage(b)->draft), "Volumes");
    for (; *words; words++)
        json_set(volumes, *words, cJSON_CreateObject());
    return 0;
}

// Keeps the exec form; text that is not JSON is for a shell.
static cJSON *command(const char *rest, err *e)
{
    cJSON *list;
    if (json_words(rest, &list, e) != 0)
        return NULL;
    const char *const shell[] = {"/bin/sh", "-c", rest};
    return list ? list : cJSON_CreateStringArray(shell, 3);
}

static int do_entrypoint(struct building *b, char *const *words, err *e)
{
    cJSON *run = draft_run(&building_stage(b)->draft), *list = command(b->step->rest, e);
    if (!list)
        return -1;
    json_set(run, "Entrypoint", list);
    if (!building_stage(b)->cmd) // the base's arguments were for its own program
        cJSON_DeleteItemFromObjectCaseSensitive(run, "Cmd");
    return 0;
}

static int do_cmd(struct building *b, char *const *words, err *e)
{
    cJSON *list = command(b->step->rest, e);
    if (!list)
        return -1;
    json_set(draft_run(&building_stage(b)->draft), "Cmd", list);
    building_stage(b)->cmd = true;
    return 0;
}

static int do_nothing(struct building *b, char *const *words, err *e)
{
    return 0;
}

// The whole

// The arguments of a step: its words; everything after it as one; or none, because it parses the
// text itself.
enum form { FORM_WORDS, FORM_TEXT, FORM_OWN };

static const struct {
    const char *name;
    int (*run)(struct building *b, char *const *words, err *e);
    enum form form;
} steps[] = {
    {"FROM", do_from, FORM_WORDS},
    {"ARG", do_arg, FORM_WORDS},
    {"ENV", do_env, FORM_OWN},
    {"LABEL", do_label, FORM_OWN},
    {"COPY", building_copy, FORM_WORDS},
    {"ADD", building_copy, FORM_WORDS},
    {"WORKDIR", do_workdir, FORM_TEXT},
    {"USER", do_user, FORM_TEXT},
    {"EXPOSE", do_expose, FORM_WORDS},
    {"VOLUME", do_volume, FORM_WORDS},
    {"STOPSIGNAL", do_stopsignal, FORM_TEXT},
    {"ENTRYPOINT", do_entrypoint, FORM_OWN},
    {"CMD", do_cmd, FORM_OWN},
    {"MAINTAINER", do_nothing, FORM_OWN},
};

static int give_words(struct building *b, enum form form, char ***words, err *e)
{
    if (form == FORM_WORDS)
        return words_of(b, words, e);
    AUTO_FREE char *text = dockerfile_text(b->step->rest, &b->values, e);
    *words = text ? mem_array(1, sizeof **words) : NULL;
    if (text && *text)
        *words = strv_add(*words, text);
    return text ? 0 : -1;
}

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
    if (steps[i].form == FORM_OWN)
        return steps[i].run(b, NULL, e);
    char **words = NULL;
    if (give_words(b, steps[i].form, &words, e))
        return -1;
    int status =
        *words ? steps[i].run(b, words, e) : err_set(e, ERR_INVALID, "what follows it is empty");
    strv_free(words);
    return status;
}

static bool is_target(const struct building *b)
{
    const char *name = b->options->target;
    return name && b->n && building_stage(b)->name &&
           strcasecmp(building_stage(b)->name, name) == 0;
}

static int run_steps(struct building *b, const struct dockerfile *d, err *e)
{
    work_parts(work_of(b->options->watch), (int64_t)d->n);
    for (size_t i = 0; i < d->n; i++) {
        b->step = &d->steps[i];
        if (str_eq(b->step->name, "FROM") && is_target(b))
            break;
        if (goes_on(b, e) || run_step(b, e))
            return err_wrap(e, "%s:%d: %s", b->options->name, b->step->line, b->step->name);
        work_part(work_of(b->options->watch), b->cached);
        b->cached = false;
    }
    if (!b->n)
        return err_set(e, ERR_INVALID, "%s has no FROM", b->options->name);
    return !b->options->target || is_target(b) ? 0
                                               : err_set(e, ERR_INVALID, "%s has no stage “%s”",
                                                     b->options->name, b->options->target);
}

// An ignore file that cannot be read is an error: without it everything would go into the image.
static int read_ignore(struct building *b, err *e)
{
    AUTO_BUF text = {0};
    err why = {0};
    int status = b->options->ignore
                     ? 0
                     : context_read(&b->context, ".dockerignore", &text, IGNORE_LIMIT, &why);
    if (status && why.code != ERR_NOT_FOUND)
        return err_set(e, why.code, "%s", why.text);
    b->ignore = ignore_parse(b->options->ignore ? b->options->ignore : buf_cstr(&text), e);
    return b->ignore ? 0 : err_wrap(e, "the ignore file of %s", b->options->name);
}

int dockerfile_run(const image_store *s, const struct dockerfile *d,
    const struct dockerfile_build *options, struct image_built *out, err *e)
{
    CLEANUP(building_done)
    struct building b = {.store = s, .options = options, .globals = cJSON_CreateObject()};
    b.values = (struct dockerfile_values){look_up, &b, DOCKERFILE_VALUES_MOST, d->escape};
    *out = (struct image_built){0};
    if (context_open(&b.context, options->context, e) || read_ignore(&b, e) ||
        run_steps(&b, d, e) || draft_finish(&building_stage(&b)->draft, s, options->tag, out, e))
        return -1;
    out->new_layers += b.new_layers;
    return 0;
}

struct image_list {
    struct dockerfile_image *at;
    size_t n;
};

static void add_image(struct image_list *list, const char *said, size_t said_n, const char *name)
{
    AUTO_FREE char *text = mem_strndup(said, said_n);
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->at[i].said, text) && str_eq(list->at[i].name, name))
            return;
    list->at = mem_resize(list->at, list->n + 1, sizeof *list->at);
    list->at[list->n++] = (struct dockerfile_image){STEAL(text), mem_strdup(name)};
}

static int list_step(struct building *b, struct image_list *list, err *e)
{
    const char *from = building_flag(b->step, "--from"), *rest = b->step->rest;
    bool is_from = str_eq(b->step->name, "FROM");
    if (from && !is_from && !building_find(b, from, b->n))
        add_image(list, from, strlen(from), from);
    // Arguments of a stage are for its own steps.
    if (!is_from && (b->n || !str_eq(b->step->name, "ARG")))
        return 0;
    char **words;
    if (words_of(b, &words, e))
        return -1;
    int status = is_from ? 0 : do_arg(b, words, e);
    if (is_from && *words && !str_eq(words[0], "scratch") && !building_find(b, words[0], b->n))
        add_image(list, rest, strcspn(rest, " \t"), words[0]);
    if (is_from)
        begin_stage(b, words);
    strv_free(words);
    return status;
}

int dockerfile_images(const struct dockerfile *d, const struct dockerfile_build *options,
    struct dockerfile_image **images, size_t *n, err *e)
{
    CLEANUP(building_done)
    struct building b = {.options = options, .globals = cJSON_CreateObject(), .context.folder = -1};
    b.values = (struct dockerfile_values){look_up, &b, DOCKERFILE_VALUES_MOST, d->escape};
    struct image_list list = {0};
    int status = 0;
    for (size_t i = 0; i < d->n && status == 0; i++) {
        b.step = &d->steps[i];
        if (goes_on(&b, e) || list_step(&b, &list, e))
            status = err_wrap(e, "%s:%d: %s", options->name, b.step->line, b.step->name);
    }
    *images = list.at;
    *n = list.n;
    if (status == 0)
        return 0;
    dockerfile_images_free(list.at, list.n);
    return -1;
}

void dockerfile_images_free(struct dockerfile_image *images, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(images[i].said);
        free(images[i].name);
    }
    free(images);
}
