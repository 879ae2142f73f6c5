// SPDX-License-Identifier: MIT
#include "k8s/image/registry/conf.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };

static void entry_done(struct registry_entry *e)
{
    free(e->prefix);
    free(e->own.location);
    for (size_t i = 0; i < e->n; i++)
        free(e->mirrors[i].location);
    free(e->mirrors);
    *e = (struct registry_entry){0};
}

void registries_done(struct registries *r)
{
    for (size_t i = 0; i < r->n; i++)
        entry_done(&r->list[i]);
    free(r->list);
    *r = (struct registries){0};
}

// The text of a TOML string that ends within its line; NULL: it is none.
static char *string_value(const char *text)
{
    char quote = *text;
    const char *end = quote == '"' || quote == '\'' ? strchr(text + 1, quote) : NULL;
    return end ? mem_strndup(text + 1, (size_t)(end - text - 1)) : NULL;
}

static void set_text(char **to, const char *value)
{
    char *text = string_value(value);
    if (!text)
        return;
    free(*to);
    *to = text;
}

// digest-only, tag-only or all
static void set_what(struct registry_place *m, const char *value)
{
    AUTO_FREE char *what = string_value(value);
    m->digests = !str_eq(what, "tag-only");
    m->tags = !str_eq(what, "digest-only");
}

static void take_key(struct registry_entry *e, struct registry_place *m, const char *line)
{
    size_t n = strcspn(line, " \t=");
    AUTO_FREE char *key = mem_strndup(line, n);
    const char *value = line + n + strspn(line + n, " \t");
    if (*value != '=')
        return;
    value += 1 + strspn(value + 1, " \t");
    bool is_true = str_starts(value, "true");
    struct registry_place *place = m ? m : &e->own;
    if (str_eq(key, "location"))
        set_text(&place->location, value);
    else if (str_eq(key, "insecure"))
        place->insecure = is_true;
    else if (!m && str_eq(key, "prefix"))
        set_text(&e->prefix, value);
    else if (!m && str_eq(key, "blocked"))
        e->blocked = is_true;
    else if (!m && str_eq(key, "mirror-by-digest-only") && is_true)
        e->own.digests = true;
    else if (m && str_eq(key, "pull-from-mirror"))
        set_what(m, value);
}

// Of an entry that has ended. One without a place means nothing.
static void add_entry(struct registries *r, struct registry_entry *e)
{
    if (!e->prefix)
        e->prefix = mem_strdup(e->own.location);
    if (!e->own.location && e->prefix && !str_starts(e->prefix, "*."))
        e->own.location = mem_strdup(e->prefix);
    if (!e->prefix) {
        entry_done(e);
        return;
    }
    for (size_t i = 0; e->own.digests && i < e->n; i++)
        e->mirrors[i].tags = false;
    for (size_t i = 0; i < r->n; i++) {
        if (!str_eq(r->list[i].prefix, e->prefix))
            continue;
        entry_done(&r->list[i]);
        r->list[i] = *e;
        *e = (struct registry_entry){0};
        return;
    }
    r->list = mem_resize(r->list, r->n + 1, sizeof *r->list);
    r->list[r->n++] = *e;
    *e = (struct registry_entry){0};
}

static struct registry_place *add_mirror(struct registry_entry *e)
{
    e->mirrors = mem_resize(e->mirrors, e->n + 1, sizeof *e->mirrors);
    e->mirrors[e->n] = (struct registry_place){.digests = true, .tags = true};
    return &e->mirrors[e->n++];
}

void registries_read(struct registries *r, const char *text)
{
    struct registry_entry e = {0};
    struct registry_place *mirror = NULL;
    bool inside = false;
    while (*text) {
        size_t n = strcspn(text, "\n");
        AUTO_FREE char *line = str_trim(text, n);
        text += n + (text[n] == '\n');
        if (str_starts(line, "[[registry.mirror]]") && inside) {
            mirror = add_mirror(&e);
        } else if (*line == '[') {
            add_entry(r, &e);
            mirror = NULL;
            inside = str_starts(line, "[[registry]]");
        } else if (inside) {
            take_key(&e, mirror, line);
        }
    }
    add_entry(r, &e);
}

static bool read_file(struct registries *r, const char *path)
{
    AUTO_BUF text = {0};
    if (!path || path_read(path, &text, FILE_LIMIT, NULL) != 0)
        return false;
    registries_read(r, buf_cstr(&text));
    return true;
}

static int is_conf(const struct dirent *entry)
{
    return *entry->d_name != '.' && str_ends(entry->d_name, ".conf");
}

static void read_folder(struct registries *r, const char *base)
{
    AUTO_FREE char *dir = base ? path_join(base, "containers/registries.conf.d") : NULL;
    struct dirent **names = NULL;
    int n = dir ? scandir(dir, &names, is_conf, alphasort) : 0;
    for (int i = 0; i < n; i++) {
        AUTO_FREE char *path = path_join(dir, names[i]->d_name);
        read_file(r, path);
        free(names[i]);
    }
    free(names);
}

void registries_find(struct registries *r, const struct trust_places *p)
{
    *r = (struct registries){0};
    AUTO_FREE char *own = p->config ? path_join(p->config, "containers/registries.conf") : NULL;
    AUTO_FREE char *systems = p->etc ? path_join(p->etc, "containers/registries.conf") : NULL;
    if (p->registries_conf && *p->registries_conf)
        read_file(r, p->registries_conf);
    else if (!read_file(r, own))
        read_file(r, systems);
    read_folder(r, p->etc);
    read_folder(r, p->config);
}

// How much of the name the prefix is; 0: it is none of it.
static size_t match(const char *prefix, const char *name)
{
    size_t n = strlen(prefix), host = strcspn(name, "/");
    if (str_starts(prefix, "*.")) { // of hosts below
        size_t tail = n - 1;
        return host > tail && memcmp(name + host - tail, prefix + 1, tail) == 0 ? host : 0;
    }
    return strncmp(name, prefix, n) == 0 && (!name[n] || name[n] == '/') ? n : 0;
}

const struct registry_entry *registries_entry(const struct registries *r, const char *name)
{
    const struct registry_entry *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < r->n; i++) {
        size_t n = match(r->list[i].prefix, name);
        if (n > longest || (n && n == longest && !str_starts(r->list[i].prefix, "*."))) {
            best = &r->list[i];
            longest = n;
        }
    }
    return best;
}

char *registries_name(const struct registry_entry *e, const char *location, const char *name)
{
    return location ? str_fmt("%s%s", location, name + match(e->prefix, name)) : mem_strdup(name);
}

static bool is_host_of(const char *host, const char *location)
{
    size_t n = strlen(host);
    return location && strncmp(location, host, n) == 0 && (!location[n] || location[n] == '/');
}

bool registries_insecure(const struct registries *r, const char *host)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct registry_entry *e = &r->list[i];
        if (e->own.insecure && is_host_of(host, e->own.location ? e->own.location : e->prefix))
            return true;
        for (size_t k = 0; k < e->n; k++)
            if (e->mirrors[k].insecure && is_host_of(host, e->mirrors[k].location))
                return true;
    }
    return false;
}
