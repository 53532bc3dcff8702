package composecheck

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// load reads the compose file as docker compose does, strictly and with interpolation.
func load(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")},
		cli.WithWorkingDirectory(root), cli.WithProfiles(profiles), cli.WithResolvedPaths(true), cli.WithConsistency(true), cli.WithInterpolation(true))
	require.NoError(t, err)
	project, err := options.LoadProject(context.Background())
	require.NoError(t, err)
	return project
}

func TestCompose_Profiles(t *testing.T) {
	for profile, want := range map[string][]string{
		"":          {},
		"tools":     {"starter"},
		"s3":        {"minio", "minio-bucket"},
		"hive":      {"hive-metastore"},
		"hdfs":      {"namenode", "datanode"},
		"starrocks": {"starrocks"},
	} {
		always := []string{"mysql1", "mysql2", "temporal", "temporal-ui", "worker"}
		var project *types.Project
		if profile == "" {
			project = load(t)
		} else {
			project = load(t, profile)
		}
		require.ElementsMatch(t, append(always, want...), project.ServiceNames(), profile)
	}
}

func TestCompose_ServicesAreSound(t *testing.T) {
	project := load(t, "*")
	oneShot := []string{"starter", "minio-bucket"}
	published := map[string]string{}
	for name, service := range project.Services {
		require.NotEmpty(t, service.Image, name)
		_, tag, tagged := strings.Cut(service.Image[strings.LastIndex(service.Image, "/")+1:], ":")
		require.True(t, tagged && !strings.Contains(tag, "latest"), "%s: the image %s is not pinned", name, service.Image)
		if !slices.Contains(oneShot, name) {
			require.Equal(t, "unless-stopped", service.Restart, name)
		}
		for _, port := range service.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, "%s publishes %s to the world", name, port.Published)
			require.Empty(t, published[port.Published], "%s and %s publish one port", name, published[port.Published])
			published[port.Published] = name
		}
		for other, condition := range service.DependsOn {
			if condition.Condition == types.ServiceConditionHealthy {
				require.NotNil(t, project.Services[other].HealthCheck, "%s waits for the health of %s, which has no check", name, other)
			}
		}
		for _, volume := range service.Volumes {
			if volume.Type == types.VolumeTypeBind {
				_, err := os.Stat(volume.Source)
				require.NoError(t, err, "%s mounts what is not there", name)
			}
		}
	}
	require.Equal(t, "temporal", published["7233"])
	require.Equal(t, "temporal-ui", published["8233"])
}

// What the job names must be there under that name: servers, Temporal, the warehouse's volume, the password's variable.
func TestCompose_AgreesWithItsJob(t *testing.T) {
	project := load(t, "tools")
	data, err := os.ReadFile(filepath.Join(root, "examples", "compose.yaml"))
	require.NoError(t, err)
	job := string(data)
	for _, host := range []string{"mysql1", "mysql2"} {
		require.Contains(t, job, "host: "+host)
		require.Equal(t, "mysql:8.0", project.Services[host].Image)
		require.Contains(t, job, "user: "+*project.Services[host].Environment["MYSQL_USER"])
	}
	require.Contains(t, job, `"temporal:7233"`)
	require.Contains(t, job, "file:///lake")
	require.Equal(t, *project.Services["mysql1"].Environment["MYSQL_PASSWORD"], *project.Services["worker"].Environment["MYSQL_PASSWORD"])
	require.NotContains(t, project.Services["starter"].Environment, "MYSQL_PASSWORD", "secrets are for workers")
	for _, name := range []string{"worker", "starter"} {
		service := project.Services[name]
		require.Equal(t, "temporal:7233", *service.Environment["TRIBUTARY_TEMPORAL_ADDRESS"])
		require.True(t, slices.ContainsFunc(service.Volumes, func(v types.ServiceVolumeConfig) bool {
			return v.Source == "lake" && v.Target == "/lake" && !v.ReadOnly
		}), name)
		dockerfile := service.Build.Dockerfile
		if !filepath.IsAbs(dockerfile) {
			dockerfile = filepath.Join(service.Build.Context, dockerfile)
		}
		text, err := os.ReadFile(dockerfile)
		require.NoError(t, err)
		require.Contains(t, string(text), "./worker ./starter")
	}
}
