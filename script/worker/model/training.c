// SPDX-License-Identifier: MIT
// model:fit, evaluate and predict: tables of options to trainer/fit.h, callbacks back into Lua.
//
// model_fit holds memory while it calls us, so no error may pass through it: callbacks run in
// lua_pcall, and their error is raised after model_fit has returned.
#include "base/clock.h"
#include "base/mem.h"
#include "script/worker/core/fields.h"
#include "script/worker/core/options.h"
#include "script/worker/model/model.h"
#include "script/worker/model/sharing.h"
#include "script/worker/ranks/collective.h"

#include <stdio.h>
#include <string.h>

static const int64_t PROGRESS_INTERVAL = CLOCK_SEC / 5;

// Keras's methods; those for batches also have an older name.
//  X(field, name, old name)
#define METHODS(X)                                                                                 \
    X(train_begin, "on_train_begin", NULL)                                                         \
    X(train_end, "on_train_end", NULL)                                                             \
    X(epoch_begin, "on_epoch_begin", NULL)                                                         \
    X(epoch_end, "on_epoch_end", NULL)                                                             \
    X(batch_begin, "on_train_batch_begin", "on_batch_begin")                                       \
    X(batch_end, "on_train_batch_end", "on_batch_end")

enum method {
#define X(field, name, old) METHOD_##field,
    METHODS(X)
#undef X
        METHOD_COUNT
};

static const char *const method_names[][2] = {
#define X(field, name, old) {name, old},
    METHODS(X)
#undef X
};

struct training {
    lua_State *L;
    worker *worker;
    struct lua_model *model;
    const fit_spec *spec;
    int callbacks; // stack index of the list of callbacks
    bool has[METHOD_COUNT];
    bool looks;  // one of a batch may look at the optimizer's state
    bool stops;  // one of a batch may end the training
    bool raised; // the error is on top of the stack
    int epoch;
    int64_t started, last_progress; // mono ns
    // The current call:
    enum method method;
    lua_Integer number; // epoch or batch; -1: none
    logs *logs;         // callbacks may change them
    const logs *shown;  // callbacks may not change them
};

static void push_logs(lua_State *L, const logs *l)
{
    lua_createtable(L, 0, l ? (int)l->n : 0);
    for (size_t i = 0; l && i < l->n; i++) {
        push_double(L, l->items[i].value);
        lua_setfield(L, -2, l->items[i].name);
    }
}

// Reads the values that callbacks changed or added; added ones go to the end, in the order of Lua's
// table.
static void read_logs(lua_State *L, int table, logs *l)
{
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TNUMBER)
            continue;
        if (lua_rawlen(L, -2) >= LOG_NAME_SIZE)
            luaL_error(L, "the log's name '%s' is too long", lua_tostring(L, -2));
        logs_set(l, lua_tostring(L, -2), lua_tonumber(L, -1));
    }
}

static bool get_method(lua_State *L, int callback, enum method method)
{
    if (lua_getfield(L, callback, method_names[method][0]) != LUA_TNIL)
        return true;
    lua_pop(L, 1);
    if (method_names[method][1] && lua_getfield(L, callback, method_names[method][1]) != LUA_TNIL)
        return true;
    lua_settop(L, callback);
    return false;
}

// Calls one method of all callbacks. Arguments: training, callbacks.
static int call_protected(lua_State *L)
{
    struct training *t = lua_touserdata(L, 1);
    push_logs(L, t->logs ? t->logs : t->shown);
    lua_Integer n = luaL_len(L, 2);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_settop(L, 3);
        lua_geti(L, 2, i);
        if (!get_method(L, 4, t->method))
            continue;
        lua_pushvalue(L, 4);
        if (t->number >= 0)
            lua_pushinteger(L, t->number);
        lua_pushvalue(L, 3);
        lua_call(L, t->number >= 0 ? 3 : 2, 0);
    }
    if (t->logs)
        read_logs(L, 3, t->logs);
    return 0;
}

