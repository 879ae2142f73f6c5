// SPDX-License-Identifier: MIT
#include "script/kernel/session/saving.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/journal/jupyter.h"
#include "script/kernel/session/file/document.h"
#include "script/protocol/message.h"

struct run_so_far {
    fold *fold; // NULL: it cannot be read
    const notebook *notebook;
    const char *spool_dir;
    mask *mask;
    err missing; // the first record that cannot be read
    err unread;  // why outputs stay as the file has them
};

static cJSON *run_outputs(struct run_so_far *run, const cell *c, long *count)
{
    const struct run_cell *rc = run->fold ? fold_cell_by_id(run->fold, c->id, NULL) : NULL;
    if (!rc || !rc->count)
        return NULL;
    err why = {0};
    cJSON *outputs = jupyter_outputs(rc, run->spool_dir, 0, &why);
    if (why.code) {
        if (!run->unread.code)
            run->unread = why;
        cJSON_Delete(outputs);
        return NULL;
    }
    *count = rc->count;
    return outputs;
}

// Masks everything with the secrets known by now: some became known only after they had been
// printed, in this run or an earlier one.
static cJSON *outputs_of(void *arg, const cell *c, size_t i, long *count)
{
    struct run_so_far *run = arg;
    cJSON *outputs = run_outputs(run, c, count);
    if (!outputs)
        outputs = cJSON_Duplicate(notebook_outputs(run->notebook, i, count), true);
    mask_json(run->mask, outputs);
    return outputs;
}

static bool saves_ipynb(const kernel *k, const cJSON *message)
{
    const char *path = json_str_or(message, "path", document_path(k->document));
    return message_type_of(message) == MESSAGE_save && path && str_ends(path, ".ipynb");
}

static void warn(cJSON *event, const err *unread, const err *missing)
{
    AUTO_FREE char *text = unread->code
                               ? str_fmt("with the outputs that its file had: %s", unread->text)
                           : missing->code ? str_fmt("without all outputs: %s", missing->text)
                                           : NULL;
    if (event)
        json_set_str(event, "warning", text);
}

cJSON *saving_change(kernel *k, const cJSON *message, int64_t by, err *e)
{
    const char *type = json_str(message, "type");
    if (!saves_ipynb(k, message))
        return document_change(k->document, type, message, by, e);
    port_flush(k->port);
    const journal *j = port_journal(k->port);
    struct run_so_far run = {.notebook = document_notebook(k->document),
        .spool_dir = journal_spool_dir(j),
        .mask = port_mask(k->port),
        .unread = k->unread};
    err gone = {0};
    run.fold = fold_file(journal_path(j), &run.missing, &gone);
    if (gone.code)
        run.unread = gone;
    document_set_outputs(k->document, outputs_of, &run);
    cJSON *event = document_change(k->document, type, message, by, e);
    document_set_outputs(k->document, NULL, NULL);
    warn(event, &run.unread, &run.missing);
    if (event)
        k->unread = (err){0};
    fold_free(run.fold);
    return event;
}
