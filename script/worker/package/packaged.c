// SPDX-License-Identifier: MIT
#include "script/worker/package/packaged.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/pack/errortext.h"
#include "script/worker/core/state.h"
#include "trainer/dnn/dnn.h"
#include "trainer/files/checkpoint.h"
#include "trainer/serve/infer.h"

#include <string.h>
#include <unistd.h>

enum { TEXT_MOST = 64 << 20, LOOK_EACH = 10000 };

struct packaged {
    char *name;
    cJSON *about, *calls;
    model *model;
    worker *worker; // runs predict.lua, and then owns the model; NULL: there is none
    int predict, object;
    const atomic_bool *stop; // of the prediction under way
};

// A softmax in the last layer is trained by a crossentropy alone.
static loss_kind loss_of(const model *m, size_t output)
{
    return layer_activation(model_output_layer(m, output)) == ACTIVATION_SOFTMAX
               ? LOSS_CATEGORICAL_CROSSENTROPY
               : LOSS_MEAN_SQUARED_ERROR;
}

int packaged_compile(model *m, err *e)
{
    if (model_compiled(m))
        return 0;
    compile_spec spec = {
        .optimizer = optimizer_default(OPTIMIZER_SGD), .loss = LOSS_MEAN_SQUARED_ERROR};
    for (size_t i = 0; i < model_output_count(m); i++)
        *(i ? &spec.more[i - 1].loss : &spec.loss) = loss_of(m, i);
    return model_compile(m, &spec, e);
}

void packaged_give_dnn(model *m, const char *dnn)
{
    err e;
    if (!dnn || !model_wants_dnn(m))
        return;
    const dnn_ops *ops = dnn_load(dnn, &e);
    if (ops)
        model_set_dnn(m, ops);
    else
        dnn_tell_missing(&e);
}

// What predict.lua gets as `model`: the model's methods, with a predict that notes what it did.

// Appends the tensors at these places of the stack as inputs or outputs of a call.
static int note_tensors(lua_State *L, cJSON *call, const char *key, int from, int to)
{
    err e = {0};
    buf text = {0};
    buf_char(&text, '[');
    for (int i = from; i <= to; i++) {
        const tensor *t = test_tensor(L, i);
        tensor *plain = t ? tensor_to_f32(t, &e) : NULL;
        char name[16];
        snprintf(name, sizeof name, "%d", i - from + 1);
        buf_str(&text, i > from ? "," : "");
        int status = plain ? infer_put_tensor(&text, name, plain, NULL, &e) : -1;
        tensor_free(plain);
        if (status < 0)
            break;
    }
    buf_char(&text, ']');
    cJSON *list = e.code ? NULL : json_parse(text.data, text.len, &e);
    buf_done(&text);
    if (list)
        json_set(call, key, list);
    return list ? 0 : -1;
}

// Upvalues: the model, its predict, the packaged.
static int noted_predict(lua_State *L)
{
    packaged *p = lua_touserdata(L, lua_upvalueindex(3));
    bool list = lua_istable(L, 2);
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 2);
    lua_call(L, 2, LUA_MULTRET);
    int outputs = lua_gettop(L) - 2, first = lua_gettop(L) + 1;
    lua_Integer inputs = list ? luaL_len(L, 2) : 1;
    luaL_checkstack(L, (int)inputs + 4, "too many inputs");
    for (lua_Integer i = 1; i <= inputs; i++)
        if (list)
            lua_geti(L, 2, i);
        else
            lua_pushvalue(L, 2);
    cJSON *call = cJSON_CreateObject();
    cJSON_AddItemToArray(p->calls, call);
    note_tensors(L, call, "inputs", first, lua_gettop(L));
    note_tensors(L, call, "outputs", 3, 2 + outputs);
    lua_settop(L, 2 + outputs);
    return outputs;
}

static int index_model(lua_State *L)
{
    lua_pushvalue(L, 2);
    if (lua_rawget(L, 1) != LUA_TNIL)
        return 1;
    lua_pushvalue(L, 2);
    lua_gettable(L, lua_upvalueindex(1));
    return 1;
}

static void push_noted_model(lua_State *L, packaged *p)
{
    lua_newtable(L);
    int object = lua_gettop(L);
    push_model(L, p->model, NULL);
    lua_pushvalue(L, -1);
    lua_getfield(L, -1, "predict");
    lua_pushlightuserdata(L, p);
    lua_pushcclosure(L, noted_predict, 3);
    lua_pushvalue(L, -1);
    lua_setfield(L, object, "predict");
    lua_setfield(L, object, "predict_on_batch");
    lua_createtable(L, 0, 1);
    lua_insert(L, -2);
    lua_pushcclosure(L, index_model, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, object);
}

