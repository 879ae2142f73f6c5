// SPDX-License-Identifier: MIT
// Shared by the k8s bindings: the target of a call, and references to objects as in handles.
// Private to script/api/k8s/*.c.
#pragma once
#include "base/clock.h"
#include "k8s/client/watch/usage.h"
#include "k8s/client/watch/watch.h"
#include "k8s/client/why/why.h"
#include "script/api/k8s/cluster.h"

#define LABEL_ENTRY         "firesteel/entry" // the mark of the effect that made an object
#define LABEL_ENTRY_POINTER "/metadata/labels/firesteel~1entry" // where it stands: a JSON pointer
// Annotations that say, without any journal, where an object comes from.
#define NOTE_NOTEBOOK "firesteel/notebook"
#define NOTE_COMMIT   "firesteel/commit"

// The object (or kind) that a call's arguments name: {"apiVersion", "kind"} or {"kind": "pods"},
// with "namespace", "name", "uid", and "context" where it is not the chosen one. Strings are
// borrowed from the arguments and the client.
struct target {
    client *client;
    struct patience patience;
    const struct resource *resource;
    const char *ns; // never NULL: by default the context's; cluster-wide kinds ignore it
    const char *name, *uid;
    const char *context; // NULL: the chosen one
};
// needs_name: a missing name is ERR_USAGE.
int k8s_target(call *c, const cJSON *args, bool needs_name, struct target *t, err *e);

// The reference to an object of the server: {"apiVersion", "kind", "resource", "namespace", "name",
// "uid", "resourceVersion", "cluster"}; NULL when the cluster cannot be identified.
cJSON *k8s_reference(struct target *t, const cJSON *object, err *e);
// The target's object; if the target has a uid, only the object with this uid. Registers the
// secrets in it.
cJSON *k8s_object(call *c, struct target *t, err *e);
// Does a recorded reference belong to our cluster? 0, or -1 with ERR_REFUSED.
int k8s_same_cluster(struct target *t, const cJSON *recorded, err *e);

// ledger.c: finds objects that effects of this run made, by their marks.

// Adds the labels for an object that this call is about to make: this run's and this call's; and
// the annotations that say where it comes from.
void k8s_mark(call *c, cJSON *metadata);
// Keeps those of these labels and annotations that an existing object has already: it was there
// before.
void k8s_keep_marks(const cJSON *there, cJSON *metadata);
// Sets and returns a name for an object that has a generateName. It is always the same for this
// call, so a request that is sent twice makes one object. NULL: there is no generateName.
const char *k8s_name(call *c, cJSON *metadata);
// Did this call make the object?
bool k8s_is_marked(call *c, const cJSON *object);
// Looks for the object of `recorded` (a reference; without a uid if no answer came) that still
// exists and is this run's. *there is new; or NULL, and then *why (may be NULL) tells why. Sets the
// target's name and uid to it. Errors: ERR_REFUSED when it is in another cluster.
int k8s_look(call *c, struct target *t, const cJSON *recorded, cJSON **there, char **why, err *e);
// The fields in which the object is not as its manifest says: JSON pointers, a new array.
cJSON *k8s_differences(struct target *t, const cJSON *manifest, const cJSON *there, err *e);

// The pods of an object: a label selector (new), a pod's name (new), or both. `whole`: all of them;
// otherwise the one with the most important log (driver, launcher).
struct pods_of {
    char *labels, *pod;
};
int k8s_pods_of(const cJSON *object, bool whole, struct pods_of *out, err *e);
// The same, of an object whose kind makes others that make its pods: only if there are such pods.
// Otherwise its pods can be found by their ownerReferences alone.
int k8s_pods_found(struct target *t, const cJSON *object, bool whole, struct pods_of *out, err *e);
void k8s_pods_done(struct pods_of *p);

// Hides the contents of a Secret.
void k8s_register_secrets(call *c, const cJSON *object);

