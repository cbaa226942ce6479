package kubernetes

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rules are what must hold between the objects. Each says what is wrong.
var rules = []func(*set) []string{
	selectors, names, volumes, paths, ports, variables, // what is named is there
	network, hardened, images, values, batch, // what is written is meant
	clusterFile, tokens,
}

// agentPort is where agents listen.
const agentPort = 7400

// selectors: a selector that picks nothing does nothing, and says nothing.
func selectors(s *set) []string {
	var bad said
	for _, p := range s.pods {
		if p.selector != nil && (len(p.selector.MatchLabels) < 2 || !p.selected(p.selector)) {
			bad.add("%s: its selector %v does not pick its own pods, or others too", p.owner, p.selector.MatchLabels)
		}
		if p.selector == nil {
			continue
		}
		for _, other := range s.pods {
			if other != p && other.selected(p.selector) {
				bad.add("%s: its selector picks the pods of %s, too", p.owner, other.owner)
			}
		}
	}
	for _, svc := range s.services {
		if len(behind(s, svc)) == 0 {
			bad.add("Service %s: no pod is behind it", svc.Name)
		}
	}
	for _, n := range s.policies {
		if !slices.ContainsFunc(s.pods, func(p *pod) bool { return p.selected(&n.Spec.PodSelector) }) {
			bad.add("NetworkPolicy %s: it picks no pod", n.Name)
		}
	}
	return bad
}

// behind lists the pods that a Service leads to.
func behind(s *set, svc *corev1.Service) []*pod {
	var all []*pod
	for _, p := range s.pods {
		if len(svc.Spec.Selector) > 0 && p.selected(&metav1.LabelSelector{MatchLabels: svc.Spec.Selector}) {
			all = append(all, p)
		}
	}
	return all
}

// names: what is asked for by name exists, and the pods of a StatefulSet get
// names by a Service that has no address and leads to them alone.
func names(s *set) []string {
	var bad said
	for _, p := range s.pods {
		if strings.HasPrefix(p.owner, "StatefulSet ") {
			i := slices.IndexFunc(s.services, func(svc *corev1.Service) bool { return svc.Name == p.service })
			switch {
			case i < 0:
				bad.add("%s: no Service %q", p.owner, p.service)
			case s.services[i].Spec.ClusterIP != corev1.ClusterIPNone:
				bad.add("Service %s: it has an address, so its pods have no names", p.service)
			case !slices.Equal(behind(s, s.services[i]), []*pod{p}):
				bad.add("Service %s: it does not lead to the pods of %s alone", p.service, p.owner)
			}
		}
		for _, v := range p.spec.Volumes {
			switch {
			case v.Secret != nil && s.secrets[v.Secret.SecretName] == nil:
				bad.add("%s: no Secret %s", p.owner, v.Secret.SecretName)
			case v.ConfigMap != nil && s.configs[v.ConfigMap.Name] == nil:
				bad.add("%s: no ConfigMap %s", p.owner, v.ConfigMap.Name)
			case v.PersistentVolumeClaim != nil && !s.claims[v.PersistentVolumeClaim.ClaimName]:
				bad.add("%s: no PersistentVolumeClaim %s", p.owner, v.PersistentVolumeClaim.ClaimName)
			}
		}
	}
	return bad
}

// volumes: what is mounted is a volume of the pod, and what is a volume is mounted.
func volumes(s *set) []string {
	var bad said
	for _, p := range s.pods {
		unused := map[string]bool{}
		for _, v := range p.spec.Volumes {
			unused[v.Name] = true
		}
		have := maps.Clone(unused)
		for _, c := range p.containers() {
			at := map[string]bool{}
			for _, m := range c.VolumeMounts {
				if !have[m.Name] {
					bad.add("%s: no volume %s", p.in(c), m.Name)
				}
				if at[m.MountPath] {
					bad.add("%s: two mounts at %s", p.in(c), m.MountPath)
				}
				at[m.MountPath] = true
				delete(unused, m.Name)
			}
		}
		for v := range unused {
			bad.add("%s: volume %s is mounted nowhere", p.owner, v)
		}
	}
	return bad
}

// paths: a path in a command line, or in the environment, is below a mount; if
// that is of a Secret or ConfigMap, the file is one of its keys.
func paths(s *set) []string {
	var bad said
	for _, p := range s.pods {
		for _, c := range p.containers() {
			for _, word := range words(c) {
				if !strings.HasPrefix(word, "/") {
					continue
				}
				if problem := s.path(p, c, word); problem != "" {
					bad.add("%s: %s: %s", p.in(c), word, problem)
				}
			}
		}
	}
	return bad
}

// words are those of all command lines of a container, and of its environment.
// What a shell is to read is split at blanks and semicolons.
func words(c corev1.Container) []string {
	var all []string
	for _, line := range commands(c) {
		for _, arg := range line {
			all = append(all, strings.FieldsFunc(arg, func(r rune) bool { return unicode.IsSpace(r) || r == ';' })...)
		}
	}
	for _, e := range c.Env {
		all = append(all, e.Value)
	}
	return all
}

// commands are the command lines of a container: its own and those of its probes.
func commands(c corev1.Container) [][]string {
	all := [][]string{append(slices.Clone(c.Command), c.Args...)}
	for _, p := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
		if p != nil && p.Exec != nil {
			all = append(all, p.Exec.Command)
		}
	}
	return all
}

