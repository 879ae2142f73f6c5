// SPDX-License-Identifier: MIT
// The search of ld.so(8), done by reading files: each needed name is looked up in the run path of
// the file that needs it, in the cache that ldconfig wrote, and in the default folders. Offsets
// from a file are checked before they are used.
#include "k8s/image/programs/closure.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/os/late.h"
#include "base/os/path.h"
#include "base/start/start.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// A file in memory, with its dynamic section located.
struct object {
    const char *path;
    const unsigned char *bytes;
    size_t size;
    const ElfW(Dyn) * dynamic;
    size_t dynamic_n;
    const char *strings; // NULL: the file is linked statically
    size_t strings_n;
};

static const void *at(const struct object *o, uint64_t offset, uint64_t n)
{
    return offset <= o->size && n <= o->size - offset ? o->bytes + offset : NULL;
}

static const ElfW(Ehdr) * header(const struct object *o)
{
    return (const ElfW(Ehdr) *)o->bytes;
}

static const ElfW(Phdr) * segments(const struct object *o)
{
    return at(o, header(o)->e_phoff, header(o)->e_phnum * sizeof(ElfW(Phdr)));
}

// The file offset of a virtual address.
static uint64_t file_offset(const struct object *o, uint64_t address)
{
    const ElfW(Phdr) *p = segments(o);
    for (int i = 0; i < header(o)->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
            address - p[i].p_vaddr < p[i].p_filesz)
            return address - p[i].p_vaddr + p[i].p_offset;
    return UINT64_MAX;
}

static uint64_t dynamic_value(const struct object *o, int64_t tag)
{
    for (size_t i = 0; i < o->dynamic_n; i++)
        if (o->dynamic[i].d_tag == tag)
            return o->dynamic[i].d_un.d_val;
    return UINT64_MAX;
}

static const char *string_at(const struct object *o, uint64_t offset)
{
    if (!o->strings || offset >= o->strings_n ||
        !memchr(o->strings + offset, '\0', o->strings_n - offset))
        return NULL;
    return o->strings + offset;
}

// DT_RUNPATH or DT_RPATH: a string of the table, or one that stands elsewhere (relocate.h).
static const char *run_path_of(const struct object *o, int64_t tag)
{
    uint64_t value = dynamic_value(o, tag);
    const char *found = value == UINT64_MAX ? NULL : string_at(o, value);
    if (found || value == UINT64_MAX)
        return found;
    uint64_t from = file_offset(o, dynamic_value(o, DT_STRTAB) + value);
    found = at(o, from, 1);
    return found && memchr(found, '\0', o->size - from) ? found : NULL;
}

// Can a file of a folder have this name?
static bool is_file_name(const char *s)
{
    return *s && !strchr(s, '/') && !str_eq(s, ".") && !str_eq(s, "..");
}

// As it is written there: an absolute path, or one as seen from the program's folder.
static const char *interpreter_of(const struct object *o)
{
    const ElfW(Phdr) *p = segments(o);
    for (int i = 0; i < header(o)->e_phnum; i++) {
        bool usual = p[i].p_type == PT_INTERP, beside = p[i].p_type == START_SEGMENT;
        const char *s = usual || beside ? at(o, p[i].p_offset, p[i].p_filesz) : NULL;
        if (s && p[i].p_filesz && s[p[i].p_filesz - 1] == '\0' && (*s == '/') == usual &&
            strchr(s, '/') && is_file_name(strrchr(s, '/') + 1))
            return s;
    }
    return NULL;
}

static bool find_dynamic(struct object *o)
{
    const ElfW(Phdr) *p = segments(o);
    for (int i = 0; i < header(o)->e_phnum; i++) {
        if (p[i].p_type != PT_DYNAMIC)
            continue;
        o->dynamic = at(o, p[i].p_offset, p[i].p_filesz);
        o->dynamic_n = p[i].p_filesz / sizeof *o->dynamic;
        if (!o->dynamic || p[i].p_offset % _Alignof(ElfW(Dyn)))
            return false;
        o->strings_n = dynamic_value(o, DT_STRSZ);
        o->strings = at(o, file_offset(o, dynamic_value(o, DT_STRTAB)), o->strings_n);
        return o->strings != NULL;
    }
    return true;
}

