// SPDX-License-Identifier: MIT
// Models in Lua: nn.Sequential, nn.load, and the methods that do not train. Layers and optimizers
// are objects made by nn.lua.
#include "script/worker/model/model.h"
#include "script/worker/nn/attributes.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "script/worker/core/fields.h"
#include "script/worker/core/options.h"
#include "script/worker/model/sharing.h"
#include "script/worker/tensor/arithmetic.h"
#include "trainer/data/mapped.h"
#include "trainer/files/checkpoint.h"
#include "trainer/files/pretrained.h"
#include "trainer/nn/export.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char type_name[] = "model";

struct lua_model *check_lua_model(lua_State *L, int arg)
{
    struct lua_model *box = luaL_checkudata(L, arg, type_name);
    luaL_argcheck(L, box->m, arg, "the model is closed");
    share_layers(L, box);
    return box;
}

model *check_model(lua_State *L, int arg)
{
    return check_lua_model(L, arg)->m;
}

model *test_model(lua_State *L, int arg)
{
    struct lua_model *box = luaL_testudata(L, arg, type_name);
    if (box && box->m)
        share_layers(L, box);
    return box ? box->m : NULL;
}

void push_model(lua_State *L, model *m, const err *e)
{
    if (!m)
        raise_err(L, e);
    struct lua_model *box = lua_newuserdatauv(L, sizeof *box, MODEL_LOSSES);
    *box = (struct lua_model){.m = m};
    luaL_setmetatable(L, type_name);
    worker_give_dnn(worker_of(L), m);
}

static int free_lua_model(lua_State *L)
{
    struct lua_model *box = luaL_checkudata(L, 1, type_name);
    leave_layers(L, box);
    model_free(box->m);
    box->m = NULL;
    return 0;
}

static int close_model(lua_State *L)
{
    const struct lua_model *box = luaL_checkudata(L, 1, type_name);
    if (box->uses)
        return luaL_error(L, "the model cannot be closed by what it calls: a callback, a metric or "
                             "a loss");
    return free_lua_model(L);
}

static optimizer_spec read_optimizer(lua_State *L, int index, bool *distributed)
{
    err e;
    optimizer_kind kind;
    bool is_table = lua_istable(L, index);
    const char *name =
        is_table ? opt_string_field(L, index, "compile", "class") : lua_tostring(L, index);
    if (!name)
        luaL_error(L, "compile: optimizer must be a name or an optimizer, got %s",
            luaL_typename(L, index));
    if (optimizer_parse(name, &kind, &e))
        raise_err(L, &e);
    optimizer_spec o = optimizer_default(kind);
    if (!is_table)
        return o;
    read_attributes(L, index, optimizer_declaration(kind), 0, &o);
    o.kind = kind;
    if (lua_getfield(L, index, "learning_rate") == LUA_TTABLE)
        o.schedule = read_schedule(L, lua_gettop(L));
    lua_pop(L, 1);
    *distributed = opt_bool_field(L, index, name, "distributed", false);
    return o;
}

// One item of the list `groups`, at the top of the stack: a param_group for each name in it.
static size_t read_group(lua_State *L, param_group *out)
{
    int at = lua_gettop(L);
    param_group p = PARAM_GROUP(NULL);
    size_t n = (size_t)lua_rawlen(L, at);
    p.rate = opt_number_field(L, at, "groups", "learning_rate_multiplier", p.rate);
    p.decay = opt_number_field(L, at, "groups", "weight_decay", p.decay);
    if (lua_getfield(L, at, "trainable") != LUA_TNIL)
        p.trainable = lua_toboolean(L, -1);
    for (size_t i = 0; i < n; i++) {
        out[i] = p;
        lua_rawgeti(L, at, (lua_Integer)i + 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "compile: groups: name %d is a %s", (int)i + 1, luaL_typename(L, -1));
        out[i].weights = lua_tostring(L, -1); // the table holds it
        lua_settop(L, at);
    }
    return n;
}