// Opening predict.lua: it sets the global `predict`.

static void look_at_stop(lua_State *L, lua_Debug *where)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "firesteel.packaged");
    const packaged *p = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (p && p->stop && atomic_load(p->stop))
        luaL_error(L, "it is closing");
}

static int set_up_predict(lua_State *L)
{
    packaged *p = lua_touserdata(L, 1);
    const char *path = lua_touserdata(L, 2);
    lua_pushvalue(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "firesteel.packaged");
    if (luaL_loadfile(L, path) != LUA_OK)
        return lua_error(L);
    lua_call(L, 0, 0);
    if (lua_getglobal(L, "predict") != LUA_TFUNCTION)
        return luaL_error(L, "it defines no function predict(inputs, model)");
    p->predict = luaL_ref(L, LUA_REGISTRYINDEX);
    push_noted_model(L, p);
    p->object = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_sethook(L, look_at_stop, LUA_MASKCOUNT, LOOK_EACH);
    return 0;
}

static int open_predict(packaged *p, const char *path, const char *dnn, err *e)
{
    struct worker_options options = {.dnn = dnn, .exit = _exit, .driver = {.slots = 1}};
    AUTO_FREE char *base = path_basename(path);
    p->worker = worker_new(&options, e);
    if (!p->worker)
        return -1;
    lua_State *L = p->worker->L;
    lua_pushcfunction(L, set_up_predict);
    lua_pushlightuserdata(L, p);
    lua_pushlightuserdata(L, (void *)path);
    if (lua_pcall(L, 2, 0, 0) == LUA_OK)
        return 0;
    error_take(L, ERR_INVALID, e);
    return err_wrap(e, "%s", base);
}

packaged *packaged_new(
    const char *name, const char *model_path, const char *predict_path, const char *dnn, err *e)
{
    packaged *p = mem_alloc(sizeof *p);
    p->name = mem_strdup(name);
    p->calls = cJSON_CreateArray();
    p->model = checkpoint_read(model_path, e);
    AUTO_FREE char *base = path_basename(model_path);
    if (p->model && packaged_compile(p->model, e) == 0) {
        if (!predict_path)
            packaged_give_dnn(p->model, dnn);
        if (!predict_path || open_predict(p, predict_path, dnn, e) == 0)
            return p;
    } else {
        err_wrap(e, "%s", base);
    }
    packaged_free(p);
    return NULL;
}

// Whoever has made the image may have written anything: without the digests of what is predicted
// from nothing is checked.
static int check_files(const char *folder, const cJSON *files, err *e)
{
    if (!cJSON_IsObject(files) || !json_str(files, PACKAGED_MODEL) ||
        !json_str(files, PACKAGED_EXAMPLES))
        return err_set(e, ERR_CORRUPT, "%s has no digests of %s and %s", PACKAGED_ABOUT,
            PACKAGED_MODEL, PACKAGED_EXAMPLES);
    const cJSON *file;
    cJSON_ArrayForEach(file, files)
    {
        char hex[SHA256_HEX];
        if (!path_is_below(file->string) || !cJSON_IsString(file))
            return err_set(e, ERR_CORRUPT, "%s names no file of it", PACKAGED_ABOUT);
        AUTO_FREE char *path = path_join(folder, file->string);
        if (sha256_file(path, hex, e) < 0)
            return err_wrap(e, "%s", file->string);
        if (!str_eq(hex, file->valuestring))
            return err_set(e, ERR_CORRUPT,
                "%s is not the file that was packaged: sha256 %s, and it was %s", file->string,
                str_short(hex, 16).text, str_short(file->valuestring, 16).text);
    }
    return 0;
}

static cJSON *read_about(const char *folder, err *e)
{
    ERR_GUARD(e);
    AUTO_BUF text = {0};
    AUTO_FREE char *path = path_join(folder, PACKAGED_ABOUT);
    if (path_read(path, &text, TEXT_MOST, e) < 0)
        return NULL;
    cJSON *about = json_parse(text.data, text.len, e);
    if (about && json_int_or(about, "firesteel", 0) == 1 && json_str(about, "name") &&
        check_files(folder, json_get(about, "files"), e) == 0)
        return about;
    if (about && !e->code)
        err_set(e, ERR_CORRUPT, "%s is not of this version", PACKAGED_ABOUT);
    cJSON_Delete(about);
    return NULL;
}