static void object_close(struct object *o)
{
    if (o->bytes)
        munmap((void *)o->bytes, o->size);
    o->bytes = NULL;
}

#if defined __x86_64__
enum { THIS_MACHINE = EM_X86_64 };
#elif defined __aarch64__
enum { THIS_MACHINE = EM_AARCH64 };
#elif defined __riscv
enum { THIS_MACHINE = EM_RISCV };
#elif defined __powerpc64__
enum { THIS_MACHINE = EM_PPC64 };
#elif defined __s390x__
enum { THIS_MACHINE = EM_S390 };
#else
#error "add this machine's e_machine"
#endif

static bool is_ours(const struct object *o)
{
    const ElfW(Ehdr) *h = header(o);
    return o->size >= sizeof *h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
           h->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           h->e_machine == THIS_MACHINE && h->e_phentsize == sizeof(ElfW(Phdr)) &&
           h->e_phoff % _Alignof(ElfW(Phdr)) == 0 && segments(o);
}

static int object_open(struct object *o, const char *path, err *e)
{
    *o = (struct object){.path = path};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        err_errno(e, errno, "%s", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    void *map = S_ISREG(st.st_mode) && st.st_size > 0
                    ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                    : MAP_FAILED;
    close(fd);
    if (map != MAP_FAILED) {
        o->bytes = map;
        o->size = (size_t)st.st_size;
    }
    if (map != MAP_FAILED && is_ours(o) && find_dynamic(o))
        return 0;
    object_close(o);
    return err_set(e, ERR_INVALID, "%s is not an ELF file of this machine", path);
}

static bool is_library(const char *path)
{
    struct object o;
    if (object_open(&o, path, NULL))
        return false;
    object_close(&o);
    return true;
}

// Returns path if it is a library for this machine, else frees it.
static char *try_path(char *path)
{
    if (is_library(path))
        return path;
    free(path);
    return NULL;
}

// The absolute folders of a DT_RUNPATH or DT_RPATH, where $ORIGIN stands for the file's own folder.
static char *run_path_folders(const char *run_path, const char *file)
{
    AUTO_FREE char *origin = path_dirname(file);
    char **dirs = strv_split(run_path, ':');
    buf out = {0};
    for (size_t i = 0; dirs[i]; i++) {
        const char *d = dirs[i], *colon = out.len ? ":" : "";
        if (str_starts(d, "$ORIGIN") || str_starts(d, "${ORIGIN}"))
            buf_fmt(&out, "%s%s%s", colon, origin, d + (d[1] == '{' ? 9 : 7));
        else if (*d == '/')
            buf_fmt(&out, "%s%s", colon, d);
    }
    strv_free(dirs);
    return buf_take(&out);
}

static char *search_folders(const char *folders, const char *name)
{
    char **dirs = strv_split(folders, ':'), *found = NULL;
    for (size_t i = 0; dirs[i] && !found; i++)
        found = *dirs[i] ? try_path(str_fmt("%s/%s", dirs[i], name)) : NULL;
    strv_free(dirs);
    return found;
}

// /etc/ld.so.cache in the format of glibc 2.2 and later (elf/cache.c, struct cache_file_new).
struct cache_header {
    char magic[20]; // "glibc-ld.so.cache1.1"
    uint32_t count, strings_n;
    uint32_t unused[5];
};
struct cache_entry {
    int32_t flags;
    uint32_t key, value; // offsets of strings, counted from the header
    uint32_t os_version;
    uint64_t hwcap;
};

static const char *cache_string(const buf *cache, size_t start, uint32_t offset)
{
    size_t from = start + offset;
    return from < cache->len && memchr(cache->data + from, '\0', cache->len - from)
               ? cache->data + from
               : NULL;
}

static char *search_cache(const char *name)
{
    static const char magic[] = "glibc-ld.so.cache1.1";
    AUTO_BUF cache = {0};
    if (path_read("/etc/ld.so.cache", &cache, 64u << 20, NULL))
        return NULL;
    // Before glibc 2.32 an older table preceded this one.
    const char *found = cache.len ? memmem(cache.data, cache.len, magic, sizeof magic - 1) : NULL;
    struct cache_header h;
    size_t start = found ? (size_t)(found - cache.data) : 0;
    if (!found || cache.len - start < sizeof h)
        return NULL;
    memcpy(&h, found, sizeof h);
    size_t room = (cache.len - start - sizeof h) / sizeof(struct cache_entry);
    for (size_t i = 0; i < h.count && i < room; i++) {
        struct cache_entry entry;
        memcpy(&entry, found + sizeof h + i * sizeof entry, sizeof entry);
        const char *key = cache_string(&cache, start, entry.key);
        const char *value = cache_string(&cache, start, entry.value);
        // Entries with a hwcap are variants for newer machines; an image must run on all machines.
        char *path =
            entry.hwcap == 0 && value && str_eq(key, name) ? try_path(mem_strdup(value)) : NULL;
        if (path)
            return path;
    }
    return NULL;
}

static char *search_defaults(const char *name)
{
    static const char *const dirs[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
    char *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(dirs) && !found; i++)
        found = try_path(str_fmt("%s/%s", dirs[i], name));
    return found;
}

static char *find_library(const struct object *needing, const char *inherited, const char *name)
{
    const char *runpath = run_path_of(needing, DT_RUNPATH);
    const char *rpath = runpath ? runpath : run_path_of(needing, DT_RPATH);
    AUTO_FREE char *own = rpath ? run_path_folders(rpath, needing->path) : NULL;
    char *found = own ? search_folders(own, name) : NULL;
    if (!found && !runpath && inherited)
        found = search_folders(inherited, name);
    if (!found)
        found = search_cache(name);
    return found ? found : search_defaults(name);
}

static bool has_library(const struct closure *c, const char *soname)
{
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->libraries[i].soname, soname))
            return true;
    return false;
}