// The list `groups` of the optimizer at this index; pushes what holds it. NULL: there is none.
static param_group *push_groups(lua_State *L, int index, size_t *n)
{
    size_t names = 0;
    *n = 0;
    if (!lua_istable(L, index))
        return NULL;
    lua_getfield(L, index, "groups");
    int list = lua_gettop(L);
    lua_Integer count = lua_istable(L, list) ? (lua_Integer)lua_rawlen(L, list) : 0;
    for (lua_Integer i = 1; i <= count; i++) {
        if (lua_rawgeti(L, list, i) != LUA_TTABLE)
            luaL_error(L, "compile: groups: item %d is a %s", (int)i, luaL_typename(L, -1));
        names += (size_t)lua_rawlen(L, -1);
        lua_pop(L, 1);
    }
    param_group *groups = lua_newuserdatauv(L, (names + 1) * sizeof *groups, 0);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, list, i);
        *n += read_group(L, groups + *n);
        lua_pop(L, 1);
    }
    lua_remove(L, list);
    return groups;
}

void take_loss(lua_State *L, const char *what, bool from_logits, int kept, head_spec *h)
{
    err e;
    int at = lua_gettop(L), type = lua_type(L, at);
    const char *name =
        type == LUA_TTABLE ? opt_string_field(L, at, what, "loss") : lua_tostring(L, at);
    if (type == LUA_TFUNCTION) {
        h->own = push_own_loss(L, at);
        h->loss = LOSS_MEAN_SQUARED_ERROR; // what its targets may be
        lua_rawseti(L, kept, (lua_Integer)lua_rawlen(L, kept) + 1);
        lua_settop(L, at - 1);
        return;
    }
    if (type == LUA_TNIL)
        luaL_error(L, "%s: which loss? loss = \"sparse_categorical_crossentropy\"", what);
    if (!name)
        luaL_error(
            L, "%s: loss must be a name, a loss or a function, got %s", what, luaL_typename(L, at));
    if (loss_parse(name, &h->loss, &e))
        raise_err(L, &e);
    h->from_logits = from_logits;
    if (type == LUA_TTABLE) {
        loss_options o;
        read_attributes(L, at, loss_declaration(h->loss), 0, &o);
        bool told = lua_getfield(L, at, "from_logits") != LUA_TNIL;
        h->from_logits = told ? o.from_logits : from_logits;
        h->label_smoothing = o.label_smoothing;
        h->delta = o.delta;
        if (lua_getfield(L, at, "delta") != LUA_TNIL && !(h->delta > 0))
            luaL_error(L, "%s: %s's delta must be greater than 0, not %f", what, name, h->delta);
        lua_settop(L, at);
    }
    lua_pop(L, 1);
}

// The names of the model's outputs, separated by commas.
static void add_output_names(const model *m, buf *out)
{
    for (size_t k = 0; k < model_output_count(m); k++)
        buf_fmt(out, "%s%s", k ? ", " : "", model_output_layer(m, k)->name);
}

// Has the table at the top names of outputs alone as keys? One name that is none is an error.
static bool is_by_name(lua_State *L, const model *m, const char *field)
{
    int at = lua_gettop(L);
    bool named = false, placed = false;
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        bool known = false;
        placed |= lua_type(L, -2) != LUA_TSTRING;
        if (lua_type(L, -2) != LUA_TSTRING)
            continue;
        for (size_t k = 0; k < model_output_count(m); k++)
            known |= strcmp(model_output_layer(m, k)->name, lua_tostring(L, -2)) == 0;
        if (!known) {
            buf names = {0};
            add_output_names(m, &names);
            lua_pushlstring(L, buf_cstr(&names), names.len);
            buf_done(&names);
            luaL_error(L, "%s names '%s'; the model's outputs are %s", field, lua_tostring(L, -3),
                lua_tostring(L, -1));
        }
        named = true;
    }
    if (named && placed)
        luaL_error(L, "%s is neither a list nor a table by the names of outputs, but both", field);
    return named;
}

// Is the table at the top an object of nn? Or has it the field `loss` as one, and no output is
// called so?
static bool is_object(lua_State *L, const model *m)
{
    bool named = false;
    if (luaL_getmetafield(L, -1, "class") != LUA_TNIL)
        return lua_pop(L, 1), true;
    for (size_t k = 0; k < model_output_count(m); k++)
        named |= strcmp(model_output_layer(m, k)->name, "loss") == 0;
    bool has = lua_getfield(L, -1, "loss") == LUA_TSTRING;
    lua_pop(L, 1);
    return has && !named;
}