// input.c. Records what a cell has read: an object (state: of it only this text); a list, of
// which args says which one, and by "read" what of it was read before. The digest of what was read
// by now is new.
void k8s_note_read(call *c, const struct target *t, const cJSON *object, const char *state);
char *k8s_note_list(call *c, const struct target *t, const cJSON *args, const cJSON *items);

// The images that the object's pods ran, by the names that their specs have: digests, as nodes
// report them. Of 50 pods at most, and only if the server answers soon.
void k8s_note_images(call *c, struct target *t, const cJSON *object);

// why.c. The items of a list of a kind: a new array; NULL when they cannot be read. ns NULL:
// all namespaces.
cJSON *k8s_items(struct target *t, const struct patience *p, const char *api_version,
    const char *kind, const char *ns, const struct list_query *query, err *e);
// Patience for a question that may also go without an answer (client_errand).
struct patience k8s_quick(const struct target *t);
// Does the namespace enforce Pod Security's level "restricted"? Then pods that are ours say what it
// asks for (k8s/manifest/restricted.h). Whoever may not read the namespace is told false.
bool k8s_is_restricted(const struct target *t, const char *ns);
// The Deployments of operators of the target's kind, found by the label that their charts set: an
// array; NULL: none is known for it, or they cannot be read.
cJSON *k8s_operators(struct target *t, const struct patience *p);
// Opens what tells a live table what pods or nodes use (usage_open): how often, and of how many
// rows at a time, follows from whether a person looks (`peek`) or the run's journal keeps it.
usage *k8s_usage(
    client *c, struct usage_spec spec, bool peek, const struct usage_ops *ops, void *arg);
// The server of a live display's watch is away, or back (`away` of watch_ops). The note at its
// data, "9s old: REASON", new; NULL: it is back.
char *k8s_away_note(const watch *w, const err *reason);
// And what the display's reader is told.
void k8s_away_tell(display *d, const watch *w, const err *reason);
// Why does the object not go on? false: what was looked at (out->looked) does not tell. Call
// why_done in any case.
bool k8s_find_why(struct target *t, const cJSON *object, struct why *out);
// So long at most a time-out waits for images that nodes pull: a node's first pull ends no run.
#define K8S_PULL_MOST (30 * 60 * CLOCK_SEC)
void k8s_say_why(const struct why *w, buf *out); // "why: …", "  seen: …", "  next: …"
// "differs from the last good run, …": a line, if there was one.
void k8s_say_differs(call *c, buf *out);
// The object has ended badly: the reason in a line; events and last lines go to the call's stderr.
void k8s_explain(call *c, struct target *t, const cJSON *object, buf *reason);

// meter.c. An object was made: what its pods ask for and use is recorded from now on, without
// anybody waiting for it.
void k8s_meter(call *c, const struct target *t, const cJSON *object);
// The same for pods that another program makes with the run's label.
void k8s_meter_run(call *c, const struct target *t, const char *ns);

// watched.c. Objects that a live table of this run shows, by their uids.
void k8s_set_watched(call *c, const char *uid);
bool k8s_is_watched(call *c, const char *uid);

// k8s.c. What a call does to the object that it names: "scale Deployment web to 3 replicas in
// namespace default of context kind" of the verb "scale" and more " to 3 replicas".
void k8s_about_call(
    call *c, const cJSON *args, const char *verb, const char *more, struct about *about);

// verbs.c. "replicas", a number or what a person has typed; false: it is not a number.
bool k8s_replicas(const cJSON *args, int64_t *replicas);
// " (tier=gpu, old-)": what changes; without values only the keys.
void k8s_say_changes(const cJSON *args, bool values, buf *out);

