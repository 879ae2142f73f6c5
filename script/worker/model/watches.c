// SPDX-License-Identifier: MIT
// What a model is watched by besides its built-in metrics: AUC, Precision and others with sums of
// their own, and Lua functions of targets and outputs. compile keeps a list of them with the model;
// each fit or evaluate has sums of its own.
#include "base/mem.h"
#include "script/pack/errortext.h"
#include "script/worker/core/fields.h"
#include "script/worker/core/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char type_name[] = "watches";

// A Lua function's values so far. It is item `index` of the list at `list` on the stack of the
// method that runs.
struct own {
    lua_State *L;
    int list;
    lua_Integer index;
    const char *name;
    double sum, rows;
};

struct watches {
    size_t n;
    watch *list;      // [n], behind this struct
    struct own own[]; // [n]
};

static void own_reset(void *ctx)
{
    struct own *o = ctx;
    o->sum = o->rows = 0;
}

static int wrong_value(lua_State *L, const struct own *o, err *e)
{
    err_set(e, ERR_USAGE,
        "the metric '%s' must return a number, or a tensor of a number for each "
        "row, got %s",
        o->name, luaL_typename(L, -1));
    return -1;
}

// Calls the function in protected mode with both tensors, which become Lua's.
static int call_own(lua_State *L)
{
    tensor **both = lua_touserdata(L, 1);
    lua_settop(L, 2);
    for (int i = 0; i < 2; i++) {
        tensor *t = both[i];
        both[i] = NULL;
        push_tensor(L, t, NULL);
    }
    lua_call(L, 2, 1);
    return 1;
}

static int own_failed(lua_State *L, const struct own *o, err *e)
{
    error_take(L, ERR_FAILED, e);
    return err_wrap(e, "the metric '%s' failed", o->name);
}

static int own_add(void *ctx, const tensor *y, const tensor *p, err *e)
{
    struct own *o = ctx;
    lua_State *L = o->L;
    int top = lua_gettop(L), status = 0;
    tensor *both[2] = {tensor_ref(y), tensor_ref(p)};
    lua_pushcfunction(L, call_own);
    lua_pushlightuserdata(L, both);
    lua_rawgeti(L, o->list, o->index);
    double rows = (double)tensor_rows(p);
    if (lua_pcall(L, 2, 1, 0) != LUA_OK)
        status = own_failed(L, o, e);
    else if (test_tensor(L, -1) && tensor_count(test_tensor(L, -1)))
        o->sum += tensor_sum(test_tensor(L, -1)) / (double)tensor_count(test_tensor(L, -1)) * rows;
    else if (lua_type(L, -1) == LUA_TNUMBER)
        o->sum += lua_tonumber(L, -1) * rows;
    else
        status = wrong_value(L, o, e);
    o->rows += rows;
    tensor_free(both[0]);
    tensor_free(both[1]);
    lua_settop(L, top);
    return status;
}

static double own_value(const void *ctx)
{
    const struct own *o = ctx;
    return o->rows > 0 ? o->sum / o->rows : 0;
}

static int close_watches(lua_State *L)
{
    struct watches *w = lua_touserdata(L, 1);
    for (size_t i = 0; i < w->n; i++)
        watch_done(&w->list[i]);
    w->n = 0;
    return 0;
}