void push_of_output(lua_State *L, int table, const char *name, size_t k)
{
    const model *m = check_model(L, 1);
    size_t n = model_output_count(m);
    lua_getfield(L, table, name);
    if (n < 2 || !lua_istable(L, -1) || is_object(L, m))
        return;
    if (is_by_name(L, m, name))
        lua_getfield(L, -1, model_output_layer(m, k)->name);
    else if (luaL_len(L, -1) > (lua_Integer)n)
        luaL_error(
            L, "%s has %d items, but the model has %d outputs", name, (int)luaL_len(L, -1), (int)n);
    else
        lua_geti(L, -1, (lua_Integer)k + 1);
    lua_remove(L, -2);
}

void push_loss_of_output(lua_State *L, int table, const char *what, size_t k)
{
    const model *m = check_model(L, 1);
    push_of_output(L, table, "loss", k);
    const char *name = model_output_layer(m, k)->name;
    if (lua_isnil(L, -1) && model_output_count(m) > 1)
        luaL_error(
            L, "%s: which loss for the output '%s'? loss = { %s = \"mse\", … }", what, name, name);
}

// The metrics of output k. As in Keras, one that is alone stands for a list in the list of those of
// several outputs.
static void push_metrics_of_output(lua_State *L, const model *m, size_t k)
{
    push_of_output(L, 2, "metrics", k);
    int at = lua_gettop(L);
    if (lua_getfield(L, 2, "metrics") != LUA_TTABLE || model_output_count(m) < 2)
        return lua_settop(L, at);
    bool alone =
        lua_type(L, at) == LUA_TSTRING || (lua_istable(L, at) && luaL_getmetafield(L, at, "class"));
    lua_Integer n = lua_rawequal(L, at, at + 1) ? 0 : luaL_len(L, at + 1);
    if (alone && n && n != (lua_Integer)model_output_count(m))
        luaL_error(L,
            "compile: metrics has %d item%s, but the model has %d outputs: give a list for each, "
            "as { { \"mae\" }, { \"accuracy\" } }",
            (int)n, n == 1 ? "" : "s", (int)model_output_count(m));
    lua_settop(L, at);
    if (!alone)
        return;
    lua_createtable(L, 1, 0);
    lua_insert(L, at);
    lua_rawseti(L, at, 1);
}

// What a model's only output counts: a number, a list of one, or a table by its name.
static void push_only_weight(lua_State *L, const model *m)
{
    lua_getfield(L, 2, "loss_weights");
    if (!lua_istable(L, -1))
        return;
    if (is_by_name(L, m, "loss_weights"))
        lua_getfield(L, -1, model_output_layer(m, 0)->name);
    else if (luaL_len(L, -1) != 1)
        luaL_error(
            L, "loss_weights has %d items, but the model has 1 output", (int)luaL_len(L, -1));
    else
        lua_geti(L, -1, 1);
    lua_remove(L, -2);
}

static double read_loss_weight(lua_State *L, const model *m, size_t k)
{
    if (model_output_count(m) > 1)
        push_of_output(L, 2, "loss_weights", k);
    else
        push_only_weight(L, m);
    if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TNUMBER)
        luaL_error(L, "compile: loss_weights must be positive numbers, got %s",
            luaL_tolstring(L, -1, NULL));
    double weight = luaL_optnumber(L, -1, 1);
    if (!(weight > 0 && isfinite(weight)))
        luaL_error(L, "compile: loss_weights must be positive numbers, got %f", weight);
    lua_pop(L, 1);
    return weight;
}

// What output k is trained by. The lists at `watches` and `losses` get what is kept with the model.
static head_spec read_head(lua_State *L, const model *m, size_t k, int watches, int losses)
{
    head_spec h = {0};
    push_loss_of_output(L, 2, "compile", k);
    take_loss(L, "compile", opt_bool_field(L, 2, "compile", "from_logits", false), losses, &h);
    double weight = read_loss_weight(L, m, k);
    if (model_output_count(m) > 1 || weight != 1)
        h.loss_weight = weight;
    push_metrics_of_output(L, m, k);
    read_metrics(L, lua_gettop(L), watches, k, &h.metrics);
    lua_pop(L, 1);
    return h;
}