packaged *packaged_open(const char *folder, const char *dnn, err *e)
{
    err_clear(e);
    cJSON *about = read_about(folder, e);
    if (!about) {
        err_wrap(e, "package %s", folder);
        return NULL;
    }
    AUTO_FREE char *model_path = path_join(folder, PACKAGED_MODEL);
    AUTO_FREE char *predict = path_join(folder, PACKAGED_PREDICT);
    packaged *p = packaged_new(
        json_str(about, "name"), model_path, json_get(about, "predict") ? predict : NULL, dnn, e);
    if (p)
        p->about = about;
    else
        cJSON_Delete(about);
    return p;
}

void packaged_free(packaged *p)
{
    if (!p)
        return;
    if (!p->worker || !p->object)
        model_free(p->model);
    worker_free(p->worker); // else Lua's model is freed with it
    cJSON_Delete(p->about);
    cJSON_Delete(p->calls);
    free(p->name);
    free(p);
}

const char *packaged_name(const packaged *p)
{
    return p->name;
}

model *packaged_model(packaged *p)
{
    return p->model;
}

bool packaged_has_predict(const packaged *p)
{
    return p->worker != NULL;
}

const cJSON *packaged_calls(const packaged *p)
{
    return p->calls;
}

void packaged_describe(const packaged *p, buf *out)
{
    if (!p->worker) {
        infer_metadata(p->model, p->name, out);
        return;
    }
    AUTO_JSON *j = cJSON_CreateObject();
    json_set_str(j, "name", p->name);
    cJSON_AddItemToArray(json_array_at(j, "versions"), cJSON_CreateString("1"));
    json_set_str(j, "platform", "firesteel");
    const char *const keys[] = {"inputs", "outputs"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        json_set(j, keys[i], cJSON_Duplicate(json_get(p->about, keys[i]), true));
    json_print(out, j);
}

// A request to predict.lua. It runs below a pcall: all that has to be freed is in the struct.

struct asked {
    packaged *p;
    const char *name;
    body *body;
    const atomic_bool *stop;
    buf out;
    char *id;
    err e;
};

static void push_texts(lua_State *L, struct asked *a, const cJSON *input)
{
    size_t n = 0;
    const char *text = body_texts(a->body, input, &n, &a->e);
    if (!text)
        raise_err(L, &a->e);
    lua_newtable(L);
    for (size_t i = 1; i <= n; i++, text += strlen(text) + 1) {
        lua_pushstring(L, text);
        lua_rawseti(L, -2, (lua_Integer)i);
    }
}

static bool is_named(const cJSON *list, const char *name)
{
    const cJSON *j;
    cJSON_ArrayForEach(j, list) if (str_eq(json_str(j, "name"), name)) return true;
    return false;
}

// The inputs of its examples, no others, none missing.
static void check_inputs(lua_State *L, const cJSON *ports, const cJSON *list)
{
    const cJSON *j;
    cJSON_ArrayForEach(j, ports) if (!is_named(list, json_str(j, "name")))
        luaL_error(L, "there is no input %s", json_str(j, "name"));
    cJSON_ArrayForEach(j, list) if (ports && !is_named(ports, json_str(j, "name")))
        luaL_error(L, "the function has no input %s", json_str_or(j, "name", "without a name"));
}

static void push_inputs(lua_State *L, struct asked *a)
{
    const cJSON *list = json_get(body_frame(a->body), "inputs");
    if (!cJSON_IsArray(list) || !list->child)
        luaL_error(L, "a request has a list of inputs");
    check_inputs(L, json_get(a->p->about, "inputs"), list);
    lua_newtable(L);
    int table = lua_gettop(L);
    for (const cJSON *j = list->child; j; j = j->next) {
        const char *name = json_str(j, "name");
        if (!name)
            luaL_error(L, "an input has no name");
        if (lua_getfield(L, table, name) != LUA_TNIL)
            luaL_error(L, "input %s is given twice", name);
        lua_pop(L, 1);
        if (body_is_text(j))
            push_texts(L, a, j);
        else
            push_tensor(L, body_take_tensor(a->body, j, &a->e), &a->e);
        lua_setfield(L, table, name);
    }
}

static void put_text(buf *out, const char *text)
{
    AUTO_JSON *j = cJSON_CreateString(text);
    json_print(out, j);
}

// A list of texts, or of numbers.
static void put_list(lua_State *L, struct asked *a, const char *name, int at)
{
    size_t n = (size_t)luaL_len(L, at);
    bool texts = n > 0 && lua_rawgeti(L, at, 1) == LUA_TSTRING;
    infer_put_tensor_head(&a->out, name, texts ? "BYTES" : "FP32", 1, &n);
    for (size_t i = 1; i <= n; i++) {
        int type = lua_rawgeti(L, at, (lua_Integer)i);
        if (type != (texts ? LUA_TSTRING : LUA_TNUMBER))
            luaL_error(
                L, "predict: output %s: value %d is a %s", name, (int)i, luaL_typename(L, -1));
        buf_str(&a->out, i > 1 ? "," : "");
        if (texts)
            put_text(&a->out, lua_tostring(L, -1));
        else
            buf_fmt(&a->out, "%.9g", lua_tonumber(L, -1));
        lua_pop(L, 1);
    }
    buf_str(&a->out, "]}");
}

static void put_output(lua_State *L, struct asked *a, const char *name, int at)
{
    const tensor *t = test_tensor(L, at);
    at = lua_absindex(L, at);
    if (lua_istable(L, at)) {
        put_list(L, a, name, at);
        return;
    }
    if (!t)
        luaL_error(L, "predict: output %s is a %s; it is a tensor, or a list of texts or numbers",
            name, luaL_typename(L, at));
    tensor *plain = tensor_to_f32(t, &a->e);
    int status = plain ? infer_put_tensor(&a->out, name, plain, a->stop, &a->e) : -1;
    tensor_free(plain);
    if (status < 0)
        raise_err(L, &a->e);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The names of the table, sorted; pushes what holds them.
static const char **push_names(lua_State *L, int at, size_t *n)
{
    *n = 0;
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "predict: outputs have names: return { score = tensor, label = {…} }");
        ++*n;
    }
    const char **names = lua_newuserdatauv(L, (*n + 1) * sizeof *names, 0);
    size_t i = 0;
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1))
        names[i++] = lua_tostring(L, -2); // the table holds it
    qsort(names, *n, sizeof *names, by_name);
    return names;
}

