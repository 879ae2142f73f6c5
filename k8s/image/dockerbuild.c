// SPDX-License-Identifier: MIT
// Builds the stages of a Dockerfile. A file's mode is 0755 or 0644 and its owner root, as in all
// our layers, unless --chmod and --chown say otherwise.
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "k8s/image/building.h"
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
    struct stage *s = building_stage(b);
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
        return dockerfile_words(b->step->rest, &b->values, words, e);
    *words = mem_array(1, sizeof **words);
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        AUTO_FREE char *word =
            cJSON_IsString(item) ? dockerfile_text(item->valuestring, &b->values, e) : NULL;
        if (!word) {
            strv_free(*words);
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
    if (cJSON_GetArraySize(json_get(draft_run(&s->draft), "OnBuild")))
        return err_set(e, ERR_INVALID,
            "%s has ONBUILD steps, which need buildah or podman: install one of them", words[0]);
    return 0;
}

// ARG, ENV, LABEL

// Asked for each name and each step: a file may have very many.
static int goes_on(const struct building *b, err *e)
{
    const struct layer_told *t = b->options->added;
    return !t || !t->go_on || t->go_on(t->arg) ? 0 : err_set(e, ERR_CANCELLED, "interrupted");
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
        json_set_str(b->n ? building_stage(b)->args : b->globals, name, value);
    }
    return 0;
}

// "A=1 B=2", or the old form "A the rest"; each is given to `take`.
static int each_pair(struct building *b, char *const *words,
    void (*take)(struct stage *s, const char *name, const char *value), err *e)
{
    struct stage *s = building_stage(b);
    if (!strchr(words[0], '=')) {
        const char *rest = b->step->rest + strcspn(b->step->rest, " \t");
        AUTO_FREE char *value = dockerfile_text(rest + strspn(rest, " \t"), &b->values, e);
        if (!value || !*value)
            return value ? err_set(e, ERR_INVALID, "it takes NAME=VALUE") : -1;
        take(s, words[0], value);
        return 0;
    }
    for (; *words; words++) {
        size_t n = strcspn(*words, "=");
        if (goes_on(b, e))
            return -1;
        if (!n || !(*words)[n])
            return err_set(e, ERR_INVALID, "“%s” is not NAME=VALUE", str_short(*words, 60).text);
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

char *building_place(struct stage *s, const char *path)
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
    struct stage *s = building_stage(b);
    AUTO_FREE char *place = building_place(s, words[0]);
    if (!place)
        return err_set(e, ERR_INVALID, "“%s” leads out by “..”", words[0]);
    json_set_str(draft_run(&s->draft), "WorkingDir", place);
    building_know(s, place); // whoever starts a container makes it
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

static int do_expose(struct building *b, char *const *words, err *e)
{
    cJSON *ports = json_object_at(draft_run(&building_stage(b)->draft), "ExposedPorts");
    for (; *words; words++) {
        AUTO_FREE char *port = str_fmt("%s%s", *words, strchr(*words, '/') ? "" : "/tcp");
        json_set(ports, port, cJSON_CreateObject());
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
    cJSON *run = draft_run(&building_stage(b)->draft);
    json_set(run, "Entrypoint", command(b->step->rest));
    if (!building_stage(b)->cmd) // the base's were for its own program
        cJSON_DeleteItemFromObjectCaseSensitive(run, "Cmd");
    return 0;
}

static int do_cmd(struct building *b, char *const *words, err *e)
{
    json_set(draft_run(&building_stage(b)->draft), "Cmd", command(b->step->rest));
    building_stage(b)->cmd = true;
    return 0;
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
    {"COPY", building_copy},
    {"ADD", building_copy},
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
    return name && b->n && building_stage(b)->name &&
           strcasecmp(building_stage(b)->name, name) == 0;
}

static int run_steps(struct building *b, const struct dockerfile *d, err *e)
{
    for (size_t i = 0; i < d->n; i++) {
        b->step = &d->steps[i];
        if (str_eq(b->step->name, "FROM") && is_target(b))
            break;
        if (goes_on(b, e) || run_step(b, e))
            return err_wrap(e, "%s:%d: %s", b->options->name, b->step->line, b->step->name);
    }
    if (!b->n)
        return err_set(e, ERR_INVALID, "%s has no FROM", b->options->name);
    return !b->options->target || is_target(b) ? 0
                                               : err_set(e, ERR_INVALID, "%s has no stage “%s”",
                                                     b->options->name, b->options->target);
}

// An ignore file that cannot be read would let everything into the image.
static int read_ignore(struct building *b, err *e)
{
    AUTO_BUF text = {0};
    err why = {0};
    int status = b->options->ignore
                     ? 0
                     : context_read(&b->context, ".dockerignore", &text, IGNORE_LIMIT, &why);
    if (status && why.code != ERR_NOT_FOUND)
        return err_set(e, why.code, "%s", why.text);
    b->ignore = ignore_parse(b->options->ignore ? b->options->ignore : buf_cstr(&text));
    return 0;
}

int dockerfile_run(const image_store *s, const struct dockerfile *d,
    const struct dockerfile_build *options, struct image_built *out, err *e)
{
    CLEANUP(building_done)
    struct building b = {.store = s, .options = options, .globals = cJSON_CreateObject()};
    b.values = (struct dockerfile_values){look_up, &b, DOCKERFILE_VALUES_MOST};
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
    // Other arguments are for the steps of their stage.
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
    b.values = (struct dockerfile_values){look_up, &b, DOCKERFILE_VALUES_MOST};
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