static int compile(lua_State *L)
{
    err e;
    worker *w = worker_of(L);
    model *m = check_model(L, 1);
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    take_options(L, 2, "compile", "optimizer loss loss_weights metrics",
        "deterministic from_logits loss loss_weights metrics optimizer threads");
    compile_spec spec = {.threads = w->link ? w->place.threads : 0};
    bool distributed = false, sparse = true;
    if (lua_getfield(L, 2, "optimizer") == LUA_TNIL)
        lua_pushstring(L, "RMSprop"); // as in Keras
    int optimizer = lua_gettop(L);
    spec.optimizer = read_optimizer(L, optimizer, &distributed);
    spec.groups = push_groups(L, optimizer, &spec.group_count);
    if (lua_istable(L, optimizer))
        sparse = !opt_bool_field(L, optimizer, "compile", "sparse_as_dense", false);
    lua_newtable(L);
    lua_newtable(L);
    int losses = lua_gettop(L), watches = losses - 1;
    head_spec first = read_head(L, m, 0, watches, losses);
    spec.loss = first.loss;
    spec.own = first.own;
    spec.from_logits = first.from_logits;
    spec.label_smoothing = first.label_smoothing;
    spec.delta = first.delta;
    spec.metrics = first.metrics;
    spec.loss_weight = first.loss_weight;
    for (size_t k = 1; k < model_output_count(m); k++)
        spec.more[k - 1] = read_head(L, m, k, watches, losses);
    spec.threads = opt_int32_field(L, 2, "compile", "threads", spec.threads);
    opt_bool_field(L, 2, "compile", "deterministic", true); // it is: threads never change a sum
    if (distributed && (w->place.size > 1 || w->timeline)) {
        spec.allreduce = worker_allreduce;
        spec.allreduce_ctx = w;
        spec.allgather = sparse ? worker_allgather : NULL;
        spec.share = worker_shares(w);
        spec.overlap = worker_overlap(w);
        spec.bucket = (size_t)w->place.bucket / sizeof(float);
        spec.ranks = w->place.size;
    }
    if (w->place.size > 1) { // whatever averages the gradients
        spec.allsum = worker_allsum;
        spec.allreduce_ctx = w;
    }
    if (w->comm)
        spec.rank = w->place.rank;
    follow_trainable(L, check_lua_model(L, 1));
    if (model_compile(m, &spec, &e))
        raise_err(L, &e);
    lua_pushvalue(L, watches);
    lua_setiuservalue(L, 1, MODEL_WATCHES);
    lua_pushvalue(L, losses);
    lua_setiuservalue(L, 1, MODEL_LOSSES);
    if (lua_getfield(L, 2, "optimizer") != LUA_TTABLE) {
        lua_pushnil(L); // push_optimizer makes one when it is asked for
        lua_replace(L, -2);
    }
    lua_setiuservalue(L, 1, MODEL_OPTIMIZER);
    return 0;
}

static int summary(lua_State *L)
{
    buf text = {0};
    model_summary(check_model(L, 1), &text);
    fwrite(buf_cstr(&text), 1, text.len, stdout);
    buf_done(&text);
    return 0;
}

// Names that promise another program's format, and what to write instead.
static const struct foreign {
    const char *end, *remedy;
} foreign[] = {
    {".keras", "in Python safetensors.numpy.load_file reads it, by the names of layers"},
    {".h5", "in Python safetensors.numpy.load_file reads it, by the names of layers"},
    {".hdf5", "in Python safetensors.numpy.load_file reads it, by the names of layers"},
    {".pt", "PyTorch reads it with safetensors.torch.load_file"},
    {".pth", "PyTorch reads it with safetensors.torch.load_file"},
    {".pkl", "in Python safetensors.numpy.load_file reads it"},
    {".pickle", "in Python safetensors.numpy.load_file reads it"},
    {".joblib", "in Python safetensors.numpy.load_file reads it"},
    {".npz", "arrays are written by data.save(\"w.npz\", { a = tensor })"},
    {".npy", "an array is written by data.save(\"w.npy\", tensor)"},
    {".pb", "other runtimes read m.onnx"},
    {".tflite", "other runtimes read m.onnx"},
    {".mlmodel", "other runtimes read m.onnx"},
    {".json", "m.safetensors has the layers, too"},
    {".yaml", "m.safetensors has the layers, too"},
    {".csv", "a table is written by data.save(\"t.csv\", frame)"},
};

