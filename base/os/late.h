// SPDX-License-Identifier: MIT
// Loads shared libraries when they are first needed instead of at the program's start. libcurl and
// libarchive need 35 more libraries, and loading those takes half of a short run's time.
// Each such library has one file of ours, which defines the library's functions; each definition
// calls the loaded function. Callers look as if they were linked with the library, and its own
// headers check every call:
//     #define FUNCTIONS(X) X(CURL *, curl_easy_init, (void), ()) X(void, curl_free, (void *p), (p))
//     LATE_LIBRARY(curl, CURL_SONAME, "libcurl3-gnutls", FUNCTIONS, LATE_NONE)
// The program's ELF file names the library in .note.dlopen, in the UAPI group's format "Package
// Metadata for Executable Files" (priority "required"). Tools that pack programs read it, such as
// ours for images (k8s/image/programs/closure.h).
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct late {
    const char *soname, *package; // Debian's package, for the error
    const char *const *names;     // of the library's functions
    void **functions;             // their addresses, in the same order; all NULL until it is loaded
    size_t n;
};
// Loads the library unless it is loaded. From any thread. Error: ERR_NOT_FOUND, with the package.
int late_load(struct late *l, err *e);
// Called by a function that is used before late_load: loads the library, or ends the program.
void late_must(struct late *l);

// A note of .note.dlopen as elf(5) has notes.
#define LATE_NOTE_NAME "FDO"
enum { LATE_NOTE_TYPE = 0x407c0c0a };
struct late_note {
    uint32_t name_n, text_n, type;
    char name[sizeof LATE_NOTE_NAME];
    char text[244]; // JSON, and NULs
};

#define LATE_NAME(type, name, parameters, arguments)    #name,
#define LATE_POINTER(type, name, parameters, arguments) __typeof__(name) *name;
#define LATE_FUNCTION(type, name, parameters, arguments)                                           \
    type name parameters                                                                           \
    {                                                                                              \
        if (!late_functions.name)                                                                  \
            late_must(&late_library);                                                              \
        return late_functions.name arguments;                                                      \
    }

#define LATE_NONE(X)

// Defines `int <name>_late(err *e)`, which loads the library, and the functions. Functions with
// variable arguments cannot be forwarded so: the file defines them itself, with
// `late_functions.<name>`.
#define LATE_LIBRARY(library, so, debian, functions_of, variadic_of)                               \
    static struct {                                                                                \
        functions_of(LATE_POINTER) variadic_of(LATE_POINTER)                                       \
    } late_functions;                                                                              \
    static const char *const late_names[] = {functions_of(LATE_NAME) variadic_of(LATE_NAME)};      \
    static struct late late_library = {                                                            \
        .soname = so,                                                                              \
        .package = debian,                                                                         \
        .names = late_names,                                                                       \
        .functions = (void **)&late_functions,                                                     \
        .n = sizeof late_names / sizeof *late_names,                                               \
    };                                                                                             \
    static const struct late_note late_noted                                                       \
        __attribute__((used, aligned(4), section(".note.dlopen"))) = {                             \
            .name_n = sizeof LATE_NOTE_NAME,                                                       \
            .text_n = sizeof((struct late_note *)0)->text,                                         \
            .type = LATE_NOTE_TYPE,                                                                \
            .name = LATE_NOTE_NAME,                                                                \
            .text = "[{\"soname\":[\"" so "\"],\"feature\":\"" #library                            \
                    "\",\"priority\":\"required\"}]",                                              \
    };                                                                                             \
    int library##_late(err *e)                                                                     \
    {                                                                                              \
        return late_load(&late_library, e);                                                        \
    }                                                                                              \
    functions_of(LATE_FUNCTION)
