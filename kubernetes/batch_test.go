package kubernetes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// values: what the API takes from a list, and the types take as any string.
func values(s *set) []string {
	var bad said
	for _, p := range s.pods {
		for _, c := range p.containers() {
			one(&bad, p.in(c)+": imagePullPolicy", c.ImagePullPolicy, corev1.PullIfNotPresent, corev1.PullAlways, corev1.PullNever)
			for _, port := range c.Ports {
				one(&bad, p.in(c)+": protocol", port.Protocol, "", corev1.ProtocolTCP, corev1.ProtocolUDP)
			}
		}
		for _, v := range p.spec.Volumes {
			if v.EmptyDir != nil {
				one(&bad, p.owner+": medium of "+v.Name, v.EmptyDir.Medium, corev1.StorageMediumDefault, corev1.StorageMediumMemory)
			}
		}
		for _, t := range p.spec.TopologySpreadConstraints {
			one(&bad, p.owner+": whenUnsatisfiable", t.WhenUnsatisfiable, corev1.ScheduleAnyway, corev1.DoNotSchedule)
			if !p.selected(t.LabelSelector) {
				bad.add("%s: what it is spread among does not include itself", p.owner)
			}
		}
	}
	for _, o := range s.objects {
		if claim, ok := o.typed.(*corev1.PersistentVolumeClaim); ok {
			for _, m := range claim.Spec.AccessModes {
				one(&bad, o.String()+": accessModes", m, corev1.ReadWriteOnce, corev1.ReadWriteMany, corev1.ReadWriteOncePod)
			}
		}
	}
	for _, n := range s.policies {
		for _, e := range n.Spec.PodSelector.MatchExpressions {
			one(&bad, "NetworkPolicy "+n.Name+": operator", string(e.Operator), "In", "NotIn", "Exists", "DoesNotExist")
		}
	}
	return bad
}

// one says if a value is none of a list.
func one[T ~string](bad *said, where string, got T, of ...T) {
	if !slices.Contains(of, got) {
		bad.add("%s: %q is none of %q", where, got, of)
	}
}

// batch: what the API demands of Jobs, and what keeps a result from being tried
// again until it pleases.
func batch(s *set) []string {
	var bad said
	for _, p := range s.pods {
		if p.job == nil {
			continue
		}
		one(&bad, p.owner+": restartPolicy", p.spec.RestartPolicy, corev1.RestartPolicyNever) // podFailurePolicy demands it
		bad = append(bad, failures(p)...)
		bad = append(bad, shards(p)...)
	}
	for _, c := range s.crons {
		where := "CronJob " + c.Name
		if _, err := cron.ParseStandard(c.Spec.Schedule); err != nil {
			bad.add("%s: schedule: %v", where, err)
		}
		if c.Spec.TimeZone == nil {
			bad.add("%s: no time zone: the hour would depend on the cluster", where)
		} else if _, err := time.LoadLocation(*c.Spec.TimeZone); err != nil {
			bad.add("%s: %v", where, err)
		}
		one(&bad, where+": concurrencyPolicy", c.Spec.ConcurrencyPolicy, batchv1.ForbidConcurrent)
		if c.Spec.SuccessfulJobsHistoryLimit == nil || c.Spec.FailedJobsHistoryLimit == nil {
			bad.add("%s: no limit on the history", where)
		}
	}
	return bad
}

// failures looks at what is done about exit codes: 1, 2, 3 and 64 are answers, and
// only 70 is worth another try.
func failures(p *pod) []string {
	var bad said
	j := p.job
	if j.PodFailurePolicy == nil {
		bad.add("%s: no podFailurePolicy", p.owner)
		return bad
	}
	want := batchv1.PodFailurePolicyActionFailJob
	if j.BackoffLimitPerIndex != nil {
		want = batchv1.PodFailurePolicyActionFailIndex
	}
	answers := false
	for _, r := range j.PodFailurePolicy.Rules {
		if r.OnExitCodes == nil {
			one(&bad, p.owner+": action", r.Action, batchv1.PodFailurePolicyActionIgnore)
			continue
		}
		one(&bad, p.owner+": action", r.Action, want)
		one(&bad, p.owner+": operator", r.OnExitCodes.Operator, batchv1.PodFailurePolicyOnExitCodesOpIn)
		answers = answers || slices.Equal(r.OnExitCodes.Values, []int32{1, 2, 3, 64})
		if name := r.OnExitCodes.ContainerName; name == nil || !slices.ContainsFunc(p.spec.Containers, func(c corev1.Container) bool { return c.Name == *name }) {
			bad.add("%s: its podFailurePolicy names no container of its own", p.owner)
		}
	}
	if !answers {
		bad.add("%s: no rule for the exit codes 1, 2, 3 and 64", p.owner)
	}
	return bad
}

// shards: each index of an indexed Job does its own part, and all do the whole.
func shards(p *pod) []string {
	var bad said
	shard := flag(p.spec.Containers[0].Args, "--shard")
	indexed := p.job.CompletionMode != nil && *p.job.CompletionMode == batchv1.IndexedCompletion
	switch {
	case p.job.CompletionMode != nil && !indexed:
		bad.add("%s: completionMode %q is not Indexed", p.owner, *p.job.CompletionMode)
	case !indexed && shard == "" && p.job.BackoffLimitPerIndex == nil:
	case !indexed:
		bad.add("%s: --shard or backoffLimitPerIndex, and no index", p.owner)
	case p.job.Completions == nil || p.job.BackoffLimitPerIndex == nil:
		bad.add("%s: an indexed Job needs completions and backoffLimitPerIndex", p.owner)
	case shard != fmt.Sprintf("$(JOB_COMPLETION_INDEX)/%d", *p.job.Completions):
		bad.add("%s: --shard %q, and %d completions", p.owner, shard, *p.job.Completions)
	}
	return bad
}

var variable = regexp.MustCompile(`\$\(([^)]*)\)`)

// variables: $(NAME) in a command line is filled in from the container's
// environment, or stays as it is, with no error. The Job gives each index its own.
func variables(s *set) []string {
	var bad said
	for _, p := range s.pods {
		for _, c := range p.containers() {
			var have []string
			for _, e := range c.Env {
				have = append(have, e.Name)
			}
			if p.job != nil && p.job.CompletionMode != nil {
				have = append(have, "JOB_COMPLETION_INDEX")
			}
			for _, m := range variable.FindAllStringSubmatch(strings.Join(append(slices.Clone(c.Command), c.Args...), " "), -1) {
				if !slices.Contains(have, m[1]) {
					bad.add("%s: nothing gives $(%s)", p.in(c), m[1])
				}
			}
		}
	}
	return bad
}