static void add_library(struct closure *c, const char *soname, const char *path)
{
    size_t i = c->n++;
    c->libraries = mem_resize(c->libraries, c->n, sizeof *c->libraries);
    for (; i > 0 && strcmp(c->libraries[i - 1].soname, soname) > 0; i--)
        c->libraries[i] = c->libraries[i - 1];
    c->libraries[i] = (struct closure_library){mem_strdup(soname), mem_strdup(path)};
}

static int add_needs(struct closure *c, const char *path, const char *inherited, err *e);

static int add_need(
    struct closure *c, const struct object *o, const char *inherited, const char *name, err *e)
{
    if (!is_file_name(name)) // ld.so would open it as a path, and an image has another folder
        return err_set(e, ERR_INVALID,
            "%s needs the library \"%s\", which is no name of a file; link it by its name", o->path,
            name);
    if (has_library(c, name))
        return 0;
    AUTO_FREE char *path = find_library(o, inherited, name);
    if (!path)
        return err_set(e, ERR_NOT_FOUND,
            "%s needs %s, which is neither in its run path, nor known to ldconfig, nor in /lib or "
            "/usr/lib; install the package that has it",
            o->path, name);
    add_library(c, name, path);
    return add_needs(c, path, inherited, e);
}

// One of the descriptions in .note.dlopen (UAPI group, Package Metadata for Executable Files).
static int add_noted(struct closure *c, const struct object *o, const char *inherited,
    const char *text, size_t n, err *e)
{
    cJSON *all = json_parse(text, strnlen(text, n), NULL), *one;
    int status = all ? 0 : err_set(e, ERR_INVALID, "%s has a damaged .note.dlopen", o->path);
    cJSON_ArrayForEach(one, all)
    {
        // The names are the library's versions, the best first.
        const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(json_get(one, "soname"), 0));
        if (status == 0 && name && str_eq(json_str(one, "priority"), "required"))
            status = add_need(c, o, inherited, name, e);
    }
    cJSON_Delete(all);
    return status;
}

