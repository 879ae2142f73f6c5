// SPDX-License-Identifier: MIT
#include "k8s/client/kinds/builtin.h"

#define CONDITIONS_OF_TRAINING                                                                     \
    .bad = "Failed", .good = "Succeeded", .open = "Suspended, Restarting, Running, Created",       \
    .way = "Created, Running, Succeeded", .suspend = "spec.runPolicy.suspend"

// PyTorchJob and its kin, of the training operator (kubeflow.org/v1).
#define ASKED(prefix, role, type)                                                                  \
#role "=spec." #prefix "ReplicaSpecs." #type ".template*spec." #prefix "ReplicaSpecs." #type   \
          ".replicas"
#define TRAINING(name, asked)                                                                      \
    {                                                                                              \
        .group = "kubeflow.org", .kind = name, CONDITIONS_OF_TRAINING,                             \
        .pods = "training.kubeflow.org/job-name={metadata.name}",                                  \
        .role = "training.kubeflow.org/replica-type", .columns = "STATE=@state", .asks = asked,    \
        .operators = "control-plane=kubeflow-training-operator"                                    \
    }

#define ASKED_BY_RAY(spec)                                                                         \
    "head=" spec ".headGroupSpec.template, worker=" spec ".workerGroupSpecs[].template*" spec      \
    ".workerGroupSpecs[].replicas"

// What `kubectl get pods` shows: phases, reasons of waiting and ended containers (kubelet's and
// container runtimes'), reasons of pods; and the conditions of pods.
#define POD_STATES                                                                                 \
    "Running, Pending, Succeeded, Failed, Unknown, Completed, Terminating, ContainerCreating, "    \
    "PodInitializing, CrashLoopBackOff, ImagePullBackOff, ErrImagePull, ErrImageNeverPull, "       \
    "InvalidImageName, ImageInspectError, RegistryUnavailable, SignatureValidationFailed, "        \
    "CreateContainerConfigError, CreateContainerError, RunContainerError, StartError, "            \
    "PreStartHookError, PostStartHookError, ContainerCannotRun, ContainerStatusUnknown, Error, "   \
    "OOMKilled, DeadlineExceeded, Evicted, NodeLost, NodeAffinity, NodeShutdown, Preempting, "     \
    "Shutdown, TopologyAffinityError, UnexpectedAdmissionError, SchedulingGated, NotReady, "       \
    "Ready, ContainersReady, PodScheduled, Initialized, PodReadyToStartContainers, "               \
    "DisruptionTarget, PodResizePending, PodResizeInProgress"