static int call(
    struct training *t, enum method method, lua_Integer number, logs *l, const logs *shown, err *e)
{
    if (t->has[method]) {
        lua_State *L = t->L;
        t->method = method;
        t->number = number;
        t->logs = l;
        t->shown = shown;
        lua_pushcfunction(L, call_protected);
        lua_pushlightuserdata(L, t);
        lua_pushvalue(L, t->callbacks);
        if (lua_pcall(L, 2, 0, 0) != LUA_OK) {
            t->raised = true;
            return err_set(e, ERR_FAILED, "a callback failed");
        }
    }
    return t->model->stop_training ? 1 : 0;
}

static int train_begin(void *ctx, err *e)
{
    worker_tell_versions(((struct training *)ctx)->worker);
    return call(ctx, METHOD_train_begin, -1, NULL, NULL, e);
}

static int train_end(void *ctx, err *e)
{
    return call(ctx, METHOD_train_end, -1, NULL, NULL, e);
}

static int epoch_begin(void *ctx, int epoch, err *e)
{
    struct training *t = ctx;
    t->epoch = epoch;
    return call(t, METHOD_epoch_begin, epoch, NULL, NULL, e);
}

static cJSON *metrics_json(const logs *l)
{
    cJSON *metrics = cJSON_CreateObject();
    for (size_t i = 0; i < l->n; i++)
        cJSON_AddNumberToObject(metrics, l->items[i].name, l->items[i].value);
    return metrics;
}

// The fields of every event: the position in the training, its length, and the time since its
// start.
static cJSON *new_event(const struct training *t, const char *name)
{
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "event", name);
    json_set_int(event, "epoch", t->epoch + 1);
    json_set_int(event, "epochs", t->spec->epochs);
    json_set_int(event, "first", t->spec->initial_epoch + 1);
    json_set_int(event, "steps", (int64_t)fit_steps(t->spec));
    double elapsed = (double)(clock_mono() - t->started) / (double)CLOCK_SEC;
    json_set(event, "elapsed", cJSON_CreateNumber(elapsed));
    return event;
}

static int epoch_end(void *ctx, int epoch, logs *l, err *e)
{
    struct training *t = ctx;
    int result = call(t, METHOD_epoch_end, epoch, l, NULL, e);
    if (result < 0)
        return -1;
    t->epoch = epoch;
    cJSON *event = new_event(t, "epoch");
    json_set_int(event, "rank", t->worker->place.rank);
    json_set(event, "lr", cJSON_CreateNumber(model_learning_rate(t->model->m)));
    json_set(event, "metrics", metrics_json(l));
    worker_event(t->worker, event);
    return result;
}

static int batch_begin(void *ctx, size_t batch, err *e)
{
    return call(ctx, METHOD_batch_begin, (lua_Integer)batch, NULL, NULL, e);
}

static bool progress_is_due(void *ctx)
{
    struct training *t = ctx;
    int64_t now = clock_mono();
    if (now - t->last_progress < PROGRESS_INTERVAL)
        return false;
    t->last_progress = now;
    return true;
}

static void tell_progress(void *ctx, size_t batch, const logs *l)
{
    struct training *t = ctx;
    cJSON *event = new_event(t, "progress");
    json_set_int(event, "step", (int64_t)batch + 1);
    json_set(event, "metrics", metrics_json(l));
    worker_event(t->worker, event);
}

static int batch_end(void *ctx, size_t batch, const logs *l, err *e)
{
    return call(ctx, METHOD_batch_end, (lua_Integer)batch, NULL, l, e);
}

static int agree(void *ctx, bool ends, err *e)
{
    return collective_end_of_training(((struct training *)ctx)->worker, ends, e);
}

static void follows(void *ctx)
{
    ((struct training *)ctx)->worker->bereft = true;
}

static void print_text(void *ctx, const char *text, size_t n)
{
    fwrite(text, 1, n, stdout);
    if (n && text[n - 1] != '\n')
        fflush(stdout); // shows the progress bar
}

