// SPDX-License-Identifier: MIT
// What a layer (an optimizer, a loss, …) can be told, declared once: a struct of its own, and a
// table of attributes that says of each field its name, type, default, range and meaning. From the
// tables come the options in Lua and their errors, JSON in files, signatures, `help` and the pages.
//
//   typedef struct rescaling_layer { double scale, offset; } rescaling_layer;
//
//   static const attribute attributes[] = {
//       {"scale", ATTRIBUTE_NUMBER, offsetof(rescaling_layer, scale), .required = true,
//           .meaning = "What each number is multiplied by."},
//       {"offset", ATTRIBUTE_NUMBER, offsetof(rescaling_layer, offset),
//           .meaning = "What is added then."},
//       {0}};
//
// All of it is constant and owned by nobody. `own` is a struct that a declaration tells of.
#pragma once
#include "base/json/json.h"
#include "trainer/tensor/tensor.h"

// The shape of one row of a batch: (28, 28, 1).
typedef struct row_shape {
    int dims;
    size_t size[TENSOR_MAX_DIMS];
} row_shape;

// Numbers in a list that somebody else owns.
typedef struct number_list {
    const double *values;
    size_t n;
} number_list;

// Dimensions that follow each other, as Keras counts them: the first one, and how many there are.
typedef struct axis_range {
    int first; // -1: the last dimension; 0: it was not told
    size_t n;  // 0 is 1
} axis_range;

typedef enum attribute_type {
    ATTRIBUTE_SIZE,       // size_t
    ATTRIBUTE_NUMBER,     // double
    ATTRIBUTE_FLOAT,      // float
    ATTRIBUTE_RATE,       // double: a learning rate, or a schedule, which somebody else reads
    ATTRIBUTE_WHOLE,      // int64_t: any integer
    ATTRIBUTE_BOOL,       // bool
    ATTRIBUTE_NOT,        // bool: true where the option is false
    ATTRIBUTE_CHOICE,     // int: the place in `choices`
    ATTRIBUTE_PAIR,       // size_t[2]: an integer for both, or a list of two
    ATTRIBUTE_LENGTH,     // size_t[2], of which the first is told: an integer, or a list of one
    ATTRIBUTE_SIDES,      // size_t[4]: 1, {rows, columns}, {{top, bottom}, {left, right}}
    ATTRIBUTE_SHAPE,      // row_shape
    ATTRIBUTE_OPEN_SHAPE, // the same, where -1 is a size to be found: it is kept as 0
    ATTRIBUTE_AXIS,       // int: a dimension, from 1 or from -1 on
    ATTRIBUTE_AXES,       // axis_range: one dimension or several that follow each other
    ATTRIBUTE_NUMBERS,    // number_list
    ATTRIBUTE_LUA,        // no field: nn.lua makes others of it
} attribute_type;

typedef struct attribute {
    const char *name; // as Keras has it
    attribute_type type;
    size_t offset;    // of the field
    double otherwise; // the default of numbers and sizes, choices and booleans
    // What numbers may be: from `least` to `most`, where not both are 0. `open`: less than `most`.
    double least, most;
    bool open;
    bool positive;              // more than 0
    bool required;              // an object without it is an error, which asks for it
    bool sparse;                // files only have it where it is not the default
    bool shown;                 // it is in the short text of a layer: "Dense(128)"
    bool whole;                 // ATTRIBUTE_LUA: it is an integer
    bool no_option;             // files alone have it
    bool no_file;               // options alone have it
    const char *file;           // its name in files, where that is another one
    const char *signature;      // its default in signatures, where the number does not say it
    const char *const *choices; // end with NULL
    // Finds a choice that has several names. NULL: its names are `choices` alone.
    int (*parse)(const char *text, int *value, err *e);
    const char *meaning;
} attribute;

typedef struct declaration {
    const char *name; // "Dense"
    size_t size;      // of the struct; 0: it has no attributes
    const attribute *attributes;
    const char *places; // the options that may be given by their place, "units activation"
    const char *rest;   // all items are this one, a list: nn.Reshape { 7, 7, 64 }
    const char *ask;    // what is asked where a required option is missing: "how many units? …"
    const char *other;  // another name of it: "he_normal" of HeNormal
    bool checked_later; // numbers are not checked when an object is read: they may be set, too
    // For `help` and the pages.
    const char *about, *formula, *source, *example;
} declaration;

// The attributes of a declaration, one after the other: NULL begins with the first, and is the end.
const attribute *attribute_next(const declaration *d, const attribute *last);
const attribute *attribute_find(const declaration *d, const char *name); // NULL: there is none
static inline void *attribute_at(const attribute *a, void *own)
{
    return (char *)own + a->offset;
}
static inline const void *attribute_of(const attribute *a, const void *own)
{
    return (const char *)own + a->offset;
}

void declaration_defaults(const declaration *d, void *own);
// As members of an object, and back. Lists of numbers that were read are new: declaration_done
// frees them.
void declaration_write(const declaration *d, const void *own, cJSON *out);
int declaration_read(const declaration *d, void *own, const cJSON *in, err *e);
void declaration_done(const declaration *d, void *own);
// Lists of numbers become the copy's own.
void declaration_copy(const declaration *d, void *own);

// -1 with e: "units must be positive, got 0". got: how the value was written; NULL: as a number is.
int attribute_check_number(const attribute *a, double value, const char *got, err *e);
// Where it is, if it is a double; else NULL.
const double *attribute_number(const attribute *a, const void *own);
// All numbers, which may have been set one by one: "momentum must be at least 0 …, not -1".
int declaration_check(const declaration *d, const void *own, err *e);
int attribute_parse_choice(const attribute *a, const char *text, int *value, err *e);
// The names of its choices, for errors: "a", "b" or "c".
void attribute_choices(const attribute *a, buf *out);
// What is shown of it: "128, 3x3".
void declaration_text(const declaration *d, const void *own, buf *out);
// "units, activation=\"linear\", use_bias=true": its options as a signature has them.
void declaration_signature(const declaration *d, buf *out);

// JSON: finite numbers, sizes within sane bounds, and lists of them.
enum { SIZE_MOST = 1 << 24, NUMBERS_MOST = 1 << 16 };
int json_read_number(const cJSON *j, const char *key, double otherwise, double *out, err *e);
size_t json_size(const cJSON *j, const char *key); // 0 when there is none
void json_write_sizes(cJSON *j, const char *key, const size_t *sizes, size_t n);
// At most `most`, from 0 or 1 on; returns how many, -1 with e.
int json_read_sizes(const cJSON *j, const char *key, size_t *sizes, int most, bool zeros, err *e);