// A single one, which is called "output", or those of a table by the order of their names.
static void put_outputs(lua_State *L, struct asked *a, int at)
{
    bool table = lua_istable(L, at);
    if (!table || lua_rawlen(L, at) > 0) {
        put_output(L, a, "output", at);
        return;
    }
    size_t n;
    const char **names = push_names(L, at, &n);
    for (size_t i = 0; i < n; i++) {
        buf_str(&a->out, i ? "," : "");
        lua_getfield(L, at, names[i]);
        put_output(L, a, names[i], -1);
        lua_pop(L, 1);
    }
}

static int ask(lua_State *L)
{
    struct asked *a = lua_touserdata(L, 1);
    a->id = infer_id(body_frame(a->body), &a->e);
    if (!a->id)
        raise_err(L, &a->e);
    infer_put_head(&a->out, a->name, *a->id ? a->id : NULL);
    lua_rawgeti(L, LUA_REGISTRYINDEX, a->p->predict);
    push_inputs(L, a);
    lua_rawgeti(L, LUA_REGISTRYINDEX, a->p->object);
    lua_call(L, 2, 1);
    put_outputs(L, a, lua_gettop(L));
    buf_str(&a->out, "]}");
    return 0;
}

static int ask_predict(packaged *p, const char *name, body *b, buf *out, err *e)
{
    struct asked a = {.p = p, .name = name, .body = b, .stop = p->stop};
    lua_State *L = p->worker->L;
    lua_settop(L, 0);
    lua_pushcfunction(L, ask);
    lua_pushlightuserdata(L, &a);
    int status = lua_pcall(L, 1, 0, 0);
    bool stopped = p->stop && atomic_load(p->stop);
    if (status == LUA_OK)
        buf_add(out, a.out.data, a.out.len);
    else
        error_take(L, stopped ? ERR_CANCELLED : ERR_INVALID, e);
    lua_settop(L, 0);
    buf_done(&a.out);
    free(a.id);
    return status == LUA_OK ? 0 : -1;
}

int packaged_infer(
    packaged *p, const char *name, body *b, const atomic_bool *stop, buf *out, err *e)
{
    err_clear(e);
    cJSON_Delete(p->calls);
    p->calls = cJSON_CreateArray();
    p->stop = p->worker->options.stop = stop;
    int status = ask_predict(p, name, b, out, e);
    p->stop = p->worker->options.stop = NULL;
    return status;
}

int packaged_infer_text(packaged *p, const char *name, const char *text, size_t n,
    const atomic_bool *stop, buf *out, err *e)
{
    err_clear(e);
    if (!p->worker)
        return infer(p->model, name, text, n, stop, out, e);
    body *b = body_new();
    bool whole = body_feed(b, text, n, e) == 0 && body_end(b, e) == 0;
    int status = whole ? packaged_infer(p, name, b, stop, out, e) : -1;
    body_free(b);
    return status;
}
