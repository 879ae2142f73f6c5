// SPDX-License-Identifier: MIT
#include "k8s/client/text/cause.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// One line: further lines, and the scheduler's words about claims and preemption, are left out.
void cause_line(const char *text, buf *out)
{
    static const char *const asides[] = {
        ". no new claims to deallocate", ". preemption:", ", preemption:"};
    size_t n = strcspn(text, "\r\n");
    for (size_t i = 0; i < ARRAY_LEN(asides); i++) {
        const char *aside = strstr(text, asides[i]);
        if (aside && (size_t)(aside - text) < n)
            n = (size_t)(aside - text);
    }
    while (n && (text[n - 1] == '.' || text[n - 1] == ' '))
        n--;
    const char *empty = ", Pod Message:"; // the operator's, of an executor that says nothing
    if (n > strlen(empty) && memcmp(text + n - strlen(empty), empty, strlen(empty)) == 0)
        n -= strlen(empty);
    buf_add(out, text, n);
}

bool spark_is_noise(const char *line, size_t n)
{
    static const char *const starts[] = {"\tat ", "\t... ", "    at ", "++ ", "+ "};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        if (n >= strlen(starts[i]) && memcmp(line, starts[i], strlen(starts[i])) == 0)
            return true;
    // "26/11/22 08:00:00 INFO Class: text"
    return n > 23 && line[2] == '/' && line[5] == '/' && line[11] == ':' &&
           (memcmp(line + 18, "INFO ", 5) == 0 || memcmp(line + 18, "DEBUG", 5) == 0);
}

static const char *last_of(const char *text, const char *words)
{
    const char *found = NULL;
    for (const char *at = text; (at = strstr(at, words)); at++)
        found = at;
    return found;
}

// "pkg.Class: words" without its packages, which say nothing to a person.
static void add_exception(buf *out, const char *text)
{
    size_t n = strcspn(text, ":\r\n "), from = 0;
    for (size_t i = 0; text[n] == ':' && i < n; i++)
        if (text[i] == '.')
            from = i + 1;
    cause_line(text + from, out);
}

// Of the last traceback of Python the line that names the exception, "ValueError: no data"; false:
// there is none, or it only passes on what the JVM said.
static bool add_python_error(buf *out, const char *text)
{
    static const char mark[] = "Traceback (most recent call last):";
    const char *found = last_of(text, mark);
    if (!found)
        return false;
    const char *line = found + strlen(mark);
    do {
        line += strcspn(line, "\n");
        line += *line == '\n';
    } while (*line == ' ' || *line == '\t');
    if (strcspn(line, "\r\n") == 0 || str_starts(line, "py4j."))
        return false;
    add_exception(out, line);
    return true;
}

bool cause_exception(const char *text, buf *out)
{
    if (add_python_error(out, text))
        return true;
    static const char *const marks[] = {"Caused by: ", "Exception in thread \"main\" "};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        const char *found = last_of(text, marks[i]);
        if (found) {
            add_exception(out, found + strlen(marks[i]));
            return true;
        }
    }
    return false;
}

void ray_cause(const char *text, buf *out)
{
    const char *log = strstr(text, ", last available logs"), *last = log;
    size_t before = out->len;
    if (!log) {
        cause_line(text, out);
        return;
    }
    if (!cause_exception(log, out)) {
        for (const char *line = log; *line; line += strspn(line, "\n")) {
            size_t n = strcspn(line, "\n");
            last = n > strspn(line, " \t\r") ? line : last;
            line += n;
        }
        buf_add(out, last == log ? "" : last, last == log ? 0 : strcspn(last, "\r\n"));
    }
    buf_fmt(out, out->len > before ? " (%.*s)" : "%.*s", (int)(log - text), text);
}

void spark_cause(const char *text, buf *out)
{
    // The client library's "Failure executing: POST at: URL. Message: WORDS. Received status: …".
    const char *message = last_of(text, "Message: ");
    if (message) {
        message += strlen("Message: ");
        const char *end = strstr(message, ". Received status");
        AUTO_FREE char *words =
            mem_strndup(message, end ? (size_t)(end - message) : strcspn(message, "\r\n"));
        cause_line(words, out);
        return;
    }
    if (cause_exception(text, out))
        return;
    const char *last = NULL;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (n > strspn(line, " \t\r") && !spark_is_noise(line, n))
            last = line;
        line += n + (line[n] == '\n');
    }
    if (last && str_starts(last, ": ")) // what Py4J passes on
        add_exception(out, last + 2);
    else if (last)
        cause_line(last, out);
}

#define DNS                                                                                        \
    "the pod cannot resolve this name: is it right as pods see it (NAME.NAMESPACE.svc), does a "   \
    "NetworkPolicy let port 53 through, and does CoreDNS run (kube-system)?"