// The notes of a segment: sizes of name and description, type; both padded to 4 bytes (elf(5)).
static int add_notes(
    struct closure *c, const struct object *o, const char *inherited, const ElfW(Phdr) * p, err *e)
{
    static const char owner[] = LATE_NOTE_NAME;
    int status = 0;
    ElfW(Nhdr) note;
    for (uint64_t from = 0; status == 0 && p->p_filesz - from >= sizeof note;) {
        const unsigned char *head = at(o, p->p_offset + from, sizeof note);
        if (!head)
            break;
        memcpy(&note, head, sizeof note);
        uint64_t name = from + sizeof note,
                 text = name + ((note.n_namesz + (uint64_t)3) & ~(uint64_t)3);
        uint64_t next = text + ((note.n_descsz + (uint64_t)3) & ~(uint64_t)3);
        if (next > p->p_filesz || !at(o, p->p_offset + from, next - from))
            break;
        from = next;
        if (note.n_type == LATE_NOTE_TYPE && note.n_namesz == sizeof owner &&
            memcmp(head + sizeof note, owner, sizeof owner) == 0)
            status = add_noted(
                c, o, inherited, at(o, p->p_offset + text, note.n_descsz), note.n_descsz, e);
    }
    return status;
}

static int add_all_notes(struct closure *c, const struct object *o, const char *inherited, err *e)
{
    const ElfW(Phdr) *p = segments(o);
    int status = 0;
    for (int i = 0; i < header(o)->e_phnum && status == 0; i++)
        if (p[i].p_type == PT_NOTE && p[i].p_align <= 4)
            status = add_notes(c, o, inherited, &p[i], e);
    return status;
}

static void add_interpreter(struct closure *c, const struct object *o)
{
    const char *path = interpreter_of(o);
    if (!path || c->interpreter)
        return;
    AUTO_FREE char *folder = path_dirname(o->path);
    c->interpreter = path_join(folder, path);
    AUTO_FREE char *name = path_basename(path);
    if (!has_library(c, name))
        add_library(c, name, c->interpreter);
}

static int add_needs(struct closure *c, const char *path, const char *inherited, err *e)
{
    struct object o;
    if (object_open(&o, path, e))
        return -1;
    // An RPATH without a RUNPATH also applies to the libraries that this file's libraries need.
    const char *rpath =
        dynamic_value(&o, DT_RUNPATH) == UINT64_MAX ? run_path_of(&o, DT_RPATH) : NULL;
    AUTO_FREE char *own = rpath ? run_path_folders(rpath, path) : NULL;
    add_interpreter(c, &o);
    int status = 0;
    for (size_t i = 0; i < o.dynamic_n && status == 0; i++) {
        if (o.dynamic[i].d_tag == DT_NULL)
            break;
        if (o.dynamic[i].d_tag != DT_NEEDED)
            continue;
        const char *name = string_at(&o, o.dynamic[i].d_un.d_val);
        status = name ? add_need(c, &o, own ? own : inherited, name, e)
                      : err_set(e, ERR_INVALID, "%s has a damaged dynamic section", path);
    }
    if (status == 0)
        status = add_all_notes(c, &o, own ? own : inherited, e);
    object_close(&o);
    return status;
}

int closure_add(struct closure *closure, const char *path, err *e)
{
    return add_needs(closure, path, NULL, e);
}

void closure_done(struct closure *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->libraries[i].soname);
        free(c->libraries[i].path);
    }
    free(c->libraries);
    free(c->interpreter);
    *c = (struct closure){0};
}