static const struct foreign *find_foreign(const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
        size_t k = strlen(foreign[i].end);
        if (n >= k && strcasecmp(path + n - k, foreign[i].end) == 0)
            return &foreign[i];
    }
    return NULL;
}

// Appends what is wrong with a name for a file of a model; nothing: it is fine.
static void blame_name(const char *path, buf *out)
{
    const struct foreign *other = find_foreign(path);
    if (other)
        buf_fmt(out,
            "%s would promise another format: write \"m.safetensors\", or \"m.onnx\" for other "
            "runtimes; %s",
            path, other->remedy);
}

static void check_written(lua_State *L, const char *what, const char *path)
{
    buf wrong = {0};
    blame_name(path, &wrong);
    lua_pushlstring(L, buf_cstr(&wrong), wrong.len);
    buf_done(&wrong);
    if (*lua_tostring(L, -1))
        luaL_error(L, "%s: %s", what, lua_tostring(L, -1));
    lua_pop(L, 1);
}

// inner.blame_name(path) → what is wrong with it, or nil
static int lua_blame_name(lua_State *L)
{
    buf wrong = {0};
    blame_name(luaL_checkstring(L, 1), &wrong);
    lua_pushstring(L, wrong.len ? buf_cstr(&wrong) : NULL);
    buf_done(&wrong);
    return 1;
}

// model:export(path, {format = "onnx"})
static int export(lua_State *L)
{
    err e;
    const model *m = check_model(L, 1);
    const char *path = luaL_checkstring(L, 2), *format;
    take_options(L, 3, "export", "format", "format");
    format = opt_string_field(L, 3, "export", "format");
    if (format && strcmp(format, "onnx") != 0)
        return luaL_error(L, "export: format must be \"onnx\", got \"%s\"", format);
    check_written(L, "export", path);
    if (export_write(m, path, &e))
        raise_err(L, &e);
    return 0;
}

static bool is_onnx(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".onnx") == 0;
}

// model:save(path, {include_optimizer = true, overwrite = true}); a path that ends with .onnx is an
// export.
static int save(lua_State *L)
{
    err e;
    const model *m = check_model(L, 1);
    const char *path = luaL_checkstring(L, 2);
    checkpoint_options options = {.optimizer = true, .notes = worker_of(L)->options.notes};
    take_options(L, 3, "save", "overwrite", "include_optimizer overwrite");
    check_written(L, "save", path);
    if (is_onnx(path) && lua_getfield(L, 3, "include_optimizer") != LUA_TNIL)
        return luaL_error(
            L, "save: a file of ONNX has no optimizer, so no option include_optimizer");
    options.optimizer = opt_bool_field(L, 3, "save", "include_optimizer", true);
    if (!opt_bool_field(L, 3, "save", "overwrite", true) && path_exists(path))
        return luaL_error(L, "save: %s is there already, and overwrite is false", path);
    if (is_onnx(path) ? export_write(m, path, &e) : checkpoint_write(m, path, options, &e))
        raise_err(L, &e);
    return 0;
}

// Is the text a checkpoint's bytes rather than a path? A checkpoint has JSON after 8 bytes of
// length.
static bool is_checkpoint(const char *text, size_t n)
{
    return memchr(text, 0, n) || (n > 8 && text[8] == '{');
}

// The lines of `text` as a list.
static void push_lines(lua_State *L, const buf *text)
{
    const char *at = text->data, *end = text->data + text->len, *next;
    lua_newtable(L);
    for (lua_Integer i = 1; at < end && (next = memchr(at, '\n', (size_t)(end - at))); i++) {
        lua_pushlstring(L, at, (size_t)(next - at));
        lua_rawseti(L, -2, i);
        at = next + 1;
    }
}

