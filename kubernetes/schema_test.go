package kubernetes

import (
	"encoding/json"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// object is one of what a kustomization builds.
type object struct {
	group, kind, name string
	yaml              []byte
	typed             any
}

func (o *object) String() string { return o.kind + " " + o.name }

// kinds are the types that manifests may have.
var kinds = map[string]func() any{
	"v1/ConfigMap":                       func() any { return &corev1.ConfigMap{} },
	"v1/PersistentVolumeClaim":           func() any { return &corev1.PersistentVolumeClaim{} },
	"v1/Secret":                          func() any { return &corev1.Secret{} },
	"v1/Service":                         func() any { return &corev1.Service{} },
	"apps/v1/Deployment":                 func() any { return &appsv1.Deployment{} },
	"apps/v1/StatefulSet":                func() any { return &appsv1.StatefulSet{} },
	"batch/v1/CronJob":                   func() any { return &batchv1.CronJob{} },
	"batch/v1/Job":                       func() any { return &batchv1.Job{} },
	"networking.k8s.io/v1/NetworkPolicy": func() any { return &networkingv1.NetworkPolicy{} },
}

// decoded gives each object its type, and says what the types and the schema
// do not take.
func decoded(objects []*object) []string {
	var all []string
	for _, o := range objects {
		for _, problem := range o.decode() {
			all = append(all, fmt.Sprintf("%s: %s", o, problem))
		}
	}
	return all
}

func (o *object) decode() []string {
	fresh := kinds[o.group+"/"+o.kind]
	if fresh == nil {
		return []string{fmt.Sprintf("no kind %s/%s", o.group, o.kind)}
	}
	text, err := yaml.YAMLToJSONStrict(o.yaml)
	if err != nil {
		return []string{err.Error()}
	}
	o.typed = fresh()
	strict, err := kjson.UnmarshalStrict(text, o.typed) // as the API server does it
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	for _, e := range strict {
		all = append(all, e.Error())
	}
	return append(all, againstSchema(o, text)...)
}

// againstSchema finds what is required and missing, or of a wrong type. The schema
// is that of Kubernetes 1.21, which is built into kustomize: of what came later it
// knows nothing, and the types above do.
func againstSchema(o *object, text []byte) []string {
	schema, err := schemaOf(o.group, o.kind)
	if err != nil {
		return []string{err.Error()}
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return []string{err.Error()}
	}
	var all []string
	for _, e := range validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(value).Errors {
		all = append(all, e.Error())
	}
	return all
}

// schemas keeps what schemaOf has made: it is asked for the same again and again.
var schemas sync.Map

func schemaOf(group, kind string) (*spec.Schema, error) {
	key := group + "/" + kind
	if s, ok := schemas.Load(key); ok {
		return s.(*spec.Schema), nil
	}
	found := openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: group, Kind: kind})
	if found == nil {
		return nil, fmt.Errorf("no schema for %s", key)
	}
	s, err := expand(found.Schema)
	if err != nil {
		return nil, err
	}
	schemas.Store(key, s)
	return s, nil
}

// expand puts what a schema refers to in its place, as the validator looks
// nothing up. None of our kinds contains itself.
func expand(s *spec.Schema) (*spec.Schema, error) {
	if s.Ref.String() != "" {
		to, err := openapi.Resolve(&s.Ref, openapi.Schema())
		if err != nil {
			return nil, err
		}
		return expand(to)
	}
	out := *s
	if s.Format == "int-or-string" { // called a string, which it is not always
		out.Type, out.Format = nil, ""
	}
	if err := expandProperties(&out, s); err != nil {
		return nil, err
	}
	if s.Items != nil && s.Items.Schema != nil {
		item, err := expand(s.Items.Schema)
		if err != nil {
			return nil, err
		}
		out.Items = &spec.SchemaOrArray{Schema: item}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		value, err := expand(s.AdditionalProperties.Schema)
		if err != nil {
			return nil, err
		}
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: value}
	}
	return &out, nil
}

func expandProperties(out, s *spec.Schema) error {
	if s.Properties == nil {
		return nil
	}
	out.Properties = map[string]spec.Schema{}
	for name, p := range s.Properties {
		x, err := expand(&p)
		if err != nil {
			return err
		}
		out.Properties[name] = *x
	}
	return nil
}