static struct watches *new_watches(lua_State *L, size_t n)
{
    size_t size = sizeof(struct watches) + n * (sizeof(struct own) + sizeof(watch));
    struct watches *w = lua_newuserdatauv(L, size, 0);
    memset(w, 0, size);
    w->list = (watch *)(void *)(w->own + n);
    if (luaL_newmetatable(L, type_name)) {
        lua_pushcfunction(L, close_watches);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    w->n = n;
    return w;
}

static void read_auc(lua_State *L, int table, const char *name, watch *to)
{
    err e;
    auc_spec spec = {0};
    const char *curve = opt_string_field(L, table, "AUC", "curve");
    spec.thresholds = opt_int32_field(L, table, "AUC", "num_thresholds", 0);
    spec.logits = opt_bool_field(L, table, "AUC", "from_logits", false);
    spec.pr = curve && strcmp(curve, "PR") == 0;
    if (auc_watch(to, name, &spec, &e) < 0)
        raise_err(L, &e);
}

static const char sparse_topk[] = "SparseTopKCategoricalAccuracy",
                  topk[] = "TopKCategoricalAccuracy";

static void read_topk(lua_State *L, int table, const char *name, watch *to)
{
    err e;
    const char *class = opt_string_field(L, table, "metrics", "class");
    if (topk_watch(to, name, opt_int_field(L, table, class, "k", 5),
            strcmp(class, sparse_topk) == 0, &e) < 0)
        raise_err(L, &e);
}

static void read_confusion(lua_State *L, int table, const char *name, watch *to)
{
    err e;
    confusion_spec spec = {.class_id = -1, .beta = 1};
    const char *class = opt_string_field(L, table, "metrics", "class");
    const char *average = opt_string_field(L, table, class, "average");
    if (confusion_parse(class, &spec.kind, &e) < 0)
        raise_err(L, &e);
    bool score = spec.kind == CONFUSION_F1_SCORE || spec.kind == CONFUSION_F_BETA_SCORE;
    spec.top_k = opt_int_field(L, table, class, "top_k", 0);
    spec.class_id = opt_int_field(L, table, class, "class_id", -1);
    spec.threshold = opt_number_field(
        L, table, class, score ? "threshold" : "thresholds", score || spec.top_k ? NAN : 0.5);
    spec.beta = opt_number_field(L, table, class, "beta", 1);
    static const char *const averages[] = {
        [AVERAGE_MICRO] = "micro", [AVERAGE_MACRO] = "macro", [AVERAGE_WEIGHTED] = "weighted"};
    for (size_t i = 1; average && i < ARRAY_LEN(averages); i++)
        if (strcmp(average, averages[i]) == 0)
            spec.average = (score_average)i;
    if (confusion_watch(to, name, &spec, &e) < 0)
        raise_err(L, &e);
}

// A metric of metric.h with options; its field `metric` says which.
static void read_single(lua_State *L, int table, const char *name, watch *to)
{
    err e;
    metric m;
    const char *text = opt_string_field(L, table, "metrics", "metric");
    if (!text)
        text = opt_string_field(L, table, "metrics", "loss");
    if (metric_parse(text ? text : "", &m, &e) < 0 ||
        metric_watch(to, name, m, opt_number_field(L, table, text, "threshold", 0.5), &e) < 0)
        raise_err(L, &e);
}

// The objects of nn that are metrics with sums of their own: the class, the log, and what makes
// the watch. Keras takes either name as text, too.
static const struct maker {
    const char *class, *log;
    void (*make)(lua_State *L, int table, const char *name, watch *to);
} makers[] = {
    {"AUC", "auc", read_auc},
    {topk, "top_k_categorical_accuracy", read_topk},
    {sparse_topk, "sparse_top_k_categorical_accuracy", read_topk},
    {"Precision", "precision", read_confusion},
    {"Recall", "recall", read_confusion},
    {"TruePositives", "true_positives", read_confusion},
    {"FalsePositives", "false_positives", read_confusion},
    {"TrueNegatives", "true_negatives", read_confusion},
    {"FalseNegatives", "false_negatives", read_confusion},
    {"F1Score", "f1_score", read_confusion},
    {"FBetaScore", "fbeta_score", read_confusion},
};

static const struct maker *find_maker(const char *name, bool by_log)
{
    for (size_t i = 0; name && i < ARRAY_LEN(makers); i++)
        if (strcmp(makers[i].class, name) == 0 || (by_log && strcmp(makers[i].log, name) == 0))
            return &makers[i];
    return NULL;
}

// An object of nn among the metrics.
static void read_object(lua_State *L, int table, const char *name, watch *to)
{
    const struct maker *m = find_maker(opt_string_field(L, table, "metrics", "class"), false);
    (m ? m->make : read_single)(L, table, name, to);
}

void push_watches(lua_State *L, int index, const watch **list, size_t *n)
{
    static const struct watch_ops ops = {own_reset, own_add, own_value, NULL};
    *n = lua_getiuservalue(L, index, 1 /* MODEL_WATCHES */) == LUA_TTABLE
             ? (size_t)lua_rawlen(L, -1) / 3
             : 0;
    int metrics = lua_gettop(L);
    struct watches *w = new_watches(L, *n);
    for (size_t i = 0; i < *n; i++) { // name, what, output, name, what, output, …
        lua_Integer at = 3 * (lua_Integer)i + 1;
        lua_rawgeti(L, metrics, at);
        const char *name = lua_tostring(L, -1); // the list holds it
        if (lua_rawgeti(L, metrics, at + 1) == LUA_TTABLE)
            read_object(L, lua_gettop(L), name, &w->list[i]);
        else {
            w->own[i] = (struct own){.L = L, .list = metrics, .index = at + 1, .name = name};
            w->list[i] = (watch){.ctx = &w->own[i], .ops = &ops};
        }
        snprintf(w->list[i].name, sizeof w->list[i].name, "%s", name);
        lua_rawgeti(L, metrics, at + 2);
        w->list[i].output = (size_t)lua_tointeger(L, -1);
        lua_pop(L, 3);
    }
    *list = w->list;
}

// Appends name, what and output to the list.
static void append(lua_State *L, int list, const char *name, int what, size_t output)
{
    if (strlen(name) >= LOG_NAME_SIZE - LAYER_NAME_SIZE - strlen("val__"))
        luaL_error(L, "compile: the metric's name '%s' is too long", name);
    if (strcmp(name, "loss") == 0)
        luaL_error(L, "compile: 'loss' is the name of a log that exists already");
    lua_Integer n = (lua_Integer)lua_rawlen(L, list);
    for (lua_Integer i = 1; i < n; i += 3) {
        lua_rawgeti(L, list, i);
        lua_rawgeti(L, list, i + 2);
        if (strcmp(lua_tostring(L, -2), name) == 0 && (size_t)lua_tointeger(L, -1) == output)
            luaL_error(L, "compile: there are two metrics with the name '%s'", name);
        lua_pop(L, 2);
    }
    lua_pushstring(L, name);
    lua_rawseti(L, list, n + 1);
    lua_pushvalue(L, what);
    lua_rawseti(L, list, n + 2);
    lua_pushinteger(L, (lua_Integer)output);
    lua_rawseti(L, list, n + 3);
}

// None may be called as a built-in metric that the output has, too.
static void check_names(lua_State *L, int list, size_t output, metric_set set)
{
    err e;
    metric builtin;
    for (lua_Integer i = 1; i < (lua_Integer)lua_rawlen(L, list); i += 3) {
        lua_rawgeti(L, list, i);
        lua_rawgeti(L, list, i + 2);
        const char *name = lua_tostring(L, -2);
        if ((size_t)lua_tointeger(L, -1) == output && metric_parse(name, &builtin, &e) == 0 &&
            set & (metric_set)1 << builtin)
            luaL_error(L, "compile: there are two metrics with the name '%s'", name);
        lua_pop(L, 2);
    }
}

// The built-in metric that an object of nn is, from its field `metric` or, of one that is a loss,
// too, `loss`. Borrowed from the table; NULL: it is none.
static const char *builtin_name(lua_State *L, int at)
{
    static const char *const fields[] = {"metric", "loss"};
    const char *name = NULL;
    for (size_t i = 0; !name && i < ARRAY_LEN(fields); i++) {
        lua_pushstring(L, fields[i]);
        name = lua_rawget(L, at) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    }
    lua_settop(L, at);
    return name;
}

static void add_builtin(lua_State *L, const char *name, metric_set *set)
{
    err e;
    metric m;
    if (metric_parse(name, &m, &e)) {
        buf known = {0};
        for (size_t i = 0; i < ARRAY_LEN(makers); i++)
            buf_fmt(&known, ", %s", makers[i].log);
        lua_pushlstring(L, buf_cstr(&known), known.len);
        buf_done(&known);
        luaL_error(L, "compile: %s%s", e.text, lua_tostring(L, -1));
    }
    *set |= (metric_set)1 << m;
}

// A metric that is told by its name.
static void read_text(lua_State *L, const char *text, int list, size_t output, metric_set *set)
{
    err e;
    metric m;
    const struct maker *maker = metric_parse(text, &m, &e) ? find_maker(text, true) : NULL;
    if (!maker)
        return add_builtin(L, text, set);
    lua_newtable(L);
    lua_pushstring(L, maker->class);
    lua_setfield(L, -2, "class");
    append(L, list, text, lua_gettop(L), output);
}

// A metric that is an object of nn: one without options is as its name.
static void read_table(lua_State *L, lua_Integer i, int list, size_t output, metric_set *set)
{
    int at = lua_gettop(L);
    const char *class = opt_string_field(L, at, "compile", "class");
    const char *name = opt_string_field(L, at, "compile", "name");
    const struct maker *maker = find_maker(class, false);
    const char *builtin = class && !maker ? builtin_name(L, at) : NULL;
    bool has_threshold = lua_getfield(L, at, "threshold") != LUA_TNIL;
    lua_pop(L, 1);
    if (builtin && !has_threshold && (!name || strcmp(name, builtin) == 0))
        return add_builtin(L, builtin, set);
    if (builtin) {
        metric_set known = 0;
        add_builtin(L, builtin, &known); // or it raises
    } else if (!maker)
        luaL_error(L,
            "compile: item %I of metrics is %s, which is no metric; there are names, as "
            "\"accuracy\", and nn.AUC {}, nn.Precision {}, nn.F1Score {} and others",
            i, class ? class : "a table without a class");
    append(L, list, name ? name : builtin ? builtin : maker->log, at, output);
}

// Item i of the list of metrics, at the top of the stack.
static void read_listed(lua_State *L, lua_Integer i, int list, size_t output, metric_set *set)
{
    int at = lua_gettop(L);
    if (lua_type(L, at) == LUA_TSTRING)
        read_text(L, lua_tostring(L, at), list, output, set);
    else if (lua_istable(L, at))
        read_table(L, i, list, output, set);
    else if (lua_isfunction(L, at))
        luaL_error(L,
            "compile: a metric that is a function needs a name: metrics = { \"accuracy\", "
            "rmse = function(y_true, y_pred) … end }");
    else
        luaL_error(L, "compile: item %I of metrics is a %s, not a metric, as \"accuracy\"", i,
            luaL_typename(L, at));
}

// Pushes a list of the table's names, in their order: the same on all ranks.
static void push_names(lua_State *L, int given)
{
    lua_newtable(L);
    int names = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, given); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            continue;
        if (!lua_isfunction(L, -1))
            luaL_error(L,
                "compile: the metric '%s' must be a function of y_true and y_pred, got %s",
                lua_tostring(L, -2), luaL_typename(L, -1));
        lua_Integer at = luaL_len(L, names) + 1;
        for (; at > 1; at--) { // insertion: there are few
            lua_rawgeti(L, names, at - 1);
            bool before = strcmp(lua_tostring(L, -1), lua_tostring(L, -3)) < 0;
            if (before) {
                lua_pop(L, 1);
                break;
            }
            lua_rawseti(L, names, at);
        }
        lua_pushvalue(L, -2);
        lua_rawseti(L, names, at);
    }
}