// model:load_weights(path or bytes, {skip_mismatch = false}) → the names that were skipped
static int load_weights(lua_State *L)
{
    err e;
    size_t n;
    model *m = check_model(L, 1);
    check_shared(L, check_lua_model(L, 1), "load_weights");
    const char *text = luaL_checklstring(L, 2, &n);
    pretrained_options options = {0};
    take_options(L, 3, "load_weights", "skip_mismatch", "skip_mismatch");
    options.skip_mismatch = opt_bool_field(L, 3, "load_weights", "skip_mismatch", false);
    mapped file = {0};
    buf skipped = {0};
    bool in_file = !is_checkpoint(text, n);
    if (in_file)
        worker_tell_read(worker_of(L), text);
    int result = in_file ? mapped_open(&file, text, &e) : 0;
    if (result == 0)
        result = in_file ? pretrained_load(m, file.bytes, file.n, options, &skipped, &e)
                         : pretrained_load(m, text, n, options, &skipped, &e);
    if (result && in_file && file.bytes)
        err_wrap(&e, "%s", text);
    mapped_close(&file);
    if (result) {
        buf_done(&skipped);
        raise_err(L, &e);
    }
    push_lines(L, &skipped);
    buf_done(&skipped);
    return 1;
}

// nn.load(path or bytes) → model
static int load(lua_State *L)
{
    err e;
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    if (!is_checkpoint(text, n) && is_onnx(text))
        return luaL_error(L,
            "load: %s is for other runtimes; model:save(\"m.safetensors\") writes what is read "
            "here",
            text);
    if (!is_checkpoint(text, n) && find_foreign(text) && path_exists(text))
        return luaL_error(L,
            "load: %s is no file of model:save, which has the layers, too: make the model, and "
            "call model:load_weights(path) where it has weights alone",
            text);
    push_model(
        L, is_checkpoint(text, n) ? checkpoint_decode(text, n, &e) : checkpoint_read(text, &e), &e);
    return 1;
}