// The result of a change, {"object", "changed"}: not at the top level, for the call did not make
// the object.
int k8s_changed(struct target *t, const cJSON *made, bool changed, cJSON **result, err *e);
// The object that an earlier call has changed, or the "subresource" of it that the record names: if
// it still exists and is the same one; else NULL.
cJSON *k8s_same_object(call *c, struct target *t, const cJSON *args, const cJSON *recorded, err *e);
// set.c. Keeps the fields that a patch of this type has set in `made`, the server's answer, as
// the result's "set": {JSON pointer: digest of the value, null for none}. With "subresource" in the
// result they are those of this part of the object.
void k8s_note_set(call *c, cJSON *result, const char *type, const cJSON *patch, const cJSON *made);
// The fields that later calls of the run have set, as members of a new object; NULL: they have
// changed or deleted the object without telling what.
cJSON *k8s_own_changes(call *c, const char *uid);
// The others of these fields (JSON pointers), in words for people: a new array. NULL: none.
cJSON *k8s_moved_by_others(const cJSON *own, const cJSON *fields);
char *k8s_say_moved(const char *kind, const char *name, const cJSON *said); // new
void k8s_look_set(call *c, const cJSON *args, const cJSON *recorded, struct glance *g, err *e);
// edit.c. What changes an object to an edited copy: a merge patch with the uid and version of what
// was looked at; NULL: nothing differs.
cJSON *k8s_edit_patch(const cJSON *base, const cJSON *edited);
// Would the server take it? The result is {"patch", "diff"}, or {"nothing": why}.
int k8s_propose(struct target *t, const cJSON *base, const cJSON *edited, cJSON **result, err *e);
// Makes such a change. The result is k8s_changed's.
int k8s_put_edit(call *c, struct target *t, const cJSON *patch, cJSON **result, err *e);
// Are there pods that a restart would make anew?
bool k8s_restarts(const struct resource *r);

typedef int k8s_start(call *c, const cJSON *args, cJSON **result, err *e);
k8s_start k8s_manifest, k8s_check, k8s_get, k8s_list, k8s_page, k8s_show, k8s_state, k8s_events,
    k8s_describe, k8s_can_i, k8s_version, k8s_why, k8s_preflight, k8s_kinds, k8s_known, k8s_yaml,
    k8s_wait, k8s_reach, k8s_logs, k8s_watch, k8s_label, k8s_annotate, k8s_scale, k8s_whoami,
    k8s_service, k8s_diff, k8s_explain_kind, k8s_contexts, k8s_edit_text, k8s_edit_check, k8s_edit,
    k8s_restart, k8s_tree, k8s_choose_container;
typedef int k8s_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e);
k8s_verify k8s_verify_set, k8s_verify_restart;

// The `about` of rows: what they are, and the actions on them (doc/displays.md). r NULL: pods.
cJSON *k8s_about(const struct resource *r);
void k8s_take_actions(cJSON *table, const struct resource *r);
// Rows of events stand for the objects that they are about, which are not deleted from there.
void k8s_take_event_actions(cJSON *table);
void k8s_set_event_about(cJSON *row, const cJSON *event);
bool k8s_is_event(const struct resource *r);
// "title", "many" and "one" of a table of a kind: "events in default", "jobs", "job". ns NULL: all.
void k8s_set_title(cJSON *table, const struct resource *r, const char *ns);
// Rows of another context than the chosen one say so to what acts on them, the title to people.
void k8s_set_context(cJSON *table, const struct target *t);

// shown.c. A table that stays as it is, for the person who has pressed a key; takes it. The result
// is {"display": number}.
int k8s_show_table(call *c, cJSON *table, cJSON **result);

// list.c. A list as a display: the table's first rows, the number of the others, and all as
// text (doc/displays.md): "table" and "text" of the result. Takes the table.
void k8s_set_table(cJSON *result, cJSON *table);
// Rows of events stand for what they are about.
void k8s_take_events(cJSON *table, const cJSON *events);

// A text for Lua without its last line end, since print adds one.
cJSON *k8s_text(const buf *text);

// Sets the deadline from the arguments (seconds or "10m"), but not later than the cell's own.
int k8s_deadline(call *c, const cJSON *args, struct patience *p, err *e);
