// SPDX-License-Identifier: MIT
// The volumes of pods, claims, and PersistentVolumes.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/describeparts.h"

#include <ctype.h>
#include <string.h>

enum { FIELDS = 4 };

// What is said of some sources: their fields in a line each. "none": what stands for a field that
// is missing, NULL: nothing.
static const struct source {
    const char *key, *type;
    struct field {
        const char *heading, *key, *none;
    } fields[FIELDS];
} sources[] = {
    {"hostPath", "HostPath (bare host directory volume)",
        {{"Path", "path", ""}, {"HostPathType", "type", "<none>"}}},
    {"emptyDir", "EmptyDir (a temporary directory that shares a pod's lifetime)",
        {{"Medium", "medium", ""}, {"SizeLimit", "sizeLimit", "<unset>"}}},
    {"secret", "Secret (a volume populated by a Secret)",
        {{"SecretName", "secretName", ""}, {"Optional", "optional", "false"}}},
    {"configMap", "ConfigMap (a volume populated by a ConfigMap)",
        {{"Name", "name", ""}, {"Optional", "optional", "false"}}},
    {"nfs", "NFS (an NFS mount that lasts the lifetime of a pod)",
        {{"Server", "server", ""}, {"Path", "path", ""}, {"ReadOnly", "readOnly", "false"}}},
    {"persistentVolumeClaim",
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        {{"ClaimName", "claimName", ""}, {"ReadOnly", "readOnly", "false"}}},
    {"gcePersistentDisk", "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
        {{"PDName", "pdName", ""}, {"FSType", "fsType", ""}, {"Partition", "partition", "0"},
            {"ReadOnly", "readOnly", "false"}}},
    {"awsElasticBlockStore", "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
        {{"VolumeID", "volumeID", ""}, {"FSType", "fsType", ""}, {"Partition", "partition", "0"},
            {"ReadOnly", "readOnly", "false"}}},
    {"local", "LocalVolume (a persistent volume backed by local storage on a node)",
        {{"Path", "path", ""}}},
    {"csi", "CSI (a Container Storage Interface (CSI) volume source)",
        {{"Driver", "driver", ""}, {"FSType", "fsType", ""}, {"ReadOnly", "readOnly", "false"}}},
    {"image", "Image (a container image or OCI artifact)",
        {{"Reference", "reference", ""}, {"PullPolicy", "pullPolicy", ""}}},
};

static void fields_of(buf *out, const struct field *fields, const cJSON *source)
{
    for (size_t i = 0; i < FIELDS && fields[i].heading; i++) {
        AUTO_FREE char *heading = str_fmt("    %s", fields[i].heading);
        describe_member(out, heading, source, fields[i].key, fields[i].none);
    }
}

// kubectl indents each attribute as it does the heading. Long ones are shortened.
static void csi_attributes(buf *out, const cJSON *source)
{
    AUTO_FREE const cJSON **sorted = json_sorted(json_get(source, "volumeAttributes"));
    buf_fmt(out, "    VolumeAttributes:\t%s", *sorted ? "" : "<none>\n");
    for (const cJSON **a = sorted; *a; a++) {
        AUTO_FREE char *line =
            str_fmt("%s=%s", (*a)->string, cJSON_IsString(*a) ? (*a)->valuestring : "");
        size_t n = strlen(line);
        buf_fmt(out, "%s    %.*s%s\n", a == sorted ? "" : "        \t", (int)(n > 140 ? 140 : n),
            line, n > 140 ? "..." : "");
    }
}

static void downward(buf *out, const cJSON *source)
{
    const cJSON *item;
    buf_str(out, "    Type:\tDownwardAPI (a volume populated by information about the pod)\n"
                 "    Items:\n");
    cJSON_ArrayForEach(item, json_get(source, "items"))
    {
        const char *field = json_path_str(item, "fieldRef.fieldPath"),
                   *resource = json_path_str(item, "resourceFieldRef.resource");
        buf_fmt(out, "      %s -> %s\n",
            field      ? field
            : resource ? resource
                       : "",
            json_str_or(item, "path", ""));
    }
}