static int get_weights(lua_State *L)
{
    err e;
    const model *m = check_model(L, 1);
    lua_newtable(L);
    for (size_t i = 0; i < model_weight_count(m); i++) {
        push_tensor(L, model_weight(m, i, &e), &e);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int set_weights(lua_State *L)
{
    err e;
    model *m = check_model(L, 1);
    check_shared(L, check_lua_model(L, 1), "set_weights");
    luaL_checktype(L, 2, LUA_TTABLE);
    size_t n = model_weight_count(m);
    if ((size_t)luaL_len(L, 2) != n)
        return luaL_error(
            L, "set_weights: the model has %d weights, got %d", (int)n, (int)luaL_len(L, 2));
    const tensor **given = lua_newuserdatauv(L, (n + 1) * sizeof *given, 0);
    for (size_t i = 0; i < n; i++) { // first all are checked, then all are set
        lua_geti(L, 2, (lua_Integer)i + 1);
        if (!(given[i] = test_tensor(L, -1)))
            return luaL_error(
                L, "set_weights: item %d is a %s, not a tensor", (int)i + 1, luaL_typename(L, -1));
        if (model_check_weight(m, i, given[i], &e))
            raise_err(L, &e);
        lua_pop(L, 1); // the table still holds it
    }
    for (size_t i = 0; i < n; i++)
        if (model_set_weight(m, i, given[i], &e))
            raise_err(L, &e);
    return 0;
}

static int count_params(lua_State *L)
{
    err e;
    const model *m = check_model(L, 1);
    size_t n = 0;
    for (size_t i = 0; i < model_weight_count(m); i++) {
        tensor *t = model_weight(m, i, &e);
        n += t ? tensor_count(t) : 0;
        tensor_free(t);
    }
    lua_pushinteger(L, (lua_Integer)n);
    return 1;
}

static const luaL_Reg methods[] = {
    {"compile", compile},
    {"fit", model_fit_method},
    {"evaluate", model_evaluate_method},
    {"predict", model_predict_method},
    {"predict_on_batch", model_predict_method},
    {"train_on_batch", model_train_on_batch_method},
    {"test_on_batch", model_test_on_batch_method},
    {"gradients", model_gradients_method},
    {"summary", summary},
    {"save", save},
    {"export", export},
    {"load_weights", load_weights},
    {"get_weights", get_weights},
    {"set_weights", set_weights},
    {"count_params", count_params},
    {NULL, NULL},
};

// Properties: model.name, learning_rate, momentum, optimizer, stop_training, cpu, threads.
static int get(lua_State *L)
{
    struct lua_model *box = check_lua_model(L, 1);
    const char *name = luaL_checkstring(L, 2);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
        return 1;
    if (strcmp(name, "name") == 0)
        lua_pushstring(L, model_name(box->m));
    else if (strcmp(name, "learning_rate") == 0)
        lua_pushnumber(L, model_learning_rate(box->m));
    else if (strcmp(name, "momentum") == 0)
        lua_pushnumber(L, model_momentum(box->m));
    else if (strcmp(name, "optimizer") == 0)
        push_optimizer(L, 1);
    else if (strcmp(name, "stop_training") == 0)
        lua_pushboolean(L, box->stop_training);
    else if (strcmp(name, "cpu") == 0)
        lua_pushstring(L, model_cpu(box->m));
    else if (strcmp(name, "threads") == 0)
        lua_pushinteger(L, model_threads(box->m));
    else {
        add_names(L, lua_upvalueindex(1),
            (const char *const[]){"cpu", "learning_rate", "momentum", "name", "optimizer",
                "stop_training", "threads", NULL});
        no_such_name(L, "a model", "a model", name, -1);
    }
    return 1;
}

static int set(lua_State *L)
{
    err e = {0};
    struct lua_model *box = check_lua_model(L, 1);
    const char *name = luaL_checkstring(L, 2);
    int result = 0;
    if (strcmp(name, "learning_rate") == 0)
        result = model_set_learning_rate(box->m, luaL_checknumber(L, 3), &e);
    else if (strcmp(name, "momentum") == 0)
        result = model_set_momentum(box->m, luaL_checknumber(L, 3), &e);
    else if (strcmp(name, "stop_training") == 0)
        box->stop_training = lua_toboolean(L, 3);
    else {
        lua_newtable(L);
        add_names(L, -1, (const char *const[]){"learning_rate", "momentum", "stop_training", NULL});
        push_hint(L, "a model", name, -1);
        if (!lua_isnil(L, -1))
            return luaL_error(
                L, "a model has no '%s' that can be set: %s", name, lua_tostring(L, -1));
        return luaL_error(
            L, "a model has no '%s' that can be set; there are %s", name, push_known(L, -2));
    }
    if (result)
        raise_err(L, &e);
    return 0;
}

// model(x), which Keras has.
static int call_model(lua_State *L)
{
    if (lua_istable(L, 2) && luaL_getmetafield(L, 2, "__name") != LUA_TNIL &&
        strcmp(lua_tostring(L, -1), "node") == 0)
        return luaL_error(L, "a model is no layer: call its layers on the node, one after the "
                             "other; layers that several models have share their weights");
    return luaL_error(L, "a model is not called: write model:predict(x), or model:fit { x, y }");
}

int open_nn(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__gc", free_lua_model}, {"__close", close_model},
        {"__newindex", set}, {"__call", call_model}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"Sequential", lua_sequential}, {"graph", lua_graph}, {"load", load}, {NULL, NULL}};
    luaL_newmetatable(L, type_name);
    luaL_setfuncs(L, meta, 0);
    luaL_newlib(L, methods);
    lua_pushcclosure(L, get, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    push_ops(L);
    lua_setfield(L, -2, "ops");
    lua_pushcfunction(L, optimizer_apply); // nn.lua takes these two
    lua_setfield(L, -2, "apply");
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "firesteel.classes");
    lua_setfield(L, -2, "classes");
    push_event_functions(L);
    lua_pushcfunction(L, mark_looks_not);
    lua_setfield(L, -2, "looks_not");
    lua_pushcfunction(L, lua_nearest);
    lua_setfield(L, -2, "nearest");
    lua_pushcfunction(L, lua_blame_name);
    lua_setfield(L, -2, "blame_name");
    lua_pushcfunction(L, lua_check_layer);
    lua_setfield(L, -2, "check_layer");
    lua_pushcfunction(L, lua_classes);
    lua_setfield(L, -2, "classes");
    push_source(L, "workerclasses");
    lua_setfield(L, -2, "classes_source");
    lua_pushcfunction(L, lua_is_asked_by_file);
    lua_setfield(L, -2, "is_asked_by_file");
    lua_pushcfunction(L, lua_hint);
    lua_setfield(L, -2, "hint");
    lua_pushcfunction(L, lua_no_such_name);
    lua_setfield(L, -2, "no_such_name");
    lua_pushcfunction(L, take_own_loss_runner);
    lua_setfield(L, -2, "own_loss");
    return 2;
}