// Puts one callback, at the top of the stack, into a list: Keras takes it alone, too.
static void list_callback(lua_State *L)
{
    int at = lua_gettop(L);
    if (luaL_len(L, at) > 0)
        return;
    bool has = false;
    for (enum method m = 0; m < METHOD_COUNT; m++) {
        has |= get_method(L, at, m);
        lua_settop(L, at);
    }
    lua_pushnil(L);
    if (!has && lua_next(L, at))
        luaL_error(L, "fit: callbacks must be a list of callbacks, as { nn.EarlyStopping {} }");
    if (!has)
        return;
    lua_createtable(L, 1, 0);
    lua_insert(L, at);
    lua_settop(L, at + 1);
    lua_rawseti(L, at, 1);
}

static bool is_method(const char *name)
{
    for (enum method m = 0; m < METHOD_COUNT; m++)
        if (strcmp(name, method_names[m][0]) == 0 ||
            (method_names[m][1] && strcmp(name, method_names[m][1]) == 0))
            return true;
    return false;
}

// Raises when callback i, on top of the stack, has a function that would never be called: one that
// begins with on_, or any where it has no method at all.
static void check_methods(lua_State *L, int i, bool has_method)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        if (!name || !lua_isfunction(L, -1) || is_method(name) ||
            (has_method && strncmp(name, "on_", 3) != 0))
            continue;
        luaL_Buffer all;
        luaL_buffinit(L, &all);
        for (enum method m = 0; m < METHOD_COUNT; m++) {
            luaL_addstring(&all, m ? ", " : "");
            luaL_addstring(&all, method_names[m][0]);
        }
        luaL_pushresult(&all);
        luaL_error(L, "fit: callback %d has '%s', which is never called; there are %s", i, name,
            lua_tostring(L, -1));
    }
}

// Methods that look at no optimizer's state: keys of a table. The values: may it end the training?
static const char looks_not[] = "firesteel.looks_not";

int mark_looks_not(lua_State *L)
{
    lua_settop(L, 2);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, looks_not);
    lua_pushvalue(L, 1);
    lua_pushboolean(L, lua_toboolean(L, 2));
    lua_rawset(L, -3);
    return 0;
}

// What the method of a batch, on top of the stack, may do.
static void note_batch_method(lua_State *L, struct training *t)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, looks_not);
    lua_pushvalue(L, -2);
    bool marked = lua_rawget(L, -2) != LUA_TNIL;
    t->looks |= !marked;
    t->stops |= !marked || lua_toboolean(L, -1);
    lua_pop(L, 2);
}

// Pushes the list of callbacks; sets the model and the numbers of this training in each.
static void prepare_callbacks(lua_State *L, int table, struct training *t)
{
    if (lua_getfield(L, table, "callbacks") == LUA_TNIL) {
        lua_pop(L, 1);
        lua_newtable(L);
    }
    luaL_argcheck(L, lua_istable(L, -1), table, "callbacks must be a list of callbacks");
    list_callback(L);
    t->callbacks = lua_gettop(L);
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, t->spec->epochs);
    lua_setfield(L, -2, "epochs");
    lua_pushinteger(L, (lua_Integer)fit_steps(t->spec));
    lua_setfield(L, -2, "steps");
    lua_pushinteger(L, t->spec->verbose);
    lua_setfield(L, -2, "verbose");
    int params = lua_gettop(L);
    lua_Integer n = luaL_len(L, t->callbacks);
    for (lua_Integer i = 1; i <= n; i++) {
        if (lua_geti(L, t->callbacks, i) != LUA_TTABLE)
            luaL_error(L, "fit: callback %d is a %s, not a callback", (int)i, luaL_typename(L, -1));
        lua_pushvalue(L, 1);
        lua_setfield(L, -2, "model");
        lua_pushvalue(L, params);
        lua_setfield(L, -2, "params");
        bool has_method = false;
        for (enum method m = 0; m < METHOD_COUNT; m++) {
            if (get_method(L, params + 1, m)) {
                has_method = t->has[m] = true;
                if (m == METHOD_batch_begin || m == METHOD_batch_end)
                    note_batch_method(L, t);
            }
            lua_settop(L, params + 1);
        }
        check_methods(L, (int)i, has_method);
        lua_settop(L, params);
    }
}

