// Package kubernetes holds the manifests to what can be known of them without a
// cluster: that kustomize builds them, that the API's types and schema take them,
// and that what they name is there.
package kubernetes

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// builds are all kustomizations that can be applied, each with what it needs to
// have been applied before.
var builds = []struct {
	dir   string
	needs string
}{
	{"storage", ""},
	{"storage-shared", ""},
	{"base", "storage"},
	{"overlays/suite", "storage"},
	{"overlays/nightly", "storage"},
	{"overlays/sim-sweep", "storage-shared"},
	{"overlays/merge", "storage-shared"},
	{"overlays/serve", "storage"},
}

// secret stands for the token, which is not in the repository.
const secret = "not-a-token-of-anybody\n"

// TestAllBuilt: a kustomization that is in no list is not checked by anybody.
func TestAllBuilt(t *testing.T) {
	listed := map[string]bool{"components/app": true, "components/node": true} // they are part of the others
	for _, b := range builds {
		listed[b.dir] = true
	}
	for path := range manifests(t) {
		if dir, file := filepath.Split(path); file == "kustomization.yaml" && !listed[filepath.Clean(dir)] {
			t.Errorf("%s is not in the list of builds", path)
		}
	}
}

// TestManifests is the test of all manifests as they are.
func TestManifests(t *testing.T) {
	for _, b := range builds {
		t.Run(b.dir, func(t *testing.T) {
			files := manifests(t)
			for _, problem := range problems(files, b.dir, b.needs) {
				t.Error(problem)
			}
		})
	}
}

// problems builds a kustomization and whatever it needs, and says what is wrong.
func problems(files map[string]string, dir, needs string) []string {
	objects, err := build(files, dir)
	if err != nil {
		return []string{err.Error()}
	}
	var before []*object
	if needs != "" {
		if before, err = build(files, needs); err != nil {
			return []string{err.Error()}
		}
	}
	all := decoded(objects)
	s, more := newSet(objects, before)
	all = append(all, more...)
	if len(all) > 0 {
		return all // what follows needs the types
	}
	for _, rule := range rules {
		all = append(all, rule(s)...)
	}
	return all
}

// manifests reads all files that kustomize may read, by their path from here.
func manifests(t testing.TB) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files["base/token"] = secret
	return files
}

// build does what "kubectl kustomize DIR" does, in memory.
func build(files map[string]string, dir string) ([]*object, error) {
	disk := filesys.MakeFsInMemory()
	for path, text := range files {
		if err := disk.WriteFile("/"+path, []byte(text)); err != nil {
			return nil, err
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/"+dir)
	if err != nil {
		return nil, err
	}
	var all []*object
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		all = append(all, &object{group: r.GetApiVersion(), kind: r.GetKind(), name: r.GetName(), yaml: text})
	}
	return all, nil
}

// Without a token nothing is made, and the message names the file.
func TestNoToken(t *testing.T) {
	files := manifests(t)
	delete(files, "base/token")
	if _, err := build(files, "overlays/suite"); err == nil || !strings.Contains(err.Error(), "base/token") {
		t.Errorf("without base/token: %v", err)
	}
}

// The token must not get into git by an "add --all".
func TestTokenIgnored(t *testing.T) {
	b, err := os.ReadFile(".gitignore")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains("\n"+string(b), "\n/base/token\n") {
		t.Errorf(".gitignore does not name /base/token:\n%s", b)
	}
}