func (s *set) path(p *pod, c corev1.Container, word string) string {
	for _, m := range c.VolumeMounts {
		if word != m.MountPath && !strings.HasPrefix(word, m.MountPath+"/") {
			continue
		}
		i := slices.IndexFunc(p.spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if i < 0 {
			return "" // said elsewhere
		}
		var keys []string
		switch v := p.spec.Volumes[i]; {
		case v.Secret != nil:
			keys = s.secrets[v.Secret.SecretName]
		case v.ConfigMap != nil && s.configs[v.ConfigMap.Name] != nil:
			keys = slices.Collect(maps.Keys(s.configs[v.ConfigMap.Name].Data))
		default:
			return ""
		}
		if !slices.Contains(keys, path.Base(word)) || path.Dir(word) != m.MountPath {
			return fmt.Sprintf("no such key, there are %v", keys)
		}
		return ""
	}
	return "it is on no volume, and the image is read only"
}

// ports: what is named is there, and agents listen, are asked and are reached on
// one port.
func ports(s *set) []string {
	var bad said
	for _, svc := range s.services {
		for _, port := range svc.Spec.Ports {
			for _, p := range behind(s, svc) {
				if !slices.ContainsFunc(p.containers(), func(c corev1.Container) bool {
					return slices.ContainsFunc(c.Ports, func(have corev1.ContainerPort) bool {
						return have.Name == port.TargetPort.StrVal && have.ContainerPort == port.Port
					})
				}) {
					bad.add("Service %s: %s has no port %s of number %d", svc.Name, p.owner, port.TargetPort.StrVal, port.Port)
				}
			}
		}
	}
	for _, p := range s.pods {
		for _, c := range p.containers() {
			if len(c.Args) > 0 && c.Args[0] == "node" {
				bad = append(bad, agent(p, c)...)
			} else if len(c.Ports) > 0 {
				bad.add("%s: only agents have a port", p.in(c))
			}
		}
	}
	return bad
}

// agent looks at the ports of an agent's container.
func agent(p *pod, c corev1.Container) []string {
	var bad said
	if len(c.Ports) != 1 || c.Ports[0].ContainerPort != agentPort {
		bad.add("%s: expected port %d alone", p.in(c), agentPort)
	}
	if got, want := flag(c.Args, "--listen"), fmt.Sprintf(":%d", agentPort); got != want {
		bad.add("%s: it listens on %q, not on %q", p.in(c), got, want)
	}
	for what, probe := range map[string]*corev1.Probe{"readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
		if probe == nil || probe.Exec == nil {
			bad.add("%s: no %s probe that runs a command", p.in(c), what)
			continue
		}
		if got, want := flag(probe.Exec.Command, "--check"), fmt.Sprintf("127.0.0.1:%d", agentPort); got != want {
			bad.add("%s: its %s probe asks %q, not %q", p.in(c), what, got, want)
		}
	}
	return bad
}

// network: every pod is shut in by a policy. What a policy opens is the agents'
// port among pods of this program, and the DNS of the cluster.
func network(s *set) []string {
	var bad said
	for _, p := range s.pods {
		for _, way := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
			if !slices.ContainsFunc(s.policies, func(n *networkingv1.NetworkPolicy) bool {
				return p.selected(&n.Spec.PodSelector) && slices.Contains(n.Spec.PolicyTypes, way)
			}) {
				bad.add("%s: no policy bounds its %s", p.owner, way)
			}
		}
	}
	for _, n := range s.policies {
		for _, in := range n.Spec.Ingress {
			bad = append(bad, opened(n.Name+" ingress", in.From, in.Ports)...)
		}
		for _, out := range n.Spec.Egress {
			bad = append(bad, opened(n.Name+" egress", out.To, out.Ports)...)
		}
	}
	return bad
}

// opened says what is wrong with what one rule of a policy opens.
func opened(where string, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) []string {
	var bad said
	if len(peers) == 0 || len(ports) == 0 {
		bad.add("NetworkPolicy %s: open to everybody, or on every port", where)
	}
	for _, peer := range peers {
		for _, port := range ports {
			number := 0
			if port.Port != nil && port.EndPort == nil {
				number = port.Port.IntValue()
			}
			if !(ours(peer) && number == agentPort) && !(dns(peer) && number == 53 && strings.HasSuffix(where, " egress")) {
				bad.add("NetworkPolicy %s: opens port %v to %v", where, port.Port, peer.PodSelector)
			}
		}
	}
	return bad
}

// exactly says whether a selector asks for these labels and nothing else.
func exactly(s *metav1.LabelSelector, want map[string]string) bool {
	return s != nil && len(s.MatchExpressions) == 0 && maps.Equal(s.MatchLabels, want)
}

func ours(p networkingv1.NetworkPolicyPeer) bool {
	return p.NamespaceSelector == nil && p.IPBlock == nil && exactly(p.PodSelector, map[string]string{"app.kubernetes.io/name": "lockchaos"})
}

func dns(p networkingv1.NetworkPolicyPeer) bool {
	return p.IPBlock == nil && exactly(p.PodSelector, map[string]string{"k8s-app": "kube-dns"}) &&
		exactly(p.NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": "kube-system"})
}
