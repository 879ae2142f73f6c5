// SPDX-License-Identifier: MIT
#include "trainer/files/checkpoint.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "trainer/files/safetensors.h"
#include "trainer/nn/config.h"

#include <string.h>

static const char format[] = "firesteel";

// "optimizer/m/dense/kernel" for the slot m, "dense/kernel" for the weight itself.
static void entry_name(const model *m, const char *slot, size_t weight, buf *out)
{
    buf_clear(out);
    if (slot)
        buf_fmt(out, "optimizer/%s/", slot);
    model_weight_name(m, weight, out);
}

static int add(safetensors_writer *w, const char *name, tensor *t)
{
    if (!t)
        return -1;
    safetensors_add(w, name, t);
    tensor_free(t);
    return 0;
}

static int add_all(safetensors_writer *w, const model *m, bool optimizer, err *e)
{
    AUTO_BUF name = {0};
    for (size_t i = 0; i < model_weight_count(m); i++) {
        entry_name(m, NULL, i, &name);
        if (add(w, buf_cstr(&name), model_weight(m, i, e)) < 0)
            return -1;
    }
    for (size_t slot = 0; optimizer && slot < model_slot_count(m); slot++)
        for (size_t i = 0; i < model_weight_count(m); i++) {
            entry_name(m, model_slot_name(m, slot), i, &name);
            if (add(w, buf_cstr(&name), model_slot(m, slot, i, e)) < 0)
                return -1;
        }
    return 0;
}

int checkpoint_encode(const model *m, checkpoint_options options, buf *out, err *e)
{
    if (!model_is_built(m))
        return err_set(e, ERR_USAGE, "the model has no weights yet: fit or build it first");
    AUTO_JSON *config = config_of(m);
    if (!options.optimizer && json_get(config, "steps"))
        json_set_int(config, "steps", 0); // they count the optimizer's state
    AUTO_FREE char *text = json_to_str(config);
    AUTO_BUF nothing = {0};
    safetensors_writer w;
    safetensors_begin(&w);
    safetensors_add_text(&w, "format", format);
    safetensors_add_text(&w, "config", text);
    const cJSON *note;
    cJSON_ArrayForEach(note, options.notes) if (cJSON_IsString(note))
        safetensors_add_text(&w, note->string, note->valuestring);
    int status = add_all(&w, m, options.optimizer, e);
    safetensors_finish(&w, status == 0 ? out : &nothing);
    return status;
}

int checkpoint_write(const model *m, const char *path, checkpoint_options options, err *e)
{
    AUTO_BUF bytes = {0};
    if (checkpoint_encode(m, options, &bytes, e) < 0)
        return -1;
    if (path_update(path, bytes.data, bytes.len, 0644, e) < 0)
        return err_wrap(e, "writing the checkpoint");
    return 0;
}

// Called for each tensor of a checkpoint: a first pass checks all tensors, a second one writes
// them.
typedef int (*visit_fn)(model *m, int slot, size_t weight, const tensor *t, err *e);

static int check_one(model *m, int slot, size_t weight, const tensor *t, err *e)
{
    if (model_check_weight(m, weight, t, e) == 0)
        return 0;
    return slot < 0 ? -1 : err_wrap(e, "optimizer/%s", model_slot_name(m, (size_t)slot));
}

static int write_one(model *m, int slot, size_t weight, const tensor *t, err *e)
{
    return slot < 0 ? model_set_weight(m, weight, t, e)
                    : model_set_slot(m, (size_t)slot, weight, t, e);
}

// Every weight (slot -1) must be in the file; optimizer state may be missing.
static int visit(model *m, const safetensors *s, visit_fn fn, err *e)
{
    AUTO_BUF name = {0};
    for (int slot = -1; slot < (int)model_slot_count(m); slot++)
        for (size_t i = 0; i < model_weight_count(m); i++) {
            entry_name(m, slot < 0 ? NULL : model_slot_name(m, (size_t)slot), i, &name);
            if (slot >= 0 && !safetensors_has(s, buf_cstr(&name)))
                continue;
            tensor *t = safetensors_get(s, buf_cstr(&name), e);
            int status = t ? fn(m, slot, i, t, e) : -1;
            tensor_free(t);
            if (status < 0)
                return -1;
        }
    return 0;
}

