// SPDX-License-Identifier: MIT
// What an .ipynb has and text cannot carry, for a notebook that went through text: the journal of a
// run before a restart, a workbench without a kernel, a cell that was deleted and comes back.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/private.h"

static void adopt(cJSON **own, const cJSON *from)
{
    if (!*own)
        *own = cJSON_Duplicate(from, true);
}

void kept_adopt(cell *c, const cell *from)
{
    struct cell_kept *k = c->kept;
    const struct cell_kept *was = from->kept;
    if (!k->outputs)
        k->execution_count = was->execution_count;
    adopt(&k->outputs, was->outputs);
    adopt(&k->attachments, was->attachments);
    adopt(&k->foreign, was->foreign);
    adopt(&k->others, was->others);
    if (!k->came && was->came) {
        k->came = mem_strdup(was->came);
        k->came_as = mem_strdup(was->came_as);
    }
    if (!k->script && was->script && c->kind == from->kind && str_eq(c->source, from->source) &&
        str_eq(c->marker, from->marker)) {
        k->script = mem_strndup(was->script, was->script_n);
        k->script_n = was->script_n;
    }
    k->plain = k->plain || (was->plain && str_eq(c->source, from->source));
}

void notebook_adopt_file(notebook *nb, notebook *file)
{
    size_t at;
    notebook_adopt_ids(file, nb); // of a file before nbformat 4.5, which has none
    for (size_t i = 0; i < nb->n; i++)
        if (notebook_find(file, nb->cells[i]->id, &at))
            kept_adopt(nb->cells[i], file->cells[at]);
    for (size_t i = file->n; i-- > 0;) // deleted, and the file has not been saved since
        if (!notebook_find(nb, file->cells[i]->id, &at))
            kept_adopt(notebook_gone(nb, file->cells[i]->id), file->cells[i]);
    if (!nb->metadata)
        adopt(&nb->unshown, file->metadata ? file->metadata : file->unshown);
    nb->minor = file->minor;
    nb->format = file->format;
    nb->undecided = file->undecided && !nb->language;
    if (!nb->script && file->script) {
        nb->script = file->script;
        nb->script_header = mem_strdup(file->script_header);
        nb->script_header_as = mem_strdup(file->script_header_as);
    }
    if (!nb->came && file->came) {
        nb->came = mem_strndup(file->came, file->came_n);
        nb->came_n = file->came_n;
    }
}
