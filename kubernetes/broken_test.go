package kubernetes

import (
	"strings"
	"testing"
)

// TestBroken breaks the manifests in one place at a time: each rule finds what it
// is there for.
func TestBroken(t *testing.T) {
	const suite, nightly, sweep, merge, serve = "overlays/suite", "overlays/nightly", "overlays/sim-sweep", "overlays/merge", "overlays/serve"
	const app, pod, nodes, services, net = "components/app/kustomization.yaml", "components/node/pod.yaml", "base/nodes.yaml", "base/services.yaml", "base/network.yaml"
	const mergePolicy = `  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - {type: DisruptionTarget, status: "True"}
      - action: FailJob
        onExitCodes:
          containerName: chaos
          operator: In
          values: [1, 2, 3, 64]
`
	for _, x := range []struct {
		name, dir, file, old, new, want string
	}{
		// What the types and the schema take.
		{"unknown field", suite, pod, "terminationGracePeriodSeconds", "terminationGraceSeconds", `unknown field "spec.template.spec.terminationGraceSeconds"`},
		{"wrong case", suite, suite + "/job.yaml", "backoffLimit:", "backofflimit:", `unknown field "spec.backofflimit"`},
		{"wrong type", suite, suite + "/job.yaml", "activeDeadlineSeconds: 7200", "activeDeadlineSeconds: 2h", "activeDeadlineSeconds"},
		{"no quantity", "base", pod, "memory: 128Mi", "memory: lots", "quantities must match"},
		{"unknown kind", suite, suite + "/job.yaml", "kind: Job", "kind: Jobb", "no kind batch/v1/Jobb"},
		{"required is missing", nightly, nightly + "/cronjob.yaml", `  schedule: "0 2 * * *"`, "", "spec.schedule in body is required"},
		{"required deep down", "base", pod, "topologyKey: kubernetes.io/hostname", "nodeTaintsPolicy: Honor", "topologyKey"},
		{"duplicate key", serve, serve + "/deployment.yaml", "  replicas: 1", "  replicas: 1\n  replicas: 2", "replicas"},
		{"no resource", suite, suite + "/kustomization.yaml", "job.yaml", "jobs.yaml", "jobs.yaml"},
		// What is named is there.
		{"selector", "base", nodes, "template:\n    metadata:\n      labels: *labels", "template:\n    metadata:\n      labels: {app.kubernetes.io/component: other}", "does not pick its own pods"},
		{"wide selector", "base", nodes, "matchLabels: *labels", "matchLabels: {app.kubernetes.io/name: lockchaos}", "or others too"},
		{"two with one label", "base", nodes, "app.kubernetes.io/component: tokens", "app.kubernetes.io/component: postgres", "picks the pods of StatefulSet postgres, too"},
		{"nobody behind a Service", "base", services, "app.kubernetes.io/component: tokens", "app.kubernetes.io/component: token", "Service tokens: no pod is behind it"},
		{"policy for nobody", serve, serve + "/network.yaml", "component: serve", "component: server", "NetworkPolicy serve: it picks no pod"},
		{"no Service", "base", nodes, "serviceName: lock\n", "serviceName: locks\n", `StatefulSet lock: no Service "locks"`},
		{"Service with an address", "base", services, "name: lock\nspec:\n  clusterIP: None", "name: lock\nspec:\n  sessionAffinity: None", "Service lock: it has an address"},
		{"Service to another", "base", services, "component: lock", "component: master", "does not lead to the pods of StatefulSet lock alone"},
		{"no Secret", "base", pod, "secretName: token,", "secretName: tokens,", "no Secret tokens"},
		{"no ConfigMap", suite, suite + "/job.yaml", "configMap: {name: cluster}", "configMap: {name: clusters}", "Job suite: no ConfigMap clusters"},
		{"no claim", sweep, sweep + "/job.yaml", "claimName: results", "claimName: result", "no PersistentVolumeClaim result"},
		{"no volume", serve, serve + "/deployment.yaml", "name: work, mountPath", "name: works, mountPath", "no volume works"},
		{"volume for nothing", "base", pod, "            - {name: shm, mountPath: /dev/shm}\n", "", "volume shm is mounted nowhere"},
		{"two mounts at one place", merge, merge + "/job.yaml", "mountPath: /work", "mountPath: /results", "two mounts at /results"},
		{"path on no volume", merge, merge + "/job.yaml", "/results/sim-sweep, --results, /results", "/results/sim-sweep, --results, /merged", "/merged: it is on no volume"},
		{"no key in the Secret", "base", pod, "--token-file, /etc/chaos/token/token]\n          env", "--token-file, /etc/chaos/token/key]\n          env", "/etc/chaos/token/key: no such key, there are [token]"},
		{"no key in the ConfigMap", suite, suite + "/job.yaml", "--cluster, /etc/chaos/cluster/cluster.yaml", "--cluster, /etc/chaos/cluster/nodes.yaml", "no such key, there are [cluster.yaml]"},
		{"path in a script", suite, suite + "/job.yaml", `\1/p' /etc/chaos/cluster/cluster.yaml`, `\1/p' /etc/cluster.yaml`, "/etc/cluster.yaml: it is on no volume"},
		{"variable of nobody", sweep, sweep + "/job.yaml", "$(JOB_COMPLETION_INDEX)", "$(JOB_INDEX)", "nothing gives $(JOB_INDEX)"},
		// Ports and the network.
		{"port of a Service", "base", services, "port: 7400", "port: 7401", "Service lock: StatefulSet lock has no port agent of number 7401"},
		{"name of a port", "base", services, "targetPort: agent", "targetPort: agents", "has no port agents of number 7400"},
		{"container's port", "base", pod, "containerPort: 7400", "containerPort: 7500", "expected port 7400 alone"},
		{"second port", "base", pod, "{name: agent, containerPort: 7400}", "{name: agent, containerPort: 7400}\n            - {name: redis, containerPort: 6379}", "expected port 7400 alone"},
		{"listens elsewhere", "base", pod, `":7400"`, `":7000"`, `it listens on ":7000"`},
		{"probe asks elsewhere", "base", pod, `"127.0.0.1:7400"`, `"127.0.0.1:7000"`, `probe asks "127.0.0.1:7000"`},
		{"no probe", "base", pod, "livenessProbe:", "startupProbe:", "no liveness probe"},
		{"port of another", serve, serve + "/deployment.yaml", "          args:", "          ports: [{containerPort: 8080}]\n          args:", "only agents have a port"},
		{"pod without a policy", suite, net, ", runner]", "]", "Job suite: no policy bounds its Ingress"},
		{"policy of one way", merge, merge + "/network.yaml", "[Ingress, Egress]", "[Ingress]", "Job merge: no policy bounds its Egress"},
		{"open to all", "base", net, "    - from: &app\n        - podSelector:\n            matchLabels:\n              app.kubernetes.io/name: lockchaos\n", "    - from: &app []\n", "open to everybody"},
		{"other port opened", "base", net, "- {port: 7400, protocol: TCP}", "- {port: 6379, protocol: TCP}", "opens port 6379"},
		{"range opened", "base", net, "- {port: 7400, protocol: TCP}", "- {port: 7400, endPort: 7500, protocol: TCP}", "opens port 7400"},
		{"others let in", "base", net, "- podSelector:\n            matchLabels:\n              app.kubernetes.io/name: lockchaos\n", "- podSelector: {}\n", "opens port 7400"},
		{"DNS by another", "base", net, "k8s-app: kube-dns", "app.kubernetes.io/name: lockchaos", "opens port 53"},
		// Safety.
		{"API token", "base", pod, "automountServiceAccountToken: false", "automountServiceAccountToken: true", "a token of the cluster's API"},
		{"host network", "base", pod, "enableServiceLinks: false", "hostNetwork: true", "shares a namespace of the machine"},
		{"host path", "base", pod, "emptyDir: {sizeLimit: 1Gi}", "hostPath: {path: /tmp}", "volume work is a directory of the machine"},
		{"shm on disk", "base", pod, "medium: Memory, ", "", "/dev/shm is not in memory"},
		{"no limit of a volume", "base", pod, "emptyDir: {sizeLimit: 1Gi}", "emptyDir: {}", "volume work has no limit"},
		{"token for all to read", "base", pod, "defaultMode: 0440", "defaultMode: 0444", "the mode of volume token is not 0440"},
		{"root", "base", pod, "runAsUser: 1000", "runAsUser: 0", "it may run as root"},
		{"root perhaps", "base", pod, "runAsNonRoot: true", "runAsNonRoot: false", "it may run as root"},
		{"group of volumes", "base", pod, "fsGroup: 1000", "fsGroup: 1001", "its volumes are not of its group"},
		{"no seccomp", "base", pod, "type: RuntimeDefault", "type: Unconfined", "no seccomp profile"},
		{"privileged", "base", pod, "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: true\n            privileged: true", "may become more than it is"},
		{"escalation", "base", pod, "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "may become more than it is"},
		{"writable image", suite, suite + "/job.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "container wait: it may write to its image"},
		{"capability", "base", pod, "{drop: [ALL]}", "{drop: [ALL], add: [SYS_PTRACE]}", "it has capabilities"},
		{"container overrides", "base", pod, "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: true\n            runAsUser: 0", "it overrides"},
		{"no request", "base", pod, "cpu: 100m, ", "", "it requests no cpu"},
		{"limit below request", "base", pod, "limits: {memory: 512Mi}", "limits: {memory: 64Mi}", "no limit of memory above"},
		{"host port", "base", pod, "containerPort: 7400", "containerPort: 7400, hostPort: 7400", "it takes port 7400 of the machine"},
		{"node port", "base", services, "clusterIP: None", "type: NodePort", "can be reached from outside"},
		{"latest", "base", app, `newTag: "0.1.0"`, "newTag: latest", `image "lockchaos:latest"`},
		{"no tag", serve, app, "images:\n  - name: lockchaos\n    newTag: \"0.1.0\"\n", "", `image "lockchaos": expected`},
		{"registry", "base", app, `newTag: "0.1.0"`, "newName: registry.example/lockchaos\n    newTag: \"0.1.0\"", "no registry"},
		{"token in an argument", "base", pod, "args: [node,", "args: [node, --token, not-a-token-of-anybody,", "the token is in it"},
		{"token in the environment", "base", pod, "{name: HOME, value: /work}", "{name: LOCKCHAOS_TOKEN, value: x}", "LOCKCHAOS_TOKEN: a token in the environment"},
		{"agent without a token", "base", pod, ", --token-file, /etc/chaos/token/token]\n          env", "]\n          env", "no --token-file in [node"},
		{"probe without a token", "base", pod, ", --token-file, /etc/chaos/token/token]\n            periodSeconds: 5", "]\n            periodSeconds: 5", "no --token-file in [chaos node --check"},
		// Values and Jobs.
		{"pull policy", "base", pod, "imagePullPolicy: IfNotPresent", "imagePullPolicy: Sometimes", `imagePullPolicy: "Sometimes" is none of`},
		{"protocol", "base", pod, "containerPort: 7400", "containerPort: 7400, protocol: HTTP", `protocol: "HTTP" is none of`},
		{"medium", "base", pod, "medium: Memory", "medium: RAM", `medium of shm: "RAM" is none of`},
		{"spread", "base", pod, "ScheduleAnyway", "Anyhow", `whenUnsatisfiable: "Anyhow" is none of`},
		{"spread among others", "base", pod, "app.kubernetes.io/name: lockchaos", "app.kubernetes.io/name: other", "does not include itself"},
		{"access", "storage-shared", "storage-shared/kustomization.yaml", "ReadWriteMany", "ReadWriteAll", `accessModes: "ReadWriteAll" is none of`},
		{"operator", "base", net, "operator: In", "operator: OneOf", `operator: "OneOf" is none of`},
		{"restart", suite, suite + "/job.yaml", "restartPolicy: Never", "restartPolicy: OnFailure", `restartPolicy: "OnFailure"`},
		{"no failure policy", merge, merge + "/job.yaml", mergePolicy, "", "Job merge: no podFailurePolicy"},
		{"answer tried again", suite, suite + "/job.yaml", "values: [1, 2, 3, 64]", "values: [1, 2]", "no rule for the exit codes"},
		{"failure ignored", suite, suite + "/job.yaml", "action: FailJob", "action: Ignore", `action: "Ignore" is none of`},
		{"failure of all for one", sweep, sweep + "/job.yaml", "action: FailIndex", "action: FailJob", `action: "FailJob" is none of`},
		{"failure of nobody", suite, suite + "/job.yaml", "containerName: chaos", "containerName: runner", "names no container of its own"},
		{"shards", sweep, sweep + "/job.yaml", "completions: 20", "completions: 10", "--shard \"$(JOB_COMPLETION_INDEX)/20\", and 10 completions"},
		{"no index", sweep, sweep + "/job.yaml", "  completionMode: Indexed\n", "", "and no index"},
		{"no completions", sweep, sweep + "/job.yaml", "  completions: 20\n", "", "needs completions"},
		{"mode", sweep, sweep + "/job.yaml", "completionMode: Indexed", "completionMode: Index", `completionMode "Index" is not Indexed`},
		{"schedule", nightly, nightly + "/cronjob.yaml", `"0 2 * * *"`, `"0 25 * * *"`, "schedule: end of range (25) above maximum"},
		{"time zone", nightly, nightly + "/cronjob.yaml", "Etc/UTC", "Etc/Nowhere", "unknown time zone"},
		{"no time zone", nightly, nightly + "/cronjob.yaml", "  timeZone: Etc/UTC\n", "", "no time zone"},
		{"two at once", nightly, nightly + "/cronjob.yaml", "Forbid", "Allow", `concurrencyPolicy: "Allow"`},
		{"history", nightly, nightly + "/cronjob.yaml", "  failedJobsHistoryLimit: 7\n", "", "no limit on the history"},
		// The cluster file.
		{"too few nodes", "base", nodes, "replicas: 5", "replicas: 4", "4 nodes are lock, expected 5"},
		{"no such pod", "base", "base/cluster.yaml", "lock-4.lock", "lock-5.lock", "cluster.yaml: it has"},
		{"wrong port", "base", "base/cluster.yaml", "tokens-0.tokens:7400", "tokens-0.tokens:7401", "cluster.yaml: it has"},
		{"wrong role", "base", "base/cluster.yaml", "roles: [tokens]", "roles: [resource]", "cluster.yaml: it has"},
		{"one name twice", "base", "base/cluster.yaml", "name: lock2", "name: lock1", "two nodes of one name"},
		{"unknown key", "base", "base/cluster.yaml", "roles: [tokens]", "role: tokens", `unknown field "role"`},
	} {
		t.Run(x.name, func(t *testing.T) {
			files := manifests(t)
			if !strings.Contains(files[x.file], x.old) {
				t.Fatalf("%s does not have %q", x.file, x.old)
			}
			files[x.file] = strings.ReplaceAll(files[x.file], x.old, x.new)
			got := strings.Join(problems(files, x.dir, needs(t, x.dir)), "\n")
			if !strings.Contains(got, x.want) || got == "" {
				t.Errorf("got %q, want something with %q", got, x.want)
			}
		})
	}
}

func needs(t *testing.T, dir string) string {
	t.Helper()
	for _, b := range builds {
		if b.dir == dir {
			return b.needs
		}
	}
	t.Fatalf("%s is not in the list of builds", dir)
	return ""
}
