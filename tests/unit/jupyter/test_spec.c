// SPDX-License-Identifier: MIT
// Kernelspecs are found where Jupyter finds them, and the environment's Python is the one that
// runs.
#include "script/jupyter/spec.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <sys/stat.h>

static void put(const char *below, const char *text, mode_t mode)
{
    err e = {0};
    AUTO_FREE char *path = path_join(tap_dir(), below);
    AUTO_FREE char *folder = path_dirname(path);
    CHECK_OK(path_make_dirs(folder, 0755, &e) == 0, e);
    CHECK_OK(path_write(path, text, strlen(text), mode, &e) == 0, e);
}

static void put_spec(const char *folder, const char *name, const char *language, const char *more)
{
    AUTO_FREE char *path = str_fmt("%s/kernels/%s/kernel.json", folder, name);
    AUTO_FREE char *text = str_fmt("{\"argv\": [\"python\", \"-f\", \"{connection_file}\"],"
                                   " \"display_name\": \"%s of %s\", \"language\": \"%s\"%s}",
        name, folder, language, more);
    put(path, text, 0644);
}

// A virtual environment that has a Python.
static void put_venv(const char *folder)
{
    AUTO_FREE char *mark = str_fmt("%s/pyvenv.cfg", folder);
    AUTO_FREE char *python = str_fmt("%s/bin/python", folder);
    put(mark, "", 0644);
    put(python, "#!/bin/sh\n", 0755);
}

// Looks with these variables, "NAME=FOLDER" below the case's folder.
static int find(const char *const *variables, const char *name, bool wish, const char *language,
    struct spec *out, err *e)
{
    char **env = mem_array(1, sizeof *env);
    for (; *variables; variables++) {
        size_t n = strcspn(*variables, "=") + 1;
        AUTO_FREE char *one = str_fmt("%.*s%s/%s", (int)n, *variables, tap_dir(), *variables + n);
        env = strv_add(env, one);
    }
    AUTO_FREE char *home = str_fmt("HOME=%s/home", tap_dir());
    AUTO_FREE char *system = path_join(tap_dir(), "system");
    AUTO_FREE char *beside = path_join(tap_dir(), "notebooks");
    env = strv_add(env, home);
    const char *const systems[] = {system, NULL};
    struct spec_places places = {.env = (const char *const *)env,
        .cwd = tap_dir(),
        .notebook_dir = beside,
        .system = systems};
    int result = spec_find(&places, name, wish, language, out, e);
    strv_free(env);
    return result;
}

static const char *const nothing[] = {NULL};

static void check_found(const char *const *variables, const char *name, bool wish,
    const char *language, const char *title)
{
    struct spec s;
    err e = {0};
    CHECK_OK(find(variables, name, wish, language, &s, &e) == 0, e);
    CHECK_STR(s.title, title);
    spec_done(&s);
}

TEST(folders_in_their_order)
{
    put_spec("system", "python3", "python", "");
    check_found(nothing, NULL, false, "python", "python3 of system");
    put_spec("home/.local/share/jupyter", "python3", "python", "");
    check_found(nothing, NULL, false, "python", "python3 of home/.local/share/jupyter");
    put_venv("notebooks/.venv");
    check_found(nothing, NULL, false, "python", "python3 of home/.local/share/jupyter");
    put_spec("notebooks/.venv/share/jupyter", "python3", "python", "");
    check_found(nothing, NULL, false, "python", "python3 of notebooks/.venv/share/jupyter");
    put_venv("active");
    put_spec("active/share/jupyter", "python3", "python", "");
    const char *const active[] = {"VIRTUAL_ENV=active", NULL};
    check_found(active, NULL, false, "python", "python3 of active/share/jupyter");
    put_spec("given", "python3", "python", "");
    const char *const given[] = {"JUPYTER_PATH=given", "VIRTUAL_ENV=active", NULL};
    check_found(given, NULL, false, "python", "python3 of given");
}

TEST(a_name_decides_and_a_wish_gives_way)
{
    put_spec("system", "python3", "python", "");
    put_spec("system", "aaa", "Python", "");
    put_spec("system", "bash", "bash", "");
    check_found(nothing, "aaa", false, "python", "aaa of system");
    check_found(nothing, NULL, false, "python", "python3 of system");
    check_found(nothing, "AAA", true, "python", "aaa of system");
    check_found(nothing, "conda-env-x", true, "python", "python3 of system");
    struct spec s;
    err e = {0};
    CHECK_INT(find(nothing, "conda-env-x", false, "python", &s, &e), -1);
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_HAS(e.text, "no Jupyter kernel is called conda-env-x (here: aaa, bash, python3)");
}

TEST(the_python_of_the_environment_runs)
{
    struct spec s;
    err e = {0};
    put_venv(".venv");
    put_spec(".venv/share/jupyter", "python3", "python",
        ", \"env\": {\"A\": \"${HOME}/x\", \"B\": \"$b ${NONE}\"}, \"interrupt_mode\": "
        "\"message\"");
    CHECK_OK(find(nothing, NULL, false, "python", &s, &e) == 0, e);
    AUTO_FREE char *python = path_join(tap_dir(), ".venv/bin/python");
    AUTO_FREE char *a = str_fmt("A=%s/home/x", tap_dir());
    CHECK_STR(s.argv[0], python);
    CHECK_STR(s.argv[2], "{connection_file}");
    CHECK_STR(s.env[0], a);
    CHECK_STR(s.env[1], "B=$b ${NONE}");
    CHECK(s.by_message && s.bin);
    spec_done(&s);
}

TEST(what_is_missing_is_said_with_what_installs_it)
{
    struct spec s;
    err e = {0};
    CHECK_INT(find(nothing, NULL, false, "python", &s, &e), -1);
    CHECK_HAS(e.text, "there is no Jupyter kernel for python (here: none)");
    CHECK_HAS(e.text, "pip install ipykernel");
    CHECK_INT(find(nothing, NULL, false, "R", &s, &e), -1);
    CHECK_HAS(e.text, "r-cran-irkernel");
    CHECK_INT(find(nothing, NULL, false, "apl", &s, &e), -1);
    CHECK_HAS(e.text, "there is no Jupyter kernel for apl");
}

TEST(a_broken_kernelspec_is_named)
{
    struct spec s;
    err e = {0};
    put("system/kernels/bad/kernel.json", "{\"argv\": []}", 0644);
    CHECK_INT(find(nothing, "bad", false, "python", &s, &e), -1);
    CHECK_HAS(e.text, "system/kernels/bad/kernel.json: argv is no list of words");
    put("system/kernels/bad/kernel.json", "{", 0644);
    CHECK_INT(find(nothing, "bad", false, "python", &s, &e), -1);
    CHECK_HAS(e.text, "system/kernels/bad/kernel.json");
    put_spec("system", "good", "python", "");
    check_found(nothing, NULL, false, "python", "good of system");
}

int main(void)
{
    return tap_run();
}
