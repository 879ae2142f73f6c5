// SPDX-License-Identifier: MIT
#include "trainer/tensor/stored.h"

#include <math.h>
#include <string.h>

tensor_type stored_as(stored_type type)
{
    if (type.kind == 'f' || type.kind == 'g' || type.kind == 'n')
        return TENSOR_F32;
    if (type.kind == 'i')
        return type.bytes == 2 ? TENSOR_I16 : type.bytes == 4 ? TENSOR_I32 : TENSOR_I64;
    return type.bytes == 1 ? TENSOR_U8 : TENSOR_I64;
}

bool stored_is_native(stored_type type)
{
    bool same_type = type.kind == 'f' || type.kind == 'i' || (type.kind == 'u' && type.bytes == 1);
    bool same_order = type.big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) || type.bytes == 1;
    return type.bytes == tensor_type_size(stored_as(type)) && same_type && same_order;
}

static uint64_t bits_at(stored_type type, const void *run, size_t i)
{
    const uint8_t *p = (const uint8_t *)run + i * type.bytes;
    uint64_t bits = 0;
    for (size_t k = 0; k < type.bytes; k++)
        bits = bits << 8 | p[type.big ? k : type.bytes - 1 - k];
    return bits;
}

static float half(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    float fraction = (float)(bits & 1023) / 1024, sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction != 0 ? (float)NAN : sign * (float)INFINITY;
    if (exponent == 0)
        return sign * ldexpf(fraction, -14);
    return sign * ldexpf(1 + fraction, exponent - 15);
}

// Four bits of exponent and three of fraction; all of them set are nan, and nothing is infinite.
// Micikevicius and others, arXiv 2209.05433.
static float e4m3(uint8_t bits)
{
    int exponent = bits >> 3 & 15;
    float fraction = (float)(bits & 7) / 8, sign = bits >> 7 ? -1 : 1;
    if ((bits & 127) == 127)
        return (float)NAN;
    return sign * (exponent ? ldexpf(1 + fraction, exponent - 7) : ldexpf(fraction, -6));
}

static float real(stored_type type, uint64_t bits)
{
    uint32_t low = (uint32_t)(type.kind == 'g' ? bits << 16 : bits); // the upper half of an F32
    float single;
    double wide;
    if (type.bytes == 1)
        return type.kind == 'n' ? e4m3((uint8_t)bits) : half((uint16_t)(bits << 8));
    if (type.kind == 'f' && type.bytes == 2)
        return half((uint16_t)bits);
    if (type.bytes == 8) {
        memcpy(&wide, &bits, sizeof wide);
        return (float)wide;
    }
    memcpy(&single, &low, sizeof single);
    return single;
}

static int64_t integer(stored_type type, uint64_t bits)
{
    unsigned unused = 64 - 8 * (unsigned)type.bytes;
    return type.kind == 'i' ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

// A finite double that is infinite as a float.
static int check_range(uint64_t bits, size_t at, err *e)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value) || isfinite((float)value))
        return 0;
    return err_set(e, ERR_LIMIT,
        "element %zu is %g, and tensors are float32, which ends at 3.4e38: scale the numbers "
        "before "
        "they are saved",
        at, value);
}

int stored_read(stored_type type, const void *run, size_t from, tensor *t, size_t to, err *e)
{
    uint64_t bits = bits_at(type, run, from);
    if (t->type == TENSOR_F32 && type.kind == 'f' && type.bytes == 8 &&
        check_range(bits, from, e) < 0)
        return -1;
    if (t->type == TENSOR_F32)
        ((float *)t->data)[to] = real(type, bits);
    else if (t->type == TENSOR_U8)
        ((uint8_t *)t->data)[to] = type.kind == 'b' ? bits != 0 : (uint8_t)bits;
    else if (t->type == TENSOR_I16)
        ((int16_t *)t->data)[to] = (int16_t)integer(type, bits);
    else if (t->type == TENSOR_I32)
        ((int32_t *)t->data)[to] = (int32_t)integer(type, bits);
    else if ((((int64_t *)t->data)[to] = integer(type, bits)) < 0 && type.kind == 'u')
        return err_set(e, ERR_LIMIT, "element %zu is greater than 2^63 - 1", from);
    return 0;
}

tensor_type stored_written_as(const tensor *t)
{
    return t->type == TENSOR_U8 && t->scale != 1 ? TENSOR_F32 : t->type;
}

void stored_write(const tensor *t, buf *out)
{
    bool scaled = stored_written_as(t) != t->type;
    size_t width = tensor_row_size(t);
    buf_reserve(out, tensor_count(t) * tensor_type_size(stored_written_as(t)));
    for (size_t r = 0; r < tensor_rows(t); r++) {
        if (!scaled)
            buf_add(out, tensor_row_data(t, r), width * tensor_type_size(t->type));
        for (size_t i = 0; scaled && i < width; i++) {
            float value = (float)tensor_at(t, r * width + i);
            buf_add(out, &value, sizeof value);
        }
    }
}