static void projected(buf *out, const cJSON *source)
{
    static const struct {
        const char *key;
        struct field fields[FIELDS];
    } parts[] = {
        {"secret", {{"SecretName", "name", ""}, {"Optional", "optional", "false"}}},
        {"configMap", {{"ConfigMapName", "name", ""}, {"Optional", "optional", "false"}}},
        {"serviceAccountToken", {{"TokenExpirationSeconds", "expirationSeconds", ""}}},
    };
    const cJSON *part;
    buf_str(
        out, "    Type:\tProjected (a volume that contains injected data from multiple sources)\n");
    cJSON_ArrayForEach(part, json_get(source, "sources"))
    {
        if (json_get(part, "downwardAPI"))
            buf_str(out, "    DownwardAPI:\ttrue\n");
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
            if (json_get(part, parts[i].key))
                fields_of(out, parts[i].fields, json_get(part, parts[i].key));
    }
}

static void ephemeral(buf *out, const cJSON *source)
{
    const cJSON *claim = json_get(source, "volumeClaimTemplate");
    buf_str(out,
        "    Type:\tEphemeralVolume (an inline specification for a volume that gets created "
        "and deleted with the pod)\n");
    if (claim)
        describe_claim_spec(out, claim, "    ");
}

// A source that is not known here is shown with its fields.
static void other(buf *out, const cJSON *source)
{
    const cJSON *field;
    buf_fmt(out, "    Type:\t%s\n", source->string);
    cJSON_ArrayForEach(field, source)
    {
        if (!field->string)
            continue;
        buf_fmt(out, "    %s:\t", field->string);
        describe_value(out, field);
        buf_char(out, '\n');
    }
}

static void source_of(buf *out, const cJSON *source)
{
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        if (!str_eq(sources[i].key, source->string))
            continue;
        buf_fmt(out, "    Type:\t%s\n", sources[i].type);
        fields_of(out, sources[i].fields, source);
        if (str_eq(source->string, "csi"))
            csi_attributes(out, source);
        return;
    }
    if (str_eq(source->string, "downwardAPI"))
        downward(out, source);
    else if (str_eq(source->string, "projected"))
        projected(out, source);
    else if (str_eq(source->string, "ephemeral"))
        ephemeral(out, source);
    else
        other(out, source);
}

void describe_volumes(buf *out, const cJSON *volumes, const char *space)
{
    const cJSON *v, *source;
    bool any = volumes && volumes->child;
    buf_fmt(out, "%sVolumes:%s\n", space, any ? "" : "\t<none>");
    cJSON_ArrayForEach(v, volumes)
    {
        buf_fmt(out, "  %s%s:\n", *space ? " " : "", json_str_or(v, "name", ""));
        cJSON_ArrayForEach(source, v)
        {
            if (source->string && !str_eq(source->string, "name"))
                source_of(out, source);
        }
    }
}