// Words and paths as these versions write them: Kubernetes 1.34, Spark operator 2.4, MPI operator
// 0.6, Argo 3.7, JobSet 0.11, Trainer 2.2, Kueue 0.17, KubeRay 1.5; Apache's Spark operator 0.5,
// Volcano 1.12, training operator 1.9 and KServe 0.15 by their sources.
const struct known known_builtin[] = {
    {.kind = "Pod",
        .words = "status.phase",
        .good = "Succeeded",
        .bad = "Failed",
        .message = "status.message",
        .way = "Pending, ContainerCreating, Running, Succeeded",
        .also = POD_STATES},
    {.kind = "Namespace", .words = "status.phase", .also = "Active, Terminating"},
    {.kind = "PersistentVolumeClaim",
        .words = "status.phase",
        .bad = "Lost",
        .message = "status.message",
        .also = "Pending, Bound"},
    {.kind = "Service", .pods = "selector", .endless = true},
    {.kind = "ReplicationController", .pods = "selector", .endless = true},

    {.group = "batch",
        .kind = "Job",
        .bad = "Failed",
        .good = "Complete",
        .open = "Suspended, Running=status.active>0",
        .way = "Running, Complete",
        .also = "SuccessCriteriaMet, FailureTarget",
        .suspend = "spec.suspend",
        .pods = "selector, batch.kubernetes.io/job-name={metadata.name}",
        .asks = "spec.template*spec.parallelism"},
    {.group = "batch",
        .kind = "CronJob",
        .makes = "jobs.batch",
        .suspend = "spec.suspend",
        .asks = "spec.jobTemplate.spec.template*spec.jobTemplate.spec.parallelism",
        .endless = true},
    {.group = "apps",
        .kind = "Deployment",
        .way = "Available",
        .also = "Progressing, ReplicaFailure",
        .pods = "selector",
        .makes = "replicasets.apps",
        .asks = "spec.template*spec.replicas",
        .endless = true},
    {.group = "apps",
        .kind = "StatefulSet",
        .way = "Available",
        .also = "Progressing",
        .pods = "selector",
        .asks = "spec.template*spec.replicas",
        .endless = true,
        .same_names = true},
    {.group = "apps",
        .kind = "DaemonSet",
        .also = "Available, Progressing",
        .pods = "selector",
        .endless = true},
    {.group = "apps",
        .kind = "ReplicaSet",
        .pods = "selector",
        .asks = "spec.template*spec.replicas",
        .endless = true},

    // ---- Spark
    {.group = "sparkoperator.k8s.io",
        .kind = "SparkApplication",
        .words = "status.applicationState.state",
        .good = "COMPLETED",
        .bad = "FAILED",
        .message = "status.applicationState.errorMessage",
        .way = "SUBMITTED, RUNNING, SUCCEEDING, COMPLETED",
        .also = "NEW, SUBMITTED, PENDING_SUBMISSION, RUNNING, SUCCEEDING, COMPLETED, FAILING, "
                "FAILED, SUBMISSION_FAILED, PENDING_RERUN, INVALIDATING, SUSPENDING, SUSPENDED, "
                "RESUMING, UNKNOWN",
        .suspend = "spec.suspend",
        .pods = "sparkoperator.k8s.io/app-name={metadata.name}",
        .role = "spark-role",
        .main = "spark-role=driver",
        .main_pod = "status.driverInfo.podName",
        .operators = "app.kubernetes.io/name=spark-operator",
        .same_names = true},
    {.group = "sparkoperator.k8s.io",
        .kind = "ScheduledSparkApplication",
        .words = "status.scheduleState",
        .bad = "FailedValidation",
        .message = "status.reason",
        .also = "Scheduled, Validating",
        .makes = "sparkapplications.sparkoperator.k8s.io",
        .suspend = "spec.suspend",
        .operators = "app.kubernetes.io/name=spark-operator",
        .endless = true},
    {.group = "spark.apache.org",
        .kind = "SparkApplication",
        .words = "status.currentState.currentStateSummary",
        .good = "Succeeded",
        .bad = "Failed, SchedulingFailure, DriverStartTimedOut, ExecutorsStartTimedOut, "
               "DriverReadyTimedOut, DriverEvicted",
        .again = "ScheduledToRestart",
        .restarts = "spec.applicationTolerations.restartConfig.restartPolicy",
        .history = "status.stateTransitionHistory",
        .ended = "ResourceReleased, TerminatedWithoutReleaseResources",
        .message = "status.currentState.message",
        .way = "Submitted, DriverRequested, DriverStarted, DriverReady, "
               "InitializedBelowThresholdExecutors, RunningHealthy, Succeeded",
        .also = "RunningWithBelowThresholdExecutors, RunningWithPartialCapacity",
        .pods = "spark-app-name={metadata.name}",
        .role = "spark-role",
        .main = "spark-role=driver",
        .columns = "STATE=@state",
        .operators = "app.kubernetes.io/name=spark-kubernetes-operator"},
    {.group = "spark.apache.org",
        .kind = "SparkCluster",
        .words = "status.currentState.currentStateSummary",
        .bad = "Failed, SchedulingFailure",
        .message = "status.currentState.message",
        .way = "Submitted, RunningHealthy",
        .also = "ResourceReleased",
        .pods = "spark.operator/spark-cluster-name={metadata.name}",
        .columns = "STATE=@state",
        .operators = "app.kubernetes.io/name=spark-kubernetes-operator",
        .endless = true},

    // ---- Kubeflow
    {.group = "kubeflow.org",
        .kind = "MPIJob",
        CONDITIONS_OF_TRAINING,
        .pods = "training.kubeflow.org/job-name={metadata.name}",
        .role = "training.kubeflow.org/job-role",
        .main = "training.kubeflow.org/job-role=launcher",
        .makes = "jobs.batch",
        .asks = ASKED(mpi, launcher, Launcher) ", " ASKED(mpi, worker, Worker),
        .operators = "app.kubernetes.io/name=mpi-operator"},
    TRAINING("PyTorchJob", ASKED(pytorch, master, Master) ", " ASKED(pytorch, worker, Worker)),
    TRAINING(
        "TFJob", ASKED(tf, chief, Chief) ", " ASKED(tf, ps, PS) ", " ASKED(tf, worker, Worker)),
    TRAINING("XGBoostJob", ASKED(xgb, master, Master) ", " ASKED(xgb, worker, Worker)),
    TRAINING("JAXJob", ASKED(jax, worker, Worker)),
    TRAINING("PaddleJob", ASKED(paddle, master, Master) ", " ASKED(paddle, worker, Worker)),
    {.group = "trainer.kubeflow.org",
        .kind = "TrainJob",
        .bad = "Failed",
        .good = "Complete",
        .open = "Suspended, Running=status.jobsStatus[].active>0",
        .way = "Running, Complete",
        .suspend = "spec.suspend",
        .pods = "jobset.sigs.k8s.io/jobset-name={metadata.name}",
        .role = "jobset.sigs.k8s.io/replicatedjob-name",
        .makes = "jobsets.jobset.x-k8s.io",
        .columns = "STATE=@state, RUNTIME=spec.runtimeRef.name",
        .operators = "app.kubernetes.io/name=trainer"},
    {.group = "jobset.x-k8s.io",
        .kind = "JobSet",
        .bad = "Failed",
        .good = "Completed",
        .open = "Suspended, StartupPolicyInProgress, "
                "Running=status.replicatedJobsStatus[].active>0, "
                "Running=status.replicatedJobsStatus[].ready>0",
        .way = "StartupPolicyInProgress, Running, Completed",
        .also = "StartupPolicyCompleted",
        .suspend = "spec.suspend",
        .pods = "jobset.sigs.k8s.io/jobset-name={metadata.name}",
        .role = "jobset.sigs.k8s.io/replicatedjob-name",
        .makes = "jobs.batch",
        .asks = "spec.replicatedJobs[].template.spec.template*spec.replicatedJobs[].replicas"
                "*spec.replicatedJobs[].template.spec.parallelism",
        .columns = "STATE=@state",
        .operators = "app.kubernetes.io/name=jobset"},

    // ---- Ray
    {.group = "ray.io",
        .kind = "RayJob",
        .words = "status.jobDeploymentStatus, status.jobStatus",
        .good = "SUCCEEDED, Complete",
        .bad = "FAILED, STOPPED, Failed, ValidationFailed",
        .again = "Retrying, FAILED=Running&FAILED", // the second: KubeRay has not decided yet
        .open = "Suspended, Suspending, RUNNING, PENDING",
        .way = "Initializing, Waiting, Running, PENDING, RUNNING, SUCCEEDED, Complete",
        .message = "status.message, status.reason",
        .suspend = "spec.suspend",
        .makes = "rayclusters.ray.io, jobs.batch",
        .asks = ASKED_BY_RAY("spec.rayClusterSpec") ", submitter=spec.submitterPodTemplate",
        .columns = "STATE=@state",
        .operators = "app.kubernetes.io/name=kuberay"},
    {.group = "ray.io",
        .kind = "RayCluster",
        .words = "status.state",
        .open = "suspended, failed, ReplicaFailure, ready, Pending=!RayClusterProvisioned",
        .way = "Pending, ready",
        .also = "HeadPodReady, RayClusterProvisioned, RayClusterSuspending, RayClusterSuspended",
        .message = "status.reason",
        .suspend = "spec.suspend",
        .pods = "ray.io/cluster={metadata.name}",
        .role = "ray.io/node-type",
        .main = "ray.io/node-type=head",
        .asks = ASKED_BY_RAY("spec"),
        .columns = "STATE=@state",
        .operators = "app.kubernetes.io/name=kuberay",
        .endless = true},
    {.group = "ray.io",
        .kind = "RayService",
        .words = "status.serviceStatus",
        .bad = "InitializingTimeout=!Ready/InitializingTimeout",
        .open = "UpgradeInProgress, Running, Ready, Initializing=!Ready",
        .message = "status.activeServiceStatus.applicationStatuses[].message",
        .way =
            "Initializing, WaitForServeDeploymentReady, Running", // the second: before KubeRay 1.3
        .makes = "rayclusters.ray.io",
        .asks = ASKED_BY_RAY("spec.rayClusterConfig"),
        .columns = "STATE=@state",
        .operators = "app.kubernetes.io/name=kuberay",
        .endless = true},

    // ---- Volcano
    {.group = "batch.volcano.sh",
        .kind = "Job",
        .words = "status.state.phase",
        .good = "Completed",
        .bad = "Failed, Terminated, Aborted",
        .message = "status.state.message, status.state.reason",
        .way = "Pending, Running, Completing, Completed",
        .also = "Restarting, Aborting, Terminating",
        .pods =
            "volcano.sh/job-name={metadata.name}, volcano.sh/job-namespace={metadata.namespace}",
        .role = "volcano.sh/task-spec",
        .makes = "podgroups.scheduling.volcano.sh",
        .asks = "spec.tasks[].template*spec.tasks[].replicas",
        .columns = "STATE=@state, QUEUE=spec.queue"},
    {.group = "scheduling.volcano.sh",
        .kind = "PodGroup",
        .words = "status.phase",
        .way = "Pending, Inqueue, Running, Completed",
        .also = "Unknown",
        .columns = "STATE=@state, QUEUE=spec.queue"},
    {.group = "scheduling.volcano.sh",
        .kind = "Queue",
        .words = "status.state",
        .also = "Open, Closed, Closing, Unknown",
        .columns = "STATE=@state"},

    // ---- Argo
    {.group = "argoproj.io",
        .kind = "Workflow",
        .words = "status.phase",
        .good = "Succeeded",
        .bad = "Failed, Error",
        .message = "status.message",
        .also = "Pending, Running, Succeeded, Failed, Error",
        .way = "Pending, Running, Succeeded",
        .suspend = "spec.suspend",
        .pods = "workflows.argoproj.io/workflow={metadata.name}",
        .operators = "app.kubernetes.io/name=workflow-controller"},
    {.group = "argoproj.io",
        .kind = "CronWorkflow",
        .words = "status.phase",
        .also = "Active, Stopped",
        .open = "SubmissionError, SpecError",
        .makes = "workflows.argoproj.io",
        .suspend = "spec.suspend",
        .operators = "app.kubernetes.io/name=workflow-controller",
        .endless = true},

    // ---- KServe
    {.group = "serving.kserve.io",
        .kind = "InferenceService",
        .bad = "InvalidSpec, BlockedByFailedLoad",
        .words = "status.modelStatus.transitionStatus",
        .open = "Ready, InProgress",
        .way = "InProgress, Ready",
        .also = "UpToDate, PredictorReady, IngressReady, NotReady=!Ready",
        .message = "status.modelStatus.lastFailureInfo.message, "
                   "status.modelStatus.lastFailureInfo.reason",
        .pods = "serving.kserve.io/inferenceservice={metadata.name}",
        .columns = "STATE=@state",
        .operators = "control-plane=kserve-controller-manager",
        .endless = true},

    // ---- Kueue
    {.group = "kueue.x-k8s.io",
        .kind = "Workload",
        .bad = "Failed=Finished/Failed, Failed=Finished/JobFailed",
        .good = "Finished",
        .open = "Deactivated=Evicted/Deactivated, Evicted, Admitted, QuotaReserved, "
                "Inadmissible=!QuotaReserved/Inadmissible, Pending=!QuotaReserved",
        .way = "Pending, QuotaReserved, Admitted, Finished",
        .also = "PodsReady, Requeued, Preempted",
        .columns = "STATE=@state, QUEUE=spec.queueName",
        .operators = "app.kubernetes.io/name=kueue"},
    {.group = "kueue.x-k8s.io", .kind = "LocalQueue", .open = "Active, Inactive=!Active"},
    {.group = "kueue.x-k8s.io", .kind = "ClusterQueue", .open = "Active, Inactive=!Active"},
    {.group = "kueue.x-k8s.io", .kind = "AdmissionCheck", .open = "Active, Inactive=!Active"},
};

const size_t known_builtin_count = sizeof known_builtin / sizeof *known_builtin;