// Does the file have the whole state of the model's optimizer?
static bool has_slots(const model *m, const safetensors *s)
{
    AUTO_BUF name = {0};
    bool all = model_slot_count(m) > 0;
    for (size_t slot = 0; slot < model_slot_count(m); slot++)
        for (size_t i = 0; i < model_weight_count(m); i++) {
            entry_name(m, model_slot_name(m, slot), i, &name);
            all = all && safetensors_has(s, buf_cstr(&name));
        }
    return all;
}

static int restore(model *m, const safetensors *s, err *e)
{
    return visit(m, s, check_one, e) < 0 ? -1 : visit(m, s, write_one, e);
}

static cJSON *config_in(const safetensors *s, err *e)
{
    const char *kind = safetensors_text(s, "format"), *text = safetensors_text(s, "config");
    if (!kind || !text || strcmp(kind, format) != 0) {
        err_set(e, ERR_INVALID,
            "a safetensors file of another program: it has no firesteel configuration");
        return NULL;
    }
    cJSON *config = json_parse(text, strlen(text), e);
    if (!config)
        err_wrap(e, "the checkpoint's configuration");
    return config;
}

// Plain SGD has no state but its steps, which schedules and Dropout follow.
static bool counts_alike(const model *m, const cJSON *config)
{
    const cJSON *optimizer = json_get(config, "optimizer"), *momentum;
    const compile_spec *spec = model_compiled(m);
    momentum = json_get(optimizer, "momentum");
    return spec &&
           strcmp(json_str_or(optimizer, "type", ""), optimizer_name(spec->optimizer.kind)) == 0 &&
           !(cJSON_IsNumber(momentum) && momentum->valuedouble > 0);
}

// The steps go with the optimizer's state: Adam corrects its moments by them.
static void restore_steps(model *m, const safetensors *s)
{
    err e;
    AUTO_JSON *config = config_in(s, &e);
    int64_t steps = json_int_or(config, "steps", 0);
    if (config && (model_slot_count(m) ? has_slots(m, s) : steps > 0 && counts_alike(m, config)))
        model_set_steps(m, steps < 0 ? 0 : steps);
}

static model *make(const safetensors *s, err *e)
{
    AUTO_JSON *config = config_in(s, e);
    if (!config)
        return NULL;
    // Memory is only taken for as many weights as the file has: a few damaged digits must not cost
    // gigabytes.
    model *m = config_model(config, s->n / sizeof(float) + 1, e);
    if (!m) {
        err_wrap(e, "the checkpoint's configuration");
        return NULL;
    }
    if (!model_is_built(m) || restore(m, s, e) < 0) {
        if (!model_is_built(m))
            err_set(e, ERR_INVALID, "the checkpoint's configuration does not tell the inputs");
        model_free(m);
        return NULL;
    }
    if (model_slot_count(m) && !has_slots(m, s))
        model_set_steps(m, 0); // its moments start again
    return m;
}

model *checkpoint_decode(const void *bytes, size_t n, err *e)
{
    safetensors s;
    if (safetensors_open(&s, bytes, n, e) < 0) {
        err_wrap(e, "not a checkpoint");
        return NULL;
    }
    model *m = make(&s, e);
    safetensors_done(&s);
    return m;
}

model *checkpoint_read(const char *path, err *e)
{
    AUTO_BUF bytes = {0};
    if (path_read(path, &bytes, 0, e) < 0)
        return NULL;
    model *m = checkpoint_decode(buf_cstr(&bytes), bytes.len, e);
    if (!m)
        err_wrap(e, "%s", path);
    return m;
}

int checkpoint_restore(model *m, const void *bytes, size_t n, err *e)
{
    safetensors s;
    if (!model_is_built(m))
        return err_set(e, ERR_USAGE, "the model has no weights yet: build it first");
    if (safetensors_open(&s, bytes, n, e) < 0)
        return err_wrap(e, "not a checkpoint");
    int status = restore(m, &s, e);
    if (status == 0)
        restore_steps(m, &s);
    safetensors_done(&s);
    return status;
}
