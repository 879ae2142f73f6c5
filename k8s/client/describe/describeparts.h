// SPDX-License-Identifier: MIT
// The parts of which descriptions are made. They write lines whose cells end with tabs; tabs_align
// makes columns of them. For k8s/client/describe*.c.
#pragma once
#include "k8s/client/describe/describe.h"

#include <stddef.h>

// "Mon, 02 Jan 2006 15:04:05 +0100", of an RFC 3339 time; what does not parse as Go writes no time.
void describe_time(buf *out, const char *heading, const char *time);
// "5m"; "<unknown>" without a time.
void describe_age(buf *out, const char *time, int64_t now_wall);
// "heading:⇥key=value", and the others below it; sorted.
void describe_labels(buf *out, const char *heading, const cJSON *labels);
void describe_annotations(buf *out, const char *heading, const cJSON *annotations);
void describe_tolerations(buf *out, const char *heading, const cJSON *tolerations);
// Name, and namespace when it has one.
void describe_name(buf *out, const cJSON *object);
void describe_controller(buf *out, const cJSON *object);
// The whole number at the path, or 0.
long long describe_number(const cJSON *object, const char *path);
// The object's name, or "".
const char *describe_name_of(const cJSON *object);
// The object's labels and annotations.
void describe_meta(buf *out, const cJSON *object);
// A label selector as kubectl prints it: "a=b,c in (d,e)"; "<none>".
void describe_selector(buf *out, const cJSON *selector);
// Labels in one line: "heading:⇥a=b,c=d".
void describe_labels_in_line(buf *out, const char *heading, const cJSON *labels);
// A value as Go's %v: strings as they are, <nil>, [a b], map[a:b].
void describe_value(buf *out, const cJSON *value);
// The same of a member of an object; `none` without it.
void describe_member(
    buf *out, const char *heading, const cJSON *object, const char *path, const char *none);

// Conditions as a table. looked: the title of the time when they were last looked at, as nodes
// ("LastHeartbeatTime") and claims ("LastProbeTime") have it.
void describe_conditions(buf *out, const cJSON *conditions, const char *looked);
void describe_events(buf *out, const cJSON *events, int64_t now_wall);
void describe_volumes(buf *out, const cJSON *volumes, const char *space);

// Of each kind. more is never NULL.
typedef void describe_fn(
    buf *out, const cJSON *object, const struct describe_more *more, int64_t now_wall);
describe_fn describe_pod, describe_job, describe_deployment, describe_replicaset,
    describe_statefulset, describe_daemonset, describe_service, describe_configmap, describe_secret,
    describe_claim, describe_node, describe_cronjob, describe_namespace, describe_serviceaccount,
    describe_ingress, describe_autoscaler, describe_volume, describe_any;
void describe_template(buf *out, const cJSON *template);
void describe_claim_spec(buf *out, const cJSON *claim, const char *indent);
