// SPDX-License-Identifier: MIT
#include "script/worker/tensor/travel.h"

#include "script/pack/pack.h"
#include "script/worker/core/state.h"
#include "trainer/files/checkpoint.h"

#include <string.h>

static void put_tensor(struct packer *p, const tensor *t)
{
    pack_kind(p, 'X');
    pack_number(p, (uint64_t)t->type, 1);
    pack_number(p, (uint64_t)t->dims, 1);
    for (int i = 0; i < t->dims; i++)
        pack_number(p, t->shape[i], 8);
    uint32_t scale;
    memcpy(&scale, &t->scale, 4);
    pack_number(p, scale, 4);
    size_t row = tensor_row_size(t) * tensor_type_size(t->type);
    for (size_t i = 0; i < tensor_rows(t); i++)
        pack_raw(p, tensor_row_data(t, i), row);
}

static void put_model(lua_State *L, struct packer *p, const model *m)
{
    err e;
    buf bytes = {0};
    if (checkpoint_encode(m, (checkpoint_options){.optimizer = true}, &bytes, &e)) {
        buf_done(&bytes);
        luaL_error(L, "%s: %s", pack_path(p), e.text);
    }
    pack_kind(p, 'C');
    pack_number(p, bytes.len, 4);
    pack_raw(p, bytes.data, bytes.len);
    buf_done(&bytes);
}

static bool put(lua_State *L, struct packer *p, int index)
{
    const tensor *t = test_tensor(L, index);
    const model *m = t ? NULL : test_model(L, index);
    if (t)
        put_tensor(p, t);
    else if (m)
        put_model(L, p, m);
    return t || m;
}

static void get_tensor(lua_State *L, struct unpacker *u)
{
    err e;
    size_t shape[TENSOR_MAX_DIMS];
    unsigned type = (unsigned)unpack_number(L, u, 1), dims = (unsigned)unpack_number(L, u, 1);
    if (type >= TENSOR_TYPE_COUNT || dims > TENSOR_MAX_DIMS)
        luaL_error(L, "packed values are damaged: a tensor");
    size_t size = tensor_type_size((tensor_type)type);
    for (unsigned i = 0; i < dims; i++) {
        shape[i] = (size_t)unpack_number(L, u, 8);
        if (__builtin_mul_overflow(size, shape[i], &size))
            luaL_error(L, "packed values are damaged: a tensor's shape");
    }
    uint32_t bits = (uint32_t)unpack_number(L, u, 4);
    float scale;
    memcpy(&scale, &bits, 4);
    const char *bytes = unpack_raw(L, u, size);
    tensor *t = tensor_from((tensor_type)type, (int)dims, shape, bytes, &e);
    if (t && type == TENSOR_U8 && scale != 1) {
        tensor *scaled = tensor_scaled(t, scale, &e);
        tensor_free(t);
        t = scaled;
    }
    push_tensor(L, t, &e);
}

static void get_model(lua_State *L, struct unpacker *u)
{
    err e;
    size_t n = (size_t)unpack_number(L, u, 4);
    model *m = checkpoint_decode(unpack_raw(L, u, n), n, &e);
    push_model(L, m, &e);
}

static bool get(lua_State *L, struct unpacker *u, char kind)
{
    if (kind == 'X')
        get_tensor(L, u);
    else if (kind == 'C')
        get_model(L, u);
    return kind == 'X' || kind == 'C';
}

void travel_open(lua_State *L)
{
    static const struct pack_ops ops = {.put = put, .get = get};
    pack_use(L, &ops);
}