// What to do about words of the server, of the kubelet, and of Spark. The first that is found
// counts. The words are those of Kubernetes 1.34 (scheduler, containerd, admission) and Spark 3.5.
static const struct {
    const char *words, *next;
} remedies[] = {
    {"failed calling webhook",
        "an admission webhook does not answer: what is behind the Service in "
        "its address has to become ready"},
    {"denied the request",
        "a policy of the cluster refuses it, as the sentence says: change the object, or ask who "
        "runs the cluster; rights are not the matter"},
    {"violates PodSecurity",
        "the namespace takes only pods of this security level: set in securityContext what the "
        "sentence names, or choose another namespace"},
    {"untolerated taint {node.kubernetes.io/",
        "the node is down, closed or short of something, as its taint says: look at it with "
        "k8s.describe(\"nodes/NAME\"), or ask who runs the cluster; a toleration does not help"},
    {"Insufficient cpu", "ask for less CPU (Spark: coreRequest of driver and executor; else "
                         "resources.requests.cpu), for fewer pods, or for a larger node"},
    {"Insufficient memory", "ask for less memory, for fewer pods, or for a larger node"},
    {"Insufficient ", "no node has so many of them free: k8s.describe(\"nodes/NAME\") lists them"},
    {"node affinity/selector", "no node has these labels: compare nodeSelector and affinity with "
                               "k8s.list(\"nodes\", {wide = true})"},
    {"untolerated taint",
        "look at the nodes' taints: one of node.kubernetes.io says that the node is down, closed "
        "or short of something, and goes when that is over; another one reserves the node"},
    {"unbound immediate PersistentVolumeClaims",
        "its claim has no volume: k8s.describe(\"pvc/NAME\") tells why"},
    {"error looking up service account",
        "make the account, and give it its rights, or name another one (serviceAccount)"},
    {"serviceaccount \"", "make the account, and give it its rights, or name another one"},
    {"exceeded quota", "the namespace's quota is used up: k8s.describe(\"quota/NAME\") shows it; "
                       "ask for less, or delete what is not needed"},
    {"server gave HTTP response to HTTPS client",
        "the image is not there, or the nodes do not know that this registry speaks plain HTTP: "
        "containerd asks once more by TLS when an image is missing, and shows that answer. If "
        "other images of this registry are pulled, push this one, or correct its name; if none "
        "is, the runtime has to be told (certs.d/HOST/hosts.toml)"},
    {"x509:", "the nodes' container runtime does not trust the registry's certificate: its CA "
              "belongs into certs.d/HOST of containerd"},
    {"unauthorized", "the registry wants a password: name a secret in imagePullSecrets"},
    {"authorization failed", "the registry wants a password: name a secret in imagePullSecrets"},
    {"pull access denied", "there is no such image, or it wants a password: imagePullSecrets"},
    {"Name or service not known", DNS},
    {"Temporary failure in name resolution", DNS},
    {"UnknownHostException", DNS},
    {"No module named", "the image lacks this module: add it where the image is built "
                        "(image.build{…}, RUN pip install)"},
    {"CUDA out of memory", "the GPU's memory was too small: a smaller batch, or a larger GPU"},
    {"No space left on device", "a disk is full: the node's, or its volume's; ask for "
                                "ephemeral-storage, or write into a larger volume"},
    {"longer than specified deadline",
        "let activeDeadlineSeconds be longer, or the work be shorter"},
    {"activeDeadlineSeconds", "let activeDeadlineSeconds be longer, or find out what kept it from "
                              "starting in time (k8s.events)"},
    {"InvalidImageName", "correct the image's name"},
    {"no such host", "the nodes cannot resolve the registry's name"},
    {"connection refused", "nothing listens there: is the address right as the nodes see it?"},
    {"ErrImageNeverPull", "the image is not on the node: push it, and let imagePullPolicy be "
                          "IfNotPresent"},
    {"exec: \"", "the image has no such program, or it cannot be executed: correct the command, or "
                 "build on a base that has it"},
    {"not found", "it is not there under this name: push or make it first"},
    {"cannot create resource", "give the account the right: bind a role to it (edit will do)"},
    {"per Container is", "a LimitRange of the namespace bounds it: k8s.describe(\"limits/NAME\")"},
    {"per Pod is", "a LimitRange of the namespace bounds it: k8s.describe(\"limits/NAME\")"},
    {"is forbidden: User", "give the account the right: bind a role to it (edit will do)"},
    {"ExitCode: 143", "somebody deleted or evicted it, or it was preempted: the events of its "
                      "namespace (k8s.events()) tell who"},
    {"ExitCode: 137",
        "it was killed, mostly for its memory: give it more (memory, memoryOverhead), "
        "or let it hold less"},
    {"cannot open driver", "Spark's entry point needs an image with Spark: image.build{from = …}"},
};

const char *cause_remedy(const char *words)
{
    for (size_t i = 0; i < ARRAY_LEN(remedies); i++)
        if (strstr(words, remedies[i].words))
            return remedies[i].next;
    return NULL;
}
