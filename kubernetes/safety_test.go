package kubernetes

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// hardened: no pod can do more than it must, on the machine or in the cluster.
func hardened(s *set) []string {
	var bad said
	for _, p := range s.pods {
		if p.spec.AutomountServiceAccountToken == nil || *p.spec.AutomountServiceAccountToken {
			bad.add("%s: it is given a token of the cluster's API", p.owner)
		}
		if p.spec.HostNetwork || p.spec.HostPID || p.spec.HostIPC {
			bad.add("%s: it shares a namespace of the machine", p.owner)
		}
		for _, v := range p.spec.Volumes {
			if v.HostPath != nil {
				bad.add("%s: volume %s is a directory of the machine", p.owner, v.Name)
			}
			if v.Name == "shm" && (v.EmptyDir == nil || v.EmptyDir.Medium != corev1.StorageMediumMemory) {
				bad.add("%s: /dev/shm is not in memory", p.owner)
			}
			if v.EmptyDir != nil && v.EmptyDir.SizeLimit == nil {
				bad.add("%s: volume %s has no limit", p.owner, v.Name)
			}
			if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440) {
				bad.add("%s: the mode of volume %s is not 0440", p.owner, v.Name)
			}
		}
		bad = append(bad, notRoot(p)...)
		for _, c := range p.containers() {
			bad = append(bad, confined(p, c)...)
		}
	}
	for _, svc := range s.services {
		if svc.Spec.Type != "" && svc.Spec.Type != corev1.ServiceTypeClusterIP || len(svc.Spec.ExternalIPs) > 0 {
			bad.add("Service %s: %s can be reached from outside", svc.Name, svc.Spec.Type)
		}
	}
	return bad
}

func notRoot(p *pod) []string {
	var bad said
	x := p.spec.SecurityContext
	switch {
	case x == nil:
		bad.add("%s: no security context", p.owner)
		return bad
	case x.RunAsNonRoot == nil || !*x.RunAsNonRoot || x.RunAsUser == nil || *x.RunAsUser == 0:
		bad.add("%s: it may run as root", p.owner)
	case x.FSGroup == nil || x.RunAsGroup == nil || *x.FSGroup != *x.RunAsGroup:
		bad.add("%s: its volumes are not of its group, so that it cannot read the token or write results", p.owner)
	}
	if x.SeccompProfile == nil || x.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		bad.add("%s: no seccomp profile", p.owner)
	}
	return bad
}

func confined(p *pod, c corev1.Container) []string {
	var bad said
	no := func(b *bool) bool { return b != nil && !*b }
	x := c.SecurityContext
	if x == nil {
		x = &corev1.SecurityContext{}
	}
	if !no(x.AllowPrivilegeEscalation) || x.Privileged != nil && *x.Privileged {
		bad.add("%s: it may become more than it is", p.in(c))
	}
	if x.ReadOnlyRootFilesystem == nil || !*x.ReadOnlyRootFilesystem {
		bad.add("%s: it may write to its image", p.in(c))
	}
	if x.Capabilities == nil || !slices.Equal(x.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(x.Capabilities.Add) > 0 {
		bad.add("%s: it has capabilities", p.in(c))
	}
	if x.RunAsUser != nil || x.RunAsNonRoot != nil || x.SeccompProfile != nil {
		bad.add("%s: it overrides what its pod says of users and seccomp", p.in(c))
	}
	for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q := c.Resources.Requests[r]; q.IsZero() {
			bad.add("%s: it requests no %s", p.in(c), r)
		}
	}
	if q := c.Resources.Limits[corev1.ResourceMemory]; q.IsZero() || q.Cmp(c.Resources.Requests[corev1.ResourceMemory]) < 0 {
		bad.add("%s: no limit of memory above what it requests", p.in(c))
	}
	for _, port := range c.Ports {
		if port.HostPort != 0 {
			bad.add("%s: it takes port %d of the machine", p.in(c), port.HostPort)
		}
	}
	return bad
}

// An image is ours, with a tag that stays what it is, from whatever registry the
// user says.
var image = regexp.MustCompile(`^lockchaos:([\w][\w.-]*)$`)

func images(s *set) []string {
	var bad said
	for _, p := range s.pods {
		for _, c := range p.containers() {
			if m := image.FindStringSubmatch(c.Image); m == nil || m[1] == "latest" {
				bad.add("%s: image %q: expected lockchaos:TAG, not latest, and no registry", p.in(c), c.Image)
			}
		}
	}
	return bad
}

// tokens: the token is in the Secret and nowhere else, and whoever has an agent's
// port open has it.
func tokens(s *set) []string {
	var bad said
	coded := []byte(base64.StdEncoding.EncodeToString([]byte(secret)))
	for _, o := range s.objects {
		if o.kind != "Secret" && (bytes.Contains(o.yaml, []byte(strings.TrimSpace(secret))) || bytes.Contains(o.yaml, coded)) {
			bad.add("%s: the token is in it", o)
		}
	}
	for _, p := range s.pods {
		for _, c := range p.containers() {
			for _, e := range c.Env {
				if strings.Contains(strings.ToUpper(e.Name), "TOKEN") {
					bad.add("%s: %s: a token in the environment is shown by whoever shows the environment", p.in(c), e.Name)
				}
			}
			for _, line := range commands(c) {
				agents := len(line) > 0 && line[0] == "node" || flag(line, "--check") != "" || flag(line, "--on") == "remote"
				if agents && flag(line, "--token-file") == "" {
					bad.add("%s: no --token-file in %v", p.in(c), line)
				}
			}
		}
	}
	return bad
}