void read_metrics(lua_State *L, int given, int list, size_t output, metric_set *set)
{
    int top = lua_gettop(L);
    if (lua_type(L, given) == LUA_TSTRING || lua_type(L, given) == LUA_TFUNCTION)
        luaL_error(L, "compile: metrics must be a list, as { \"accuracy\" }");
    if (lua_isnil(L, given))
        return;
    if (!lua_istable(L, given))
        luaL_error(L, "compile: metrics must be a list of names");
    if (lua_getfield(L, given, "class") == LUA_TSTRING) // nn.AUC {} of one output
        luaL_error(L, "compile: metrics must be a list, as { nn.AUC {} }");
    for (lua_Integer i = 1; i <= luaL_len(L, given); i++) {
        lua_settop(L, top);
        lua_geti(L, given, i);
        read_listed(L, i, list, output, set);
    }
    lua_settop(L, top);
    push_names(L, given);
    int names = lua_gettop(L);
    for (lua_Integer i = 1; i <= luaL_len(L, names); i++) {
        lua_rawgeti(L, names, i);
        lua_getfield(L, given, lua_tostring(L, -1));
        append(L, list, lua_tostring(L, -2), lua_gettop(L), output);
        lua_settop(L, names);
    }
    check_names(L, list, output, *set);
    lua_settop(L, top);
}
