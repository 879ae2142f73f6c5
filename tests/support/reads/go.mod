module firesteel.test/reads

go 1.24.0

require (
	github.com/moby/buildkit v0.20.2
	github.com/moby/patternmatcher v0.6.0
	k8s.io/apimachinery v0.34.4
	k8s.io/client-go v0.34.4
	sigs.k8s.io/yaml v1.6.0
)
