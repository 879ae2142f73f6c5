// SPDX-License-Identifier: MIT
// package.json and examples.json of a packaged model, as whoever made an image may have written
// them: it is opened, described, and asked for what its examples say. The input: a byte, whether it
// has a predict.lua; the one text; a line break; the other one. Digests of files that package.json
// names are put in, since otherwise nothing would go on behind them.
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/worker/package/packing.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "trainer/files/checkpoint.h"

#include <stdlib.h>
#include <string.h>

static const char predict[] = "function predict(inputs, model)\n"
                              "  local _, first = next(inputs)\n"
                              "  return { y = model:predict(first) }\n"
                              "end\n";

static const layer_spec row[] = {
    {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 2}, .name = "dense"}};

static void write_model(void)
{
    err e = {0};
    buf bytes = {0};
    model *m = model_new(row, 1, MODEL_SEED, &e);
    if (!m || model_build(m, 1, (const size_t[]){2}, &e) < 0 || packaged_compile(m, &e) < 0 ||
        checkpoint_encode(m, (checkpoint_options){0}, &bytes, &e) < 0)
        abort();
    free(fuzz_file(PACKAGED_MODEL, bytes.data, bytes.len));
    buf_done(&bytes);
    model_free(m);
}

// The files of the folder that stand in the list get their digests.
static void put_digests(cJSON *about)
{
    static const char *const names[] = {PACKAGED_MODEL, PACKAGED_EXAMPLES, PACKAGED_PREDICT};
    cJSON *files = (cJSON *)json_get(about, "files");
    char hex[SHA256_HEX];
    err e;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *path = path_join(fuzz_folder(), names[i]);
        if (cJSON_IsObject(files) && json_get(files, names[i]) && sha256_file(path, hex, &e) == 0)
            json_set_str(files, names[i], hex);
    }
}

static void write_files(
    const char *about, size_t about_n, const char *examples, size_t n, bool asks)
{
    AUTO_BUF text = {0};
    AUTO_FREE char *lua = path_join(fuzz_folder(), PACKAGED_PREDICT);
    free(fuzz_file(PACKAGED_EXAMPLES, examples, n));
    if (asks)
        free(fuzz_file(PACKAGED_PREDICT, predict, sizeof predict - 1));
    else if (path_remove(lua, NULL) < 0)
        abort();
    AUTO_JSON *json = json_parse(about, about_n, NULL);
    if (json) {
        put_digests(json);
        json_print(&text, json);
    } else {
        buf_add(&text, about, about_n);
    }
    free(fuzz_file(PACKAGED_ABOUT, buf_cstr(&text), text.len));
}

static void use(packaged *p, const char *examples, size_t n)
{
    err e = {0};
    struct checked found;
    AUTO_BUF text = {0};
    packaged_describe(p, &text);
    AUTO_JSON *said = json_parse(text.data, text.len, &e);
    if (!said || !str_eq(json_str(said, "name"), packaged_name(p)))
        abort();
    err_clear(&e);
    int status = packing_check(p, fuzz_folder(), 1e-6, NULL, &found, &e);
    AUTO_JSON *list = json_parse(examples, n, NULL);
    if (status == 0 && found.examples != (size_t)cJSON_GetArraySize(list))
        abort();
    if (status < 0 && !*e.text)
        abort();
    difference_done(&found.first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static bool ready;
    err e = {0};
    if (!ready)
        write_model();
    ready = true;
    if (!n)
        return 0;
    const char *about = (const char *)data + 1, *end = (const char *)data + n;
    const char *line = memchr(about, '\n', n - 1);
    const char *examples = line ? line + 1 : end;
    size_t about_n = (size_t)((line ? line : end) - about), examples_n = (size_t)(end - examples);
    write_files(about, about_n, examples, examples_n, data[0] & 1);
    packaged *p = packaged_open(fuzz_folder(), NULL, &e);
    if (!p && !*e.text)
        abort();
    if (p)
        use(p, examples, examples_n);
    packaged_free(p);
    return 0;
}
