package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// set is what a kustomization builds, sorted, and what is there before.
type set struct {
	objects  []*object
	pods     []*pod
	services []*corev1.Service
	policies []*networkingv1.NetworkPolicy
	secrets  map[string][]string // its keys, by name
	configs  map[string]*corev1.ConfigMap
	claims   map[string]bool
	crons    []*batchv1.CronJob
}

// pod is the template of some pods.
type pod struct {
	owner    string // as "Job suite"
	labels   labels.Set
	spec     corev1.PodSpec
	selector *metav1.LabelSelector // of its owner; nil for a Job
	job      *batchv1.JobSpec      // that makes it; nil for others
	service  string                // that names its pods; "" for none
	names    []string              // of the pods, where they are known
}

func (p *pod) containers() []corev1.Container {
	return append(append([]corev1.Container{}, p.spec.InitContainers...), p.spec.Containers...)
}

// in names a container of the pod.
func (p *pod) in(c corev1.Container) string { return p.owner + ", container " + c.Name }

// selected says whether a selector picks the pod.
func (p *pod) selected(s *metav1.LabelSelector) bool {
	sel, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && sel.Matches(p.labels)
}

// setOf builds a directory of manifests that is as it should be.
func setOf(t *testing.T, files map[string]string, dir string) *set {
	t.Helper()
	objects, err := build(files, dir)
	if err != nil {
		t.Fatal(err)
	}
	s, bad := newSet(nil, objects)
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	return s
}

// newSet sorts objects that have their types; before are those that are there.
func newSet(objects, before []*object) (*set, []string) {
	s := &set{objects: objects, secrets: map[string][]string{}, configs: map[string]*corev1.ConfigMap{}, claims: map[string]bool{}}
	problems := decoded(before)
	for _, o := range append(append([]*object{}, objects...), before...) {
		s.add(o)
	}
	return s, problems
}

func (s *set) add(o *object) {
	switch x := o.typed.(type) {
	case *corev1.Service:
		s.services = append(s.services, x)
	case *networkingv1.NetworkPolicy:
		s.policies = append(s.policies, x)
	case *corev1.ConfigMap:
		s.configs[x.Name] = x
	case *corev1.PersistentVolumeClaim:
		s.claims[x.Name] = true
	case *corev1.Secret:
		s.secrets[x.Name] = []string{}
		for key := range x.Data {
			s.secrets[x.Name] = append(s.secrets[x.Name], key)
		}
	case *appsv1.StatefulSet:
		p := newPod(o, x.Spec.Template, x.Spec.Selector, nil)
		p.service = x.Spec.ServiceName
		for i := range replicas(x.Spec.Replicas) {
			p.names = append(p.names, fmt.Sprintf("%s-%d", x.Name, i))
		}
		s.pods = append(s.pods, p)
	case *appsv1.Deployment:
		s.pods = append(s.pods, newPod(o, x.Spec.Template, x.Spec.Selector, nil))
	case *batchv1.Job:
		s.pods = append(s.pods, newPod(o, x.Spec.Template, nil, &x.Spec))
	case *batchv1.CronJob:
		s.crons = append(s.crons, x)
		s.pods = append(s.pods, newPod(o, x.Spec.JobTemplate.Spec.Template, nil, &x.Spec.JobTemplate.Spec))
	}
}

func newPod(o *object, t corev1.PodTemplateSpec, sel *metav1.LabelSelector, job *batchv1.JobSpec) *pod {
	return &pod{owner: o.String(), labels: t.Labels, spec: t.Spec, selector: sel, job: job}
}

func replicas(n *int32) int {
	if n == nil {
		return 1 // as the API has it
	}
	return int(*n)
}

// said collects problems.
type said []string

func (s *said) add(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

// flag returns what stands after a flag in a command line; "" where it is not there.
func flag(args []string, name string) string {
	for i, a := range args {
		if a == name && i+1 < len(args) {
			return args[i+1]
		}
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v
		}
	}
	return ""
}