// h.loss, where h.history.loss is meant.
static int no_such_log(lua_State *L)
{
    const char *name = luaL_tolstring(L, 2, NULL);
    if (lua_getfield(L, 1, "history") == LUA_TTABLE && lua_getfield(L, -1, name) != LUA_TNIL)
        return luaL_error(L, "a History has no '%s': write h.history.%s", name, name);
    lua_settop(L, 3);
    no_such_name(L, "a History", "a History", name, 1);
}

// {history = {loss = {…}, …}, epoch = {0, 1, …}}, like Keras's History.
static void push_history(lua_State *L, const history *h)
{
    lua_createtable(L, 0, 2);
    lua_newtable(L);
    for (size_t i = 0; i < h->n; i++) {
        for (size_t k = 0; k < h->epochs[i].n; k++) {
            if (lua_getfield(L, -1, h->epochs[i].items[k].name) == LUA_TNIL) {
                lua_pop(L, 1);
                lua_newtable(L);
                lua_pushvalue(L, -1);
                lua_setfield(L, -3, h->epochs[i].items[k].name);
            }
            // A log that a callback adds later begins with its first value.
            push_double(L, h->epochs[i].items[k].value);
            lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
            lua_pop(L, 1);
        }
    }
    lua_setfield(L, -2, "history");
    lua_createtable(L, (int)h->n, 0);
    for (size_t i = 0; i < h->n; i++) {
        lua_pushinteger(L, h->epoch[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "epoch");
    if (luaL_newmetatable(L, "History")) {
        lua_pushcfunction(L, no_such_log);
        lua_setfield(L, -2, "__index");
        lua_pushboolean(L, true); // it travels as the plain table that it is
        lua_setfield(L, -2, "__plain");
    }
    lua_setmetatable(L, -2);
}

// fit and evaluate take one table, in which x and y are the first items.
static void check_one_table(lua_State *L, const char *what, const char *option)
{
    if (!lua_istable(L, 2) || lua_gettop(L) > 2)
        luaL_error(L, "%s: takes one table: model:%s { x, y, %s }, not model:%s(x, y)", what, what,
            option, what);
}

int model_fit_method(lua_State *L)
{
    err e;
    worker *w = worker_of(L);
    struct lua_model *box = check_lua_model(L, 1);
    check_shared(L, box, "fit");
    check_one_table(L, "fit", "epochs = 5");
    fit_spec spec = {.sink = {.text = print_text}, .stop = w->options.stop};
    read_fit_options(L, 2, w, &spec);
    push_watches(L, 1, &spec.watches, &spec.watch_n);
    struct training t = {.L = L, .worker = w, .model = box, .spec = &spec};
    prepare_callbacks(L, 2, &t);
    box->stop_training = false;
    bool tells = w->options.event || w->link, together = model_needs_all_ranks(box->m);
    spec.callbacks = (fit_callbacks){
        .ctx = &t,
        .train_begin = train_begin,
        .train_end = train_end,
        .epoch_begin = epoch_begin,
        .epoch_end = epoch_end,
        .train_batch_begin = t.has[METHOD_batch_begin] ? batch_begin : NULL,
        .train_batch_end = t.has[METHOD_batch_end] ? batch_end : NULL,
        .progress_is_due = progress_is_due,
        .progress = tells ? tell_progress : NULL,
        .agree = together ? agree : NULL,
        .follows = together ? follows : NULL,
        .agree_batches = together && t.stops,
    };
    spec.whole_state = t.looks;
    if (together && (model_build(box->m, spec.x->dims - 1, spec.x->shape + 1, &e) ||
                        collective_fit(w, box->m, &spec, &e)))
        raise_err(L, &e);
    t.started = t.last_progress = clock_mono();
    history h = {0};
    box->busy = true;
    box->uses++;
    int result = model_fit(box->m, &spec, &h, &e);
    box->uses--;
    box->busy = false;
    if (result) {
        fit_history_done(&h);
        if (t.raised) {
            name_line(L, lua_gettop(L));
            return lua_error(L);
        }
        raise_err(L, &e);
    }
    push_history(L, &h);
    fit_history_done(&h);
    return 1;
}

int return_logs(lua_State *L, logs *l, bool as_table)
{
    int n = as_table ? 1 : (int)l->n;
    lua_checkstack(L, n + LUA_MINSTACK);
    if (as_table)
        push_logs(L, l);
    for (int i = 0; !as_table && i < n; i++)
        push_double(L, l->items[i].value);
    logs_done(l);
    return n;
}

// evaluate{x, y, batch_size=, verbose=, return_dict=} → loss, metrics…
int model_evaluate_method(lua_State *L)
{
    err e;
    logs l = {0};
    worker *w = worker_of(L);
    struct lua_model *box = check_lua_model(L, 1);
    check_one_table(L, "evaluate", "batch_size = 64");
    evaluate_spec spec = {.sink = {.text = print_text}, .stop = w->options.stop};
    read_evaluate_options(L, 2, w, &spec);
    push_watches(L, 1, &spec.watches, &spec.watch_n);
    bool as_table = opt_bool_field(L, 2, "evaluate", "return_dict", false);
    box->uses++;
    int result = model_evaluate(box->m, &spec, &l, &e);
    box->uses--;
    if (result)
        raise_err(L, &e);
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "event", "evaluate");
    json_set(event, "metrics", metrics_json(&l));
    worker_event(w, event);
    return return_logs(L, &l, as_table);
}

// predict(x), predict{x} or predict{x1, x2, …} → an output for each that the model has.
int model_predict_method(lua_State *L)
{
    err e = {0};
    model *m = check_lua_model(L, 1)->m;
    tensor *out[HEADS_MAX];
    int given = lua_gettop(L);
    bool list = lua_istable(L, 2) && luaL_getmetafield(L, 2, "__name") == LUA_TNIL;
    lua_settop(L, given);
    if (list)
        list_inputs(L, 2, m, "predict");
    size_t n = list ? (size_t)luaL_len(L, 2) : 1, heads = model_output_count(m);
    int64_t batch_size = 0;
    take_options(L, 3, "predict", "batch_size", "batch_size");
    if (lua_getfield(L, 3, "batch_size") != LUA_TNIL) {
        batch_size = opt_int_field(L, 3, "predict", "batch_size", 32);
        if (batch_size < 1)
            return luaL_error(L, "predict: batch_size must be positive, got %d", (int)batch_size);
    }
    lua_settop(L, 2);
    if (n != model_input_count(m))
        return luaL_error(
            L, "predict: the model has %d inputs, got %d", (int)model_input_count(m), (int)n);
    const tensor **xs = lua_newuserdatauv(L, (n + 1) * sizeof *xs, 0);
    for (size_t k = 0; k < n; k++) {
        if (list)
            lua_geti(L, 2, (lua_Integer)k + 1);
        xs[k] = test_pictures(L, list ? 4 : 2);
        xs[k] = xs[k] ? xs[k] : check_tensor(L, list ? 4 : 2);
        lua_settop(L, 3); // the table still holds it
    }
    if (!model_compiled(m))
        model_set_threads(m, worker_of(L)->link ? worker_of(L)->place.threads : 0);
    bool done =
        model_predict_batches(m, xs, (size_t)batch_size, out, worker_of(L)->options.stop, &e) == 0;
    if (!done)
        raise_err(L, &e);
    for (size_t k = 0; k < heads; k++)
        push_tensor(L, out[k], &e);
    return (int)heads;
}
