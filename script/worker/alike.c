// SPDX-License-Identifier: MIT
// At the start of fit, ranks that train together compare their steps and their models: gradients
// are not compared later, and a rank with a step more would wait for ever.
#include "base/digest.h"
#include "base/mem.h"
#include "script/worker/collective.h"
#include "trainer/nn/config.h"

#include <stdio.h>
#include <string.h>

// What must be the same on all ranks, in a plan's shape.
struct fit_plan {
    int64_t steps, epochs, initial_epoch, validates, weights, model;
    int64_t whole_state; // a rank may want it that the others do not
};

// The layers (without their names), loss and optimizer of a model, as a number.
static int64_t model_digest(const model *m)
{
    AUTO_JSON *config = config_of(m);
    cJSON *layer, *layers = cJSON_GetObjectItem(config, "layers");
    cJSON_ArrayForEach(layer, layers) cJSON_DeleteItemFromObject(layer, "name");
    AUTO_BUF text = {0};
    json_print(&text, layers);
    json_print(&text, cJSON_GetObjectItem(config, "groups"));
    buf_fmt(&text, " %s %d", loss_name(model_compiled(m)->loss),
        (int)model_compiled(m)->optimizer.kind);
    uint8_t digest[SHA256_SIZE];
    int64_t first;
    sha256 h;
    sha256_init(&h);
    sha256_update(&h, text.data, text.len);
    sha256_final(&h, digest);
    memcpy(&first, digest, sizeof first);
    return first;
}

enum { MODEL_TEXT = 240 };

// "Flatten(28, 28), Dense(128) relu, Dense(10) softmax; sparse_categorical_crossentropy, Adam"
static void model_text(const model *m, char out[MODEL_TEXT])
{
    AUTO_BUF text = {0};
    for (size_t i = 0; i < model_layer_count(m); i++) {
        const layer_spec *l = model_layer(m, i);
        buf_str(&text, i ? ", " : "");
        layer_text(l, &text);
        if (l->kind == LAYER_DENSE && l->activation != ACTIVATION_LINEAR)
            buf_fmt(&text, " %s", activation_name(l->activation));
    }
    buf_fmt(&text, "; %s, %s", loss_name(model_compiled(m)->loss),
        optimizer_name(model_compiled(m)->optimizer.kind));
    snprintf(out, MODEL_TEXT, "%s", buf_cstr(&text));
}

// All ranks know that rank r's model differs from rank 0's; now they say how.
static int models_differ(const worker *w, const model *m, int r, err *e)
{
    size_t size = (size_t)w->place.size, *counts = mem_array(size, sizeof *counts);
    char mine[MODEL_TEXT], *all = mem_array(size, MODEL_TEXT);
    model_text(m, mine);
    for (size_t i = 0; i < size; i++)
        counts[i] = MODEL_TEXT;
    if (w->comm->allgather(mine, all, counts, e) == 0)
        err_set(e, ERR_USAGE,
            "fit: the ranks have different models: rank 0 has %.*s, but rank %d has %.*s",
            MODEL_TEXT, all, r, MODEL_TEXT, all + (size_t)r * MODEL_TEXT);
    free(counts);
    free(all);
    return -1;
}

static int compare_fit(const struct fit_plan *a, const struct fit_plan *b, int r, err *e)
{
    const struct {
        const char *what;
        int64_t a, b;
    } parts[] = {{"epochs", a->epochs, b->epochs},
        {"as its initial_epoch", a->initial_epoch, b->initial_epoch},
        {"as its validation_data", a->validates, b->validates}};
    int64_t fewer = a->steps < b->steps ? a->steps : b->steps;
    if (a->steps != b->steps)
        return err_set(e, ERR_USAGE,
            "fit: the ranks have different numbers of steps: rank 0 has %lld in an epoch, but rank "
            "%d has %lld. Give each rank as many rows, or all of them steps_per_epoch = %lld",
            (long long)a->steps, r, (long long)b->steps, (long long)fewer);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i].a != parts[i].b)
            return err_set(e, ERR_USAGE,
                "fit: the ranks do not train alike: rank 0 has %lld %s, but rank %d has %lld",
                (long long)parts[i].a, parts[i].what, r, (long long)parts[i].b);
    return 0;
}

int collective_fit(worker *w, const model *m, fit_spec *spec, err *e)
{
    int size = w->place.size, result;
    size_t weights = 0;
    model_weight_values((model *)m, &weights);
    struct fit_plan mine = {(int64_t)fit_steps(spec), spec->epochs ? spec->epochs : 1,
        spec->initial_epoch, spec->val_x != NULL, (int64_t)weights, model_digest(m),
        spec->whole_state};
    struct collective c = collective_of(COLLECTIVE_FIT, NULL, 0, 0, NULL);
    _Static_assert(sizeof mine <= sizeof c.plan.shape, "a plan has room for it");
    struct plan *plans = mem_array((size_t)size, sizeof *plans);
    memcpy(c.plan.shape, &mine, sizeof mine);
    result = collective_begin(w, &c, plans, e);
    for (int r = 1; r < size && result == 0; r++) {
        struct fit_plan first, other;
        memcpy(&first, plans[0].shape, sizeof first);
        memcpy(&other, plans[r].shape, sizeof other);
        spec->whole_state |= first.whole_state || other.whole_state;
        if (first.model != other.model || first.weights != other.weights)
            result = models_differ(w, m, r, e);
        else
            result = compare_fit(&first, &other, r, e);
    }
    collective_end(w, &c);
    free(plans);
    return result;
}