static void access_modes(buf *out, const cJSON *modes)
{
    static const char *const words[][2] = {{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"},
        {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const cJSON *m;
        bool has = false;
        cJSON_ArrayForEach(m, modes) has = has || str_eq(m->valuestring, words[i][0]);
        if (has)
            buf_fmt(out, "%s%s", any ? "," : "", words[i][1]);
        any = any || has;
    }
}

static const char *class_of(const cJSON *claim)
{
    const char *old = json_str(
        json_path(claim, "metadata.annotations"), "volume.beta.kubernetes.io/storage-class");
    const char *name = json_path_str(claim, "spec.storageClassName");
    return old ? old : name ? name : "";
}

static void claim_middle(buf *out, const cJSON *claim, const char *indent)
{
    const char *volume = json_path_str(claim, "spec.volumeName");
    AUTO_FREE char *labels = str_fmt("%sLabels", indent);
    AUTO_FREE char *annotations = str_fmt("%sAnnotations", indent);
    buf_fmt(out, "%sVolume:\t%s\n", indent, volume ? volume : "");
    describe_labels(out, labels, json_path(claim, "metadata.labels"));
    describe_annotations(out, annotations, json_path(claim, "metadata.annotations"));
}

static void finalizers(buf *out, const cJSON *object)
{
    const cJSON *list = json_path(object, "metadata.finalizers");
    buf_str(out, "Finalizers:\t");
    if (list)
        describe_value(out, list);
    buf_str(out, list ? "\n" : "[]\n");
}

// "Bound", or how long it has been going.
static void phase(buf *out, const cJSON *object, int64_t now)
{
    const char *deleted = json_path_str(object, "metadata.deletionTimestamp");
    const char *phase = json_path_str(object, "status.phase");
    buf_str(out, "Status:\t");
    if (deleted) {
        buf_str(out, "Terminating (lasts ");
        describe_age(out, deleted, now);
        buf_str(out, ")\n");
    } else {
        buf_fmt(out, "%s\n", phase ? phase : "");
    }
}

static void claim_end(buf *out, const cJSON *claim, const char *indent)
{
    const char *volume = json_path_str(claim, "spec.volumeName");
    const cJSON *source = json_path(claim, "spec.dataSource");
    bool bound = volume && *volume;
    buf_fmt(out, "%sCapacity:\t", indent);
    if (bound)
        buf_str(out, json_str_or(json_path(claim, "status.capacity"), "storage", "0"));
    buf_fmt(out, "\n%sAccess Modes:\t", indent);
    if (bound)
        access_modes(out, json_path(claim, "status.accessModes"));
    buf_char(out, '\n');
    if (json_path_str(claim, "spec.volumeMode"))
        buf_fmt(out, "%sVolumeMode:\t%s\n", indent, json_path_str(claim, "spec.volumeMode"));
    if (!source)
        return;
    buf_fmt(out, "%sDataSource:\n", indent);
    if (json_str(source, "apiGroup"))
        buf_fmt(out, "%s  APIGroup:\t%s\n", indent, json_str(source, "apiGroup"));
    buf_fmt(out, "%s  Kind:\t%s\n%s  Name:\t%s\n", indent, json_str_or(source, "kind", ""), indent,
        json_str_or(source, "name", ""));
}

void describe_claim_spec(buf *out, const cJSON *claim, const char *indent)
{
    buf_fmt(out, "%sStorageClass:\t%s\n", indent, class_of(claim));
    claim_middle(out, claim, indent);
    claim_end(out, claim, indent);
}

static bool uses(const cJSON *pod, const cJSON *claim)
{
    const char *name = json_path_str(claim, "metadata.name");
    const cJSON *v, *owner;
    cJSON_ArrayForEach(v, json_path(pod, "spec.volumes"))
    {
        if (str_eq(json_path_str(v, "persistentVolumeClaim.claimName"), name))
            return true;
    }
    cJSON_ArrayForEach(owner, json_path(claim, "metadata.ownerReferences"))
    {
        if (str_eq(json_str(owner, "kind"), "Pod") &&
            str_eq(json_str(owner, "uid"), json_path_str(pod, "metadata.uid")))
            return true;
    }
    return false;
}

static void users(buf *out, const cJSON *claim, const cJSON *pods)
{
    AUTO_JSON *names = cJSON_CreateObject();
    const cJSON *pod;
    cJSON_ArrayForEach(pod, pods)
    {
        const char *name = json_path_str(pod, "metadata.name");
        if (name && uses(pod, claim))
            json_set_bool(names, name, true);
    }
    AUTO_FREE const cJSON **sorted = json_sorted(names);
    buf_fmt(out, "Used By:\t%s", *sorted ? "" : "<none>\n");
    for (const cJSON **n = sorted; *n; n++)
        buf_fmt(out, "%s%s\n", n == sorted ? "" : "\t", (*n)->string);
}

void describe_claim(buf *out, const cJSON *claim, const struct describe_more *more, int64_t now)
{
    describe_name(out, claim);
    buf_fmt(out, "StorageClass:\t%s\n", class_of(claim));
    phase(out, claim, now);
    claim_middle(out, claim, "");
    finalizers(out, claim);
    claim_end(out, claim, "");
    users(out, claim, more->related);
    describe_conditions(out, json_path(claim, "status.conditions"), "LastProbeTime");
}

static void requirements(buf *out, const cJSON *list)
{
    const cJSON *r, *value;
    buf_str(out, list && list->child ? "" : "<none>\n");
    cJSON_ArrayForEach(r, list)
    {
        AUTO_FREE char *how = mem_strdup(json_str_or(r, "operator", ""));
        for (char *c = how; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        buf_fmt(out, "%s%s %s", r == list->child ? "" : "    \t", json_str_or(r, "key", ""), how);
        const cJSON *values = json_get(r, "values");
        cJSON_ArrayForEach(value, values)
        {
            buf_fmt(out, "%s%s", value == values->child ? " [" : ", ",
                cJSON_IsString(value) ? value->valuestring : "");
        }
        buf_str(out, values && values->child ? "]\n" : "\n");
    }
}

static void node_affinity(buf *out, const cJSON *volume)
{
    const cJSON *required = json_path(volume, "spec.nodeAffinity.required"), *term,
                *terms = json_get(required, "nodeSelectorTerms");
    int i = 0;
    buf_fmt(out, "Node Affinity:\t%s\n", required ? "" : "<none>");
    if (!required)
        return;
    buf_fmt(out, "  Required Terms:\t%s\n", terms && terms->child ? "" : "<none>");
    cJSON_ArrayForEach(term, terms)
    {
        buf_fmt(out, "    Term %d:\t", i++);
        requirements(out, json_get(term, "matchExpressions"));
    }
}

// A volume's source is the member of its spec that no other part of it is.
static const cJSON *source_in(const cJSON *spec)
{
    static const char *const others[] = {"accessModes", "capacity", "claimRef", "mountOptions",
        "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName",
        "volumeAttributesClassName", "volumeMode"};
    const cJSON *m;
    cJSON_ArrayForEach(m, spec)
    {
        bool other = !cJSON_IsObject(m) || !m->string;
        for (size_t i = 0; i < ARRAY_LEN(others); i++)
            other = other || str_eq(m->string, others[i]);
        if (!other)
            return m;
    }
    return NULL;
}

static void csi_source(buf *out, const cJSON *csi)
{
    static const struct field fields[FIELDS] = {{"Driver", "driver", ""}, {"FSType", "fsType", ""},
        {"VolumeHandle", "volumeHandle", ""}, {"ReadOnly", "readOnly", "false"}};
    buf_str(out, "    Type:\tCSI (a Container Storage Interface (CSI) volume source)\n");
    fields_of(out, fields, csi);
    csi_attributes(out, csi);
}

void describe_volume(buf *out, const cJSON *volume, const struct describe_more *more, int64_t now)
{
    const cJSON *m = json_get(volume, "metadata"), *spec = json_get(volume, "spec");
    const cJSON *claim = json_get(spec, "claimRef"), *source = source_in(spec);
    buf_fmt(out, "Name:\t%s\n", json_str_or(m, "name", ""));
    describe_meta(out, volume);
    finalizers(out, volume);
    buf_fmt(out, "StorageClass:\t%s\n", class_of(volume));
    phase(out, volume, now);
    buf_fmt(out, "Claim:\t%s%s%s\n", json_str_or(claim, "namespace", ""), claim ? "/" : "",
        json_str_or(claim, "name", ""));
    describe_member(out, "Reclaim Policy", spec, "persistentVolumeReclaimPolicy", "");
    buf_str(out, "Access Modes:\t");
    access_modes(out, json_get(spec, "accessModes"));
    buf_char(out, '\n');
    describe_member(out, "VolumeMode", spec, "volumeMode", NULL);
    describe_member(out, "Capacity", spec, "capacity.storage", "0");
    node_affinity(out, volume);
    describe_member(out, "Message", volume, "status.message", "");
    buf_str(out, source ? "Source:\n" : "Source:\n  <unknown>\n");
    if (source && str_eq(source->string, "csi"))
        csi_source(out, source);
    else if (source)
        source_of(out, source);
}
