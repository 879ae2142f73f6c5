// SPDX-License-Identifier: MIT
#include "cli/worker/packages.h"

#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/worker/package/packing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2, DIFFERS = 1 };

static const char make_usage[] =
    "usage: firesteel-worker package --name N --model FILE [--predict FILE] --examples FILE "
    "[--tolerance T] FOLDER\n"
    "\n"
    "Writes a packaged model into FOLDER: the model, predict.lua, its ONNX form, and the examples "
    "with their predictions.\n";
static const char verify_usage[] =
    "usage: firesteel-worker verify [--tolerance T] [--json] [FOLDER]\n"
    "\n"
    "Predicts the examples of the packaged model in FOLDER (.) and compares: |a - b| <= T * max(1, "
    "|a|, |b|), T is 1e-5. Exit code 0: all are the same, 1: one is not.\n";

static atomic_bool stop;

static void on_stop(int number)
{
    atomic_store(&stop, true);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int fail(const char *text)
{
    fflush(stdout);
    fprintf(stderr, "firesteel-worker: %s\n", text);
    return 1;
}

struct words {
    const char *name, *model, *predict, *examples, *tolerance, *json;
    const char *folder;
};

// "--NAME VALUE" and "--NAME=VALUE"; -1: usage.
static int read_words(int argc, char **argv, struct words *w)
{
    const struct {
        const char *name;
        const char **value;
        bool flag;
    } known[] = {{"--name", &w->name, false}, {"--model", &w->model, false},
        {"--predict", &w->predict, false}, {"--examples", &w->examples, false},
        {"--tolerance", &w->tolerance, false}, {"--json", &w->json, true}};
    for (int i = 0; i < argc; i++) {
        size_t n = strcspn(argv[i], "="), k = 0;
        if (argv[i][0] != '-') {
            if (w->folder)
                return -1;
            w->folder = argv[i];
            continue;
        }
        while (k < ARRAY_LEN(known) &&
               (strlen(known[k].name) != n || memcmp(known[k].name, argv[i], n) != 0))
            k++;
        if (k == ARRAY_LEN(known))
            return -1;
        if (known[k].flag)
            *known[k].value = "";
        else if (argv[i][n])
            *known[k].value = argv[i] + n + 1;
        else if (++i < argc)
            *known[k].value = argv[i];
        else
            return -1;
    }
    return 0;
}

static bool read_tolerance(const char *text, double *value)
{
    char *end;
    *value = 1e-5;
    if (!text)
        return true;
    *value = strtod(text, &end);
    return *text && !*end && *value >= 0;
}

int packages_make(int argc, char **argv, const char *dnn)
{
    struct words w = {0};
    err e = {0};
    double tolerance;
    if (argc == 1 && str_eq(argv[0], "--help"))
        return fputs(make_usage, stdout) < 0;
    if (read_words(argc, argv, &w) < 0 || !w.name || !w.model || !w.examples || !w.folder ||
        !read_tolerance(w.tolerance, &tolerance))
        return fputs(make_usage, stderr), USAGE;
    catch_signals();
    struct packing spec = {.name = w.name,
        .model = w.model,
        .predict = w.predict,
        .examples = w.examples,
        .folder = w.folder,
        .tolerance = tolerance,
        .dnn = dnn};
    if (path_make_dirs(w.folder, 0777, &e) < 0 || packing_write(&spec, &stop, &e) < 0)
        return fail(e.text);
    return 0;
}

static void tell_json(const packaged *p, const struct checked *c)
{
    AUTO_JSON *j = cJSON_CreateObject();
    AUTO_BUF text = {0};
    json_set_str(j, "name", packaged_name(p));
    json_set_bool(j, "same", !c->first.output);
    json_set_int(j, "examples", (int64_t)c->examples);
    json_set_int(j, "values", (int64_t)c->values);
    json_set(j, "apart", cJSON_CreateNumber(c->apart));
    if (c->first.output) {
        cJSON *first = json_object_at(j, "first");
        json_set_int(first, "example", (int64_t)c->first.example);
        json_set_str(first, "output", c->first.output);
        json_set_str(first, "expected", c->first.expected);
        json_set_str(first, "got", c->first.got);
    }
    json_print(&text, j);
    puts(buf_cstr(&text));
}

static void tell(const packaged *p, const struct checked *c)
{
    if (c->first.output)
        printf("%s: example %zu: output %s is %s, and %s was expected\n", packaged_name(p),
            c->first.example, c->first.output, c->first.got, c->first.expected);
    else
        printf("%s predicts its %zu examples: %zu values, the greatest difference is %.3g\n",
            packaged_name(p), c->examples, c->values, c->apart);
}

int packages_verify(int argc, char **argv, const char *dnn)
{
    struct words w = {0};
    struct checked c = {0};
    err e = {0};
    double tolerance;
    if (argc == 1 && str_eq(argv[0], "--help"))
        return fputs(verify_usage, stdout) < 0;
    if (read_words(argc, argv, &w) < 0 || w.name || w.model || w.predict || w.examples ||
        !read_tolerance(w.tolerance, &tolerance))
        return fputs(verify_usage, stderr), USAGE;
    catch_signals();
    const char *folder = w.folder ? w.folder : ".";
    packaged *p = packaged_open(folder, dnn, &e);
    int code = p && packing_check(p, folder, tolerance, &stop, &c, &e) == 0 ? 0 : fail(e.text);
    if (code == 0) {
        (w.json ? tell_json : tell)(p, &c);
        code = c.first.output ? DIFFERS : 0;
    }
    difference_done(&c.first);
    packaged_free(p);
    return code;
}
